"""How many encounters a day has and who meets whom: two idle agents each, acquaintances before strangers (SPEC 5)."""

import random
from collections.abc import Collection, Mapping, Sequence

Pair = tuple[str, str]
"""Two names in sorted order."""


def n_encounters(n_idle: int, share: int, rng: random.Random) -> int:
    """Encounters of a day: ⌊n_idle/share⌋, one more with the probability of the fraction, never more than pairs."""
    whole, rest = divmod(n_idle, share)
    more = 1 if rng.random() * share < rest else 0
    return min(whole + more, n_idle // 2)


def closeness(first: str, second: str, recent: Mapping[str, Sequence[str]]) -> float:
    """How near two agents are: 1 for the most recently met, 1/2 for the next …, summed over both sides; strangers 0."""
    total = 0.0
    for one, other in ((first, second), (second, first)):
        people = list(recent.get(one, ()))
        if other in people:
            total += 1.0 / (1 + people.index(other))
    return total


def pair_idle(
    idle: Collection[str],
    recent: Mapping[str, Sequence[str]],
    rng: random.Random,
    *,
    share: int,
    apart: Collection[Pair] = (),
) -> tuple[Pair, ...]:
    """The day's encounters. Acquaintances are drawn by closeness; strangers meet once no acquainted pair is left.

    `recent` gives each agent's most recently met people, latest first; pairs in `apart` have met already this week.
    """
    free: list[str] = sorted(idle)
    near = _acquainted(free, recent, apart)
    pairs: list[Pair] = []
    for _ in range(n_encounters(len(free), share, rng)):
        pair = rng.choices(list(near), weights=list(near.values()))[0] if near else _strangers(free, rng, apart)
        if pair is None:
            break
        pairs.append(pair)
        free = [name for name in free if name not in pair]
        near = {other: weight for other, weight in near.items() if pair[0] not in other and pair[1] not in other}
    return tuple(sorted(pairs))


def _acquainted(free: Sequence[str], recent: Mapping[str, Sequence[str]], apart: Collection[Pair]) -> dict[Pair, float]:
    """Pairs of idle agents of whom one recently met the other, with their closeness, in the order of names."""
    waiting = set(free)
    found = {_pair(one, other) for one in free for other in recent.get(one, ()) if other in waiting and other != one}
    return {pair: closeness(*pair, recent) for pair in sorted(found - set(apart))}


def _strangers(free: Sequence[str], rng: random.Random, apart: Collection[Pair]) -> Pair | None:
    """Two agents by chance who have not met this week; None if there are none."""
    order = rng.sample(list(free), len(free))
    for place, one in enumerate(order):
        for other in order[place + 1 :]:
            if _pair(one, other) not in apart:
                return _pair(one, other)
    return None


def _pair(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)
