"""The life rewards: how they are distributed, what they go together with, and who keeps them. Pure."""

from itertools import combinations

import pandas as pd

from training.evaluation.analyses.lives import METRICS, REWARDS
from training.evaluation.analyses.measures import (
    ALL_WORLDS,
    QUARTERS,
    each_world,
    groups_of,
    pearson,
    quartile_of,
    spearman,
    table_of,
)

SHOWN_REWARDS = (*REWARDS[:1], "adjusted_social", *REWARDS[1:])
ALL_YEARS = "all"
MOST_TELLING = 6
"""So many metrics are shown by quartile for each reward."""


def distributions(years: pd.DataFrame) -> pd.DataFrame:
    """Number, mean, spread (population) and quartiles of each reward, by world and pooled, by year and over years."""
    rows: list[dict[str, object]] = []
    for world, of_world in each_world(years):
        groups = [*((str(year), rows_) for year, rows_ in of_world.groupby("year", sort=True)), (ALL_YEARS, of_world)]
        for year, group in groups:
            for reward in SHOWN_REWARDS:
                rows.append({"world": world, "year": year, "reward": reward, **_described(group[reward].dropna())})
    columns = ["world", "year", "reward", "n", "mean", "sd", "min", "q25", "median", "q75", "max"]
    return table_of(rows, columns)


def _described(values: pd.Series) -> dict[str, object]:
    """What is said of a distribution; quartiles by linear interpolation."""
    return {
        "n": len(values),
        "mean": values.mean(),
        "sd": values.std(ddof=0),
        "min": values.min(),
        "q25": values.quantile(0.25),
        "median": values.median(),
        "q75": values.quantile(0.75),
        "max": values.max(),
    }


def behaviour_correlations(years: pd.DataFrame) -> pd.DataFrame:
    """Pearson's r of each reward with each metric over the agents' years of a world; then its mean over worlds.

    `n` counts agents' years in a world, and worlds with a defined r in the mean; `abs_r` is |r| and its mean.
    """
    rows: list[dict[str, object]] = []
    for world, group in each_world(years, pooled=False):
        for reward in REWARDS:
            for metric in METRICS:
                r = pearson(group[reward], group[metric])
                rows.append(
                    {"world": world, "reward": reward, "metric": metric, "r": r, "abs_r": abs(r), "n": len(group)}
                )
    found = table_of(rows, ["world", "reward", "metric", "r", "abs_r", "n"])
    return _with_mean(found, ["reward", "metric"], ["r", "abs_r"])


def reward_rank_correlations(years: pd.DataFrame) -> pd.DataFrame:
    """Spearman's ρ between any two rewards over all agents' years of a world; then its mean over worlds."""
    rows: list[dict[str, object]] = []
    for world, group in each_world(years, pooled=False):
        for first, second in combinations(REWARDS, 2):
            rho = spearman(group[first], group[second])
            rows.append({"world": world, "first": first, "second": second, "rho": rho, "n": len(group)})
    return _with_mean(table_of(rows, ["world", "first", "second", "rho", "n"]), ["first", "second"], ["rho"])


def _with_mean(found: pd.DataFrame, by: list[str], values: list[str]) -> pd.DataFrame:
    """The worlds' rows and below them their mean over the worlds where it is defined; `n` is how many those are."""
    if found.empty:
        return found
    groups = found.groupby(by, sort=False)
    mean = groups[values].mean().assign(n=groups[values[0]].count()).reset_index()
    return pd.concat([found, mean.assign(world=ALL_WORLDS)[list(found.columns)]], ignore_index=True)


def transitions(years: pd.DataFrame) -> pd.DataFrame:
    """How often an agent of one quartile of the total reward is in which quartile a year later.

    `share` is the mean over pairs of consecutive years of the share among those of `from_quartile`; `pairs` counts
    the pairs (over all worlds: of worlds and years). Quartiles are those of the world's year; 4 is the best.
    """
    ranked = years.assign(quartile=quartile_of(years, ["world", "year"], "reward")).dropna(subset=["quartile"])
    now = ranked[["world", "year", "agent", "quartile"]]
    following = now.assign(year=now["year"] - 1).rename(columns={"quartile": "to"})
    pairs = now.rename(columns={"quartile": "from"}).merge(following, on=["world", "year", "agent"])
    rows: list[dict[str, object]] = []
    for world, group in each_world(pairs):
        matrices = [_transition_matrix(pair) for _, pair in groups_of(group, ["world", "year"])]
        for start in range(1, QUARTERS + 1):
            for end in range(1, QUARTERS + 1):
                shares = pd.Series([matrix.loc[start, end] for matrix in matrices], dtype=float).dropna()
                row = {"world": world, "from_quartile": start, "to_quartile": end}
                rows.append({**row, "share": shares.mean(), "pairs": len(shares)})
    return table_of(rows, ["world", "from_quartile", "to_quartile", "share", "pairs"])


def _transition_matrix(pair: pd.DataFrame) -> pd.DataFrame:
    """Shares by row of one pair of years; a quartile that nobody came from is NaN."""
    quarters = range(1, QUARTERS + 1)
    counts = pd.crosstab(pair["from"], pair["to"]).reindex(index=quarters, columns=quarters, fill_value=0)
    totals = counts.sum(axis=1)
    return counts.div(totals.where(totals > 0), axis=0)


def behaviour_by_quartile(years: pd.DataFrame) -> pd.DataFrame:
    """Means of a reward's most telling metrics in each quartile of that reward, by year, over all worlds.

    The most telling are the six with the highest mean |r| over worlds; quartiles are those of the world's year.
    """
    strength = behaviour_correlations(years)
    strength = strength[strength["world"] == ALL_WORLDS].dropna(subset=["abs_r"])
    rows: list[dict[str, object]] = []
    for reward in REWARDS:
        of_reward = strength[strength["reward"] == reward].sort_values(["abs_r", "metric"], ascending=[False, True])
        ranked = years.assign(quartile=quartile_of(years, ["world", "year"], reward)).dropna(subset=["quartile"])
        for place, (metric, abs_r) in enumerate(
            of_reward[["metric", "abs_r"]].head(MOST_TELLING).itertuples(index=False), start=1
        ):
            for (year, quartile), group in groups_of(ranked, ["year", "quartile"]):
                row = {"reward": reward, "place": place, "metric": metric, "abs_r": abs_r, "year": year}
                rows.append({**row, "quartile": int(quartile), "mean": group[metric].mean(), "n": len(group)})
    return table_of(rows, ["reward", "place", "metric", "abs_r", "year", "quartile", "mean", "n"])
