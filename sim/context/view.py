"""The world as one agent may see it: all that an agent's stage prompt may draw on, each piece within its token share.

Everything here is read from the agent's own state and from what is public. Lists are ready to print; sentences come
from templates.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from sim.context import recall
from sim.context.budget import clip, fit_lines, fit_memory
from sim.context.memory_files import GENERAL, person_path
from sim.core.agent import FULFILMENTS, Activity, AgentState, Location, Message
from sim.core.clock import Slot, week_text
from sim.core.keys import UnitKey

if TYPE_CHECKING:
    from sim.mind.desk import Desk

DAY_STAGES = ("joint", "encounter", "public_act", "public_meet", "solo")
"""Stages whose unit's index is a day."""
LOW, VERY_LOW = 30.0, 10.0
"""Below these a hint about vitality or fulfilment stands in the prompt (SPEC section 2)."""
_VITALITY = ((90.0, "rested"), (70.0, "good"), (50.0, "tired"), (30.0, "exhausted"))
_SHARES = {
    "goals": 0.10,
    "schedule": 0.08,
    "possessions": 0.06,
    "outputs": 0.16,
    "records": 0.14,
    "refusals": 0.06,
    "people": 0.25,
    "contacts": 0.20,
}
"""Largest part of the stage budget that a piece may take; the rest is for instructions and the stage's own values."""
_SHORT_SKILLS = 6
_SKILLS = 20
_TOLD_IN_FULL = 8
"""People that a list should tell of in full: the share of the stage prompt is divided by as many."""
_FEWEST_TOKENS = 16


def share_of(desk: "Desk", piece: str) -> int:
    """Tokens that a piece of the stage prompt may take."""
    return int(desk.settings.budgets.stage * _SHARES[piece])


def vitality_level(vitality: float) -> str:
    """Name of the band that a vitality lies in: rested, good, tired, exhausted, depleted (SPEC section 2)."""
    return next((level for bound, level in _VITALITY if vitality >= bound), "depleted")


def low_level(value: float) -> str:
    """`very_low` below 10, `low` below 30, else nothing."""
    return "very_low" if value < VERY_LOW else "low" if value < LOW else ""


def hints(state: AgentState) -> list[dict[str, str]]:
    """Which of vitality and the fulfilments are low, and how low."""
    quantities = ("vitality", *FULFILMENTS)
    levels = ((name, low_level(getattr(state, name))) for name in quantities)
    return [{"name": name, "level": level} for name, level in levels if level]


def time_of(unit: UnitKey) -> str:
    """The slot of a unit that has a day, else its week."""
    if unit.stage in DAY_STAGES:
        return str(Slot(year=unit.year, week=unit.week, day=unit.index))
    return week_text(unit.year, unit.week)


def self_view(desk: "Desk", state: AgentState, unit: UnitKey) -> dict[str, Any]:
    """What the agent sees of itself now, for `parts/me.j2` and for stage templates."""
    count, short = desk.count, desk.settings.prompts.profile == "short"
    position = state.position
    income = position.weekly_income if position else desk.settings.economy.unemployed_income
    return {
        "name": state.name,
        "age": desk.clock.age(state.profile.birthday, max(1, unit.year), max(1, unit.week)),
        "time": time_of(unit),
        "year": unit.year,
        "week": unit.week,
        "vitality": round(state.vitality),
        "vitality_level": vitality_level(state.vitality),
        "vitality_words": desk.render.render("parts/vitality.j2", {"level": vitality_level(state.vitality)}),
        "fulfilments": {name: round(getattr(state, name)) for name in FULFILMENTS},
        "hints": hints(state),
        "skills": skill_lines(state, _SHORT_SKILLS if short else _SKILLS),
        "position": position.key if position else "",
        "position_type": position.type if position else "",
        "weekly_income": income + state.extra_weekly_income,
        "deposit": state.deposit,
        "currency": desk.world.currency,
        "living_standard": state.living_standard,
        "possessions": fit_lines(possession_lines(desk, state), share_of(desk, "possessions"), count, keep="last"),
        "schedule": fit_lines(schedule_lines(desk, state, unit), share_of(desk, "schedule"), count),
        "outputs": output_lines(desk, state),
        "records": record_lines(desk, state, unit),
        "refusals": fit_lines(state.refusals, share_of(desk, "refusals"), count, keep="last"),
        "goals": goals_of(desk, state),
    }


def goals_of(desk: "Desk", state: AgentState) -> str:
    """The agent's general notes, where its goals and plans stand."""
    file = state.files.get(GENERAL)
    return clip(file.text, min(share_of(desk, "goals"), desk.settings.budgets.file), desk.count) if file else ""


def skill_lines(state: AgentState, most: int) -> list[str]:
    """The best skills with their levels, highest first."""
    best = sorted(state.skills, key=lambda name: (-state.skills[name], name))[:most]
    return [f"{name} {round(state.skills[name])}" for name in best]


