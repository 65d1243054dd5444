"""Everything that a unit of work may cause to an agent, and `apply`, the only maker of new states.

A unit returns facts about its own agents only; what concerns others stands in `outputs` and is pulled by their units.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from sim.core.agent import (
    Activity,
    AgentState,
    LivingStandard,
    Location,
    MemoryFile,
    MemoryLine,
    Message,
    Note,
    Position,
    Possession,
    Profile,
    Remembered,
    WeekSnapshot,
    clamp,
)
from sim.core.keys import UnitKey


class Fact(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="fact"):
    """One thing that became true of one agent."""


class WeekBegan(Fact, frozen=True, kw_only=True, tag=True):
    """A new week: old short-term memory leaves its windows (given as the first week number that stays)."""

    year: int
    week: int
    first_record_week: int
    first_message_week: int
    weeks_per_year: int


class Changed(Fact, frozen=True, kw_only=True, tag=True):
    """Additions to numbers, already limited; the result is clamped. Money is never taken below 0."""

    reason: str
    vitality: float = 0.0
    mood: float = 0.0
    material: float = 0.0
    social: float = 0.0
    esteem: float = 0.0
    skills: Mapping[str, float] = msgspec.field(default_factory=dict[str, float])
    money: int = 0


class ChoseStandard(Fact, frozen=True, kw_only=True, tag=True):
    """The living standard of this week."""

    standard: LivingStandard


class Got(Fact, frozen=True, kw_only=True, tag=True):
    """A possession came in (bought or received)."""

    item: Possession
    source: str


class Lost(Fact, frozen=True, kw_only=True, tag=True):
    """A possession went away (given or discarded)."""

    item_id: str
    reason: str


class WroteFile(Fact, frozen=True, kw_only=True, tag=True):
    """A memory file has this text and this one-line-or-more summary now."""

    path: str
    text: str
    summary: str


class ReadFile(Fact, frozen=True, kw_only=True, tag=True):
    """A memory file was accessed."""

    path: str


class CameToKnow(Fact, frozen=True, kw_only=True, tag=True):
    """Somebody is known from now on; no effect on the file if there is one already."""

    name: str
    first_entry: str


class Met(Fact, frozen=True, kw_only=True, tag=True):
    """Contact or an activity with somebody, for the order of most recently related people."""

    name: str


class Noted(Fact, frozen=True, kw_only=True, tag=True):
    """Short-term memory: kind `diary`, `record`, or the stage's name for an output of this week."""

    note: Note


class Folded(Fact, frozen=True, kw_only=True, tag=True):
    """`n_replaced` entries of the diaries, from place `first` on, are replaced by one summary (0 is the oldest)."""

    n_replaced: int
    summary: Note
    first: int = 0


class Heard(Fact, frozen=True, kw_only=True, tag=True):
    """A message sent or received by the agent."""

    message: Message


class Scheduled(Fact, frozen=True, kw_only=True, tag=True):
    """An activity stands in the calendar."""

    activity: Activity


class Unscheduled(Fact, frozen=True, kw_only=True, tag=True):
    """An activity is out of the calendar, with the reason."""

    activity_key: str
    reason: str


class Refused(Fact, frozen=True, kw_only=True, tag=True):
    """An action of the agent was not carried out; text as shown to it next."""

    text: str


class RefusalsShown(Fact, frozen=True, kw_only=True, tag=True):
    """Past refusals have been shown and are cleared."""


class TookPosition(Fact, frozen=True, kw_only=True, tag=True):
    """The position held from now on (None: unemployed)."""

    position: Position | None


class ProfileChanged(Fact, frozen=True, kw_only=True, tag=True):
    """The profile at a year's end."""

    profile: Profile


class MovedIn(Fact, frozen=True, kw_only=True, tag=True):
    """The agent lives here."""

    home: Location


class WeekEnded(Fact, frozen=True, kw_only=True, tag=True):
    """The week's closing numbers."""

    snapshot: WeekSnapshot


class YearBegan(Fact, frozen=True, kw_only=True, tag=True):
    """A new year: last year's snapshots go, the deposit is the new starting point."""


