"""One question to the environment model: shared head, schema, default, verdict, bound."""

import asyncio

import pytest

from sim.environment.ask import ask_environment
from sim.llm.outcome import Refusal
from tests.builders import an_agent
from tests.context.desks import Answers, a_desk, a_world, an_overlay, rough_count

SCHEMA = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


def ask(replies, *, language="en", text="good", **fields):
    model, overlay = Answers(replies), an_overlay(an_agent("Ann"), stage="solo", index=2)
    values = {
        "step": "outcome",
        "duty": "solo_outcome",
        "template": "feedback/invalid.j2",
        "values": {"text": text, "code": "", "detail": ""},
        "schema": SCHEMA,
        "parse": lambda value: value["n"] if value["n"] > 0 else Refusal(kind="invalid", text="n must be above 0"),
        "default": 7,
        "length": "short",
    }
    desk = a_desk(model, world=a_world(language=language))
    answer = asyncio.run(ask_environment(desk, overlay, **{**values, **fields}))
    return model, overlay, answer


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_environment_answers_by_schema(language):
    model, overlay, answer = ask(['{"n": 3}'], language=language)
    assert (answer.value, answer.status, answer.key) == (3, "ok", "Y1-W1/solo.2/Ann//outcome/1")
    (request,) = model.asked
    assert (request.role, request.agent, request.affinity) == ("environment", "", "solo_outcome")
    assert (request.temperature, request.output.kind) == (0.7, "json")
    (verdict,) = overlay.finish().verdicts
    assert (verdict.agent, verdict.duty, verdict.status) == ("", "solo_outcome", "ok")


def test_all_duties_share_one_head_without_time():
    first, _, _ = ask(['{"n": 3}'])
    second, _, _ = ask(['{"n": 3}'], duty="other", step="other", affinity="group")
    assert first.asked[0].messages[0] == second.asked[0].messages[0]
    assert second.asked[0].affinity == "group"
    assert "Y1-W1-" not in first.asked[0].messages[0].text


def test_the_default_takes_the_place_of_bad_answers():
    model, overlay, answer = ask(['{"n": 0}', "x", '{"m": 1}'])
    assert (answer.value, answer.status) == (7, "fallback")
    assert [verdict.status for verdict in overlay.finish().verdicts] == ["failed", "failed", "fallback"]
    assert "n must be above 0" in model.asked[1].messages[-1].text


def test_a_prompt_far_too_long_is_cut_in_the_middle():
    model, _, _ = ask(['{"n": 3}'], text="word " * 60000)
    tokens = sum(rough_count(message.text) for message in model.asked[0].messages)
    assert tokens <= 32768 - 400
    assert model.asked[0].messages[-1].text.startswith("Your answer")
    assert model.asked[0].messages[-1].text.endswith("as written.")
