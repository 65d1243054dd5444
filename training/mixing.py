"""Which rows are trained on: role-play and general rows in the wanted proportion of output tokens (SPEC section 9).

The larger half is thinned until the halves fit; which rows stay is drawn by seed, then fitted as closely as rows allow.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TOLERANCE = 0.01
_POOL = 192
"""Rows among which the last gap is filled exactly; all others are drawn at random."""
_SLACK = 4
"""The exact search begins this many longest rows before the goal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One training row as mixing sees it: a name, and its output tokens (at least 1)."""

    id: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """The chosen rows in training order, and how well the proportion was met."""

    rows: tuple[str, ...]
    role_play: tuple[str, ...]
    general: tuple[str, ...]
    role_play_tokens: int
    general_tokens: int
    allowed_gap: float
    """Tokens by which the general half may miss its goal: 1 % of it, or half the shortest row."""
    gap: float
    """Tokens by which it does."""

    @property
    def within(self) -> bool:
        """Whether the proportion is met as closely as required."""
        return self.gap <= self.allowed_gap


def general_tokens_wanted(role_play_tokens: int, general_share: float) -> float:
    """Output tokens of general rows that go with so many of role-play rows."""
    return role_play_tokens * general_share / (1.0 - general_share)


def mix(role_play: Sequence[Row], general: Sequence[Row], *, general_share: float, seed: int) -> Mixture:
    """Rows so that general : role-play output tokens = share : 1 − share, shuffled by the seed.

    All role-play rows stay if there is enough general output to go with them; otherwise they are thinned to match it.
    """
    rng = random.Random(seed)
    kept, chosen = list(role_play), list[Row]()
    goal = general_tokens_wanted(_tokens(role_play), general_share)
    if goal <= _tokens(general):
        chosen = choose(general, goal, rng)
    else:
        chosen = list(general)
        kept = choose(role_play, _tokens(general) * (1.0 - general_share) / general_share, rng)
    goal = general_tokens_wanted(_tokens(kept), general_share)
    shortest = min((row.tokens for row in (*role_play, *general)), default=0)
    ids = [row.id for row in (*kept, *chosen)]
    rng.shuffle(ids)
    return Mixture(
        rows=tuple(ids),
        role_play=tuple(row.id for row in kept),
        general=tuple(row.id for row in chosen),
        role_play_tokens=_tokens(kept),
        general_tokens=_tokens(chosen),
        allowed_gap=max(TOLERANCE * goal, shortest / 2),
        gap=abs(_tokens(chosen) - goal),
    )


def choose(rows: Sequence[Row], goal: float, rng: random.Random) -> list[Row]:
    """Rows whose tokens come as near to the goal as they can: drawn at random, the last few fitted exactly."""
    if any(row.tokens < 1 for row in rows):
        raise ValueError("rows: every row needs at least one output token; drop empty answers before mixing")
    order = list(range(len(rows)))
    rng.shuffle(order)
    longest = max((row.tokens for row in rows), default=0)
    taken: list[int] = []
    total = 0
    while len(order) > _POOL and total + (_SLACK + 1) * longest <= goal:
        index = order.pop()
        taken.append(index)
        total += rows[index].tokens
    pool = order[-_POOL:]
    fitted = nearest_subset([rows[index].tokens for index in pool], goal - total)
    return [rows[index] for index in sorted([*taken, *(pool[place] for place in fitted)])]


def nearest_subset(tokens: Sequence[int], goal: float) -> list[int]:
    """Places of the numbers whose sum is nearest to the goal; of two sums equally near, the smaller."""
    bound = int(max(0.0, goal)) + max(tokens, default=0)
    mask = (1 << (bound + 1)) - 1
    reachable = [1]
    for number in tokens:
        reachable.append((reachable[-1] | reachable[-1] << number) & mask)
    total = _nearest_bit(reachable[-1], goal, bound)
    places: list[int] = []
    for place in range(len(tokens) - 1, -1, -1):
        if not reachable[place] >> total & 1:
            places.append(place)
            total -= tokens[place]
    return places[::-1]


def _nearest_bit(bits: int, goal: float, bound: int) -> int:
    """The set bit nearest to the goal, the lower of two."""
    below = min(bound, max(0, int(goal)))
    low = (bits & ((1 << (below + 1)) - 1)).bit_length() - 1
    above = bits >> (below + 1)
    if not above:
        return low
    high = below + 1 + (above & -above).bit_length() - 1
    return low if goal - low <= high - goal else high


def draw_evenly(rows_by_duty: Mapping[str, Sequence[Row]], goal: float, *, seed: int) -> tuple[Row, ...]:
    """Environment rows up to about `goal` tokens: duties take turns, so that frequent ones give no more than rare ones.

    Within a duty rows are drawn by seed; the last row drawn is left out where that comes nearer to the goal.
    """
    rng = random.Random(seed)
    queues = [rng.sample(list(rows_by_duty[duty]), len(rows_by_duty[duty])) for duty in sorted(rows_by_duty)]
    drawn: list[Row] = []
    total = 0
    while any(queues):
        for queue in queues:
            if queue:
                row = queue.pop()
                if total + row.tokens - goal > goal - total:
                    return tuple(drawn)
                drawn.append(row)
                total += row.tokens
    return tuple(drawn)


def _tokens(rows: Sequence[Row]) -> int:
    return sum(row.tokens for row in rows)
