"""Whose year is learned from: the top quarter by advantage, in every world and period on its own (SPEC section 8)."""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction


def number_kept(n_agents: int, fraction: float) -> int:
    """`max(1, ⌊fraction · n⌋)`, exact for decimal fractions; 0 of nobody."""
    return min(n_agents, max(1, math.floor(Fraction(str(fraction)) * n_agents)))


def select_period(advantage: Mapping[str, float], reward: Mapping[str, float], *, fraction: float) -> tuple[str, ...]:
    """The agents kept in one period, best first: by higher advantage, then higher reward, then name."""
    ranked = sorted(advantage, key=lambda name: (-advantage[name], -reward[name], name))
    return tuple(ranked[: number_kept(len(ranked), fraction)])


def select(
    advantages: Mapping[str, Sequence[float]], rewards: Mapping[str, Sequence[float]], *, fraction: float
) -> dict[int, tuple[str, ...]]:
    """Period (from 1) → agents kept, of one world; agents' sequences are A_1 … A_T and r_1 … r_T."""
    n_periods = max((len(values) for values in advantages.values()), default=0)
    return {
        period: select_period(
            {name: values[period - 1] for name, values in advantages.items()},
            {name: rewards[name][period - 1] for name in advantages},
            fraction=fraction,
        )
        for period in range(1, n_periods + 1)
    }
