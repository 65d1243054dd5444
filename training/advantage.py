"""From yearly life rewards to advantages (SPEC section 8). Pure arithmetic over r_1 … r_T of one agent."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise


def returns(rewards: Sequence[float], gamma: float) -> list[float]:
    """`G_t = Σ_{k=0..T−t} γ^k r_{t+k}` for t = 1..T."""
    result: list[float] = []
    later = 0.0
    for reward in reversed(rewards):
        later = reward + gamma * later
        result.append(later)
    return result[::-1]


def normalised_returns(rewards: Sequence[float], gamma: float) -> list[float]:
    """`G_t^norm = G_t / Σ_{k=0..T−t} γ^k`: a constant reward r gives r at every t."""
    n = len(rewards)
    return [
        total / math.fsum(gamma**k for k in range(n - index)) for index, total in enumerate(returns(rewards, gamma))
    ]


def advantages(rewards: Sequence[float], gamma: float) -> list[float]:
    """`A_t = G_t^norm − G_{t−1}^norm`, with `G_0^norm = 0` for t = 1."""
    return [now - before for before, now in pairwise([0.0, *normalised_returns(rewards, gamma)])]


def advantages_by_agent(rewards: Mapping[str, Sequence[float]], gamma: float) -> dict[str, list[float]]:
    """Advantages of every agent of one world; ValueError if the agents' lives differ in length."""
    lengths = {name: len(rewards[name]) for name in sorted(rewards)}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"rewards: every agent needs the same number of years, but they have {lengths}")
    return {name: advantages(rewards[name], gamma) for name in lengths}
