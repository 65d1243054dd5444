"""Settlement by the specification's numbers, and what happens at the edges of a purse."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.facts import apply_all
from sim.core.settlement import (
    COST_PER_WEEK,
    MATERIAL_PER_WEEK,
    STANDARDS,
    dearest_affordable,
    decay,
    settle_standard,
    skill_gain,
    weekly_income,
)
from tests.builders import a_position, an_agent


def test_decay_takes_fifteen_percent_of_three_fulfilments() -> None:
    state = an_agent(mood=80.0, social=40.0, esteem=10.0, material=70.0, vitality=70.0)
    after = apply_all(state, (decay(state, 0.15),))
    assert (after.mood, after.social, after.esteem) == (68.0, 34.0, 8.5)
    assert (after.material, after.vitality) == (70.0, 70.0)


@given(value=st.floats(0, 100), share=st.floats(0, 1))
def test_decay_never_leaves_the_range_nor_raises(value: float, share: float) -> None:
    state = an_agent(mood=value, social=value, esteem=value)
    after = apply_all(state, (decay(state, share),))
    assert 0 <= after.mood <= value + 1e-6
    assert after.mood == pytest.approx(value * (1 - share), abs=2e-6)


@pytest.mark.parametrize(
    ("position", "extra", "income"),
    [
        (a_position(weekly_income=300), 0, 300),
        (a_position(weekly_income=300), 50, 350),
        (a_position(weekly_income=0, type="non-work"), 120, 120),
        (a_position(weekly_income=9000), 0, 500),
        (a_position(weekly_income=-20), 0, 0),
        (None, 0, 100),
        (None, 40, 140),
        (None, -40, 100),
    ],
)
def test_income_of_a_week(position, extra: int, income: int) -> None:
    assert weekly_income(position, extra, unemployed_income=100, max_salary=500) == income


def test_a_position_teaches_one_to_five_a_week_per_skill() -> None:
    gains = skill_gain(a_position(weekly_skill_gain={"baking": 2, "patience": 9, "sums": 0}))
    assert gains == {"baking": 2.0, "patience": 5.0}
    assert skill_gain(None) == {}


def test_standards_cost_and_give_what_the_specification_says() -> None:
    assert [COST_PER_WEEK[standard] for standard in STANDARDS] == [100, 200, 300, 500]
    assert [MATERIAL_PER_WEEK[standard] for standard in STANDARDS] == [-5, 0, 5, 10]


@pytest.mark.parametrize(
    ("deposit", "best"),
    [(99, None), (100, "frugal"), (199, "frugal"), (200, "moderate"), (300, "comfortable"), (499, "comfortable"),
     (500, "luxurious")],
)  # fmt: skip
def test_dearest_affordable(deposit: int, best: str | None) -> None:
    assert dearest_affordable(deposit) == best


@pytest.mark.parametrize(
    ("chosen", "deposit", "standard", "paid", "material", "verdict"),
    [
        ("comfortable", 1000, "comfortable", 300, 5, "as_chosen"),
        ("luxurious", 310, "comfortable", 300, 5, "too_dear"),
        ("luxurious", 100, "frugal", 100, -5, "too_dear"),
        ("frugal", 100, "frugal", 100, -5, "as_chosen"),
        ("frugal", 60, "frugal", 60, -5, "destitute"),
        ("luxurious", 0, "frugal", 0, -5, "destitute"),
    ],
)
def test_what_comes_of_a_choice(chosen, deposit, standard, paid, material, verdict) -> None:
    outcome = settle_standard(chosen, deposit)
    assert (outcome.standard, outcome.paid, outcome.material, outcome.verdict) == (standard, paid, material, verdict)


@given(chosen=st.sampled_from(STANDARDS), deposit=st.integers(0, 2000))
def test_nobody_pays_more_than_there_is_or_for_more_than_chosen(chosen, deposit: int) -> None:
    outcome = settle_standard(chosen, deposit)
    assert 0 <= outcome.paid <= deposit
    assert COST_PER_WEEK[outcome.standard] <= max(COST_PER_WEEK[chosen], 100)
