"""Time by hand: text forms, weeks counted through the run, the window of proposals, ages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.clock import Clock, Slot, parse_slot, week_text
from tests.builders import a_clock, a_slot

PAPER = Clock(n_year=10, n_week=10, n_day=5, n_contact=5, start_year=2024)


def test_text_forms():
    assert str(Slot(year=3, week=7, day=2)) == "Y3-W7-activity-D2"
    assert week_text(3, 7) == "Y3-W7"
    assert parse_slot(" y3-w7-Activity-d2 ") == Slot(year=3, week=7, day=2)


@pytest.mark.parametrize("text", ["", "Y3-W7", "Y3-W7-D2", "Y3-W7-activity-D2x", "Y-W7-activity-D2", "3-7-2"])
def test_what_is_no_slot(text):
    assert parse_slot(text) is None


@given(slot=st.builds(a_slot, st.integers(1, 9999), st.integers(1, 999), st.integers(1, 999)))
def test_a_slot_is_read_as_it_is_written(slot):
    assert parse_slot(str(slot)) == slot


@pytest.mark.parametrize(
    ("year", "week", "number", "following"),
    [(1, 1, 1, (1, 2)), (1, 10, 10, (2, 1)), (2, 1, 11, (2, 2)), (10, 9, 99, (10, 10)), (10, 10, 100, None)],
)
def test_weeks_count_on_across_years(year, week, number, following):
    assert PAPER.week_number(year, week) == number
    assert PAPER.week_at(number) == (year, week)
    assert PAPER.next_week(year, week) == following


def test_the_founding_is_before_the_first_week():
    assert PAPER.week_number(0, 0) == 0
    assert PAPER.next_week(0, 0) == (1, 1)


@pytest.mark.parametrize(
    ("year", "week", "first", "last"),
    [
        (1, 1, "Y1-W1-activity-D1", "Y1-W5-activity-D5"),
        (1, 8, "Y1-W8-activity-D1", "Y2-W2-activity-D5"),
        (10, 8, "Y10-W8-activity-D1", "Y10-W10-activity-D5"),
        (10, 10, "Y10-W10-activity-D1", "Y10-W10-activity-D5"),
    ],
)
def test_proposals_reach_from_now_to_four_weeks_ahead_and_no_further_than_the_run(year, week, first, last):
    slots = PAPER.slots_ahead(year, week, 4)
    assert (str(slots[0]), str(slots[-1])) == (first, last)
    assert slots == sorted(slots)
    assert all(PAPER.contains(slot) for slot in slots)


@pytest.mark.parametrize(
    ("birthday", "now", "age"),
    [
        ("Y2003-W8-activity-D4", (1, 8, 3), 20),
        ("Y2003-W8-activity-D4", (1, 8, 4), 21),
        ("Y2003-W8-activity-D4", (1, 9, 1), 21),
        ("Y2003-W8-activity-D4", (3, 1, 1), 22),
        ("Y2024-W1-activity-D1", (1, 1, 1), 0),
        ("Y2030-W1-activity-D1", (1, 1, 1), 0),
    ],
)
def test_ages_follow_from_the_calendar_year_and_the_birthday(birthday, now, age):
    born = parse_slot(birthday)
    assert born is not None
    assert PAPER.age(born, *now) == age


@given(week=st.integers(1, 3), day=st.integers(1, 2), born=st.integers(1950, 2020))
def test_nobody_gets_younger_and_everybody_a_year_older_each_year(week, day, born):
    clock = a_clock(n_year=4)
    birthday = Slot(year=born, week=week, day=day)
    ages = [
        clock.age(birthday, year, now_week, now_day)
        for year in (1, 2, 3, 4)
        for now_week in (1, 2, 3)
        for now_day in (1, 2)
    ]
    assert ages == sorted(ages)
    assert ages[6] == ages[0] + 1
