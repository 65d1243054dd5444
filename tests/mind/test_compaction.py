"""Long reasoning becomes short, only where the switch is on."""

import asyncio

import pytest

from sim.mind.answer import Answer
from sim.mind.compaction import compact, own_turn
from sim.settings import AnswerSettings, SimSettings
from tests.builders import an_agent
from tests.context.desks import Answers, a_desk, a_world, an_overlay, rough_count


def compacted(replies, *, thinking=True, reasoning="I wondered whether to go.", language="en"):
    model, overlay = Answers(replies), an_overlay(an_agent("Ann"), stage="joint", index=1)
    desk = a_desk(
        model, settings=SimSettings(answers=AnswerSettings(thinking=thinking)), world=a_world(language=language)
    )
    answer = Answer(value="x", status="ok", text="x", key="k", reasoning=reasoning)
    return model, asyncio.run(compact(desk, overlay, "Ann", answer, step="turn1"))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_agent_retells_its_reasoning(language):
    model, thought = compacted(["I hesitated."], language=language)
    assert thought == "I hesitated."
    assert "I wondered whether to go." in model.asked[0].messages[-1].text
    assert model.asked[0].key == "Y1-W1/joint.1/Ann/Ann/turn1.thought/1"


@pytest.mark.parametrize(("thinking", "reasoning"), [(False, "Much."), (True, "  ")])
def test_nothing_is_asked_without_need(thinking, reasoning):
    model, thought = compacted([], thinking=thinking, reasoning=reasoning)
    assert (model.asked, thought) == ([], "")


def test_a_retelling_too_long_is_clipped():
    _, thought = compacted(["Long words. " * 1000])
    assert rough_count(thought) <= 320


def test_the_thought_goes_before_the_answer():
    assert own_turn("Hello.", "I was afraid.").text == "(I was afraid.)\n\nHello."
    assert own_turn("Hello.", "").parts == ("Hello.",)
