"""Returns and advantages: the formulas written out, and what normalisation is for."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.advantage import advantages, advantages_by_agent, normalised_returns, returns

rewards_of_a_life = st.lists(st.floats(-5, 5), min_size=1, max_size=12)


def test_returns_by_hand():
    # T = 3, γ = 0.9: G_3 = 3; G_2 = −2 + 0.9 · 3 = 0.7; G_1 = 1 + 0.9 · (−2) + 0.81 · 3 = 1.63
    assert returns([1, -2, 3], 0.9) == pytest.approx([1.63, 0.7, 3])


def test_normalised_returns_by_hand():
    # horizons 1 + 0.9 + 0.81 = 2.71, 1 + 0.9 = 1.9, 1
    assert normalised_returns([1, -2, 3], 0.9) == pytest.approx([1.63 / 2.71, 0.7 / 1.9, 3])


def test_advantages_by_hand():
    # A_1 = G_1^norm − 0, A_2 = G_2^norm − G_1^norm, A_3 = G_3^norm − G_2^norm
    expected = [1.63 / 2.71, 0.7 / 1.9 - 1.63 / 2.71, 3 - 0.7 / 1.9]
    assert advantages([1, -2, 3], 0.9) == pytest.approx(expected)


def test_a_run_of_one_year_and_of_none():
    assert advantages([0.25], 0.9) == [0.25]
    assert advantages([], 0.9) == []


@given(st.floats(-3, 3), st.integers(1, 12), st.floats(0.05, 1.0))
def test_a_constant_reward_is_its_own_normalised_return(reward, n_years, gamma):
    assert normalised_returns([reward] * n_years, gamma) == pytest.approx([reward] * n_years, abs=1e-9)
    assert advantages([reward] * n_years, gamma) == pytest.approx([reward, *[0.0] * (n_years - 1)], abs=1e-9)


@given(rewards_of_a_life, st.floats(0.05, 1.0))
def test_returns_agree_with_the_sum_in_the_formula(rewards, gamma):
    horizon = len(rewards)
    direct = [math.fsum(gamma**k * rewards[t - 1 + k] for k in range(horizon - t + 1)) for t in range(1, horizon + 1)]
    assert returns(rewards, gamma) == pytest.approx(direct, abs=1e-9)


@given(rewards_of_a_life)
def test_advantages_add_up_to_the_last_reward(rewards):
    # the sum telescopes to G_T^norm − 0 = r_T
    assert math.fsum(advantages(rewards, 0.9)) == pytest.approx(rewards[-1], abs=1e-9)


def test_lives_of_different_length_are_refused_by_name():
    with pytest.raises(ValueError, match=r"same number of years.*'Bo': 1"):
        advantages_by_agent({"Ada": [1.0, 2.0], "Bo": [1.0]}, 0.9)
    assert advantages_by_agent({"Ada": [1.0, 1.0]}, 0.9) == {"Ada": pytest.approx([1.0, 0.0])}
