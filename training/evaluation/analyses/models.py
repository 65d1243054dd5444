"""Models compared: base against tuned in the same worlds, and several that live in one society (SPEC section 9).

Pure.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from sim.core.reward import z_scores
from training.evaluation.analyses.lives import METRICS, REWARDS
from training.evaluation.analyses.measures import table_of
from training.evaluation.life import compare, comparison_rows

BASE_COLUMNS = [
    "metric",
    "year",
    "base",
    "tuned",
    "delta",
    "delta_low",
    "delta_high",
    "percent",
    "percent_low",
    "percent_high",
]
INIT_OF = {"social": "baseline_social"}
"""Measures with a value at t = 0, and where it stands."""


def base_against_tuned(base: pd.DataFrame, tuned: pd.DataFrame, *, seed: int) -> pd.DataFrame:
    """Every measure of the first round's model and of a later round's, by year and on average (year 0), with intervals.

    Only the worlds of `base` are compared, and only years that both lived; empty where there are none.
    """
    shared = tuned.merge(base[["world", "year", "agent"]], on=["world", "year", "agent"])
    if shared.empty:
        return table_of([], BASE_COLUMNS)
    before, after = (_records(frame) for frame in (base, shared))
    return table_of(comparison_rows(compare(before, after, seed=seed)), BASE_COLUMNS)


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [dict(zip(map(str, frame.columns), row, strict=True)) for row in frame.itertuples(index=False, name=None)]


def model_of_each(calls: pd.DataFrame) -> pd.DataFrame:
    """The model that plays an agent: of its last round's calls, the one that answered most; the fallback left out."""
    own = calls[(calls["role"] == "policy") & (calls["agent"] != "") & ~calls["fallback"]]
    own = own[own["round"] == own.groupby("world")["round"].transform("max")]
    counts = own.groupby(["world", "agent", "model"]).size().rename("calls").reset_index()
    counts = counts.sort_values(["world", "agent", "calls", "model"], ascending=[True, True, False, True])
    return counts.drop_duplicates(["world", "agent"])[["world", "agent", "model"]].reset_index(drop=True)


def in_one_society(years: pd.DataFrame, calls: pd.DataFrame) -> pd.DataFrame:
    """Each measure, z-scored in every year over all agents of the world: the mean per model, then over its worlds.

    Columns `init` (the founding; the social reward alone has one), `Y1` … `Yn`, `avg` = mean of the years, and
    `delta` = avg − init. Worlds of one model alone are left out: there it would be compared with itself.
    """
    played = years.merge(model_of_each(calls), on=["world", "agent"])
    mixed = played.groupby("world")["model"].transform("nunique") > 1
    played = played[mixed]
    numbers = sorted(int(year) for year in played["year"].unique())
    columns = ["metric", "model", "worlds", "agents", "init", *(f"Y{year}" for year in numbers), "avg", "delta"]
    rows: list[dict[str, object]] = []
    for metric in (*REWARDS, *METRICS):
        for model, row in _by_model(played, metric, numbers).items():
            members = played[played["model"] == model]
            counts = {
                "worlds": members["world"].nunique(),
                "agents": len(members[["world", "agent"]].drop_duplicates()),
            }
            rows.append({"metric": metric, "model": model, **counts, **row})
    return table_of(rows, columns)


def _by_model(played: pd.DataFrame, metric: str, numbers: Sequence[int]) -> dict[str, dict[str, float]]:
    """One measure's row of every model."""
    yearly = _z_means(played, metric)
    found: dict[str, dict[str, float]] = {}
    init = pd.Series(dtype=float)
    if metric in INIT_OF and len(played):
        first = played[played["year"] == played.groupby("world")["year"].transform("min")]
        init = _z_means(first, INIT_OF[metric]).groupby("model")["z"].mean()
    for model, group in yearly.groupby("model", sort=True):
        by_year = group.groupby("year")["z"].mean()
        row = {f"Y{year}": float(by_year.get(year, float("nan"))) for year in numbers}
        avg = float(by_year.mean())
        start = float(init.get(model, float("nan")))
        found[str(model)] = {"init": start, **row, "avg": avg, "delta": avg - start}
    return found


def _z_means(played: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The mean z of each model's agents, by world and year; z over all agents of the world's year who have a value."""
    known = played[played[metric].notna()]
    parts: list[pd.DataFrame] = []
    for _, group in known.groupby(["world", "year"], sort=True):
        values = dict(zip(group["agent"], group[metric].astype(float), strict=True))
        parts.append(group[["world", "year", "model"]].assign(z=group["agent"].map(z_scores(values))))
    if not parts:
        return table_of([], ["world", "year", "model", "z"])
    return pd.concat(parts).groupby(["world", "year", "model"])["z"].mean().reset_index()
