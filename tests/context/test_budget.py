"""Fitting into budgets: nothing exceeds, the right things go first."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.context.budget import (
    Fold,
    clip,
    clip_all,
    clip_middle,
    fit_diaries,
    fit_lines,
    fit_memory,
    fold_plan,
    share,
)
from sim.core.agent import Note
from sim.core.facts import Folded, apply_all
from sim.settings import BudgetSettings, SimSettings
from tests.builders import an_agent
from tests.context.desks import rough_count

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)


@given(TEXTS, st.integers(0, 80))
def test_clipped_text_fits_and_is_a_beginning(text, budget):
    clipped = clip(text, budget, rough_count)
    assert rough_count(clipped) <= budget
    assert text.startswith(clipped.removesuffix("…").rstrip()) or clipped == text


@given(TEXTS, st.integers(0, 80))
def test_text_without_its_middle_fits(text, budget):
    assert rough_count(clip_middle(text, budget, rough_count)) <= budget


def test_clip_prefers_whole_sentences():
    assert clip("She came home. She slept well. She woke up again.", 9, rough_count) == "She came home. She slept well."


def test_clip_middle_keeps_beginning_and_end():
    text = clip_middle("BEGIN " + "x " * 500 + " END", 20, rough_count)
    assert text.startswith("BEGIN")
    assert text.endswith("END")


@given(st.lists(st.integers(0, 500), max_size=12), st.integers(0, 2000))
def test_shares_keep_the_total_and_waste_nothing(sizes, total):
    budgets = share(sizes, total)
    assert sum(budgets) <= total
    assert all(budget <= size for budget, size in zip(budgets, sizes, strict=True))
    if sum(sizes) <= total:
        assert budgets == sizes


def test_shares_by_hand():
    # 10 needs less than a third of 100; the two large ones share the remaining 90
    assert share([200, 10, 80], 100) == [45, 10, 45]


@given(st.lists(TEXTS, max_size=6), st.integers(0, 200))
def test_clipped_texts_share_a_budget(texts, total):
    assert sum(rough_count(text) for text in clip_all(texts, total, rough_count)) <= total


@given(st.lists(TEXTS, max_size=8), st.integers(0, 100), st.sampled_from(["first", "last"]))
def test_fitted_lines_stay_within_the_budget(lines, budget, keep):
    assert sum(rough_count(line) + 1 for line in fit_lines(lines, budget, rough_count, keep=keep)) <= budget


def test_fitted_lines_come_from_the_wanted_end():
    lines = ["one1", "two2", "tre3"]
    assert fit_lines(lines, 4, rough_count) == ["one1", "two2"]
    assert fit_lines(lines, 4, rough_count, keep="last") == ["two2", "tre3"]


def test_a_line_too_long_is_clipped_rather_than_lost():
    assert fit_lines(["word " * 50, "next"], 6, rough_count) == ["word word word…"]


def test_least_recent_memory_drops_to_its_short_form_then_out():
    full = [f"{name}: " + "x" * 40 for name in "abcd"]
    short = [f"{name}: xx" for name in "abcd"]
    everything = sum(rough_count(line) + 1 for line in full)
    assert fit_memory(full, short, everything, rough_count) == full
    assert fit_memory(full, short, everything - 1, rough_count) == [*full[:3], short[3]]
    all_short = sum(rough_count(line) + 1 for line in short)
    assert fit_memory(full, short, all_short, rough_count) == short
    assert fit_memory(full, short, all_short - 1, rough_count) == short[:3]


def week(number: int, *, year: int = 1, kind: str = "diary", text: str = "text") -> Note:
    return Note(year=year, week=number, kind=kind, text=text)


def fold_of(*notes: Note, settings: SimSettings | None = None) -> Fold | None:
    return fold_plan(an_agent(diaries=notes), settings or SimSettings(), rough_count)


def test_nothing_folds_inside_the_window():
    assert fold_of(*(week(number) for number in range(1, 6))) is None


def test_what_is_older_than_the_window_folds_into_its_year():
    notes = [week(number) for number in range(1, 8)]
    assert fold_of(*notes) == Fold(first=0, count=2, kind="year_summary")


def test_a_summary_of_the_same_year_is_taken_up_again():
    notes = [week(2, kind="year_summary"), *(week(number) for number in range(3, 9))]
    assert fold_of(*notes) == Fold(first=0, count=2, kind="year_summary")


def test_years_are_not_mixed():
    earlier = [week(9), week(10)]
    notes = [week(8, kind="year_summary"), *earlier, *(week(n, year=2) for n in range(1, 6))]
    assert fold_of(*notes) == Fold(first=0, count=3, kind="year_summary")
    begun = [week(10, kind="year_summary"), *(week(n, year=2) for n in range(1, 7))]
    assert fold_of(*begun) == Fold(first=1, count=1, kind="year_summary")


def test_the_year_before_folds_into_the_life_summary():
    years = [week(10, year=year, kind="year_summary") for year in (2, 3)]
    assert fold_of(*years, week(1, year=4)) == Fold(first=0, count=1, kind="life_summary")
    life = week(10, kind="life_summary")
    assert fold_of(life, *years, week(1, year=4)) == Fold(first=0, count=2, kind="life_summary")
    assert fold_of(life, years[1], week(1, year=4)) is None


def test_long_diaries_fold_before_the_window_is_full_but_the_newest_stays():
    settings = SimSettings(budgets=BudgetSettings(diaries=100))
    notes = [week(number, text="x" * 160) for number in (1, 2, 3)]  # 40 tokens each, half the budget is 50
    assert fold_of(*notes, settings=settings) == Fold(first=0, count=2, kind="year_summary")
    assert fold_of(week(1, text="x" * 4000), settings=settings) is None


@given(st.integers(1, 60))
def test_folding_until_nothing_is_left_to_fold_bounds_the_entries(n_weeks):
    state, settings = an_agent(), SimSettings()
    for number in range(n_weeks):
        note = week(number % 10 + 1, year=number // 10 + 1)
        state = apply_all(an_agent(diaries=(*state.diaries, note)), ())
        while (fold := fold_plan(state, settings, rough_count)) is not None:
            last = state.diaries[fold.first + fold.count - 1]
            summary = Note(year=last.year, week=last.week, kind=fold.kind, text="summary")
            state = apply_all(state, (Folded(first=fold.first, n_replaced=fold.count, summary=summary),))
        assert len(state.diaries) <= 1 + 1 + settings.windows.diary_weeks
        kinds = [entry.kind for entry in state.diaries]
        assert kinds == sorted(kinds, key=["life_summary", "year_summary", "diary"].index)
        times = [(entry.year, entry.week) for entry in state.diaries]
        assert times == sorted(times)


@given(st.lists(st.tuples(st.sampled_from(["diary", "year_summary"]), st.integers(0, 900)), max_size=9))
def test_diaries_fit_their_budget_in_order(kinds_and_sizes):
    notes = [week(1, kind=kind, text="x" * size) for kind, size in sorted(kinds_and_sizes, reverse=True)]
    kept = fit_diaries(notes, 120, rough_count)
    assert sum(rough_count(note.text) for note in kept) <= 120
    assert [note.kind for note in kept] == sorted((note.kind for note in kept), reverse=True)


@pytest.mark.parametrize("text", ["", "a", "日本語", "a日b"])
def test_the_rough_count_of_these_tests_rounds_up(text):
    assert rough_count(text) >= math.ceil(len(text) / 4)
