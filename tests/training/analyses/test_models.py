"""Several models in one society, and base against tuned: worked out by hand."""

import math

import pandas as pd
import pytest

from tests.training.analyses.frames import of_worlds, some_years, value
from training.evaluation.analyses.models import base_against_tuned, in_one_society, model_of_each


def some_calls(world="w", *, number=1, **models):
    """Calls of agents: `Ann=("big", "big", "small")`."""
    rows = [
        {"round": number, "world": world, "agent": agent, "role": "policy", "fallback": False, "model": model}
        for agent, given in models.items()
        for model in given
    ]
    return pd.DataFrame(rows)


def test_an_agents_model_is_the_one_that_answered_most():
    calls = some_calls(Ann=("big", "small", "small"), Ben=("small", "big"))
    calls.loc[len(calls)] = {
        "round": 1,
        "world": "w",
        "agent": "",
        "role": "environment",
        "fallback": False,
        "model": "e",
    }
    calls.loc[len(calls)] = {
        "round": 1,
        "world": "w",
        "agent": "Ben",
        "role": "policy",
        "fallback": True,
        "model": "spare",
    }
    assert model_of_each(calls).values.tolist() == [["w", "Ann", "small"], ["w", "Ben", "big"]]


def test_of_a_life_over_several_rounds_the_last_model_counts():
    calls = pd.concat([some_calls(Ann=("m@1",) * 5), some_calls(Ann=("m@2",), number=2)])
    assert model_of_each(calls).values.tolist() == [["w", "Ann", "m@2"]]


SOCIAL = {
    "Ann": {"social": [4.0, 2.0], "baseline_social": [1.0, 1.0]},
    "Ben": {"social": [2.0, 2.0], "baseline_social": [3.0, 3.0]},
    "Cy": {"social": [0.0, 2.0], "baseline_social": [1.0, 1.0]},
    "Dee": {"social": [2.0, 2.0], "baseline_social": [3.0, 3.0]},
}


def test_z_within_the_world_by_hand():
    calls = some_calls(Ann=("big",), Ben=("big",), Cy=("small",), Dee=("small",))
    table = in_one_society(some_years(**SOCIAL), calls)
    # year 1: mean 2, sd sqrt 2: z = sqrt 2, 0, -sqrt 2, 0; year 2 does not vary: 0
    # founding: mean 2, sd 1: z = -1, 1, -1, 1
    big = {"metric": "social", "model": "big"}
    assert value(table, "Y1", **big) == pytest.approx(math.sqrt(2) / 2)
    assert value(table, "Y2", **big) == 0.0
    assert value(table, "init", **big) == 0.0
    assert value(table, "avg", **big) == pytest.approx(math.sqrt(2) / 4)
    assert value(table, "delta", **big) == pytest.approx(math.sqrt(2) / 4)
    assert value(table, "avg", metric="social", model="small") == pytest.approx(-math.sqrt(2) / 4)
    assert (value(table, "agents", **big), value(table, "worlds", **big)) == (2, 1)
    assert math.isnan(value(table, "init", metric="economic", model="big")), "only the social reward has a founding"


def test_delta_is_the_average_minus_the_founding():
    table = in_one_society(
        some_years(**SOCIAL), some_calls(Ann=("big",), Ben=("small",), Cy=("small",), Dee=("small",))
    )
    assert value(table, "init", metric="social", model="big") == pytest.approx(-1.0)
    assert value(table, "delta", metric="social", model="big") == pytest.approx(math.sqrt(2) / 2 + 1.0)


def test_worlds_are_compared_within_and_then_averaged():
    years = of_worlds(v=some_years(**SOCIAL), w=some_years(**SOCIAL), u=some_years(**SOCIAL))
    calls = pd.concat(
        [
            some_calls("v", Ann=("big",), Ben=("big",), Cy=("small",), Dee=("small",)),
            some_calls("w", Ann=("small",), Ben=("small",), Cy=("big",), Dee=("big",)),
            some_calls("u", Ann=("big",), Ben=("big",), Cy=("big",), Dee=("big",)),
        ]
    )
    table = in_one_society(years, calls)
    assert value(table, "avg", metric="social", model="big") == pytest.approx(0.0)
    assert value(table, "worlds", metric="social", model="big") == 2, "a world of one model is left out"


def test_one_model_alone_is_compared_with_nobody():
    assert in_one_society(some_years(**SOCIAL), some_calls(**dict.fromkeys(SOCIAL, ("big",)))).empty


def test_base_against_tuned_takes_the_worlds_that_both_lived():
    base = some_years(Ann={"n_liked_by": [1, 3]}, Ben={"n_liked_by": [3, 5]})
    tuned = of_worlds(
        w=some_years(Ann={"n_liked_by": [2, 4]}, Ben={"n_liked_by": [4, 6]}), v=some_years(Ann={"n_liked_by": [99]})
    )
    table = base_against_tuned(base, tuned, seed=1)
    average = {"metric": "liked by", "year": 0}
    assert value(table, "base", **average) == 3.0
    assert value(table, "tuned", **average) == 4.0
    assert (value(table, "delta_low", **average), value(table, "delta_high", **average)) == (1.0, 1.0)
    assert value(table, "percent", **average) == pytest.approx(100 / 3)
    assert value(table, "percent", metric="liked by", year=2) == 25.0
    assert base_against_tuned(base.iloc[:0], tuned, seed=1).empty
