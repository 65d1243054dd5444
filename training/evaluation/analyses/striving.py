"""Striving: who earns beside the job and learns most, and how those agents live. Pure."""

import pandas as pd

from training.evaluation.analyses.lives import METRICS, REWARDS
from training.evaluation.analyses.measures import each_world, min_max, ratio, table_of

STRIVING = ("extra_earning_count", "skill_improvement_count")
SHARE = 0.25


def scores(years: pd.DataFrame) -> pd.DataFrame:
    """Each agent's striving score: the mean over its years of the average of both counts, each scaled from 0 to 1 over
    the agents of the world's year.

    A count in which nobody differs says nothing and is left out of the average; a year without either is left out of
    the mean. `group` is `top` or `bottom` for the quarter with the highest and the lowest scores, `max(1, ⌊n/4⌋)` of
    the world's agents each, ties by name; a world of one agent has neither.
    """
    scaled = pd.DataFrame(
        {metric: years.groupby(["world", "year"])[metric].transform(min_max) for metric in STRIVING}, dtype=float
    )
    yearly = years[["world", "year", "agent"]].assign(score=scaled.mean(axis=1))
    found = yearly.groupby(["world", "agent"], sort=True)["score"].agg(score="mean", years="count").reset_index()
    parts = [_grouped(group) for _, group in found.groupby("world", sort=True)]
    columns = ["world", "agent", "score", "years", "group"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else table_of([], columns)


def _grouped(of_world: pd.DataFrame) -> pd.DataFrame:
    """One world's agents with the group of each."""
    ordered = of_world.dropna(subset=["score"]).sort_values(["score", "agent"])["agent"].tolist()
    n = max(1, int(SHARE * len(ordered))) if len(ordered) > 1 else 0
    bottom, top = ordered[:n], ordered[len(ordered) - n :]
    group = {**dict.fromkeys(bottom, "bottom"), **dict.fromkeys(top, "top")}
    return of_world.assign(group=of_world["agent"].map(group).fillna(""))


def ratios(years: pd.DataFrame) -> pd.DataFrame:
    """Means of every metric and reward over the years of the top and of the bottom group, and their ratio.

    In each world, and over all worlds with each world's groups together; NaN where the bottom's mean is 0.
    """
    grouped = years.merge(scores(years)[["world", "agent", "group"]], on=["world", "agent"])
    rows: list[dict[str, object]] = []
    for world, of_world in each_world(grouped):
        top, bottom = (of_world[of_world["group"] == group] for group in ("top", "bottom"))
        if top.empty or bottom.empty:
            continue
        for metric in (*METRICS, *REWARDS):
            high, low = float(top[metric].mean()), float(bottom[metric].mean())
            row = {"world": world, "metric": metric, "top": high, "bottom": low, "ratio": ratio(high, low)}
            rows.append({**row, "n_top": len(top), "n_bottom": len(bottom)})
    return table_of(rows, ["world", "metric", "top", "bottom", "ratio", "n_top", "n_bottom"])
