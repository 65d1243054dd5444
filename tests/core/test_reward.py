"""The yearly reward: every formula worked out by hand, numpy as an oracle for percentiles, properties of z-scores."""

import math
import statistics

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.agent import WeekSnapshot
from sim.core.reward import (
    RewardRules,
    YearOfLife,
    count_penalties,
    life_rewards,
    lower_quartile,
    subjective_reward,
    z_scores,
)

RULES = RewardRules(alpha=2.0, damping=0.85, tolerance=1e-9, penalty=5.0, social=0.4, subjective=0.4, economic=0.2)
numbers = st.floats(-1e6, 1e6).map(lambda value: round(value, 6))


def week(number=1, *, vitality=50.0, mood=50.0, material=50.0, social=50.0, esteem=50.0, year=1):
    """A week's closing numbers."""
    return WeekSnapshot(
        year=year,
        week=number,
        vitality=vitality,
        mood=mood,
        material=material,
        social=social,
        esteem=esteem,
        deposit=0,
        total_skills=0.0,
    )


def test_lower_quartile_by_hand():
    # five values: place 0.25 · 4 = 1, the second smallest
    assert lower_quartile([50, 10, 40, 20, 30]) == 20
    # four values: place 0.25 · 3 = 0.75 → 10 + 0.75 · (20 − 10)
    assert lower_quartile([10, 20, 30, 40]) == 17.5
    # two values: place 0.25 → 10 + 0.25 · (30 − 10)
    assert lower_quartile([30, 10]) == 15
    assert lower_quartile([42]) == 42


@given(st.lists(numbers, min_size=1, max_size=30))
def test_lower_quartile_agrees_with_numpy(values):
    assert lower_quartile(values) == pytest.approx(float(numpy.percentile(values, 25)), abs=1e-6)


def test_penalties_by_hand():
    # moods of week 1: 10, 20, 30, 40 → threshold 17.5: only a is below. Vitality: 30, 30, 30, 90 → place 0.75 between
    # 30 and 30: nobody is strictly below. All else is alike: nobody.
    # Week 2: moods 60, 5, 60, 60 → threshold 5 + 0.75 · 55 = 46.25: b. Esteem 1, 2, 60, 60 → 1 + 0.75 · 1 = 1.75: a.
    snapshots = {
        "a": (week(1, mood=10, vitality=30), week(2, mood=60, esteem=1)),
        "b": (week(1, mood=20, vitality=30), week(2, mood=5, esteem=2)),
        "c": (week(1, mood=30, vitality=30), week(2, mood=60, esteem=60)),
        "d": (week(1, mood=40, vitality=90), week(2, mood=60, esteem=60)),
    }
    assert count_penalties(snapshots) == {"a": 2, "b": 1, "c": 0, "d": 0}


def test_an_agent_alone_and_equal_agents_have_no_penalties():
    assert count_penalties({"a": (week(1, mood=0), week(2))}) == {"a": 0}
    assert count_penalties({"a": (week(1),), "b": (week(1),)}) == {"a": 0, "b": 0}
    assert count_penalties({"a": (), "b": ()}) == {"a": 0, "b": 0}


def test_of_two_agents_the_lower_is_penalised_in_each_quantity():
    low = week(1, vitality=1, mood=1, material=1, social=1, esteem=1)
    assert count_penalties({"a": (low,), "b": (week(1),)}) == {"a": 5, "b": 0}


def test_subjective_reward_by_hand():
    # week 1: 60 + 40 + 50 + 30 = 180; week 2: 70 + 40 + 55 + 35 = 200; 3 penalties of 5 → (380 − 15) / (2 · 4)
    weeks = (
        week(1, mood=60, material=40, social=50, esteem=30),
        week(2, mood=70, material=40, social=55, esteem=35),
    )
    assert subjective_reward(weeks, 3, 5.0) == pytest.approx(365 / 8)
    assert subjective_reward((), 0, 5.0) == 0


def test_z_scores_by_hand():
    # mean 5, deviations −3, −1, +1, +3, variance (9 + 1 + 1 + 9) / 4 = 5
    root = math.sqrt(5)
    assert z_scores({"a": 2, "b": 4, "c": 6, "d": 8}) == pytest.approx(
        {"a": -3 / root, "b": -1 / root, "c": 1 / root, "d": 3 / root}
    )
    # two agents are always one deviation apart from their mean
    assert z_scores({"a": 10, "b": 300}) == pytest.approx({"a": -1, "b": 1})


