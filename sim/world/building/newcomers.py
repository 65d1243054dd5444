"""A new character with its ties, and a world to which it has been added: positions, places left, who knows whom."""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from sim.core.agent import Position, Value
from sim.core.clock import Clock, Slot, parse_slot
from sim.core.position_supply import further_positions, shape_for, sized_positions
from sim.core.vacancies import age_fits
from sim.settings import EconomySettings
from sim.world.schema import DEPOSIT_WEEKS, Character, World

SHOWN_EDGES = 6
ADULT, OLDEST_NEWCOMER = 18, 65
"""Ages in a world that has no people yet and no limits for its positions."""
FEW = 10
"""Up to so many characters the whole matrix of relations is shown, above only some sampled edges."""


class Draft(Value, frozen=True, kw_only=True):
    """A new character, and what those whom it knows know of it."""

    character: Character
    known_by: dict[str, str] = msgspec.field(default_factory=dict)
    """Full names of all whom the character knows, with their memory of it."""
    source: str = "sampler"
    """Who made it: `model` or `sampler`."""


def with_drafts(world: World, drafts: Sequence[Draft]) -> World:
    """The world with new characters at the end of its cast; those who know them remember them last."""
    cast = {character.name: character for character in world.characters}
    added: dict[str, dict[str, str]] = {}
    for draft in drafts:
        cast[draft.character.name] = draft.character
        for other, text in draft.known_by.items():
            added.setdefault(other, {})[draft.character.name] = text
    characters = tuple(
        msgspec.structs.replace(character, knows={**character.knows, **added[name]}) if name in added else character
        for name, character in cast.items()
    )
    return msgspec.structs.replace(world, characters=characters)


def holders_of(characters: Iterable[Character]) -> Counter[str]:
    """How many hold each position."""
    return Counter(character.position for character in characters if character.position is not None)


def scaled_positions(world: World, n: int) -> tuple[Position, ...]:
    """The world's positions for n agents (SPEC section 6): capacity n to 1.5 n, at most a third in one that is work.

    Positions that nobody holds stay as far as there are newcomers for them; if the world then has too few, newcomers
    get some of the same kinds. Each position's share of all places stays about the same.
    """
    cast, shape = world.characters, shape_for(n)
    if n == len(cast):
        return world.positions
    holders = holders_of(cast)
    free_hands = n - len(cast)
    unheld = [position for position in world.positions if not holders[position.key]]
    n_held = len(world.positions) - len(unheld)
    room = max(0, min(free_hands, max(shape.max_positions, shape.min_positions) - n_held))
    dropped = {position.key for position in unheld[room:]}
    kept = [position for position in world.positions if position.key not in dropped]
    missing = min(shape.min_positions - len(kept), free_hands - (len(unheld) - len(dropped)))
    kept += further_positions(kept, max(0, missing))
    growth = n / max(1, len(cast))
    grown = [msgspec.structs.replace(position, capacity=max(1, round(position.capacity * growth))) for position in kept]
    return sized_positions(grown, holders, n)


def open_positions(world: World, left: int) -> list[Position]:
    """Positions that the next of `left` newcomers may take: those that nobody holds, once there are just enough hands.

    Before that, all with a free place.
    """
    holders = holders_of(world.characters)
    unheld = [position for position in world.positions if not holders[position.key]]
    if unheld and len(unheld) >= left:
        return unheld
    return [position for position in world.positions if holders[position.key] < position.capacity]


def clock_of(world: World) -> Clock:
    """A clock that tells ages at the start of this world."""
    return Clock(n_year=1, n_week=10, n_day=5, n_contact=1, start_year=world.start_year)


def age_at_start(world: World, character: Character) -> int | None:
    """A character's age on the first day; None where the birthday is no date."""
    born = parse_slot(character.birthday)
    return None if born is None else clock_of(world).age(born, 1, 1)


def birthday_for(world: World, age: int, rng: random.Random) -> str:
    """A birthday of somebody who has this age on the first day."""
    week, day = rng.randint(1, 10), rng.randint(1, 5)
    passed = (week, day) <= (1, 1)
    return str(Slot(year=world.start_year - age - (0 if passed else 1), week=week, day=day))


def ages_for(world: World, position: Position | None) -> tuple[int, int]:
    """Youngest and oldest that a newcomer may be: as those who live here, inside the position's limits."""
    known = [age for character in world.characters if (age := age_at_start(world, character)) is not None]
    low, high = (min(known), max(known)) if known else _ages_wanted(world)
    if position is not None:
        needs = position.requirements
        low, high = max(low, needs.min_age or 0), min(high, needs.max_age or high)
        if low > high:
            low, high = needs.min_age or low, needs.max_age or max(low, needs.min_age or 0)
    return low, max(low, high)


def _ages_wanted(world: World) -> tuple[int, int]:
    """Youngest and oldest that the positions of a world without people ask for."""
    lows = [position.requirements.min_age or ADULT for position in world.positions]
    highs = [position.requirements.max_age or OLDEST_NEWCOMER for position in world.positions]
    return min(lows, default=ADULT), max(highs, default=OLDEST_NEWCOMER)


def suits_age(position: Position | None, age: int) -> bool:
    """Whether the position's limits admit this age."""
    return position is None or age_fits(position, age)


def most_deposit(position: Position | None, extra_weekly_income: int) -> int:
    """Twenty weeks of fixed income."""
    salary = EconomySettings().unemployed_income if position is None else position.weekly_income
    return DEPOSIT_WEEKS * (salary + extra_weekly_income)


def with_required(skills: Mapping[str, int], position: Position | None, most: int = 300) -> dict[str, int]:
    """Skills that suffice for the position: who holds it can do the work."""
    needs = {} if position is None else position.requirements.skills
    raised = {skill: min(most, max(level, skills.get(skill, 0))) for skill, level in needs.items()}
    return {**skills, **raised}


def edges_shown(characters: Sequence[Character], rng: random.Random) -> list[tuple[str, str, str]]:
    """Who knows whom and as what (how the memory begins): all of a small cast, six sampled edges of a larger one."""
    edges = [(person.name, other, text) for person in characters for other, text in person.knows.items()]
    if len(characters) <= FEW or len(edges) <= SHOWN_EDGES:
        return edges
    return [edges[place] for place in sorted(rng.sample(range(len(edges)), SHOWN_EDGES))]
