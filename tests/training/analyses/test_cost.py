"""Tokens, hours and the fitted line of a few calls worked out by hand."""

import math

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.training.analyses.frames import value
from training.evaluation.analyses.cost import by_duty, by_week, by_world, fits
from training.evaluation.analyses.measures import ALL_WORLDS

HOUR = 3600.0


def a_call(world="w", *, year=1, week=1, role="policy", duty="plan", prompt=100, output=10, started=HOUR, seconds=HOUR):
    """One call; it takes an hour."""
    row = {"round": 1, "world": world, "year": year, "week": week, "role": role, "duty": duty}
    return row | {"prompt_tokens": prompt, "output_tokens": output, "started": started, "seconds": seconds}


CALLS = pd.DataFrame(
    [
        a_call(year=0, week=0, duty="judging"),
        a_call(started=2 * HOUR),
        a_call(started=2 * HOUR, seconds=2 * HOUR, role="environment", duty="feedback", prompt=280),
        a_call(year=2, week=1, started=9 * HOUR),
        a_call("v", started=100 * HOUR, prompt=40),
    ]
)


def test_cost_by_world():
    table = by_world(CALLS)
    assert value(table, "tokens", world="w", role="role-play") == 330
    assert value(table, "tokens", world="w", role="environment") == 290
    assert value(table, "calls", world="w", role="both") == 4
    # five hours of calls between 1:00 and 10:00
    assert value(table, "call_hours", world="w", role="both") == 5.0
    assert value(table, "span_hours", world="w", role="both") == 9.0
    # worlds live side by side or not: their spans are added
    assert value(table, "span_hours", world=ALL_WORLDS, role="both") == 10.0
    assert value(table, "prompt_tokens", world=ALL_WORLDS, role="both") == 620


def test_cost_by_week_counts_weeks_through_the_years():
    table = by_week(CALLS)
    assert table[table["world"] == "w"][["number", "year", "week"]].values.tolist() == [[0, 0, 0], [1, 1, 1], [2, 2, 1]]
    assert value(table, "tokens", world="w", number=1) == 400
    assert value(table, "span_hours", world="w", number=1) == 2.0
    assert value(table, "call_hours", world="w", number=1) == 3.0


def test_cost_by_duty():
    table = by_duty(CALLS)
    assert value(table, "share_of_tokens", world="w", duty="feedback") == pytest.approx(290 / 620)
    assert value(table, "role", world="w", duty="feedback") == "environment"
    assert value(table, "calls", world=ALL_WORLDS, duty="plan") == 3
    assert table[table["world"] == "w"]["share_of_tokens"].sum() == pytest.approx(1.0)


def test_the_line_through_the_weeks():
    # tokens 100, 130, 110 in weeks 1, 2, 3: slope 5, mean 113 1/3, so 103 1/3 at 0
    weeks = [a_call(week=week, prompt=prompt, output=0) for week, prompt in ((1, 100), (2, 130), (3, 110))]
    table = fits(pd.DataFrame([a_call(year=0, week=0, prompt=9999), *weeks]))
    where = {"world": "w", "quantity": "tokens"}
    assert value(table, "slope", **where) == pytest.approx(5.0)
    assert value(table, "intercept", **where) == pytest.approx(310 / 3)
    # residuals -25/3, 50/3, -25/3: 3750/9 of 4200/9
    assert value(table, "r2", **where) == pytest.approx(1 - 3750 / 4200)
    assert value(table, "growth", **where) == pytest.approx((310 / 3 + 15) / (310 / 3 + 5))
    assert value(table, "weeks", **where) == 3
    assert math.isnan(value(table, "r2", world="w", quantity="call_hours")), "every week took one hour"


def test_two_weeks_have_no_line_and_calls_without_times_no_hours():
    calls = pd.DataFrame([a_call(week=week) for week in (1, 2)])
    assert fits(calls)["slope"].isna().all()
    table = by_world(calls.assign(started=math.nan, seconds=math.nan))
    assert table[table["calls"] > 0][["call_hours", "span_hours"]].isna().all(axis=None)
    assert value(table, "tokens", world="w", role="both") == 220


@settings(max_examples=25)
@given(st.integers(-50, 50), st.integers(0, 1000), st.integers(3, 20))
def test_a_line_is_found_exactly(slope, start, n):
    calls = [a_call(week=week, prompt=2000 + start + slope * week, output=0) for week in range(1, n + 1)]
    table = fits(pd.DataFrame(calls))
    assert value(table, "slope", world="w", quantity="tokens") == pytest.approx(slope, abs=1e-6)
    assert value(table, "intercept", world="w", quantity="tokens") == pytest.approx(2000 + start, abs=1e-5)
