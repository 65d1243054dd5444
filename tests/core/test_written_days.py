"""A day is read in every form that can mean one day only."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.written_days import read_day
from tests.builders import a_clock, a_slot

WINDOW = a_clock(n_year=3, n_week=6, n_day=5).slots_ahead(1, 4, 4)


@pytest.mark.parametrize(
    "text",
    [
        "Y1-W5-activity-D3",
        "y1-w5-ACTIVITY-d3",
        "Ｙ１－Ｗ５－activity－Ｄ３",
        "Y1‑W5‑activity‑D3",
        '"Y1-W5-activity-D3"',
        "Y1 W5 D3",
        "Y1-W5-D3",
        "y1w5d3",
        "Year 1, Week 5, Day 3",
        "year 1 week 5 activity day 3",
        "Week 5, Day 3",
        "W5-D3",
        "第1年第5周第3天",
        "第一年 第五周 第三天",
        "第五周第三天",
        "第５个星期，第３天",
        "[Y1-W5-activity-D3]",
        "Y1-W5-activity-D3.",
    ],
)
def test_the_day_is_found(text: str) -> None:
    assert read_day(text, WINDOW) == a_slot(1, 5, 3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tomorrow",
        "Friday",
        "Day 3",
        "D3",
        "Week 5",
        "Y1-W5",
        "Y1-W5-activity",
        "5/3",
        "2024-05-03",
        "W9-D9",
        "Week 5 or 6, Day 3",
        "Y1-W5-activity-D3 to D4",
        "Y1-W5-activity-D3 at noon",
        "3天1周",
        "1周3天",
        "第一二周第三天",
        "第十十周第一天",
        "星期三",
        "明天",
        "Y-W-D",
        "Y12345-W1-D1",
        "\ud800",
    ],
)
def test_what_leaves_a_doubt_is_no_day(text: str) -> None:
    assert read_day(text, WINDOW) is None


def test_a_day_of_two_years_needs_its_year() -> None:
    window = a_clock(n_year=2, n_week=2, n_day=2).slots_ahead(1, 1, 2)
    assert read_day("Week 1, Day 2", window) is None
    assert read_day("Week 2, Day 2", window) == a_slot(1, 2, 2)
    assert read_day("Year 2, Week 1, Day 2", window) == a_slot(2, 1, 2)


@pytest.mark.parametrize(("text", "week"), [("十", 10), ("十二", 12), ("二十", 20), ("三十四", 34), ("九", 9)])
def test_chinese_numbers(text: str, week: int) -> None:
    assert read_day(f"第一年第{text}周第一天", ()) == a_slot(1, week, 1)


@given(st.text(max_size=20) | st.text("ywd0123年周天第一二十 -", max_size=16))
def test_any_text_is_a_day_or_none(text: str) -> None:
    read_day(text, WINDOW)
