"""Social standing from private scores: rank weights, PageRank and mutual regard (SPEC section 7, Social).

Scores are `rater → rated → score`; only agents count, ratings of oneself and of strangers to the cast are dropped.
"""

import math
from collections.abc import Mapping, Sequence

from sim.core.agent import Value

Edges = Mapping[str, Mapping[str, float]]
"""Rater → rated → number."""

DIMENSIONS = ("affection", "respect")


class Social(Value, frozen=True, kw_only=True):
    """One agent's social reward and its two halves."""

    affection: float
    respect: float

    @property
    def reward(self) -> float:
        """`r_social = ½ S'_affection + ½ S'_respect`."""
        return 0.5 * self.affection + 0.5 * self.respect


def dimension_of(
    scores: Mapping[str, Mapping[str, Mapping[str, float | None]]], dimension: str
) -> dict[str, dict[str, float]]:
    """One dimension of `rater → rated → {affection, respect}`; a missing score (None) is left out, never 0."""
    edges: dict[str, dict[str, float]] = {}
    for rater in sorted(scores):
        edges[rater] = {}
        for rated in sorted(scores[rater]):
            score = scores[rater][rated].get(dimension)
            if score is not None:
                edges[rater][rated] = float(score)
    return edges


def among(names: Sequence[str], scores: Edges) -> dict[str, dict[str, float]]:
    """The scores that agents of the cast gave to other agents of the cast."""
    cast = sorted(set(names))
    members = frozenset(cast)
    return {
        rater: {rated: given[rated] for rated in sorted(given) if rated in members and rated != rater}
        for rater in cast
        if (given := scores.get(rater, {}))
    }


def rescale(given: Mapping[str, float]) -> dict[str, float]:
    """A rater's scores as ranks, evenly from 100 (first) to 0 (last); ties share their mean, one alone gets 100."""
    n = len(given)
    if n == 1:
        return dict.fromkeys(given, 100.0)
    ordered = sorted(given, key=lambda name: (-given[name], name))
    weights: dict[str, float] = {}
    start = 0
    while start < n:
        end = start
        while end + 1 < n and given[ordered[end + 1]] == given[ordered[start]]:
            end += 1
        weight = 100.0 * (1.0 - 0.5 * (start + end) / (n - 1))
        weights.update(dict.fromkeys(ordered[start : end + 1], weight))
        start = end + 1
    return weights


def edge_weights(names: Sequence[str], scores: Edges) -> dict[str, dict[str, float]]:
    """`w_ji`: the rank weight of j→i divided by the sum of j's outgoing weights; raters of nobody are left out."""
    result: dict[str, dict[str, float]] = {}
    for rater, given in among(names, scores).items():
        ranks = rescale(given)
        total = math.fsum(ranks.values())
        if total > 0:
            result[rater] = {rated: ranks[rated] / total for rated in sorted(ranks)}
    return result


def page_rank(names: Sequence[str], weights: Edges, *, damping: float, tolerance: float) -> dict[str, float]:
    """`S_i = (1 − d)/N + d · (Σ_j w_ji S_j + (Σ of those who rate nobody)/N)`, iterated from 1/N.

    An iteration shrinks the change by `damping` at least, so the bound on their number is exact, not a guess.
    """
    cast = sorted(set(names))
    n = len(cast)
    incoming: dict[str, list[tuple[str, float]]] = {name: [] for name in cast}
    for rater in cast:
        for rated, weight in weights.get(rater, {}).items():
            incoming[rated].append((rater, weight))
    dangling = [name for name in cast if not weights.get(name)]
    rank = dict.fromkeys(cast, 1.0 / n) if n else {}
    for _ in range(1 + max(1, math.ceil(math.log(tolerance / 2.0) / math.log(damping)))):
        base = (1.0 - damping) / n + damping * math.fsum(rank[name] for name in dangling) / n if n else 0.0
        new = {name: base + damping * math.fsum(w * rank[j] for j, w in incoming[name]) for name in cast}
        change = math.fsum(abs(new[name] - rank[name]) for name in cast)
        rank = new
        if change < tolerance:
            break
    return rank


def standing(
    names: Sequence[str], scores: Edges, *, alpha: float, damping: float, tolerance: float
) -> dict[str, float]:
    """`S'_i = Σ_{j knows i} w_ji · (1 + α · w_ij) · S_j`: 0 for whom nobody rates."""
    weights = edge_weights(names, scores)
    rank = page_rank(names, weights, damping=damping, tolerance=tolerance)
    terms: dict[str, list[float]] = {name: [] for name in sorted(rank)}
    for rater, given in weights.items():
        for rated, weight in given.items():
            back = weights.get(rated, {}).get(rater, 0.0)
            terms[rated].append(weight * (1.0 + alpha * back) * rank[rater])
    return {name: math.fsum(parts) for name, parts in terms.items()}


def social_rewards(
    names: Sequence[str],
    scores: Mapping[str, Mapping[str, Mapping[str, float | None]]],
    *,
    alpha: float,
    damping: float,
    tolerance: float,
) -> dict[str, Social]:
    """Both halves of the social reward of every agent, from `rater → rated → {affection, respect}`."""
    affection, respect = (
        standing(names, dimension_of(scores, dimension), alpha=alpha, damping=damping, tolerance=tolerance)
        for dimension in DIMENSIONS
    )
    return {name: Social(affection=affection[name], respect=respect[name]) for name in sorted(affection)}
