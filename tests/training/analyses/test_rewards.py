"""Distributions, correlations and transitions of small casts worked out by hand."""

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.training.analyses.frames import of_worlds, some_years, value
from training.evaluation.analyses.measures import ALL_WORLDS
from training.evaluation.analyses.rewards import (
    behaviour_by_quartile,
    behaviour_correlations,
    distributions,
    reward_rank_correlations,
    transitions,
)

FOUR = some_years(
    Ann={"reward": [1.0, 4.0]}, Ben={"reward": [2.0, 3.0]}, Cy={"reward": [3.0, 2.0]}, Dee={"reward": [4.0, 1.0]}
)


def test_yearly_means_of_a_world_and_of_all():
    years = of_worlds(
        v=some_years(Ann={"economic": [10.0, 30.0]}, Ben={"economic": [30.0, 50.0]}),
        w=some_years(Cy={"economic": [-40.0]}),
    )
    table = distributions(years)
    assert value(table, "mean", world="v", year="1", reward="economic") == 20.0
    assert value(table, "mean", world="v", year="2", reward="economic") == 40.0
    assert value(table, "sd", world="v", year="2", reward="economic") == 10.0
    assert value(table, "q25", world="v", year="2", reward="economic") == 35.0
    # 10, 30, -40 in the first year of both worlds; 10, 30, 30, 50, -40 in all
    assert value(table, "mean", world=ALL_WORLDS, year="1", reward="economic") == 0.0
    assert value(table, "median", world=ALL_WORLDS, year="all", reward="economic") == 30.0
    assert value(table, "n", world=ALL_WORLDS, year="all", reward="economic") == 5


def test_a_reward_that_is_not_known_has_no_distribution():
    table = distributions(some_years(Ann={"adjusted_social": [None]}))
    assert value(table, "n", year="1", world="w", reward="adjusted_social") == 0
    assert math.isnan(value(table, "mean", year="1", world="w", reward="adjusted_social"))


def test_correlation_of_a_world_and_mean_over_worlds():
    # v: r = 1 of three agents; w: r = 0.5 (see the measures' test); u does not vary
    v = some_years(
        **{f"a{n}": {"social": [float(n)], "joint_participated": [2 * n], "solo_count": [-n]} for n in range(3)}
    )
    w = some_years(
        **{
            f"a{n}": {"social": [float(n)], "joint_participated": [m], "solo_count": [n]}
            for n, m in enumerate((1, 3, 2))
        }
    )
    u = some_years(a={"social": [1.0]}, b={"social": [2.0]}, c={"social": [3.0]})
    table = behaviour_correlations(of_worlds(u=u, v=v, w=w))
    where = {"reward": "social", "metric": "joint_participated"}
    assert value(table, "r", world="v", **where) == pytest.approx(1.0)
    assert value(table, "r", world="w", **where) == pytest.approx(0.5)
    assert math.isnan(value(table, "r", world="u", **where))
    assert value(table, "r", world=ALL_WORLDS, **where) == pytest.approx(0.75)
    assert value(table, "n", world=ALL_WORLDS, **where) == 2
    # -1 and 1: nothing on average, and yet a strong relation in each world
    alone = {"reward": "social", "metric": "solo_count", "world": ALL_WORLDS}
    assert value(table, "r", **alone) == pytest.approx(0.0)
    assert value(table, "abs_r", **alone) == pytest.approx(1.0)


def test_rank_correlation_pools_the_years_of_a_world():
    years = some_years(Ann={"social": [1.0, 9.0], "economic": [0.0, 500.0]}, Ben={"social": [5.0], "economic": [90.0]})
    table = reward_rank_correlations(years)
    assert value(table, "rho", world="w", first="social", second="economic") == pytest.approx(1.0)
    assert value(table, "n", world="w", first="social", second="economic") == 3
    assert math.isnan(value(table, "rho", world="w", first="subjective", second="economic"))


def test_transitions_by_hand():
    table = transitions(FOUR)
    # everybody turns round: 1 -> 4, 2 -> 3, 3 -> 2, 4 -> 1
    for start in (1, 2, 3, 4):
        for end in (1, 2, 3, 4):
            assert value(table, "share", world="w", from_quartile=start, to_quartile=end) == float(start + end == 5)
    assert set(table["pairs"]) == {1}


def test_transitions_are_averaged_over_pairs_of_years():
    # the third year is like the second, so nobody moves between them
    third = FOUR[FOUR["year"] == 2].assign(year=3)
    table = transitions(pd.concat([FOUR, third]))
    assert value(table, "share", world="w", from_quartile=1, to_quartile=4) == 0.5
    assert value(table, "share", world="w", from_quartile=1, to_quartile=1) == 0.5
    assert value(table, "pairs", world="w", from_quartile=1, to_quartile=1) == 2
    # another world in which nobody moves at all: pairs 1 + 2, shares 1/3 and 2/3
    still = pd.concat([FOUR[FOUR["year"] == 1], FOUR[FOUR["year"] == 1].assign(year=2)])
    both = transitions(of_worlds(v=still, w=pd.concat([FOUR, third])))
    assert value(both, "share", world=ALL_WORLDS, from_quartile=1, to_quartile=1) == pytest.approx(2 / 3)


def test_years_that_do_not_follow_each_other_are_no_pair():
    assert transitions(FOUR.assign(year=FOUR["year"] * 2)).empty
    assert transitions(FOUR[FOUR["agent"] != "Dee"]).empty, "three agents have no quartiles"


@settings(max_examples=25)
@given(st.lists(st.lists(st.integers(-9, 9), min_size=3, max_size=3), min_size=4, max_size=9))
def test_transitions_from_a_quartile_add_up_to_1(lives):
    years = some_years(**{f"a{place}": {"reward": rewards} for place, rewards in enumerate(lives)})
    sums = transitions(years).groupby(["world", "from_quartile"])["share"].sum()
    assert sums.to_numpy() == pytest.approx(1.0)
    pd.testing.assert_frame_equal(transitions(years.sample(frac=1.0, random_state=1)), transitions(years))


def test_behaviour_by_quartile_takes_the_six_most_telling_metrics():
    telling = {f"a{n}": {"social": [float(n)], "solo_count": [10 * n], "n_likes": [(0, 1, 3, 2)[n]]} for n in range(4)}
    table = behaviour_by_quartile(some_years(**telling))
    social = table[table["reward"] == "social"]
    assert social[["place", "metric"]].drop_duplicates().values.tolist() == [[1, "solo_count"], [2, "n_likes"]]
    assert [value(social, "mean", metric="solo_count", quartile=q) for q in (1, 2, 3, 4)] == [0, 10, 20, 30]
    assert [value(social, "mean", metric="n_likes", quartile=q) for q in (1, 2, 3, 4)] == [0, 1, 3, 2]
    assert set(table["reward"]) == {"social"}, "a reward that does not vary goes together with nothing"


def test_no_more_than_six_metrics_and_the_strongest_first():
    from training.evaluation.analyses.lives import METRICS

    strong = {
        f"a{n}": {
            "economic": [float(n)],
            **{metric: [float(n % 5 + place * n)] for place, metric in enumerate(METRICS)},
        }
        for n in range(8)
    }
    table = behaviour_by_quartile(some_years(**strong))
    economic = table[table["reward"] == "economic"].drop_duplicates("metric")
    assert economic["place"].tolist() == [1, 2, 3, 4, 5, 6]
    assert economic["abs_r"].is_monotonic_decreasing
    # the larger the place, the more of the metric is the reward itself
    assert economic["metric"].tolist() == list(METRICS[:-7:-1])
