"""Which positions a world has: at its founding and as it grows (SPEC section 6, Positions).

Whatever the environment proposes is corrected here. Where limits contradict, holders keep their places first, then the
total of places counts, then the number of positions, then the share that one position may hold.
"""

import heapq
import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from sim.core.agent import Position, Requirements, Value
from sim.core.keys import normal_form
from sim.core.vacancies import STAY_CURRENT, age_fits, skill_level

SMALL_CAST = 30
RISE = 50
"""A new position asks for about this much more than the present best can do."""
RISE_MARGIN = 10
NEW_PLACES = 2
SKILLS_LISTED = 3
GAIN_PER_WEEK = (1, 5)
NAME_CHARS = 60
OLDEST = 120
_FOLLOWERS = ("II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII")


class Shape(Value, frozen=True, kw_only=True):
    """How many positions and places a world of this many agents has."""

    min_positions: int
    max_positions: int
    min_places: int
    max_places: int
    max_per_work_position: int


def shape_for(n_agents: int) -> Shape:
    """C agents: C..1.5C places, at most ⌊C/3⌋ in one work position, 10..⌊C/3⌋ positions.

    Small casts: max(2, min(10, C)) positions are ensured; a world's own further ones stay as far as places go.
    """
    per_position = max(1, n_agents // 3)
    fewest = max(2, min(10, n_agents))
    places = max(fewest, 3 * n_agents // 2)
    return Shape(
        min_positions=fewest,
        max_positions=places if n_agents < SMALL_CAST else per_position,
        min_places=n_agents,
        max_places=places,
        max_per_work_position=per_position,
    )


def positions_wanted(existing: Sequence[Position], holders: Mapping[str, int], n_agents: int) -> int:
    """How many positions the environment should add at the founding; 0 where the world's own already suffice."""
    shape = shape_for(n_agents)
    kept = _keep(existing, holders, shape)
    most = sum(_bounds(position, holders, shape)[1] for position in kept)
    places = math.ceil(max(0, shape.min_places - most) / shape.max_per_work_position)
    room = _room(kept, holders, shape)
    return max(0, min(max(shape.min_positions - len(kept), places), room))


def found_positions(
    existing: Sequence[Position],
    proposed: Sequence[Position],
    holders: Mapping[str, int],
    *,
    ages: Sequence[int],
    max_income: int,
) -> tuple[Position, ...]:
    """The world's positions at its founding: its own first, proposals where some are missing, sizes corrected.

    `holders` counts who holds each key, `ages` are those of all agents; held positions are never removed and never
    smaller than their holders. Age limits that nobody here meets are left out of proposals.
    """
    n_agents = len(ages)
    shape = shape_for(n_agents)
    kept = _keep(existing, holders, shape)
    wanted = positions_wanted(existing, holders, n_agents)
    drafts = [_for_somebody(position, ages) for position in _new_ones(proposed, kept, max_income)]
    added = _filled(drafts, kept, wanted)
    return _sized([*kept, *added], holders, shape)


def sized_positions(positions: Sequence[Position], holders: Mapping[str, int], n_agents: int) -> tuple[Position, ...]:
    """These positions with the capacities that a world of so many agents gives them."""
    return _sized(positions, holders, shape_for(n_agents))


def further_positions(present: Sequence[Position], n: int) -> tuple[Position, ...]:
    """n positions after the model of the present ones, in turn, each with one place and a name of its own."""
    return tuple(_filled((), present, n))


def number_of_new(initial_count: int) -> int:
    """`max(2, ⌊P/10⌋)` positions are added each year; P is the count at the founding."""
    return max(2, initial_count // 10)


def best_levels(skills_of_all: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """The highest level of each skill in the world, in one spelling (the first by order of letters)."""
    best: dict[str, tuple[str, float]] = {}
    for skills in skills_of_all:
        for name in sorted(skills):
            spelling, level = best.get(normal_form(name), (name, 0.0))
            best[normal_form(name)] = (min(spelling, name), max(level, float(skills[name])))
    return dict(sorted(best.values()))


def grow_positions(
    present: Sequence[Position],
    proposed: Sequence[Position],
    best: Mapping[str, float],
    *,
    named: Collection[str],
    initial_count: int,
    base_income: int,
    max_income: int,
) -> tuple[Position, ...]:
    """A year's new positions: requirements about 50 above the best, income rising with them, one or two places.

    Proposals first; what is missing follows the best paid of the present ones. Nothing but skill is asked for. A world
    without any skill gets none. `named` are the skills of `best` that may be asked for where a draft names none.
    """
    wanted = number_of_new(initial_count)
    models = sorted(present, key=lambda position: (-position.weekly_income, position.key))
    drafts = _filled(_new_ones(proposed, present, max_income), models, wanted)
    open_ones = {name: best[name] for name in sorted(best) if name in named}
    defaults = [_something_to_ask(draft, present, open_ones) for draft in drafts]
    grown = (
        _demanding(draft, asked, best, base_income, max_income) for draft, asked in zip(drafts, defaults, strict=True)
    )
    return tuple(position for position in grown if position is not None)


def tidy(position: Position, *, max_income: int) -> Position:
    """A proposed position with clean names and every number inside its range."""
    low, high = position.requirements.min_age, position.requirements.max_age
    if (low is not None and not 0 <= low <= OLDEST) or (low is not None and high is not None and low > high):
        low = None
    if high is not None and not 0 < high <= OLDEST:
        high = None
    required = {name: level for name, level in _listed(position.requirements.skills).items() if level > 0}
    gain = {
        name: min(GAIN_PER_WEEK[1], max(GAIN_PER_WEEK[0], n)) for name, n in _listed(position.weekly_skill_gain).items()
    }
    return msgspec.structs.replace(
        position,
        organization=_clean(position.organization),
        role=_clean(position.role),
        weekly_income=min(max_income, max(0, position.weekly_income)),
        weekly_skill_gain=gain,
        capacity=max(1, position.capacity),
        requirements=Requirements(skills=required, min_age=low, max_age=high),
    )


def _for_somebody(position: Position, ages: Sequence[int]) -> Position:
    """The position without age limits if these admit nobody."""
    if any(age_fits(position, age) for age in ages):
        return position
    return msgspec.structs.replace(position, requirements=Requirements(skills=position.requirements.skills))


def _clean(name: str) -> str:
    return " ".join(name.replace("/", "-").split())[:NAME_CHARS].strip()


def _listed(levels: Mapping[str, int]) -> dict[str, int]:
    """The first few skills with a usable name, as given, each name once."""
    named = {_clean(name): level for name, level in levels.items() if _clean(name)}
    return dict(list(named.items())[:SKILLS_LISTED])


def _unique(positions: Sequence[Position], taken: Iterable[str] = ()) -> list[Position]:
    seen = {normal_form(key) for key in (*taken, STAY_CURRENT)}
    result: list[Position] = []
    for position in positions:
        form = normal_form(position.key)
        if form not in seen:
            seen.add(form)
            result.append(position)
    return result


def _new_ones(proposed: Sequence[Position], present: Sequence[Position], max_income: int) -> list[Position]:
    """Proposals in order, tidied, with both names, none of them there already."""
    tidied = (tidy(position, max_income=max_income) for position in proposed)
    named = [position for position in tidied if position.organization and position.role]
    return _unique(named, (position.key for position in present))


def _bounds(position: Position, holders: Mapping[str, int], shape: Shape) -> tuple[int, int]:
    """Fewest and most places of one position."""
    fewest = max(1, holders.get(position.key, 0))
    most = shape.max_per_work_position if position.type == "work" else shape.max_places
    return fewest, max(fewest, most)


def _room(kept: Sequence[Position], holders: Mapping[str, int], shape: Shape) -> int:
    """How many positions of one place still fit."""
    used = sum(_bounds(position, holders, shape)[0] for position in kept)
    return max(0, min(shape.max_positions - len(kept), shape.max_places - used))


def _keep(existing: Sequence[Position], holders: Mapping[str, int], shape: Shape) -> list[Position]:
    """The world's own positions that stay: all held ones, and unheld ones in their order as far as they fit."""
    unique = _unique(existing)
    held = [position for position in unique if holders.get(position.key, 0) > 0]
    unheld = [position for position in unique if holders.get(position.key, 0) == 0][: _room(held, holders, shape)]
    names = {position.key for position in (*held, *unheld)}
    return [position for position in unique if position.key in names]


def _filled(proposals: Sequence[Position], present: Sequence[Position], wanted: int) -> list[Position]:
    """The first proposals, and where they do not suffice followers of the present ones in turn: the last resort."""
    result = list(proposals[:wanted])
    models = list(present) or list(result)
    while len(result) < wanted and models:
        result.append(_follower(models[len(result) % len(models)], [*present, *result]))
    return result


def _follower(model: Position, taken: Sequence[Position]) -> Position:
    """A further position of the same kind with one place, under the next free number."""
    forms = {normal_form(position.key) for position in taken}
    roles = (f"{model.role} {_numeral(number)}" for number in range(len(forms) + 1))
    role = next(role for role in roles if normal_form(f"{model.organization}/{role}") not in forms)
    return msgspec.structs.replace(model, role=role, capacity=1)


def _numeral(number: int) -> str:
    return _FOLLOWERS[number] if number < len(_FOLLOWERS) else str(number + 2)


def _sized(positions: Sequence[Position], holders: Mapping[str, int], shape: Shape) -> tuple[Position, ...]:
    """Capacities inside each position's bounds, their total inside the world's as far as the bounds allow."""
    bounds = {position.key: _bounds(position, holders, shape) for position in positions}
    places = {p.key: min(bounds[p.key][1], max(bounds[p.key][0], p.capacity)) for p in positions}
    total = sum(places.values())
    largest = [(bounds[key][0] - places[key], key) for key in sorted(places) if places[key] > bounds[key][0]]
    heapq.heapify(largest)
    while total > shape.max_places and largest:
        spare, key = heapq.heappop(largest)
        places[key] -= 1
        total -= 1
        if spare + 1 < 0:
            heapq.heappush(largest, (spare + 1, key))
    smallest = [(places[key], key) for key in sorted(places) if places[key] < bounds[key][1]]
    heapq.heapify(smallest)
    while total < shape.min_places and smallest:
        count, key = heapq.heappop(smallest)
        places[key] += 1
        total += 1
        if count + 1 < bounds[key][1]:
            heapq.heappush(smallest, (count + 1, key))
    return tuple(msgspec.structs.replace(position, capacity=places[position.key]) for position in positions)


def _demanding(
    draft: Position, default: Mapping[str, int], best: Mapping[str, float], base_income: int, max_income: int
) -> Position | None:
    """The draft with requirements, income and places of a new position; None if no skill is known to ask for."""
    asked = dict(draft.requirements.skills) or default
    if not asked:
        return None
    spelling = {normal_form(name): name for name in best}
    required: dict[str, int] = {}
    for name, level in asked.items():
        goal = math.floor(skill_level(best, name)) + RISE
        required[spelling.get(normal_form(name), name)] = min(goal + RISE_MARGIN, max(goal - RISE_MARGIN, level))
    return msgspec.structs.replace(
        draft,
        weekly_income=min(max_income, base_income + max(required.values())),
        capacity=min(NEW_PLACES, max(1, draft.capacity)),
        requirements=Requirements(skills=required),
    )


def _something_to_ask(draft: Position, present: Sequence[Position], best: Mapping[str, float]) -> dict[str, int]:
    """A skill for a position that names none: what it trains, else the world's best known, else what others train."""
    trained = sorted(draft.weekly_skill_gain, key=lambda name: (-draft.weekly_skill_gain[name], name))
    known = sorted(best, key=lambda name: (-best[name], name))
    elsewhere = sorted({name for position in present for name in position.weekly_skill_gain})
    return dict.fromkeys((*trained, *known, *elsewhere)[:1], 0)
