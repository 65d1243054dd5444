"""A public event in two halves: everybody acts on its own, then sees what others did and may connect.

Reads the resolved week, the directory and, in the second half, what the other attendees let be seen. The first half's
output gives each attendee its view of the act; the second causes acquaintance, changes and a record. The short profile
takes the choice of people and the look back in one call.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from sim.context.memory_files import person_path
from sim.context.names import resolve_person
from sim.context.recall import recently_related
from sim.context.view import people_lines, place_of, place_view
from sim.core.agent import Activity
from sim.core.facts import CameToKnow, Met, UnitFacts, WroteFile
from sim.core.keys import seed_of
from sim.core.limits import limited
from sim.core.visibility import parse_segments
from sim.engine.stage import Job, Stage
from sim.environment.feedback import public_feedback
from sim.environment.forms import closed
from sim.llm.protocol import OutputFormat
from sim.mind.desk import Desk
from sim.mind.invoke import ask_agent
from sim.mind.overlay import Overlay
from sim.week.chain import nothing_more, oneself
from sim.week.days.aftermath import note, reflect, slot_of, text_chars
from sim.week.days.order import POSITION, act_needs, meet_needs, own_reviews
from sim.week.days.thoughts import Thoughts
from sim.week.days.transcript import Event, Transcript

TEMPLATE = "days/public.j2"
"""The stage prompt of all calls of both halves; what each asks for comes as the last message."""
_ENTRY_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class _Event:
    """The event as an attendee knows it."""

    activity: Activity
    place: Mapping[str, Any] | None
    cards: Mapping[str, Mapping[str, Any]]


async def act(job: Job, desk: Desk) -> UnitFacts:
    """What one attendee does, and how much of it each of the others may see."""
    overlay, name = Overlay(job), job.unit.who
    event, chars = _event_of(job, desk), text_chars(desk)
    transcript = Transcript(render=desk.render.render)
    transcript.ask(name, desk.render.render("days/act.j2", {"short": _is_short(desk), "chars": chars}))

    def parse(value: dict[str, Any]) -> str:
        # Never cut: without a closing tag, what stands before it would be open.
        return " ".join(value["action"].split()) or desk.render.render("days/plain_act.j2", {})

    answer = await ask_agent(
        desk,
        overlay,
        name,
        step="act",
        duty="public_act",
        template=TEMPLATE,
        values=_stage_values(desk, overlay, event, name, ()),
        output=OutputFormat(
            kind="json", schema=closed({"action": {"type": "string", "minLength": 1, "maxLength": chars}})
        ),
        parse=parse,
        default=lambda: desk.render.render("days/plain_act.j2", {}),
        length="short",
        history=transcript.history_for(name),
    )
    readers = tuple(sorted({*event.activity.participants, name}))
    segments = parse_segments(answer.value, readers)
    seen = Transcript(render=desk.render.render)
    seen.add(Event(kind="speech", readers=readers, text=answer.value, speaker=name, segments=segments))
    return overlay.finish({"for": {reader: {"what": seen.lines_for(reader)[0]} for reader in readers}})


async def meet(job: Job, desk: Desk) -> UnitFacts:
    """One attendee sees what others did, may connect, is told how it went, and looks back."""
    overlay, name = Overlay(job), job.unit.who
    event = _event_of(job, desk)
    acts = {who: outputs["for"][name]["what"] for who, outputs in job.outputs_of("public_act").items()}
    others = _noticed(desk, overlay, name, [who for who in acts if who != name])
    transcript = Transcript(render=desk.render.render)
    seen = {"own": acts[name], "acts": [acts[who] for who in others]}
    transcript.tell(name, desk.render.render("days/seen.j2", seen))
    lines = [acts[name], *seen["acts"]]
    if _is_short(desk):
        skills_up, connects = await _meet_short(desk, overlay, event, name, others, transcript, lines)
    else:
        skills_up, connects = await _meet_full(desk, overlay, event, name, others, transcript, lines)
    return overlay.finish(
        {
            "kind": "public",
            "participants": [name],
            "skills_up": {name: skills_up},
            "purchases": {},
            "earned": {},
            "exited": [],
            "connects": connects,
        }
    )


async def _meet_full(
    desk: Desk,
    overlay: Overlay,
    event: _Event,
    name: str,
    others: list[str],
    transcript: Transcript,
    lines: list[str],
) -> tuple[bool, list[str]]:
    """Connect, then feedback, then reflection."""
    async with asyncio.TaskGroup() as beside:
        thoughts = Thoughts(desk=desk, overlay=overlay, transcript=transcript, beside=beside)
        entries = await _choose_people(desk, overlay, event, name, others, thoughts) if others else {}
        _connect(desk, overlay, event, name, entries)
        feedback, skills_up = await _judged(desk, overlay, event, name, lines)
    await reflect(
        desk,
        overlay,
        name,
        template=TEMPLATE,
        values=_stage_values(desk, overlay, event, name, others),
        feedback=feedback,
        record=_record(event, sorted(entries)),
        history=transcript.history_for(name),
    )
    return skills_up, sorted(entries)


async def _choose_people(
    desk: Desk, overlay: Overlay, event: _Event, name: str, others: list[str], thoughts: Thoughts
) -> dict[str, str]:
    """Whom the attendee wants to know, with what it writes down about each."""
    transcript = thoughts.transcript
    transcript.ask(name, desk.render.render("days/connect.j2", {"short": False, "chars": _ENTRY_CHARS}))
    answer = await ask_agent(
        desk,
        overlay,
        name,
        step="connect",
        template=TEMPLATE,
        values=_stage_values(desk, overlay, event, name, others),
        output=OutputFormat(kind="json", schema=closed({"connect": _entries_schema(others)})),
        parse=lambda value: _entries(value["connect"], others),
        default=dict[str, str],
        length="short",
        history=transcript.history_for(name),
    )
    transcript.think(name, answer.text or "{}")
    thoughts.keep(name, answer, "connect")
    return answer.value


async def _meet_short(
    desk: Desk,
    overlay: Overlay,
    event: _Event,
    name: str,
    others: list[str],
    transcript: Transcript,
    lines: list[str],
) -> tuple[bool, list[str]]:
    """Feedback, then one call that connects and looks back."""
    feedback, skills_up = await _judged(desk, overlay, event, name, lines)
    chars = text_chars(desk)
    transcript.tell(name, feedback)
    transcript.ask(name, desk.render.render("days/connect.j2", {"short": True, "chars": chars}))

    def parse(value: dict[str, Any]) -> tuple[str, list[str]]:
        chosen = dict.fromkeys(value.get("connect", ()))
        return " ".join(value["summary"].split())[:chars], [who for who in others if who in chosen]

    answer = await ask_agent(
        desk,
        overlay,
        name,
        step="reflection",
        template=TEMPLATE,
        values=_stage_values(desk, overlay, event, name, others),
        output=OutputFormat(kind="json", schema=_summary_schema(others, chars)),
        parse=parse,
        default=lambda: (feedback, []),
        length="short",
        history=transcript.history_for(name),
    )
    summary, connects = answer.value
    _connect(desk, overlay, event, name, dict.fromkeys(connects, ""))
    note(desk, overlay, name, [summary or feedback], _record(event, connects))
    return skills_up, connects


async def _judged(desk: Desk, overlay: Overlay, event: _Event, name: str, lines: list[str]) -> tuple[str, bool]:
    """What the event did to the attendee, and whether a skill advanced."""
    values = {"event": _told(event), "place": event.place}
    answer = await public_feedback(desk, overlay, name=name, lines=lines, values=values)
    changed = limited("public", answer.value.proposed, overlay.state(name).skills, reason="public")
    overlay.cause(name, changed)
    return answer.value.text, bool(changed.skills)


def _connect(desk: Desk, overlay: Overlay, event: _Event, name: str, entries: Mapping[str, str]) -> None:
    """Chosen people are known from now on, on this side; what was written of them goes into their file."""
    for who in sorted(entries):
        first = desk.render.render(
            "days/first_entry.j2", {**_record(event, []), "name": who, "time": str(slot_of(overlay))}
        )
        text = f"{first} {entries[who]}".strip()
        file = overlay.state(name).files.get(person_path(who))
        if file is None:
            overlay.cause(name, CameToKnow(name=who, first_entry=text))
        elif desk.count(f"{file.text}\n{text}") <= desk.settings.budgets.file:
            path = person_path(who)
            overlay.cause(name, WroteFile(path=path, text=f"{file.text}\n{text}", summary=file.summary))
        overlay.cause(name, Met(name=who))


def _noticed(desk: Desk, overlay: Overlay, name: str, attendees: list[str]) -> list[str]:
    """Whose acts the attendee notices: those it knows first, latest first, then others by chance; a bounded number."""
    known = [who for who in recently_related(overlay.state(name), len(desk.names)) if who in attendees]
    strangers = [who for who in attendees if who not in known]
    random.Random(seed_of(desk.scope, overlay.unit, "noticed")).shuffle(strangers)
    return [*known, *strangers][: desk.settings.limits.met_people]


def _summary_schema(others: Sequence[str], chars: int) -> dict[str, Any]:
    people = {"type": "array", "maxItems": 1, "items": {"type": "string", "enum": list(others)}}
    summary = {"type": "string", "minLength": 1, "maxLength": chars}
    return closed({"summary": summary, **({"connect": people} if others else {})})


def _entries_schema(others: Sequence[str]) -> dict[str, Any]:
    entry = {"name": {"type": "string", "enum": list(others)}, "note": {"type": "string", "maxLength": _ENTRY_CHARS}}
    return {"type": "array", "maxItems": min(3, len(others)), "items": closed(entry)}


def _entries(chosen: list[dict[str, str]], others: Sequence[str]) -> dict[str, str]:
    """Whom the attendee wants to know, with what it writes down about each."""
    entries: dict[str, str] = {}
    for item in chosen:
        who = resolve_person(item["name"], others)
        if isinstance(who, str):
            entries.setdefault(who, " ".join(item["note"].split())[:_ENTRY_CHARS])
    return entries


def _event_of(job: Job, desk: Desk) -> _Event:
    """The event that the resolved week gave to the agent's day."""
    resolved = job.outputs_of("resolve")[""]["for"][job.unit.who]
    activity = msgspec.convert(resolved["activities"][job.unit.index - 1], Activity)
    directory = job.outputs_of("directory")[""]
    place = place_of(desk, activity.location, directory["homes"])
    return _Event(activity=activity, place=place_view(place) if place else None, cards=directory["cards"])


def _told(event: _Event) -> dict[str, Any]:
    return {"name": event.activity.name, "description": event.activity.description}


def _stage_values(desk: Desk, overlay: Overlay, event: _Event, name: str, others: Sequence[str]) -> dict[str, Any]:
    return {
        "event": _told(event),
        "place": event.place,
        "people": people_lines(desk, overlay.state(name), event.cards, others) if others else [],
    }


def _record(event: _Event, others: Sequence[str]) -> dict[str, Any]:
    return {
        "kind": "public",
        "activity": event.activity.name,
        "location": event.activity.location,
        "others": list(others),
        "bought": None,
        "income": 0,
    }


def _is_short(desk: Desk) -> bool:
    return desk.settings.prompts.profile == "short"


ACT = Stage(
    name="public_act",
    position=POSITION,
    participants=oneself,
    needs=act_needs,
    run=act,
    successors=nothing_more,
)
MEET = Stage(
    name="public_meet",
    position=POSITION,
    sub=1,
    participants=oneself,
    needs=meet_needs,
    run=meet,
    successors=own_reviews,
)
