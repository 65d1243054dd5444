"""Base against tuned model in the same worlds: yearly means, average, change and its interval (SPEC section 9).

Agents are compared with themselves: one pair for each agent of a world, and the bootstrap draws whole pairs. Pure.
"""

import math
import random
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import msgspec

from sim.core.keys import Scope, seed_of

METRICS: Mapping[str, str] = {
    "economy": "economic",
    "subjective reward": "subjective",
    "respected by": "n_respected_by",
    "liked by": "n_liked_by",
    "mutual respect": "n_mutual_respect",
    "mutual like": "n_mutual_like",
    "material": "fulfillment_material",
    "mood": "fulfillment_mood",
    "social": "fulfillment_social",
    "esteem": "fulfillment_esteem",
    "joint proposed": "joint_proposed",
    "joint": "joint_participated",
    "public": "public_participated",
    "solo": "solo_count",
    "skill advances": "skill_improvement_count",
}
"""Rows of the comparison, in their order, and the measure of an agent's year that each shows."""
RESAMPLES = 2000
LEVEL = 0.95

AgentYears = Sequence[Mapping[str, Any]]
"""Rows with `world`, `agent`, `year` and all measures."""
AgentLife = Mapping[int, Mapping[str, Any]]
"""One agent's rows by year."""
Key = tuple[str, str, int]
"""World, agent, year."""


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A number with the interval that holds it with probability LEVEL."""

    value: float
    low: float
    high: float


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the comparison."""

    label: str
    base_by_year: Mapping[int, float]
    tuned_by_year: Mapping[int, float]
    base: float
    """Mean over agents of their mean over years."""
    tuned: float
    delta: Interval
    """Tuned minus base."""
    percent: Interval | None
    """Delta in percent of the base; None where the base is 0, in all agents or in some resample."""


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """All rows, and what was compared."""

    rows: tuple[Compared, ...]
    pairs: int
    """Agents, counted in each world."""
    years: tuple[int, ...]


def compare(base: AgentYears, tuned: AgentYears, *, seed: int, resamples: int = RESAMPLES) -> Comparison:
    """The comparison over the agents' years that both have; ValueError if there are none."""
    common = {_key(row) for row in base} & {_key(row) for row in tuned}
    if not common:
        raise ValueError(
            "base and tuned model have no agent's year in common; live the same worlds and years in both rounds "
            "(world: restart)"
        )
    before, after = _by_agent(base, common), _by_agent(tuned, common)
    draws = _draws(len(before), resamples, seed)
    rows = [_compared(label, measure, before, after, draws) for label, measure in METRICS.items()]
    return Comparison(rows=tuple(rows), pairs=len(before), years=tuple(sorted({year for *_, year in common})))


def comparison_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """The comparison in long form: one row for each metric and year, and one with year 0 for the average over years,
    which alone has intervals. What has no value is absent."""
    rows: list[dict[str, Any]] = []
    for row in comparison.rows:
        average: dict[str, Any] = {"metric": row.label, "year": 0, "base": row.base, "tuned": row.tuned}
        for name, interval in (("delta", row.delta), ("percent", row.percent)):
            if interval is not None:
                average |= {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}
        rows.append(average)
        for year in comparison.years:
            base, tuned = row.base_by_year[year], row.tuned_by_year[year]
            of_year = {"metric": row.label, "year": year, "base": base, "tuned": tuned, "delta": tuned - base}
            rows.append(of_year | {"percent": 100.0 * (tuned - base) / abs(base) if base else None})
    return rows


def comparison_seed(run_seed: int, round_number: int) -> int:
    """The seed of the bootstrap's draws when a round is compared with the first one."""
    return seed_of(Scope(run_seed=run_seed, round=round_number, world=""), "evaluate")


def percentile(values: Sequence[float], share: float) -> float:
    """The percentile by linear interpolation at rank `share · (n − 1)` of the sorted values."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def _key(row: Mapping[str, Any]) -> Key:
    return row["world"], row["agent"], row["year"]


def _by_agent(rows: AgentYears, common: AbstractSet[Key]) -> list[AgentLife]:
    """Each agent's rows of the common years by year; agents by world and name, so that both models' lists pair up."""
    found: dict[tuple[str, str], dict[int, Mapping[str, Any]]] = {}
    for row in sorted(rows, key=_key):
        if _key(row) in common:
            found.setdefault((row["world"], row["agent"]), {})[row["year"]] = row
    return list(found.values())


def _draws(n: int, resamples: int, seed: int) -> list[list[int]]:
    """Places of the pairs in each resample."""
    rng = random.Random(seed)
    return [rng.choices(range(n), k=n) for _ in range(resamples)]


def _compared(
    label: str,
    measure: str,
    before: Sequence[AgentLife],
    after: Sequence[AgentLife],
    draws: Sequence[Sequence[int]],
) -> Compared:
    """One row: means, then the interval of the change over the resamples."""
    base = [_mean([row[measure] for row in years.values()]) for years in before]
    tuned = [_mean([row[measure] for row in years.values()]) for years in after]
    deltas: list[float] = []
    percents: list[float] = []
    for places in draws:
        mean = _mean([base[place] for place in places])
        deltas.append(_mean([tuned[place] for place in places]) - mean)
        if mean:
            percents.append(100.0 * deltas[-1] / abs(mean))
    mean, delta = _mean(base), _mean(tuned) - _mean(base)
    return Compared(
        label=label,
        base_by_year=_by_year(measure, before),
        tuned_by_year=_by_year(measure, after),
        base=mean,
        tuned=_mean(tuned),
        delta=_interval(delta, deltas),
        percent=_interval(100.0 * delta / abs(mean), percents) if mean and len(percents) == len(draws) else None,
    )


def _by_year(measure: str, agents: Sequence[AgentLife]) -> dict[int, float]:
    """Mean over the agents in each year."""
    years = sorted({year for of_agent in agents for year in of_agent})
    return {year: _mean([of_agent[year][measure] for of_agent in agents if year in of_agent]) for year in years}


def _interval(value: float, resampled: Sequence[float]) -> Interval:
    tail = (1.0 - LEVEL) / 2.0
    return Interval(value=value, low=percentile(resampled, tail), high=percentile(resampled, 1.0 - tail))


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
