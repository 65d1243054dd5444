"""Base against tuned: means and changes worked out by hand, and what the bootstrap's intervals must hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.evaluation.life import METRICS, compare, percentile


def a_year(agent, year=1, *, world="w", **measures):
    """One agent's year in which everything that is not given is 1."""
    return {"world": world, "agent": agent, "year": year, **dict.fromkeys(METRICS.values(), 1.0), **measures}


def row(comparison, label):
    return next(row for row in comparison.rows if row.label == label)


def test_means_change_and_percent_by_hand():
    base, tuned = (
        [
            a_year(name, year, economic=value)
            for name, of_agent in lives.items()
            for year, value in enumerate(of_agent, 1)
        ]
        for lives in (
            {"Ann": (100.0, 300.0), "Ben": (-400.0, -200.0)},
            {"Ann": (300.0, 300.0), "Ben": (-400.0, 0.0)},
        )
    )
    comparison = compare(base, tuned, seed=1, resamples=200)
    economy = row(comparison, "economy")
    # Ann's mean 200 -> 300, Ben's -300 -> -200: base -50, tuned 50, by year -150 -> -50 and 50 -> 150.
    assert (economy.base, economy.tuned, economy.delta.value) == (-50.0, 50.0, 100.0)
    assert economy.base_by_year == {1: -150.0, 2: 50.0}
    assert economy.tuned_by_year == {1: -50.0, 2: 150.0}
    assert economy.percent is not None
    assert economy.percent.value == 200.0, "relative to the size of the base, so that a rise is positive"
    assert (economy.delta.low, economy.delta.high) == (100.0, 100.0), "both pairs rose by 100, so every resample does"
    assert (comparison.pairs, comparison.years) == (2, (1, 2))


def test_rows_are_those_of_the_table_in_its_order():
    comparison = compare([a_year("Ann")], [a_year("Ann")], seed=1, resamples=10)
    assert [row.label for row in comparison.rows] == list(METRICS)
    assert len(METRICS) == 15
    assert all(row.delta.value == row.delta.low == row.delta.high == 0.0 for row in comparison.rows)


def test_pairs_keep_agents_together():
    base = [a_year(name, fulfillment_mood=10.0 * place) for place, name in enumerate("abcdefgh")]
    tuned = [a_year(name, fulfillment_mood=10.0 * place + 1.0) for place, name in enumerate("abcdefgh")]
    mood = row(compare(base, tuned, seed=3, resamples=500), "mood")
    assert (mood.delta.low, mood.delta.high) == pytest.approx((1.0, 1.0)), "agents differ much, each of them rose by 1"


def test_a_base_of_zero_has_no_percent():
    base = [a_year("Ann", n_mutual_like=0), a_year("Ben", n_mutual_like=0)]
    tuned = [a_year("Ann", n_mutual_like=2), a_year("Ben", n_mutual_like=0)]
    liked = row(compare(base, tuned, seed=1, resamples=100), "mutual like")
    assert liked.percent is None
    assert (liked.delta.value, liked.delta.low, liked.delta.high) == (1.0, 0.0, 2.0)


def test_only_years_that_both_have_are_compared_and_worlds_are_kept_apart():
    base = [a_year("Ann", 1), a_year("Ann", 2, economic=99.0), a_year("Ann", 1, world="v", economic=3.0)]
    tuned = [a_year("Ann", 1, economic=2.0), a_year("Ann", 1, world="v", economic=3.0), a_year("Cy", 1)]
    comparison = compare(base, tuned, seed=1, resamples=50)
    assert (comparison.pairs, comparison.years) == (2, (1,))
    assert row(comparison, "economy").base == 2.0
    assert row(comparison, "economy").tuned == 2.5


def test_nothing_in_common_is_said_with_the_remedy():
    with pytest.raises(ValueError, match="world: restart"):
        compare([a_year("Ann", 1)], [a_year("Ann", 11)], seed=1)


def test_order_of_rows_does_not_matter_and_the_seed_does():
    base = [a_year(name, year, economic=float(ord(name) * year % 7)) for name in "abcde" for year in (1, 2)]
    tuned = [a_year(name, year, economic=float(ord(name) * year % 5)) for name in "abcde" for year in (1, 2)]
    first = compare(base, tuned, seed=1, resamples=100)
    assert compare(base[::-1], tuned[::-1], seed=1, resamples=100) == first
    assert compare(base, tuned, seed=2, resamples=100) != first


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6)), min_size=1, max_size=8), st.integers(0, 99))
def test_intervals_lie_within_the_changes_of_single_agents(values, seed):
    names = [f"agent {place}" for place in range(len(values))]
    base = [a_year(name, subjective=before) for name, (before, _) in zip(names, values, strict=True)]
    tuned = [a_year(name, subjective=after) for name, (_, after) in zip(names, values, strict=True)]
    delta = row(compare(base, tuned, seed=seed, resamples=30), "subjective reward").delta
    changes = [after - before for before, after in values]
    assert min(changes) - 1e-6 <= delta.low <= delta.high <= max(changes) + 1e-6


def test_percentile_by_hand():
    assert percentile([4.0, 1.0, 3.0, 2.0], 0.5) == 2.5
    assert percentile([1.0, 2.0], 0.025) == pytest.approx(1.025)
    assert percentile([7.0], 0.9) == 7.0
