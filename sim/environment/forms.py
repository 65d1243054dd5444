"""Forms that the environment's answers share: closed objects, proposed changes, and whom a question is about."""

from collections.abc import Mapping
from typing import Any

from sim.core.limits import LIMITS, MAX_SKILL_NAME_CHARS, MAX_SKILLS_PER_ACTIVITY, SKILL_GAIN, ActivityKind
from sim.mind.desk import Desk
from sim.mind.invoke import Length
from sim.mind.overlay import Overlay

QUANTITIES = ("vitality", "mood", "social", "esteem")
NO_SKILL = "none"
_CHARS_PER_TOKEN = 2
WIDE = 100
"""Largest number that an answer's form allows where the model knows the limits from the prompt; code clamps it."""


def change_properties(kind: ActivityKind, skills: Mapping[str, float], *, short: bool) -> dict[str, Any]:
    """Properties for the changes that this kind of activity allows.

    Weak models are held to the table by the answer's form itself, and to one of the agent's skills (`skill`, `gain`);
    others may propose more, which is cheaper clamped than asked for again.
    """
    properties: dict[str, Any] = {}
    for name in QUANTITIES:
        low, high = getattr(LIMITS[kind], name)
        if low != high:
            bounds = (low, high) if short else (-WIDE, WIDE)
            properties[name] = {"type": "integer", "minimum": bounds[0], "maximum": bounds[1]}
    gain = {"type": "integer", "minimum": int(SKILL_GAIN[0]), "maximum": int(SKILL_GAIN[1]) if short else WIDE}
    if short:
        return {**properties, "skill": {"type": "string", "enum": [*sorted(skills), NO_SKILL]}, "gain": gain}
    name = {"type": "string", "maxLength": MAX_SKILL_NAME_CHARS}
    items = closed({"name": name, "gain": gain})
    return {**properties, "skills": {"type": "array", "maxItems": MAX_SKILLS_PER_ACTIVITY, "items": items}}


def proposed_changes(value: Mapping[str, Any]) -> dict[str, Any]:
    """The changes of an answer in the form that `sim.core.limits` reads, from either form of skills."""
    skill, gain = value.get("skill", NO_SKILL), value.get("gain")
    skills = value.get("skills", [] if gain is None or skill == NO_SKILL else [{"name": skill, "gain": gain}])
    return {**value, "skills": skills}


def chars_for(desk: Desk, *, full: int, short: int, length: Length = "short") -> int:
    """Longest text of an answer's field: by profile and setting, and so that the answer's tokens have room for it."""
    answers = desk.settings.answers
    most = short if desk.settings.prompts.profile == "short" else full
    return min(most, answers.text_chars, _CHARS_PER_TOKEN * getattr(answers, length))


def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object schema in which all properties are required and no other is allowed."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def limit_values(kind: ActivityKind) -> dict[str, Any]:
    """The limits of the table as a prompt prints them."""
    limits = LIMITS[kind]
    ranges = {name: getattr(limits, name) for name in QUANTITIES}
    return {
        "ranges": [{"name": name, "low": low, "high": high} for name, (low, high) in ranges.items() if low != high],
        "max_gain": int(SKILL_GAIN[1]),
        "max_skills": MAX_SKILLS_PER_ACTIVITY,
    }


def subject(desk: Desk, overlay: Overlay, name: str) -> dict[str, Any]:
    """The person whom a question to the environment is about: what bears on how an activity goes for it."""
    state = overlay.state(name)
    position = state.position
    best = sorted(state.skills, key=lambda skill: (-state.skills[skill], skill))[:8]
    return {
        "name": name,
        "age": desk.clock.age(state.profile.birthday, overlay.unit.year, overlay.unit.week, max(1, overlay.unit.index)),
        "position": position.key if position else "",
        "vitality": round(state.vitality),
        "mood": round(state.mood),
        "skill_levels": [f"{skill} {round(state.skills[skill])}" for skill in best],
        "motivation": state.profile.motivation,
    }
