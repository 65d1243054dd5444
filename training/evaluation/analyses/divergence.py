"""How far a world moves from where it began: seven figures of its people, feelings, wealth and habits. Pure."""

import numpy as np
import pandas as pd

from sim.core.agent import TRAITS
from training.evaluation.analyses.measures import spearman, table_of

AFFECTION_DROP = 15
RANK_MOVE = 30
MOOD_DECLINE = 5.0
"""A week that ends so much lower in mood than the one before is a decline."""
HIGH_MOOD = 95.0
ALONE = 0.9
"""Whose days are solo to this share lives almost alone; an encounter is company."""
TOGETHER = ("joint", "public", "encounter")

Figures = list[dict[str, object]]
COLUMNS = ["world", "figure", "value", "n", "of"]


def divergence(profiles: pd.DataFrame, ratings: pd.DataFrame, weeks: pd.DataFrame) -> pd.DataFrame:
    """The seven figures of every world (some with a detail beside them), and how many cases stand behind each."""
    rows: Figures = []
    for world, people in profiles.groupby("world", sort=True):
        of_world = ratings[ratings["world"] == world]
        lived = weeks[weeks["world"] == world]
        figures = [
            *trait_change(people),
            *affection_drops(of_world),
            *deposit_ranks(people),
            *positions_held(people),
            *after_mood_declines(lived),
            *happy_alone(lived),
        ]
        rows += [{"world": world, **figure} for figure in figures]
    return table_of(rows, COLUMNS)


def _figure(figure: str, value: float, n: int, of: str) -> dict[str, object]:
    return {"figure": figure, "value": value, "n": n, "of": of}


def _first_and_last(people: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Some columns at the founding and in the last year, of the agents who have both."""
    last = people["year"].max()
    first_rows, last_rows = (people[people["year"] == year].set_index("agent")[columns] for year in (0, last))
    if last == 0:
        last_rows = last_rows.iloc[:0]
    return first_rows.join(last_rows, how="inner", lsuffix="_first", rsuffix="_last").sort_index()


def trait_change(people: pd.DataFrame) -> Figures:
    """`Σ |last − first|` over an agent's ten traits, summed over the agents, and its mean."""
    traits = [f"trait_{name}" for name in TRAITS]
    both = _first_and_last(people, traits).dropna()
    first, last = (both[[f"{trait}_{when}" for trait in traits]].to_numpy(float) for when in ("first", "last"))
    total = float(np.abs(last - first).sum()) if len(both) else float("nan")
    return [
        _figure("total trait change", total, len(both), "agents"),
        _figure("trait change per agent", total / len(both) if len(both) else float("nan"), len(both), "agents"),
    ]


def affection_drops(ratings: pd.DataFrame) -> Figures:
    """How often an agent's affection for somebody is lower by 15 or more than at the judging a year before."""
    known = ratings.dropna(subset=["affection"])[["year", "rater", "rated", "affection"]]
    before = known.assign(year=known["year"] + 1)
    pairs = known.merge(before, on=["year", "rater", "rated"], suffixes=("", "_before"))
    n = len(pairs)
    drops = int((pairs["affection_before"] - pairs["affection"] >= AFFECTION_DROP).sum()) if n else float("nan")
    return [_figure("affection drops of 15 or more", drops, n, "repeated judgements")]


def deposit_ranks(people: pd.DataFrame) -> Figures:
    """Agents whose rank by deposit moves by 30 or more from the founding to the last year, and both ranks' Spearman.

    Ties share the mean of their ranks. In a cast of 30 or fewer nobody can move so far.
    """
    both = _first_and_last(people, ["deposit"])
    moved = (both["deposit_first"].rank() - both["deposit_last"].rank()).abs()
    possible = len(both) > RANK_MOVE
    count = int((moved >= RANK_MOVE).sum()) if possible else float("nan")
    return [
        _figure("agents whose deposit rank moves by 30 or more", count, len(both), "agents"),
        _figure(
            "Spearman of first and last deposit rank",
            spearman(both["deposit_first"], both["deposit_last"]),
            len(both),
            "agents",
        ),
    ]


def positions_held(people: pd.DataFrame) -> Figures:
    """Different positions that an agent held, the founding's included, unemployment not: mean, and changes in all."""
    ordered = people.sort_values(["agent", "year"])
    held = ordered[ordered["position"] != ""].groupby("agent")["position"].nunique()
    agents = ordered["agent"].nunique()
    before = ordered.groupby("agent")["position"].shift()
    repeated = int(before.notna().sum())
    changes = int(((ordered["position"] != before) & before.notna()).sum()) if repeated else float("nan")
    mean = float(held.sum()) / agents if agents else float("nan")
    return [
        _figure("positions held per agent", mean, agents, "agents"),
        _figure("changes of position", changes, repeated, "agents' years"),
    ]


def after_mood_declines(weeks: pd.DataFrame) -> Figures:
    """How the days change after a decline of mood: the week after it minus the week before it, in days of a kind.

    A decline is a week whose mood at its end is at least 5 below that of the week before; only declines with both
    neighbours count.
    """
    ordered = weeks.sort_values(["agent", "year", "week"], ignore_index=True)
    by_agent = ordered.groupby("agent", sort=False)
    declined = by_agent["mood"].shift() - ordered["mood"] >= MOOD_DECLINE
    rows: Figures = []
    for kind in ("joint", "public", "solo"):
        change = (by_agent[kind].shift(-1) - by_agent[kind].shift())[declined].dropna()
        rows.append(_figure(f"{kind} days after a decline of mood", change.mean(), len(change), "declines"))
    return rows


def happy_alone(weeks: pd.DataFrame) -> Figures:
    """Agents with a mean mood of at least 95 over their weeks who spend at least nine tenths of their days alone."""
    grouped = weeks.groupby("agent", sort=True)
    mood, alone = grouped["mood"].mean(), grouped["solo"].sum()
    days = alone + grouped[list(TOGETHER)].sum().sum(axis=1)
    found = int(((mood >= HIGH_MOOD) & (alone >= ALONE * days) & (days > 0)).sum())
    return [_figure("agents in high spirits almost alone", found if len(mood) else float("nan"), len(mood), "agents")]