def test_values_that_do_not_differ_have_z_scores_of_zero():
    assert z_scores({"a": 7.5, "b": 7.5}) == {"a": 0, "b": 0}
    assert z_scores({"a": 3}) == {"a": 0}
    assert z_scores({}) == {}
    # the last bit of a sum is no difference: 0.1 + 0.2 against 0.3
    assert z_scores({"a": 0.1 + 0.2, "b": 0.3}) == {"a": 0, "b": 0}


@given(st.lists(numbers, min_size=1, max_size=20))
def test_z_scores_are_centred_scaled_and_keep_the_order(values):
    named = {f"agent {index:02}": value for index, value in enumerate(values)}
    result = z_scores(named)
    assert math.fsum(result.values()) == pytest.approx(0, abs=1e-6)
    if any(result.values()):
        assert statistics.pstdev(result.values()) == pytest.approx(1)
    for one in named:
        for other in named:
            if named[one] < named[other]:
                assert result[one] <= result[other]


@given(st.lists(numbers, min_size=2, max_size=20), st.floats(0.5, 100.0), st.floats(-100.0, 100.0))
def test_z_scores_ignore_unit_and_origin(values, unit, origin):
    named = {f"agent {index:02}": value for index, value in enumerate(values)}
    if max(values) - min(values) > 1e-3:
        moved = {name: unit * value + origin for name, value in named.items()}
        assert z_scores(moved) == pytest.approx(z_scores(named), abs=1e-4)


def test_total_reward_of_two_by_hand():
    # Social: they rate each other alone: standing 3/2 each, no difference: z 0.
    # Subjective: a is below in mood alone (40 against 80, threshold 50): one penalty.
    #   a: (40 + 50 + 50 + 50 − 5) / 4 = 46.25;  b: (80 + 150) / 4 = 57.5;  z −1 and +1
    # Economic: a 700 − 500 = 200, b 450 − 500 = −50;  z +1 and −1
    # r_a = 0.4 · 0 + 0.4 · (−1) + 0.2 · 1 = −0.2, r_b = +0.2
    both = {"affection": 60, "respect": 60}
    years = {
        "a": YearOfLife(scores={"b": both}, snapshots=(week(1, mood=40),), deposit_start=500, deposit_end=700),
        "b": YearOfLife(scores={"a": both}, snapshots=(week(1, mood=80),), deposit_start=500, deposit_end=450),
    }
    rewards = life_rewards(years, RULES)
    assert rewards["a"].n_penalties == 1
    assert rewards["a"].subjective == pytest.approx(46.25)
    assert rewards["b"].subjective == pytest.approx(57.5)
    assert (rewards["a"].economic, rewards["b"].economic) == (200, -50)
    assert rewards["a"].social == rewards["b"].social == pytest.approx(1.5)
    assert rewards["a"].reward == pytest.approx(-0.2)
    assert rewards["b"].reward == pytest.approx(0.2)


def test_a_life_alone_has_a_reward_of_zero():
    year = YearOfLife(scores={"nobody": {"affection": 90, "respect": 90}}, snapshots=(), deposit_start=1, deposit_end=9)
    reward = life_rewards({"a": year}, RULES)["a"]
    assert (reward.social, reward.reward, reward.economic) == (0, 0, 8)


@given(st.integers(1, 8), st.randoms(use_true_random=False))
def test_rewards_average_to_zero_and_ignore_the_order_of_agents(n, random):
    names = [f"agent {index}" for index in range(n)]
    years = {
        name: YearOfLife(
            scores={
                other: {"affection": random.randint(0, 100), "respect": random.choice([None, 30, 60])}
                for other in random.sample(names, random.randint(0, n))
            },
            snapshots=tuple(week(w, mood=random.randint(0, 100), vitality=random.randint(0, 100)) for w in (1, 2)),
            deposit_start=random.randint(0, 900),
            deposit_end=random.randint(0, 900),
        )
        for name in names
    }
    rewards = life_rewards(years, RULES)
    assert math.fsum(reward.reward for reward in rewards.values()) == pytest.approx(0, abs=1e-9)
    assert life_rewards({name: years[name] for name in random.sample(names, n)}, RULES) == rewards
