"""The seven figures of divergence worked out by hand, and what they say where there is no case."""

import math

import pandas as pd
import pytest

from sim.core.agent import TRAITS
from tests.training.analyses.frames import some_profiles, some_ratings, value
from training.evaluation.analyses.divergence import (
    affection_drops,
    after_mood_declines,
    deposit_ranks,
    divergence,
    happy_alone,
    positions_held,
    trait_change,
)


def traits(**moved):
    """Traits of two years that are 50 but for these: `patience=(40, 43)`."""
    return {f"trait_{name}": list(moved.get(name, (50, 50))) for name in TRAITS}


def figures(rows):
    return {row["figure"]: (row["value"], row["n"]) for row in rows}


def some_weeks(**of_agent):
    """Weeks of agents: `Ann=[(mood, joint, public, encounter, solo), …]`, ten weeks to a year."""
    rows = [
        {"world": "w", "year": 1 + place // 10, "week": 1 + place % 10, "agent": agent, "mood": float(mood)}
        | {"joint": joint, "public": public, "encounter": encounter, "solo": solo}
        for agent, weeks in of_agent.items()
        for place, (mood, joint, public, encounter, solo) in enumerate(weeks)
    ]
    return pd.DataFrame(rows)


def test_trait_change():
    people = some_profiles(Ann=traits(patience=(40, 43), control=(60, 55)), Ben=traits(empathy=(50, 51)))
    found = figures(trait_change(people))
    assert found["total trait change"] == (9.0, 2)
    assert found["trait change per agent"] == (4.5, 2)


def test_traits_that_are_not_known_have_no_change():
    found = figures(trait_change(some_profiles(Ann={f"trait_{name}": [None, None] for name in TRAITS})))
    assert math.isnan(found["total trait change"][0])
    assert found["total trait change"][1] == 0


def test_affection_drops():
    ratings = some_ratings(
        (0, "Ann", "Ben", 80.0),
        (1, "Ann", "Ben", 65.0),  # a drop of 15
        (2, "Ann", "Ben", 51.0),  # of 14
        (0, "Ben", "Ann", 80.0),
        (1, "Ben", "Ann", None),
        (2, "Ben", "Ann", 10.0),  # nothing is known of the year between
        (1, "Cy", "Ann", 10.0),
        (2, "Cy", "Ann", 90.0),
    )
    assert figures(affection_drops(ratings)) == {"affection drops of 15 or more": (1, 3)}
    assert math.isnan(affection_drops(ratings[ratings["year"] == 0])[0]["value"])


def test_deposit_ranks():
    # 40 agents in a row; the poorest ends richest: it moves by 39, the others by 1
    cast = {f"a{place:02d}": {"deposit": [place, place]} for place in range(40)} | {"a00": {"deposit": [0, 100]}}
    found = figures(deposit_ranks(some_profiles(**cast)))
    assert found["agents whose deposit rank moves by 30 or more"] == (1, 40)
    # 1 - 6 * (39^2 + 39 * 1) / (40 * (40^2 - 1))
    assert found["Spearman of first and last deposit rank"] == (pytest.approx(1 - 6 * 1560 / 63960), 40)


def test_in_a_small_cast_no_rank_can_move_so_far():
    found = figures(deposit_ranks(some_profiles(Ann={"deposit": [1, 2]}, Ben={"deposit": [2, 1]})))
    assert math.isnan(found["agents whose deposit rank moves by 30 or more"][0])
    assert math.isnan(found["Spearman of first and last deposit rank"][0]), "two agents have no correlation"


def test_positions_held():
    people = some_profiles(
        Ann={"position": ["Cafe/Cook", "Cafe/Owner", "Cafe/Cook"]},  # two, changed twice
        Ben={"position": ["", "", "Cafe/Cook"]},  # one, changed once
        Cy={"position": ["", "", ""]},
    )
    assert figures(positions_held(people)) == {"positions held per agent": (1.0, 3), "changes of position": (3, 6)}


def test_days_after_a_decline_of_mood():
    weeks = some_weeks(
        # the second week is a decline; before it one joint day, after it three
        Ann=[(60, 1, 0, 0, 4), (55, 0, 0, 0, 5), (50.5, 3, 1, 0, 1)],
        # a decline in the last week has no week after it; one of 4.9 is none
        Ben=[(60, 5, 0, 0, 0), (55.1, 5, 0, 0, 0), (40, 0, 0, 0, 5)],
    )
    assert figures(after_mood_declines(weeks)) == {
        "joint days after a decline of mood": (2.0, 1),
        "public days after a decline of mood": (1.0, 1),
        "solo days after a decline of mood": (-3.0, 1),
    }


def test_declines_go_over_the_turn_of_the_year_but_not_from_one_agent_to_another():
    weeks = some_weeks(Ann=[(60, 2, 0, 0, 0)] * 10 + [(40, 0, 0, 0, 2), (40, 1, 0, 0, 1)], Ben=[(10, 0, 0, 0, 2)])
    found = figures(after_mood_declines(weeks))
    assert found["joint days after a decline of mood"] == (-1.0, 1)


def test_happy_and_almost_alone():
    weeks = some_weeks(
        Ann=[(96, 0, 0, 0, 5), (94, 0, 0, 1, 4)],  # 95 on average, nine of ten days alone
        Ben=[(99, 0, 0, 0, 5), (99, 1, 1, 0, 3)],  # too much company
        Cy=[(95, 0, 0, 0, 5), (94, 0, 0, 0, 5)],  # not quite happy
    )
    assert figures(happy_alone(weeks)) == {"agents in high spirits almost alone": (1, 3)}


def test_every_world_has_every_figure_also_with_a_single_year():
    people = some_profiles(Ann={"deposit": [5], **{name: [50] for name in traits()}}).assign(position="")
    table = divergence(people, some_ratings(), some_weeks(Ann=[(50, 0, 0, 0, 5)]))
    assert set(table["world"]) == {"w"}
    assert value(table, "value", figure="agents in high spirits almost alone") == 0
    assert table[table["n"] == 0]["value"].isna().all(), "no case, no number"