AnyFact = (
    WeekBegan
    | Changed
    | ChoseStandard
    | Got
    | Lost
    | WroteFile
    | ReadFile
    | CameToKnow
    | Met
    | Noted
    | Folded
    | Heard
    | Scheduled
    | Unscheduled
    | Refused
    | RefusalsShown
    | TookPosition
    | ProfileChanged
    | MovedIn
    | WeekEnded
    | YearBegan
)


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one model call: how its answer was used, and why it must not be trained on, if so."""

    key: str
    agent: str
    """"" for a call of the environment model."""
    duty: str
    """Stage step or environment duty, such as `plan`, `contact`, `turn`, `next_speaker`."""
    status: str
    """ok | repaired | failed | fallback (a safe default took its place, or another endpoint answered)."""
    drop: str = ""
    """Drop reason for training: malformed, invalid_action, principle:<name>, empty, truncated, unanswered, …"""
    tool_calls: int = 0


class UnitFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The durable result of one finished unit."""

    unit: UnitKey
    by_agent: Mapping[str, tuple[AnyFact, ...]]
    outputs: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """Plain JSON values that the units which need this one read (each stage documents its own)."""
    verdicts: tuple[Verdict, ...] = ()


_ENCODER = msgspec.json.Encoder(order="deterministic")
_DECODER = msgspec.json.Decoder(UnitFacts)
_STATE_DECODER = msgspec.json.Decoder(AgentState)


def encode(value: UnitFacts | AgentState) -> bytes:
    """Canonical JSON bytes of facts or of a state: the same value gives the same bytes."""
    return _ENCODER.encode(value)


def decode_facts(data: bytes) -> UnitFacts:
    """Facts from their bytes; msgspec.ValidationError if they are not."""
    return _DECODER.decode(data)


def decode_state(data: bytes) -> AgentState:
    """A state from its bytes; msgspec.ValidationError if they are not."""
    return _STATE_DECODER.decode(data)


def apply(state: AgentState, facts: UnitFacts) -> AgentState:
    """The state after a unit; a unit that is already in it changes nothing."""
    unit = str(facts.unit)
    if unit in state.applied:
        return state
    for fact in facts.by_agent.get(state.name, ()):
        state = _APPLY[type(fact)](state, fact)
    return msgspec.structs.replace(state, applied=(*state.applied, unit))


def apply_all(state: AgentState, facts: tuple[AnyFact, ...]) -> AgentState:
    """The state after loose facts, used for the overlay inside a running unit."""
    for fact in facts:
        state = _APPLY[type(fact)](state, fact)
    return state


def remembered(state: AgentState) -> Remembered:
    """What the weekly part of the prompt shows, as of now: one line per file, and the diaries."""
    latest_first = sorted(state.files, key=lambda path: (-state.files[path].touched, path))
    lines = tuple(MemoryLine(path=path, summary=state.files[path].summary) for path in latest_first)
    return Remembered(files=lines, diaries=state.diaries)


def _week_began(state: AgentState, fact: WeekBegan) -> AgentState:
    def number(year: int, week: int) -> int:
        return (year - 1) * fact.weeks_per_year + week

    now = number(fact.year, fact.week)
    return msgspec.structs.replace(
        state,
        records=tuple(n for n in state.records if number(n.year, n.week) >= fact.first_record_week),
        messages=tuple(m for m in state.messages if number(m.year, m.week) >= fact.first_message_week),
        schedule=tuple(a for a in state.schedule if number(a.slot.year, a.slot.week) >= now),
        week_outputs=(),
        refusals=(),
        remembered=remembered(state),
        applied=(),
    )


def _changed(state: AgentState, fact: Changed) -> AgentState:
    skills = dict(state.skills)
    for name in sorted(fact.skills):
        skills[name] = clamp(skills.get(name, 0.0) + fact.skills[name], 0.0, 1e9)
    return msgspec.structs.replace(
        state,
        vitality=clamp(state.vitality + fact.vitality),
        mood=clamp(state.mood + fact.mood),
        material=clamp(state.material + fact.material),
        social=clamp(state.social + fact.social),
        esteem=clamp(state.esteem + fact.esteem),
        skills=skills,
        deposit=max(0, state.deposit + fact.money),
    )


