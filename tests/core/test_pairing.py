"""Encounters: how many, and who meets whom."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.pairing import closeness, n_encounters, pair_idle

NAMES = [f"agent {number:02}" for number in range(25)]
recent_lists = st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=10, unique=True))


@pytest.mark.parametrize(("n_idle", "number"), [(0, 0), (5, 1), (10, 2), (100, 20)])
def test_whole_shares_give_exactly_that_many(n_idle: int, number: int) -> None:
    assert {n_encounters(n_idle, 5, random.Random(seed)) for seed in range(50)} == {number}


def test_a_fraction_gives_one_more_with_its_probability() -> None:
    counts = [n_encounters(13, 5, random.Random(seed)) for seed in range(4000)]
    assert set(counts) == {2, 3}
    assert counts.count(3) / len(counts) == pytest.approx(3 / 5, abs=0.03)


def test_one_idle_agent_meets_nobody() -> None:
    assert {n_encounters(1, 5, random.Random(seed)) for seed in range(50)} == {0}


def test_closeness_counts_recency_on_both_sides() -> None:
    recent = {"Ann": ["Ben", "Cem"], "Cem": ["Dot", "Eli", "Ann"]}
    assert closeness("Ann", "Ben", recent) == 1.0
    assert closeness("Ann", "Cem", recent) == pytest.approx(1 / 2 + 1 / 3)
    assert closeness("Ben", "Dot", recent) == 0.0


def test_acquaintances_come_before_strangers() -> None:
    idle = NAMES[:6]
    recent = {NAMES[2]: [NAMES[5]]}
    for seed in range(30):
        pairs = pair_idle(idle, recent, random.Random(seed), share=5)
        assert (NAMES[2], NAMES[5]) in pairs


def test_nearer_acquaintances_meet_more_often() -> None:
    recent = {"a": ["b", "c", "d", "e"]}
    pairs = [pair_idle("abcde", recent, random.Random(seed), share=5)[0] for seed in range(2000)]
    counts = [pairs.count(("a", other)) for other in "bcde"]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] / len(pairs) == pytest.approx(1 / (1 + 1 / 2 + 1 / 3 + 1 / 4), abs=0.04)


def test_strangers_meet_where_nobody_knows_anybody() -> None:
    assert len(pair_idle(NAMES[:10], {}, random.Random(1), share=5)) == 2


def test_who_met_this_week_is_kept_apart() -> None:
    recent = {"a": ["b"]}
    for seed in range(30):
        assert ("a", "b") not in pair_idle("abcde", recent, random.Random(seed), share=5, apart=[("a", "b")])


@given(idle=st.lists(st.sampled_from(NAMES), unique=True), recent=recent_lists, seed=st.integers(0, 999))
def test_exactly_two_each_nobody_twice_and_the_order_of_the_idle_is_nothing(idle, recent, seed) -> None:
    pairs = pair_idle(idle, recent, random.Random(seed), share=5)
    met = [name for pair in pairs for name in pair]
    assert len(met) == len(set(met)) == 2 * len(pairs)
    assert set(met) <= set(idle)
    assert len(idle) // 5 <= len(pairs) <= len(idle) // 5 + 1
    assert pairs == pair_idle(list(reversed(idle)), recent, random.Random(seed), share=5)
