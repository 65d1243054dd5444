"""Quartiles, correlations and the Gini coefficient by hand, against scipy, and what must hold of them always."""

import math
from itertools import product

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from training.evaluation.analyses.measures import gini, min_max, pearson, quartile_of, ratio, spearman

DEPOSITS = st.lists(st.integers(0, 10**6), min_size=1, max_size=30)


def ranked(*values, world="w"):
    return pd.DataFrame({"world": world, "agent": [f"a{place:02d}" for place in range(len(values))], "x": list(values)})


def test_gini_by_hand():
    # differences of 1, 3: |1-1| + |1-3| + |3-1| + |3-3| = 4; 4 / (2 * 4 * 2) = 0.25
    assert gini([3, 1]) == pytest.approx(0.25)
    assert gini([5, 5, 5]) == 0.0
    # one has all: (n - 1) / n
    assert gini([0, 0, 0, 8]) == pytest.approx(0.75)


def test_gini_of_nothing_is_no_number():
    assert math.isnan(gini([]))
    assert math.isnan(gini([0, 0]))


@given(DEPOSITS)
def test_gini_agrees_with_its_definition_and_lies_below_1(deposits):
    assume(sum(deposits) > 0)
    n, mean = len(deposits), sum(deposits) / len(deposits)
    expected = sum(abs(a - b) for a, b in product(deposits, repeat=2)) / (2 * n * n * mean)
    assert gini(deposits) == pytest.approx(expected, abs=1e-9)
    assert 0.0 <= gini(deposits) < 1.0


@given(DEPOSITS, st.integers(1, 50), st.randoms(use_true_random=False))
def test_gini_knows_neither_order_nor_currency(deposits, factor, rng):
    assume(sum(deposits) > 0)
    shuffled = [factor * deposit for deposit in deposits]
    rng.shuffle(shuffled)
    assert gini(shuffled) == pytest.approx(gini(deposits), abs=1e-9)


def test_quartiles_by_hand():
    # eight agents: two in each; the two with 5 are told apart by name
    assert quartile_of(ranked(8, 1, 5, 5, 2, 9, 0, 7), ["world"], "x").tolist() == [4, 1, 2, 3, 2, 4, 1, 3]
    # five: places 0..4 of 5 are quarters 1, 1, 2, 3, 4
    assert quartile_of(ranked(50, 10, 20, 30, 40), ["world"], "x").tolist() == [4, 1, 1, 2, 3]


def test_no_quartiles_of_few_or_of_missing_values():
    assert quartile_of(ranked(1, 2, 3), ["world"], "x").isna().all()
    known = quartile_of(ranked(1, None, 2, 3, 4), ["world"], "x")
    assert known.isna().tolist() == [False, True, False, False, False]
    assert known.dropna().tolist() == [1, 2, 3, 4]


@settings(max_examples=25)
@given(st.lists(st.integers(-5, 5), min_size=4, max_size=25))
def test_quartiles_are_of_equal_size_and_in_order(values):
    frame = ranked(*values).assign(q=lambda frame: quartile_of(frame, ["world"], "x"))
    sizes = frame["q"].value_counts()
    assert set(sizes.index) == {1, 2, 3, 4}
    assert sizes.max() - sizes.min() <= 1
    by_quartile = frame.groupby("q")["x"]
    assert (by_quartile.max().iloc[:-1].to_numpy() <= by_quartile.min().iloc[1:].to_numpy()).all()


def test_correlations_by_hand():
    # x - mean: -1 0 1; y - mean: -1 1 0; sum of products 1, squares 2 and 2
    assert pearson(pd.Series([1, 2, 3]), pd.Series([1, 3, 2])) == pytest.approx(0.5)
    assert spearman(pd.Series([1, 20, 300]), pd.Series([0.1, 0.3, 0.2])) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("x", "y"), [([1, 2], [1, 2]), ([1, 1, 1], [1, 2, 3]), ([1, 2, 3], [4, 4, 4]), ([1, None, 3], [1, 2, 3])]
)
def test_too_few_pairs_or_no_spread_have_no_correlation(x, y):
    assert math.isnan(pearson(pd.Series(x, dtype=float), pd.Series(y, dtype=float)))
    assert math.isnan(spearman(pd.Series(x, dtype=float), pd.Series(y, dtype=float)))


@given(st.lists(st.tuples(st.integers(-99, 99), st.integers(-99, 99)), min_size=3, max_size=20))
def test_correlations_agree_with_scipy(pairs):
    x, y = (pd.Series(values, dtype=float) for values in zip(*pairs, strict=True))
    assume(x.nunique() > 1 and y.nunique() > 1)
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-9)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-9)


def test_scaling_and_ratios():
    assert min_max(pd.Series([2.0, 6.0, 3.0])).tolist() == [0.0, 1.0, 0.25]
    assert min_max(pd.Series([2.0, 2.0])).isna().all()
    assert ratio(3.0, 2.0) == 1.5
    assert math.isnan(ratio(3.0, 0.0))