def _wrote_file(state: AgentState, fact: WroteFile) -> AgentState:
    ticks = state.ticks + 1
    files = {**state.files, fact.path: MemoryFile(text=fact.text, summary=fact.summary, touched=ticks)}
    return msgspec.structs.replace(state, files=files, ticks=ticks)


def _read_file(state: AgentState, fact: ReadFile) -> AgentState:
    file = state.files.get(fact.path)
    if file is None:
        return state
    ticks = state.ticks + 1
    files = {**state.files, fact.path: msgspec.structs.replace(file, touched=ticks)}
    return msgspec.structs.replace(state, files=files, ticks=ticks)


def _came_to_know(state: AgentState, fact: CameToKnow) -> AgentState:
    path = f"characters/{fact.name}.txt"
    if path in state.files or fact.name == state.name:
        return state
    return _wrote_file(state, WroteFile(path=path, text=fact.first_entry, summary=fact.first_entry))


def _met(state: AgentState, fact: Met) -> AgentState:
    if fact.name == state.name:
        return state
    ticks = state.ticks + 1
    return msgspec.structs.replace(state, met={**state.met, fact.name: ticks}, ticks=ticks)


def _noted(state: AgentState, fact: Noted) -> AgentState:
    if fact.note.kind == "diary":
        return msgspec.structs.replace(state, diaries=(*state.diaries, fact.note))
    if fact.note.kind == "record":
        return msgspec.structs.replace(state, records=(*state.records, fact.note))
    return msgspec.structs.replace(state, week_outputs=(*state.week_outputs, fact.note))


def _folded(state: AgentState, fact: Folded) -> AgentState:
    before, after = state.diaries[: fact.first], state.diaries[fact.first + fact.n_replaced :]
    return msgspec.structs.replace(state, diaries=(*before, fact.summary, *after))


def _profile_changed(state: AgentState, fact: ProfileChanged) -> AgentState:
    return msgspec.structs.replace(state, profile=fact.profile, remembered=remembered(state))


def _scheduled(state: AgentState, fact: Scheduled) -> AgentState:
    others = tuple(a for a in state.schedule if a.key != fact.activity.key or a.slot != fact.activity.slot)
    return msgspec.structs.replace(state, schedule=(*others, fact.activity))


def _got(state: AgentState, fact: Got) -> AgentState:
    if any(item.id == fact.item.id for item in state.possessions):
        return state
    return msgspec.structs.replace(state, possessions=(*state.possessions, fact.item))


_APPLY: Mapping[type, Callable[[AgentState, Any], AgentState]] = {
    WeekBegan: _week_began,
    Changed: _changed,
    ChoseStandard: lambda s, f: msgspec.structs.replace(s, living_standard=f.standard),
    Got: _got,
    Lost: lambda s, f: msgspec.structs.replace(s, possessions=tuple(i for i in s.possessions if i.id != f.item_id)),
    WroteFile: _wrote_file,
    ReadFile: _read_file,
    CameToKnow: _came_to_know,
    Met: _met,
    Noted: _noted,
    Folded: _folded,
    Heard: lambda s, f: msgspec.structs.replace(s, messages=(*s.messages, f.message)),
    Scheduled: _scheduled,
    Unscheduled: lambda s, f: msgspec.structs.replace(
        s, schedule=tuple(a for a in s.schedule if a.key != f.activity_key)
    ),
    Refused: lambda s, f: msgspec.structs.replace(s, refusals=(*s.refusals, f.text)),
    RefusalsShown: lambda s, f: msgspec.structs.replace(s, refusals=()),
    TookPosition: lambda s, f: msgspec.structs.replace(s, position=f.position),
    ProfileChanged: _profile_changed,
    MovedIn: lambda s, f: msgspec.structs.replace(s, home=f.home),
    WeekEnded: lambda s, f: msgspec.structs.replace(s, snapshots=(*s.snapshots, f.snapshot)),
    YearBegan: lambda s, f: msgspec.structs.replace(s, snapshots=(), deposit_at_year_start=s.deposit),
}
