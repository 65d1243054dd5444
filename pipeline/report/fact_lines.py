"""What became true of an agent in a unit, in words for a reader. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sim.core.agent import FULFILMENTS, Message, WeekSnapshot
from sim.core.facts import (
    AnyFact,
    CameToKnow,
    Changed,
    ChoseStandard,
    Folded,
    Got,
    Heard,
    Lost,
    Noted,
    ProfileChanged,
    ReadFile,
    Refused,
    Scheduled,
    TookPosition,
    Unscheduled,
    WeekEnded,
    WroteFile,
)

NUMBERS = ("vitality", *FULFILMENTS)
_SAID = ("plan", "signup", "contact")
"""Kinds of notes that only repeat the answer that they come from."""


def fact_lines(name: str, facts: Iterable[AnyFact]) -> list[str]:
    """One line for each fact that a reader wants to know; meetings and moving windows are left out."""
    return [line for fact in facts if (line := _line(name, fact))]


def numbers_line(snapshot: WeekSnapshot | Mapping[str, Any]) -> str:
    """A week's closing numbers."""
    values = snapshot if isinstance(snapshot, Mapping) else msgspec.structs.asdict(snapshot)
    numbers = [f"{name} {values[name]:.1f}" for name in NUMBERS]
    return f"{', '.join(numbers)}; deposit {values['deposit']}; skills {values['total_skills']:.1f} in all"


def skills_line(skills: Mapping[str, float]) -> str:
    """Skill levels, the highest first."""
    ordered = sorted(skills, key=lambda skill: (-skills[skill], skill))
    return ", ".join(f"{skill} {skills[skill]:.0f}" for skill in ordered) or "none"


def _line(name: str, fact: AnyFact) -> str:
    match fact:
        case Changed():
            return _changed(fact)
        case Heard():
            return _message(name, fact.message)
        case Refused():
            return f"refused: {fact.text}"
        case Noted():
            return "" if fact.note.kind in _SAID else f"{fact.note.kind}: {fact.note.text}"
        case WeekEnded():
            return f"week ends: {numbers_line(fact.snapshot)}"
        case Got():
            return f"gets {fact.item.name} (worth {fact.item.value}): {fact.source}"
        case Lost():
            return f"gives up {fact.item_id}: {fact.reason}"
        case Scheduled() | Unscheduled():
            return _calendar(fact)
        case _:
            return _memory_or_place(fact)


def _memory_or_place(fact: AnyFact) -> str:
    match fact:
        case WroteFile():
            return f"writes {fact.path}: {fact.text}"
        case ReadFile():
            return f"reads {fact.path}"
        case CameToKnow():
            return f"comes to know {fact.name}: {fact.first_entry}"
        case Folded():
            return f"{fact.n_replaced} diaries become one {fact.summary.kind}: {fact.summary.text}"
        case ChoseStandard():
            return f"lives {fact.standard}"
        case TookPosition():
            return f"position: {fact.position.key if fact.position else 'none'}"
        case ProfileChanged():
            return _profile(fact)
    return ""


def _changed(fact: Changed) -> str:
    numbers = [f"{name} {getattr(fact, name):+g}" for name in NUMBERS if getattr(fact, name)]
    numbers += [f"money {fact.money:+d}"] if fact.money else []
    numbers += [f"{skill} {gain:+g}" for skill, gain in sorted(fact.skills.items()) if gain]
    return f"{fact.reason}: {', '.join(numbers)}" if numbers else ""


def _message(name: str, message: Message) -> str:
    kind = f"{message.kind} {message.activity!r}".strip() if message.activity else message.kind
    if not message.sender:
        return f"notice: {message.text}"
    if message.sender == name:
        return f"sends to {message.to} ({kind}): {message.text}"
    return f"from {message.sender} ({kind}): {message.text}"


def _calendar(fact: Scheduled | Unscheduled) -> str:
    if isinstance(fact, Unscheduled):
        return f"calendar: {fact.activity_key} is off: {fact.reason}"
    activity = fact.activity
    people = f" with {', '.join(activity.participants)}" if activity.participants else ""
    return f"calendar: {activity.slot} {activity.name} at {activity.location}{people}"


def _profile(fact: ProfileChanged) -> str:
    profile = fact.profile
    traits = ", ".join(f"{name} {value}" for name, value in sorted({**profile.traits, **profile.talents}.items()))
    return f"profile now: {traits}; wants: {profile.motivation}"
