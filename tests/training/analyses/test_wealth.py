"""Deposits of a small cast worked out by hand."""

import pytest

from tests.training.analyses.frames import of_worlds, some_profiles, value
from training.evaluation.analyses.measures import ALL_WORLDS
from training.evaluation.analyses.wealth import deposit_by_initial_group, deposit_gini

FOUR = some_profiles(
    Ann={"deposit": [400, 100]}, Ben={"deposit": [100, 200]}, Cy={"deposit": [200, 300]}, Dee={"deposit": [300, 400]}
)


def test_gini_of_each_year_and_its_mean_over_worlds():
    table = deposit_gini(of_worlds(v=some_profiles(Ann={"deposit": [1, 0]}, Ben={"deposit": [3, 0]}), w=FOUR))
    assert value(table, "gini", world="v", year=0) == pytest.approx(0.25)
    # 100..400: (2i - 5) x_i = -300 -200 +300 +1200 = 1000 over 4 * 1000
    assert value(table, "gini", world="w", year=0) == pytest.approx(0.25)
    assert value(table, "mean_deposit", world="w", year=1) == 250.0
    assert table[(table["world"] == "v") & (table["year"] == 1)]["gini"].isna().all(), "nobody has anything"
    assert value(table, "n", world=ALL_WORLDS, year=1) == 1
    assert value(table, "gini", world=ALL_WORLDS, year=1) == pytest.approx(0.25)


def test_groups_are_those_of_the_initial_deposit():
    table = deposit_by_initial_group(FOUR)
    began = {group: value(table, "mean_deposit", world="w", initial_group=group, year=0) for group in (1, 2, 3, 4)}
    assert began == {1: 100, 2: 200, 3: 300, 4: 400}
    # Ann began richest and ends poorest, and stays in the group of the richest
    assert value(table, "mean_deposit", world="w", initial_group=4, year=1) == 100
    assert value(table, "mean_deposit", world="w", initial_group=1, year=1) == 200


def test_groups_of_several_worlds_are_pooled():
    table = deposit_by_initial_group(of_worlds(v=FOUR.assign(deposit=FOUR["deposit"] * 3), w=FOUR))
    assert value(table, "mean_deposit", world=ALL_WORLDS, initial_group=1, year=0) == 200
    assert value(table, "n", world=ALL_WORLDS, initial_group=1, year=0) == 2


def test_three_agents_have_no_quartiles_but_a_gini():
    three = FOUR[FOUR["agent"] != "Dee"]
    assert deposit_by_initial_group(three).empty
    assert len(deposit_gini(three)) == 4
