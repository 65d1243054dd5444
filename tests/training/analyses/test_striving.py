"""The striving score of small casts worked out by hand."""

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.training.analyses.frames import of_worlds, some_years, value
from training.evaluation.analyses.measures import ALL_WORLDS
from training.evaluation.analyses.striving import ratios, scores


def strive(*pairs, **more):
    """An agent's extra earnings and skill advances by year."""
    earned, learned = zip(*pairs, strict=True)
    return {"extra_earning_count": list(earned), "skill_improvement_count": list(learned), **more}


CAST = {
    "Ann": strive((0, 2), (3, 0), joint_participated=[4, 2]),
    "Ben": strive((4, 2), (1, 5), joint_participated=[0, 0]),
    "Cy": strive((2, 6), (1, 10), joint_participated=[1, 1]),
    "Dee": strive((1, 2), (0, 0), joint_participated=[2, 0]),
}


def test_scores_by_hand():
    table = scores(some_years(**CAST))
    # year 1: earned 0..4 -> 0, 1, 1/2, 1/4; learned 2..6 -> 0, 0, 1, 0; halves: 0, 1/2, 3/4, 1/8
    # year 2: earned 0..3 -> 1, 1/3, 1/3, 0; learned 0..10 -> 0, 1/2, 1, 0; halves: 1/2, 5/12, 2/3, 0
    expected = {"Ann": 1 / 4, "Ben": 11 / 24, "Cy": 17 / 24, "Dee": 1 / 16}
    assert dict(zip(table["agent"], table["score"], strict=True)) == pytest.approx(expected)
    assert table["group"].tolist() == ["", "", "top", "bottom"]


def test_ratio_of_means_of_top_and_bottom():
    table = ratios(some_years(**CAST))
    # joint activities: Cy 1 on average, Dee 1; skill advances: Cy 8, Dee 1
    assert value(table, "ratio", world="w", metric="joint_participated") == 1.0
    assert value(table, "ratio", world="w", metric="skill_improvement_count") == 8.0
    assert value(table, "n_top", world="w", metric="deposit") == 2
    assert value(table, "ratio", world=ALL_WORLDS, metric="skill_improvement_count") == 8.0


def test_what_the_bottom_never_does_has_no_ratio():
    table = ratios(some_years(Ann=strive((0, 0), n_likes=[0]), Ben=strive((1, 1), n_likes=[3])))
    assert value(table, "top", world="w", metric="n_likes") == 3.0
    assert math.isnan(value(table, "ratio", world="w", metric="n_likes"))


def test_a_count_in_which_nobody_differs_is_left_out():
    table = scores(some_years(Ann=strive((5, 0), (5, 5)), Ben=strive((5, 3), (5, 5))))
    # only the skills of the first year tell them apart
    assert table["score"].tolist() == [0.0, 1.0]
    assert table["years"].tolist() == [1, 1]


def test_equals_and_a_single_agent_have_neither_score_nor_group():
    for cast in ({"Ann": strive((5, 5))}, {"Ann": strive((5, 5)), "Ben": strive((5, 5))}):
        table = scores(some_years(**cast))
        assert table["score"].isna().all()
        assert set(table["group"]) == {""}
        assert ratios(some_years(**cast)).empty


def test_worlds_are_scaled_on_their_own_and_pooled_as_groups():
    years = of_worlds(
        v=some_years(Ann=strive((0, 0), deposit=[10]), Ben=strive((1, 1), deposit=[30])),
        w=some_years(Ann=strive((0, 0), deposit=[10]), Ben=strive((90, 90), deposit=[10])),
    )
    assert scores(years)["score"].tolist() == [0.0, 1.0, 0.0, 1.0]
    assert value(ratios(years), "ratio", world=ALL_WORLDS, metric="deposit") == 2.0


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=12))
def test_scores_lie_between_0_and_1_and_order_does_not_matter(pairs):
    years = some_years(**{f"a{place:02d}": strive(pair) for place, pair in enumerate(pairs)})
    table = scores(years)
    assert table["score"].dropna().between(0.0, 1.0).all()
    pd.testing.assert_frame_equal(scores(years.sample(frac=1.0, random_state=2)), table)
    groups = table["group"].value_counts()
    if table["score"].notna().any():
        assert groups["top"] == groups["bottom"] == max(1, len(pairs) // 4)