def possession_lines(desk: "Desk", state: AgentState) -> list[str]:
    """Possessions with their worth, oldest first."""
    return [with_note(desk, item.name, item.value) for item in state.possessions]


def with_note(desk: "Desk", name: str, note: str | int) -> str:
    """A name and, in brackets, what belongs to it, if anything."""
    return desk.render.render("parts/with_note.j2", {"name": name, "note": note})


def labelled(desk: "Desk", name: str, text: str) -> str:
    """A text after the name of what it is about."""
    return desk.render.render("parts/labelled.j2", {"name": name, "text": text})


def activity_line(desk: "Desk", activity: Activity) -> str:
    """One activity of a calendar in words."""
    return desk.render.render("parts/activity.j2", {"activity": msgspec.structs.asdict(activity)})


def schedule_lines(desk: "Desk", state: AgentState, unit: UnitKey) -> list[str]:
    """The agent's calendar from now on, soonest first: on a day what is still to come, else the whole week."""
    today = unit.index if unit.stage in DAY_STAGES else 0
    now = (unit.year, unit.week, today)
    coming = [a for a in state.schedule if (a.slot.year, a.slot.week, a.slot.day) >= now]
    return [activity_line(desk, activity) for activity in sorted(coming, key=lambda a: (a.slot, a.key))]


def output_lines(desk: "Desk", state: AgentState) -> list[str]:
    """The agent's own words of this week's earlier stages; the newest are kept."""
    lines = [
        desk.render.render("parts/note.j2", {"note": msgspec.structs.asdict(note), "dated": False})
        for note in state.week_outputs
    ]
    return fit_lines(lines, share_of(desk, "outputs"), desk.count, keep="last")


def record_lines(desk: "Desk", state: AgentState, unit: UnitKey) -> list[str]:
    """Recent activity records inside their window; the newest are kept."""
    notes = recall.records(state, desk.clock, unit, desk.settings.windows)
    lines = [
        desk.render.render("parts/note.j2", {"note": msgspec.structs.asdict(note), "dated": True}) for note in notes
    ]
    return fit_lines(lines, share_of(desk, "records"), desk.count, keep="last")


def memory_of(desk: "Desk", state: AgentState, name: str) -> str:
    """What the agent has written about somebody, within a file's budget; empty if it doesn't know that person."""
    file = state.files.get(person_path(name))
    if file is None:
        return ""
    return clip(file.text, min(desk.settings.budgets.file, share_of(desk, "people")), desk.count)


def people_lines(
    desk: "Desk",
    state: AgentState,
    cards: Mapping[str, Mapping[str, Any]],
    names: Sequence[str],
    *,
    remembered: bool = True,
) -> list[str]:
    """One line per person: the public side and what the agent remembers; the last are told briefly if room is short.

    `remembered` is off where the memory is told in full beside the lines.
    """
    share = share_of(desk, "people")
    each = max(_FEWEST_TOKENS, share // max(1, min(len(names), _TOLD_IN_FULL)) // 2)
    full = [_person_line(desk, state, cards.get(name), name, each, remembered=remembered) for name in names]
    short = [_person_line(desk, state, cards.get(name), name, 0, remembered=remembered) for name in names]
    return fit_memory(full, short, share, desk.count)


def _person_line(
    desk: "Desk", state: AgentState, card: Mapping[str, Any] | None, name: str, tokens: int, *, remembered: bool
) -> str:
    """A person in one line, with so many tokens for the looks and as many for the memory."""
    file = state.files.get(person_path(name)) if remembered else None
    values = {
        "name": name,
        "card": {**card, "appearance": clip(card["appearance"], tokens, desk.count)} if card else None,
        "memory": clip(" ".join(file.summary.split()), tokens, desk.count) if file else "",
    }
    return " ".join(desk.render.render("parts/person.j2", values).split())


def place_view(location: Location) -> dict[str, Any]:
    """A place as a prompt shows it."""
    return {
        "name": location.name,
        "size": location.size,
        "description": location.description,
        "objects": list(location.objects),
    }


def place_of(desk: "Desk", name: str, homes: Mapping[str, Any]) -> Location | None:
    """The public place or home of this name; `homes` maps an owner's name to a Location or its plain form."""
    for location in desk.world.locations:
        if location.name == name:
            return location
    for owner in sorted(homes):
        home = homes[owner]
        location = home if isinstance(home, Location) else msgspec.convert(home, Location)
        if location.name == name:
            return location
    return None


def message_line(desk: "Desk", message: Message) -> str:
    """One message of the contact history in words."""
    return desk.render.render("parts/message.j2", {"message": msgspec.structs.asdict(message)})


def contact_history(desk: "Desk", state: AgentState, unit: UnitKey) -> list[str]:
    """Messages of the last weeks to and from the agent, oldest first; the newest are kept."""
    messages = recall.contacts(state, desk.clock, unit, desk.settings.windows)
    lines = [message_line(desk, message) for message in messages]
    return fit_lines(lines, share_of(desk, "contacts"), desk.count, keep="last")
