"""What public events a week brings: name, day, length, place and who may come, inside the limits.

Events of the answer that can't take place are left out; one asks again only if none of them can.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sim.context.budget import fit_lines
from sim.context.names import resolve_name, resolve_person
from sim.context.view import with_note
from sim.core.agent import Value
from sim.core.keys import normal_form
from sim.environment.ask import ask_environment
from sim.environment.forms import closed
from sim.llm.outcome import Refusal
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay

_FULL_CHARS, _SHORT_CHARS = 300, 100
_NAME_CHARS = 60
_AGENTS_PER_EVENT = 4
"""A small cast gets fewer events than the limit allows: one per this many agents, and never fewer than two."""
_ENUM_NAMES = 200
"""Up to so many agents their names stand in the answer's form as a closed list."""


class Event(Value, frozen=True, kw_only=True):
    """A public event: once, or on the same day of several weeks in a row."""

    name: str
    description: str
    day: int
    start: int
    """Number of its first week, counted through the run."""
    weeks: int
    eligible: Literal["all"] | tuple[str, ...]
    location: str

    def takes_place_in(self, week_number: int) -> bool:
        """Whether the event has a day in this week."""
        return self.start <= week_number < self.start + self.weeks

    def is_open_to(self, name: str) -> bool:
        """Whether this agent may come."""
        return self.eligible == "all" or name in self.eligible


class Attended(Value, frozen=True, kw_only=True):
    """How many came to an event last week."""

    name: str
    n_people: int


def n_events_wanted(desk: Desk, n_going_on: int) -> int:
    """How many new events a week may bring beside those that go on."""
    few = max(2, len(desk.names) // _AGENTS_PER_EVENT)
    return max(0, min(desk.settings.limits.events_per_week, few) - n_going_on)


async def make_events(
    desk: Desk,
    overlay: Overlay,
    *,
    week_number: int,
    going_on: Sequence[Event],
    attended: Sequence[Attended],
    cards: Mapping[str, Mapping[str, Any]],
) -> tuple[Event, ...]:
    """This week's new events; none where the environment makes none or no more are allowed."""
    most = n_events_wanted(desk, len(going_on))
    if most == 0:
        return ()
    short = desk.settings.prompts.profile == "short"
    chars = min(_SHORT_CHARS if short else _FULL_CHARS, desk.settings.answers.text_chars)
    places = [location.name for location in desk.world.locations]
    taken = [event.name for event in going_on]

    def parse(value: dict[str, Any]) -> tuple[Event, ...] | Refusal:
        return _sound_events(desk, value["events"][:most], week_number=week_number, places=places, taken=taken)

    answer = await ask_environment(
        desk,
        overlay,
        step="events",
        duty="public_events",
        template="public_events.j2",
        values={
            "most": most,
            "chars": chars,
            "n_day": desk.clock.n_day,
            "most_weeks": desk.settings.limits.event_weeks,
            "going_on": [{"name": event.name, "day": event.day, "location": event.location} for event in going_on],
            "attended": [{"name": event.name, "n_people": event.n_people} for event in attended],
            "places": [{"name": place.name, "size": place.size} for place in desk.world.locations],
            "people": _people_lines(desk, cards),
        },
        schema=_schema(desk, places, most=most, chars=chars),
        parse=parse,
        default=(),
        length="short" if short else "long",
    )
    return answer.value


def _people_lines(desk: Desk, cards: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Everybody with the position held, as far as there is room."""
    lines = [with_note(desk, name, cards[name]["position"]) for name in sorted(cards)]
    return fit_lines(lines, desk.settings.budgets.stage // 3, desk.count)


def _schema(desk: Desk, places: Sequence[str], *, most: int, chars: int) -> dict[str, Any]:
    limits, names = desk.settings.limits, list(desk.names)
    name: dict[str, Any] = {"type": "string", "maxLength": 80}
    properties: dict[str, Any] = {
        "name": {"type": "string", "minLength": 1, "maxLength": _NAME_CHARS},
        "description": {"type": "string", "minLength": 1, "maxLength": chars},
        "day": {"type": "integer", "enum": list(range(1, desk.clock.n_day + 1))},
        "weeks": {"type": "integer", "enum": list(range(1, limits.event_weeks + 1))},
        "location": {"type": "string", "enum": list(places)},
    }
    if desk.settings.prompts.profile == "full":
        invited = {"type": "string", "enum": names} if len(names) <= _ENUM_NAMES else name
        properties["only_for"] = {"type": "array", "items": invited, "maxItems": min(len(names), 30)}
    least = 1 if desk.settings.prompts.profile == "short" else 0
    return closed({"events": {"type": "array", "items": closed(properties), "minItems": least, "maxItems": most}})


def _sound_events(
    desk: Desk, items: Sequence[Mapping[str, Any]], *, week_number: int, places: Sequence[str], taken: Sequence[str]
) -> tuple[Event, ...] | Refusal:
    """The events that can take place; a refusal if there were some and none of them can."""
    sound: list[Event] = []
    refusal: Refusal | None = None
    used = {normal_form(name) for name in taken}
    for item in items:
        name = " ".join(item["name"].split())[:_NAME_CHARS].strip()
        location = resolve_name(item["location"], places)
        if isinstance(location, Refusal):
            refusal = refusal or location
        elif name and normal_form(name) not in used:
            used.add(normal_form(name))
            sound.append(_event(desk, item, name=name, location=location, week_number=week_number))
    return tuple(sound) if sound or refusal is None else refusal


def _event(desk: Desk, item: Mapping[str, Any], *, name: str, location: str, week_number: int) -> Event:
    """One event with its numbers inside their limits; names that nobody has are no restriction."""
    people = [resolve_person(text, desk.names) for text in item.get("only_for", ())]
    eligible = tuple(sorted({person for person in people if isinstance(person, str)}))
    return Event(
        name=name,
        description=" ".join(item["description"].split()),
        day=min(max(1, item["day"]), desk.clock.n_day),
        start=week_number,
        weeks=min(max(1, item["weeks"]), desk.settings.limits.event_weeks),
        eligible=eligible or "all",
        location=location,
    )
