"""Wealth: how unequal deposits are, and what becomes of those who began poor or rich. Pure."""

import pandas as pd

from training.evaluation.analyses.measures import ALL_WORLDS, each_world, gini, groups_of, quartile_of, table_of


def deposit_gini(profiles: pd.DataFrame) -> pd.DataFrame:
    """The Gini coefficient of the agents' deposits at each year's end (0: the founding), by world, and its mean.

    `n` counts agents in a world, and worlds in the mean.
    """
    rows: list[dict[str, object]] = []
    for (world, year), group in groups_of(profiles, ["world", "year"]):
        deposits = group["deposit"].to_numpy(float)
        rows.append(
            {"world": world, "year": year, "gini": gini(deposits), "mean_deposit": deposits.mean(), "n": len(group)}
        )
    found = table_of(rows, ["world", "year", "gini", "mean_deposit", "n"])
    if found.empty:
        return found
    groups = found.groupby("year", sort=True)
    mean = groups[["gini", "mean_deposit"]].mean().assign(n=groups["gini"].count()).reset_index()
    return pd.concat([found, mean.assign(world=ALL_WORLDS)[list(found.columns)]], ignore_index=True)


def deposit_by_initial_group(profiles: pd.DataFrame) -> pd.DataFrame:
    """The mean deposit in each year of the quartiles of the *initial* deposit (1 began poorest), by world and pooled.

    Quartiles are those of the world at its founding, and agents stay in theirs.
    """
    initial = profiles[profiles["year"] == 0]
    group_of = initial[["world", "agent"]].assign(group=quartile_of(initial, ["world"], "deposit")).dropna()
    grouped = profiles.merge(group_of, on=["world", "agent"])
    rows: list[dict[str, object]] = []
    for world, of_world in each_world(grouped):
        for (group, year), members in groups_of(of_world, ["group", "year"]):
            row = {"world": world, "initial_group": int(group), "year": year}
            rows.append({**row, "mean_deposit": members["deposit"].mean(), "n": len(members)})
    return table_of(rows, ["world", "initial_group", "year", "mean_deposit", "n"])
