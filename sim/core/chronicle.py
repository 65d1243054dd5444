"""What a life leaves behind for analyses beside its yearly measures: weeks, profiles, and who judged whom how.

All of it is read from finished units, so an unfinished life gives what it has.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from sim.core.agent import Value, WeekSnapshot
from sim.core.facts import UnitFacts, WeekEnded
from sim.core.keys import UnitKey

KIND_OF_DAY = {"joint": "joint", "encounter": "encounter", "public_act": "public", "solo": "solo"}
"""Stages of the days and what they are counted as; a public event's second half belongs to its first."""


class AgentWeek(Value, frozen=True, kw_only=True):
    """One agent's week: its numbers at the end, and how many of its days were spent how."""

    year: int
    week: int
    agent: str
    vitality: float
    mood: float
    material: float
    social: float
    esteem: float
    deposit: int
    total_skills: float
    joint: int
    public: int
    encounter: int
    solo: int


class ProfileYear(Value, frozen=True, kw_only=True):
    """Who an agent is after a year's end; year 0 is the founding. Unknown qualities are absent."""

    year: int
    agent: str
    age: int | None
    position: str
    """`organization/role` from now on; "" is unemployed."""
    deposit: int
    traits: Mapping[str, int]
    talents: Mapping[str, int]


class Rating(Value, frozen=True, kw_only=True):
    """What one agent thinks of another at a year's end, 0 to 100; None is missing."""

    year: int
    rater: str
    rated: str
    affection: float | None
    respect: float | None


class Chronicle(Value, frozen=True, kw_only=True):
    """The rows of one life, each kind in the order of time and name."""

    weeks: tuple[AgentWeek, ...]
    profiles: tuple[ProfileYear, ...]
    ratings: tuple[Rating, ...]


def chronicle(units: Iterable[UnitFacts]) -> Chronicle:
    """The rows of one life from its finished units, in any order."""
    days: dict[tuple[int, int, str], dict[str, int]] = {}
    snapshots: dict[tuple[int, int, str], WeekSnapshot] = {}
    judged: dict[UnitKey, Mapping[str, Any]] = {}
    qualities: dict[tuple[int, str], Mapping[str, Any]] = {}
    cards: dict[int, Mapping[str, Any]] = {}
    for facts in units:
        unit = facts.unit
        if unit.stage in KIND_OF_DAY:
            _count_day(days, facts)
        elif unit.stage == "judging":
            judged[unit] = facts.outputs
        elif unit.stage in ("birth", "profile_update"):
            qualities[unit.year, unit.who] = facts.outputs
        elif unit.stage == "directory":
            cards[unit.year] = facts.outputs["cards"]
        elif unit.stage == "cleanup":
            for fact in facts.by_agent.get(unit.who, ()):
                if isinstance(fact, WeekEnded):
                    snapshots[unit.year, unit.week, unit.who] = fact.snapshot
    return Chronicle(
        weeks=tuple(_week(key, snapshots[key], days.get(key, {})) for key in sorted(snapshots)),
        profiles=tuple(
            _profile(unit, judged[unit], qualities.get((unit.year, unit.who), {}), cards.get(unit.year, {}))
            for unit in sorted(judged)
        ),
        ratings=tuple(rating for unit in sorted(judged) for rating in _ratings(unit, judged[unit]["scores"])),
    )


def _count_day(days: dict[tuple[int, int, str], dict[str, int]], facts: UnitFacts) -> None:
    """One day of each of the unit's agents."""
    unit, kind = facts.unit, KIND_OF_DAY[facts.unit.stage]
    for name in sorted(facts.by_agent):
        of_week = days.setdefault((unit.year, unit.week, name), {})
        of_week[kind] = of_week.get(kind, 0) + 1


def _week(key: tuple[int, int, str], snapshot: WeekSnapshot, days: Mapping[str, int]) -> AgentWeek:
    year, week, agent = key
    return AgentWeek(
        year=year,
        week=week,
        agent=agent,
        vitality=snapshot.vitality,
        mood=snapshot.mood,
        material=snapshot.material,
        social=snapshot.social,
        esteem=snapshot.esteem,
        deposit=snapshot.deposit,
        total_skills=snapshot.total_skills,
        joint=days.get("joint", 0),
        public=days.get("public", 0),
        encounter=days.get("encounter", 0),
        solo=days.get("solo", 0),
    )


def _profile(
    unit: UnitKey, judging: Mapping[str, Any], qualities: Mapping[str, Any], cards: Mapping[str, Any]
) -> ProfileYear:
    card = cards.get(unit.who, {})
    return ProfileYear(
        year=unit.year,
        agent=unit.who,
        age=card.get("age"),
        position=card.get("position", ""),
        deposit=judging["deposit_end"],
        traits=qualities.get("traits", {}),
        talents=qualities.get("talents", {}),
    )


def _ratings(unit: UnitKey, scores: Mapping[str, Mapping[str, float | None]]) -> list[Rating]:
    """A judging's scores, by the name of who was scored."""
    return [
        Rating(
            year=unit.year,
            rater=unit.who,
            rated=rated,
            affection=scores[rated].get("affection"),
            respect=scores[rated].get("respect"),
        )
        for rated in sorted(scores)
    ]
