"""Arithmetic that several analyses share: quartiles of a group, correlations, the Gini coefficient. Pure.

What is not defined is NaN, never a number: too few values, no spread, nothing to divide by.
"""

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pandas as pd

ALL_WORLDS = "all worlds"
"""What stands in `world` for a figure over all of them."""
QUARTERS = 4
LEAST_PAIRS = 3
"""Fewer pairs have no correlation worth the name."""


def quartile_of(frame: pd.DataFrame, by: Sequence[str], value: str) -> pd.Series:
    """Each row's quartile among the rows that agree in `by`: `⌊4 · place / n⌋ + 1`, 1 has the lowest values.

    Places are counted from 0 by value, then by agent, so that equal values are told apart in the same way always.
    Groups of fewer than four, and missing values, have none.
    """
    numbered = frame.reset_index(drop=True)
    known = numbered[numbered[value].notna()].sort_values([*by, value, "agent"], kind="stable")
    groups = known.groupby(list(by), sort=False)[value]
    place, size = groups.cumcount(), groups.transform("size")
    quartile = (QUARTERS * place // size + 1).where(size >= QUARTERS)
    return quartile.reindex(numbered.index).set_axis(frame.index)


def pearson(first: pd.Series, second: pd.Series) -> float:
    """Pearson's r over the pairs in which both are known; NaN for fewer than three pairs or without spread."""
    both = first.notna() & second.notna()
    x, y = first[both].to_numpy(float), second[both].to_numpy(float)
    if len(x) < LEAST_PAIRS or np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return float("nan")
    x, y = (x - x.mean()) / np.ptp(x), (y - y.mean()) / np.ptp(y)
    return float(np.clip((x @ y) / np.sqrt((x @ x) * (y @ y)), -1.0, 1.0))


def spearman(first: pd.Series, second: pd.Series) -> float:
    """Spearman's ρ: Pearson's r of the ranks, ties sharing the mean of theirs."""
    both = first.notna() & second.notna()
    return pearson(first[both].rank(), second[both].rank())


def gini(values: Sequence[float]) -> float:
    """`G = Σ_i Σ_j |x_i − x_j| / (2 n² x̄)` of values that are not negative; NaN if there are none or all are 0.

    Computed from the ascending values as `Σ_i (2i − n − 1) x_i / (n Σ x)`, i from 1.
    """
    ordered = np.sort(np.asarray(values, float))
    n, total = len(ordered), float(ordered.sum())
    if n == 0 or total <= 0.0:
        return float("nan")
    weights = 2.0 * np.arange(1, n + 1) - n - 1
    return max(0.0, float(weights @ (ordered / total)) / n)


def min_max(values: pd.Series) -> pd.Series:
    """Values scaled so that the least is 0 and the greatest 1; NaN where they do not differ."""
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else values * float("nan")


def ratio(above: float, below: float) -> float:
    """A quotient; NaN where there is nothing to divide by."""
    return above / below if below else float("nan")


def each_world(frame: pd.DataFrame, *, pooled: bool = True) -> list[tuple[str, pd.DataFrame]]:
    """The rows of each world by its name, then, if wanted and there are any, those of all worlds."""
    worlds: list[tuple[str, pd.DataFrame]] = [(str(world), rows) for world, rows in frame.groupby("world", sort=True)]
    return [*worlds, (ALL_WORLDS, frame)] if pooled and len(frame) else worlds


def groups_of(frame: pd.DataFrame, by: Sequence[str]) -> list[tuple[tuple[Any, ...], pd.DataFrame]]:
    """The rows that agree in some columns, with what they agree in, in ascending order."""
    return [(tuple(cast("tuple[Any, ...]", key)), rows) for key, rows in frame.groupby(list(by), sort=True)]


def table_of(rows: Sequence[dict[str, object]], columns: Sequence[str]) -> pd.DataFrame:
    """Rows as a frame that has its columns even when there are none."""
    return pd.DataFrame(list(rows), columns=list(columns))
