"""What a year did to a person, as the environment sees it from diaries and records; the yearly limits are kept here.

The appearance, which everybody reads, is asked for apart (appearance.py), from what anybody could see.
Never changed: name, gender, birthday. Position, assets and skills are no part of a profile.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from sim.context.budget import clip_all, fit_lines
from sim.core.agent import TALENTS, TRAITS, AgentState, Profile
from sim.environment.appearance import MOST_CHARS, yearly_appearance
from sim.environment.ask import ask_environment
from sim.environment.forms import closed
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.settings import LimitSettings

PROSE = ("appearance", "details", "conflicts", "motivation", "values", "preferences")
_CHANGES, _SHORT_CHANGES = 8, 3
_TEXTS = 3
_NOTES_SHARE = 0.55


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileChange:
    """What was proposed: additions to traits and talents, and new texts."""

    additions: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)


def changed_profile(profile: Profile, change: ProfileChange, limits: LimitSettings, *, max_chars: int) -> Profile:
    """The profile after a year: numbers move within the yearly limits; blank or overlong texts change nothing."""
    texts = {
        name: text
        for name in PROSE
        if (text := " ".join(change.texts.get(name, "").split()))
        and len(text) <= (MOST_CHARS if name == "appearance" else max_chars)
    }
    return msgspec.structs.replace(
        profile,
        traits=_moved(profile.traits, change.additions, limits.trait_change_per_year),
        talents=_moved(profile.talents, change.additions, limits.talent_change_per_year),
        **texts,
    )


def _moved(values: Mapping[str, int], additions: Mapping[str, int], most: int) -> dict[str, int]:
    """Values with their additions, each at most `most` up or down, inside 0..100."""
    return {
        name: min(100, max(0, value + min(most, max(-most, additions.get(name, 0))))) for name, value in values.items()
    }


async def yearly_change(desk: Desk, overlay: Overlay, name: str) -> Profile:
    """The agent's profile after the year; unchanged where the answer fails."""
    settings, state = desk.settings, overlay.state(name)
    limits, short = settings.limits, settings.prompts.profile == "short"
    prose = _prose(desk, state)
    whole = [] if short else [field for field in PROSE if prose[field] == getattr(state.profile, field)]
    visible = "appearance" in whole
    whole = [field for field in whole if field != "appearance"]

    def parse(value: dict[str, Any]) -> ProfileChange:
        additions = {entry["name"]: entry["by"] for entry in reversed(value["changes"])}
        texts = {entry["field"]: entry["text"] for entry in reversed(value.get("texts", []))}
        return ProfileChange(additions=additions, texts=texts)

    answer = await ask_environment(
        desk,
        overlay,
        step="profile_update",
        duty="profile_update",
        template="environment/profile_update.j2",
        values={
            "name": name,
            "traits": dict(state.profile.traits),
            "talents": dict(state.profile.talents),
            "prose": prose,
            "notes": _notes(desk, state, overlay.unit.year),
            "trait_limit": limits.trait_change_per_year,
            "talent_limit": limits.talent_change_per_year,
            "most_changes": _SHORT_CHANGES if short else _CHANGES,
            "most_texts": _TEXTS if whole else 0,
            "fields": whole,
            "chars": settings.answers.text_chars,
        },
        schema=_form(limits, whole, most=_SHORT_CHANGES if short else _CHANGES, chars=settings.answers.text_chars),
        parse=parse,
        default=ProfileChange(),
        length="long",
        affinity=name,
    )
    change = answer.value
    if visible:
        change = replace(change, texts={**change.texts, "appearance": await yearly_appearance(desk, overlay, name)})
    return changed_profile(state.profile, change, limits, max_chars=settings.answers.text_chars)


def _form(limits: LimitSettings, fields: Sequence[str], *, most: int, chars: int) -> dict[str, Any]:
    """A list of the few traits and talents that moved, and new texts for some of the fields on offer."""
    far = max(limits.trait_change_per_year, limits.talent_change_per_year)
    change = closed(
        {
            "name": {"type": "string", "enum": [*TRAITS, *TALENTS]},
            "by": {"type": "integer", "minimum": -far, "maximum": far},
        }
    )
    changes = {"type": "array", "items": change, "maxItems": most}
    if not fields:
        return closed({"changes": changes})
    text = closed(
        {
            "field": {"type": "string", "enum": list(fields)},
            "text": {"type": "string", "minLength": 1, "maxLength": chars},
        }
    )
    return closed({"changes": changes, "texts": {"type": "array", "items": text, "maxItems": _TEXTS}})


def _prose(desk: Desk, state: AgentState) -> dict[str, str]:
    """The profile's texts within its budget. One that had to be cut is not to be rewritten: the rest would be lost."""
    budget = desk.settings.budgets.profile
    texts = clip_all([getattr(state.profile, name) for name in PROSE], budget, desk.count)
    return dict(zip(PROSE, texts, strict=True))


def _notes(desk: Desk, state: AgentState, year: int) -> list[str]:
    """What the year's diaries and records say; the newest are kept."""
    notes = [note for note in (*state.diaries, *state.records) if note.year == year]
    lines = [
        desk.render.render("parts/note.j2", {"note": msgspec.structs.asdict(note), "dated": True})
        for note in sorted(notes, key=lambda note: (note.week, note.day))
    ]
    return fit_lines(lines, int(_NOTES_SHARE * desk.settings.budgets.stage), desk.count, keep="last")
