"""How much one activity may change an agent, whatever a model proposed (SPEC section 4, table).

Anything that is no finite number counts as no change; everything else is clamped to the range of the activity's kind.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, cast

from sim.core.facts import Changed
from sim.core.keys import normal_form

ActivityKind = Literal["solo", "rest", "joint", "encounter", "public"]

MAX_SKILLS_PER_ACTIVITY = 3
"""Skills that one activity may advance."""
MAX_SKILL_NAMES = 40
"""Skills an agent may have; a new name beyond them is ignored, so that prompts stay bounded."""
MAX_SKILL_NAME_CHARS = 40
"""Longest name of a skill."""
SKILL_GAIN = (0.0, 3.0)
"""Advance of one skill by one activity."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Smallest and largest change of each quantity by one activity of a kind."""

    vitality: tuple[float, float]
    mood: tuple[float, float]
    social: tuple[float, float]
    esteem: tuple[float, float]
    material: tuple[float, float]
    money: tuple[int, int]


_TOGETHER = Limits(vitality=(-5, 5), mood=(-5, 5), social=(-5, 5), esteem=(-3, 3), material=(0, 0), money=(0, 0))
_SOLO = Limits(vitality=(-5, 5), mood=(-5, 5), social=(0, 0), esteem=(-1, 1), material=(0, 10), money=(0, 200))
LIMITS: Mapping[ActivityKind, Limits] = {
    "solo": _SOLO,
    "rest": Limits(vitality=(5, 10), mood=(-5, 5), social=(0, 0), esteem=(-1, 1), material=(0, 10), money=(0, 0)),
    "joint": _TOGETHER,
    "encounter": _TOGETHER,
    "public": Limits(vitality=(-5, 5), mood=(-5, 5), social=(-3, 3), esteem=(-2, 2), material=(0, 0), money=(0, 0)),
}


def number_of(value: object) -> float | None:
    """A finite number as a float; None for anything else, truth values and number words included."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and abs(value) > 10**9:
        return 1e9 if value > 0 else -1e9
    number = float(value)
    return number if math.isfinite(number) else None


def clamped(value: object, bounds: tuple[float, float]) -> float:
    """A proposed change inside its bounds; what is no number is no change (or the bound nearest to none)."""
    low, high = bounds
    number = number_of(value)
    return round(min(high, max(low, 0.0 if number is None else number)), 6)


def skill_name(text: object, known: Iterable[str]) -> str | None:
    """The known skill that a text names, else the text as a new skill's name, else None if it can't be one."""
    if not isinstance(text, str):
        return None
    name = " ".join(text.split())
    if not name or len(name) > MAX_SKILL_NAME_CHARS or not name.isprintable() or any(c in name for c in '<>{}[]"\\'):
        return None
    spelling = {normal_form(other): other for other in sorted(known, reverse=True)}
    return spelling.get(normal_form(name), name)


def skill_gains(proposed: object, skills: Mapping[str, float]) -> dict[str, float]:
    """Advances of at most three skills, each 0..+3; `proposed` is a list of `{"name", "gain"}` or a mapping.

    A skill that is named twice counts once, by its first mention; new names are allowed while there is room.
    """
    gains: dict[str, float] = {}
    room = MAX_SKILL_NAMES - len(skills)
    for text, value in _pairs(proposed):
        gain = clamped(value, SKILL_GAIN)
        name = skill_name(text, [*skills, *gains])
        if name is None or name in gains or gain <= 0 or len(gains) == MAX_SKILLS_PER_ACTIVITY:
            continue
        if name not in skills:
            if room <= 0:
                continue
            room -= 1
        gains[name] = gain
    return gains


def _pairs(proposed: object) -> list[tuple[object, object]]:
    """Name and value of every proposed advance, in the order given; nothing from anything malformed."""
    if isinstance(proposed, Mapping):
        return list(cast(Mapping[object, object], proposed).items())
    if not isinstance(proposed, list | tuple):
        return []
    items = [cast(Mapping[object, object], item) for item in cast(list[object], proposed) if isinstance(item, Mapping)]
    return [(item.get("name"), item.get("gain")) for item in items]


def limited(
    kind: ActivityKind,
    proposed: Mapping[str, object],
    skills: Mapping[str, float],
    *,
    reason: str,
    money: int = 0,
) -> Changed:
    """The change that an activity really makes: a model's proposal inside the table's limits.

    `money` (earned by work) is computed by the rules of spending, and material changes by spending only.
    """
    limits = LIMITS[kind]
    return Changed(
        reason=reason,
        vitality=clamped(proposed.get("vitality"), limits.vitality),
        mood=clamped(proposed.get("mood"), limits.mood),
        social=clamped(proposed.get("social"), limits.social),
        esteem=clamped(proposed.get("esteem"), limits.esteem),
        skills=skill_gains(proposed.get("skills"), skills),
        money=int(clamped(money, limits.money)),
    )
