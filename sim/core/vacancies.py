"""Who may hold which position, and the rounds of application (SPEC section 6, Positions and Application).

A holder occupies its place until it leaves: who is over age leaves before round 1; a place that somebody leaves for
another is free from the next round on, so the order inside a round never matters. Who is not matched keeps its place.
"""

from collections.abc import Mapping, Sequence

from sim.core.agent import Position, Value
from sim.core.keys import normal_form

STAY_CURRENT = "STAY_CURRENT"


class Applicant(Value, frozen=True, kw_only=True):
    """One agent at the year's end: ranked wishes, and what they are decided by."""

    name: str
    wishes: tuple[str, ...]
    """Position keys or STAY_CURRENT, the dearest first."""
    age: int
    skills: Mapping[str, float]
    position: str | None = None
    max_age: int | None = None
    """Age limit of the position held."""

    def over_age(self) -> bool:
        """Whether the position held is lost to age."""
        return self.position is not None and self.max_age is not None and self.age > self.max_age


class Matching(Value, frozen=True, kw_only=True):
    """Where the matching stands: who has been granted what (staying included), and who holds what."""

    granted: Mapping[str, str]
    holders: Mapping[str, str | None]


class Round(Value, frozen=True, kw_only=True):
    """One round before anybody is ranked: who stays, who may compete for what, and how many places there are."""

    staying: tuple[str, ...]
    candidates: Mapping[str, tuple[str, ...]]
    """Position key → those who wish for it now and meet its requirements, by name."""
    free: Mapping[str, int]
    """Position key → free places at the start of the round, for every key of `candidates`; never 0."""


def skill_level(skills: Mapping[str, float], skill: str) -> float:
    """The level of a skill, whatever its spelling's case and blanks; 0 if untrained."""
    wanted = normal_form(skill)
    return max((float(skills[name]) for name in sorted(skills) if normal_form(name) == wanted), default=0.0)


def missing_skills(position: Position, skills: Mapping[str, float]) -> dict[str, int]:
    """Required skill → required level, for those that are below it."""
    required = position.requirements.skills
    return {name: required[name] for name in sorted(required) if skill_level(skills, name) < required[name]}


def age_fits(position: Position, age: int) -> bool:
    """Whether the age is within the position's limits."""
    low, high = position.requirements.min_age, position.requirements.max_age
    return (low is None or age >= low) and (high is None or age <= high)


def meets(position: Position, *, age: int, skills: Mapping[str, float]) -> bool:
    """Whether somebody may apply for a position: by age and by every required skill."""
    return age_fits(position, age) and not missing_skills(position, skills)


def fitness(position: Position, skills: Mapping[str, float]) -> float:
    """How well skills suit a position: the sum of levels in all skills that it requires or trains."""
    wanted = {normal_form(name) for name in (*position.requirements.skills, *position.weekly_skill_gain)}
    return sum(float(skills[name]) for name in sorted(skills) if normal_form(name) in wanted)


def begin(applicants: Sequence[Applicant]) -> Matching:
    """Before round 1: everybody holds what it held, except those over their position's age limit."""
    ordered = sorted(applicants, key=lambda applicant: applicant.name)
    return Matching(granted={}, holders={a.name: None if a.over_age() else a.position for a in ordered})


def open_round(
    number: int, applicants: Sequence[Applicant], positions: Sequence[Position], matching: Matching
) -> Round:
    """Round `number` (from 1): the unmatched agents' wishes of that rank, against requirements and free places."""
    by_key = {position.key: position for position in positions}
    free = free_places(positions, matching)
    staying: list[str] = []
    candidates: dict[str, list[str]] = {}
    for applicant in sorted(applicants, key=lambda a: a.name):
        if applicant.name in matching.granted or len(applicant.wishes) < number:
            continue
        wish = applicant.wishes[number - 1]
        if wish == STAY_CURRENT or wish == applicant.position:
            if not applicant.over_age():
                staying.append(applicant.name)
        elif free.get(wish, 0) > 0 and meets(by_key[wish], age=applicant.age, skills=applicant.skills):
            candidates.setdefault(wish, []).append(applicant.name)
    return Round(
        staying=tuple(staying),
        candidates={key: tuple(candidates[key]) for key in sorted(candidates)},
        free={key: free[key] for key in sorted(candidates)},
    )


def free_places(positions: Sequence[Position], matching: Matching) -> dict[str, int]:
    """Position key → places that nobody holds."""
    held: dict[str, int] = {}
    for name in sorted(matching.holders):
        key = matching.holders[name]
        if key is not None:
            held[key] = held.get(key, 0) + 1
    return {position.key: max(0, position.capacity - held.get(position.key, 0)) for position in positions}


def complete_ranking(
    position: Position, ranked: Sequence[str], candidates: Sequence[str], skills: Mapping[str, Mapping[str, float]]
) -> tuple[str, ...]:
    """All candidates, best first: those that were ranked in their order, then the rest by fitness and name."""
    members = frozenset(candidates)
    first = [name for name in dict.fromkeys(ranked) if name in members]
    rest = [name for name in candidates if name not in first]
    return (*first, *sorted(rest, key=lambda name: (-fitness(position, skills.get(name, {})), name)))


def close_round(opened: Round, rankings: Mapping[str, Sequence[str]], matching: Matching) -> Matching:
    """Grant the round's free places along the rankings, counting them down, and let the staying stay.

    `rankings` holds all candidates of every position that has any (`complete_ranking`).
    """
    granted, holders = dict(matching.granted), dict(matching.holders)
    for name in opened.staying:
        granted[name] = holders[name] or STAY_CURRENT
    for key in sorted(opened.candidates):
        places = opened.free[key]
        for name in rankings[key]:
            if places == 0:
                break
            if name in opened.candidates[key] and name not in granted:
                granted[name] = holders[name] = key
                places -= 1
    return Matching(
        granted={name: granted[name] for name in sorted(granted)},
        holders={name: holders[name] for name in sorted(holders)},
    )


def new_colleagues(
    before: Mapping[str, str | None], after: Mapping[str, str | None], *, at_most: int
) -> dict[str, tuple[str, ...]]:
    """Who gets to know whom: each newcomer and those of its organisation, the same position first, then by name.

    It is mutual, and nobody gets more than `at_most` names.
    """
    pairs: dict[str, list[str]] = {name: [] for name in sorted(after)}
    for name in pairs:
        key = after[name]
        if key is None or key == before.get(name):
            continue
        others = [other for other in pairs if other != name and _organisation(after[other]) == _organisation(key)]
        for other in sorted(others, key=lambda other: (after[other] != key, other)):
            if other not in pairs[name] and len(pairs[name]) < at_most and len(pairs[other]) < at_most:
                pairs[name].append(other)
                pairs[other].append(name)
    return {name: tuple(sorted(others)) for name, others in pairs.items()}


def _organisation(key: str | None) -> str | None:
    """The organisation of a position key."""
    return None if key is None else key.split("/", 1)[0]
