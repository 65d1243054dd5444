"""Outcomes of a question: accepted, repaired, called functions, or failed after bounded attempts."""

import asyncio
from typing import Any

import pytest

from sim.llm.outcome import Outcome, Refusal, ToolCall
from sim.llm.protocol import OutputFormat, Reply, Request
from sim.llm.structured import SHOWN_CHARS, Structured, attempt_key, attempt_seed
from tests.llm.replay import Replay, a_request

SCHEMA = {
    "type": "object",
    "properties": {"standard": {"enum": ["frugal", "moderate"]}},
    "required": ["standard"],
    "additionalProperties": False,
}
READ_FILE = {
    "type": "object",
    "properties": {
        "name": {"const": "read_file"},
        "arguments": {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    },
    "required": ["name", "arguments"],
}
JSON = OutputFormat(kind="json", schema=SCHEMA)
WITH_TOOLS = OutputFormat(kind="json", schema=SCHEMA, tools=(READ_FILE,))
GOOD = '{"standard": "frugal"}'


def keep(value: Any) -> Any:
    return value


def ask(model: Replay, request: Request, parse: Any = keep, attempts: int = 3, bound: int = 0) -> Outcome[Any]:
    structured = Structured(model, attempts=attempts, max_tokens_bound=bound)
    return asyncio.run(structured.ask(request, parse, feedback=lambda refusal: f"again: {refusal.text}"))


def test_a_valid_answer_is_ok_at_once() -> None:
    outcome = ask(Replay([GOOD]), a_request(output=JSON))
    assert (outcome.status, outcome.value, outcome.rejected) == ("ok", {"standard": "frugal"}, ())
    assert outcome.key.endswith("/plan/0")


def test_a_lenient_reading_is_repaired() -> None:
    outcome = ask(Replay([f"Here: {GOOD}"]), a_request(output=JSON))
    assert (outcome.status, outcome.value) == ("repaired", {"standard": "frugal"})


def test_a_further_attempt_differs_in_key_seed_and_messages() -> None:
    model = Replay(["no idea", '{"standard": "royal"}', GOOD])
    request = a_request(output=JSON)
    outcome = ask(model, request)
    assert (outcome.status, outcome.value) == ("repaired", {"standard": "frugal"})
    assert [r.kind for r in outcome.rejected] == ["malformed", "invalid"]
    assert [r.key for r in model.asked] == [attempt_key(request.key, n) for n in range(3)]
    assert outcome.key == model.asked[2].key
    assert len({r.seed for r in model.asked}) == 3
    assert model.asked[1].seed == attempt_seed(request.seed, 1)
    assert [m.role for m in model.asked[2].messages] == ["system", "user", "assistant", "user"]
    assert model.asked[2].messages[2].text == '{"standard": "royal"}'
    assert model.asked[2].messages[3].text.startswith("again: $.standard")


def test_the_callers_refusal_counts_as_an_attempt() -> None:
    def parse(value: dict[str, Any]) -> str | Refusal:
        standard = value["standard"]
        return Refusal(kind="invalid", text="too dear") if standard == "moderate" else standard

    outcome = ask(Replay(['{"standard": "moderate"}', GOOD]), a_request(output=JSON), parse)
    assert (outcome.status, outcome.value) == ("repaired", "frugal")
    assert outcome.rejected[0].text == "too dear"


def test_attempts_are_bounded_and_the_last_reply_is_kept() -> None:
    model = Replay(["a", "b", "c", "d"])
    outcome = ask(model, a_request(output=JSON), attempts=3)
    assert (outcome.status, outcome.value, outcome.reply.text) == ("failed", None, "c")
    assert len(outcome.rejected) == 3


def test_nothing_is_appended_after_an_empty_answer() -> None:
    model = Replay(["  \n", GOOD])
    request = a_request(output=JSON)
    outcome = ask(model, request)
    assert outcome.rejected[0].kind == "empty"
    assert model.asked[1].messages == request.messages
    assert model.asked[1].seed != request.seed


def test_a_cut_off_answer_is_never_accepted_and_gets_more_room_up_to_the_bound() -> None:
    cut = Reply(text=GOOD, finish="length")
    model = Replay([cut, cut, cut])
    outcome = ask(model, a_request(output=JSON), bound=200)
    assert outcome.status == "failed"
    assert [r.kind for r in outcome.rejected] == ["truncated"] * 3
    assert [r.max_tokens for r in model.asked] == [100, 150, 200]


def test_without_a_bound_the_answer_may_not_become_longer() -> None:
    model = Replay([Reply(text="x", finish="length"), "done"])
    assert ask(model, a_request()).status == "repaired"
    assert [r.max_tokens for r in model.asked] == [100, 100]


def test_a_run_of_blanks_is_cut_and_gets_no_more_room() -> None:
    model = Replay([Reply(text='{"standard":' + " " * 3000, finish="length"), GOOD])
    outcome = ask(model, a_request(output=JSON), bound=1000)
    assert outcome.rejected[0].kind == "malformed"
    assert "blanks" in outcome.rejected[0].text
    assert model.asked[1].max_tokens == 100
    assert model.asked[1].messages[2].text == '{"standard":'


def test_no_further_attempt_after_no_answer() -> None:
    model = Replay([Reply(text="", finish="unanswered"), GOOD])
    outcome = ask(model, a_request(output=JSON))
    assert outcome.status == "failed"
    assert [r.kind for r in outcome.rejected] == ["unanswered"]
    assert len(model.asked) == 1


def test_a_long_rejected_answer_is_shown_clipped() -> None:
    model = Replay(["word " * 1000, GOOD])
    ask(model, a_request(output=JSON))
    assert len(model.asked[1].messages[2].text) <= SHOWN_CHARS + 2


def test_function_calls_end_the_question_without_a_value() -> None:
    text = 'Let me look.\n<tool_call>{"name": "read_file", "arguments": {"path": "general.txt"}}</tool_call>'
    outcome = ask(Replay([text]), a_request(output=WITH_TOOLS))
    assert (outcome.status, outcome.value) == ("ok", None)
    assert outcome.tool_calls == (ToolCall(name="read_file", arguments={"path": "general.txt"}),)


def test_several_calls_and_a_missing_end_mark() -> None:
    call = '{"name": "read_file", "arguments": {"path": "%s"}}'
    text = f"<tool_call>{call % 'a'}</tool_call><tool_call>{call % 'b'}"
    outcome = ask(Replay([text]), a_request(output=WITH_TOOLS))
    assert outcome.status == "repaired"
    assert [c.arguments["path"] for c in outcome.tool_calls] == ["a", "b"]


@pytest.mark.parametrize(
    ("call", "kind", "told"),
    [
        ('{"name": "read_file", "arguments": {}}', "malformed", "'path' is a required property"),
        ('{"name": "delete_file", "arguments": {}}', "invalid", "there are read_file"),
        ('{"name": ["read_file"], "arguments": {}}', "invalid", "there are read_file"),
        ('{"name": "read_file", "arg', "malformed", "a string does not end"),
        ("read_file(general.txt)", "malformed", "no JSON object"),
    ],
)
def test_a_bad_call_is_refused_with_its_reason(call: str, kind: str, told: str) -> None:
    outcome = ask(Replay([f"<tool_call>{call}</tool_call>", GOOD]), a_request(output=WITH_TOOLS))
    assert outcome.status == "repaired"
    assert outcome.rejected[0].kind == kind
    assert told in outcome.rejected[0].text


def test_a_call_where_none_may_be_made_is_refused() -> None:
    text = '<tool_call>{"name": "read_file", "arguments": {"path": "a"}}</tool_call>'
    outcome = ask(Replay([text, "A quiet day."]), a_request())
    assert (outcome.status, outcome.value) == ("repaired", "A quiet day.")
    assert outcome.rejected[0].kind == "invalid"


def test_lone_surrogates_are_refused_and_never_sent_back() -> None:
    model = Replay(["half \ud800", "whole"])
    outcome = ask(model, a_request())
    assert outcome.rejected[0].kind == "malformed"
    model.asked[1].messages[2].text.encode()


def test_a_fallback_reply_is_accepted_and_still_marked() -> None:
    outcome = ask(Replay([Reply(text="fine", finish="stop", fallback=True)]), a_request())
    assert outcome.status == "ok"
    assert outcome.reply.fallback
