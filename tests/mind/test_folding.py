"""Old diaries become summaries, told by the agent, or shortened where it doesn't answer."""

import asyncio

import pytest

from sim.core.agent import Note
from sim.llm.protocol import Reply
from sim.mind.folding import fold_diaries, summary_tokens
from sim.settings import SimSettings
from tests.builders import an_agent
from tests.context.desks import Answers, a_desk, a_world, an_overlay, rough_count


def diaries(n_weeks: int) -> tuple[Note, ...]:
    return tuple(
        Note(year=1, week=week, kind="diary", text=f"Week {week}. More of it.") for week in range(1, n_weeks + 1)
    )


def fold(replies, notes, language="en"):
    model, overlay = Answers(replies), an_overlay(an_agent("Ann", diaries=notes), stage="review", week=6)
    asyncio.run(fold_diaries(a_desk(model, world=a_world(language=language)), overlay, "Ann"))
    return model, overlay.state("Ann").diaries


def test_nothing_is_asked_inside_the_window():
    model, left = fold([], diaries(5))
    assert model.asked == []
    assert left == diaries(5)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_agent_tells_what_is_older(language):
    model, left = fold(["It was a wet spring."], diaries(7), language)
    assert left == (Note(year=1, week=2, kind="year_summary", text="It was a wet spring."), *diaries(7)[2:])
    (request,) = model.asked
    assert (request.duty, request.output.kind) == ("fold", "text")
    assert "Week 1. More of it." in request.messages[-1].text
    assert "Week 3." not in request.messages[-1].text


def test_a_second_years_account_sends_the_first_into_the_life():
    years = tuple(Note(year=year, week=10, kind="year_summary", text=f"Year {year}.") for year in (1, 2))
    model, left = fold(["A life."], (*years, *diaries(1)))
    assert [(note.kind, note.text) for note in left] == [
        ("life_summary", "A life."),
        ("year_summary", "Year 2."),
        ("diary", "Week 1. More of it."),
    ]
    assert "Year 2." not in model.asked[0].messages[-1].text


def test_without_an_answer_first_sentences_take_its_place():
    _, left = fold([Reply(text="", finish="unanswered")], diaries(7))
    assert left[0].kind == "year_summary"
    assert "Week 1." in left[0].text
    assert "Week 2." in left[0].text


def test_a_summary_too_long_is_clipped():
    _, left = fold(["Long. " * 5000], diaries(6))
    assert rough_count(left[0].text) <= summary_tokens(SimSettings(), alone=True)
