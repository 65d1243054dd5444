"""One role-player's question: rounds of memory functions, further attempts, defaults, verdicts, bounds."""

import asyncio
import json
from typing import Any

import pytest

from sim.core.agent import MemoryFile
from sim.core.facts import ReadFile, RefusalsShown, Refused, WroteFile
from sim.llm.outcome import Refusal
from sim.llm.protocol import LLM, Message, OutputFormat, Reply, Request
from sim.llm.scripted import Scripted
from sim.mind.answer import Answer
from sim.mind.invoke import ask_agent
from sim.mind.overlay import Overlay
from sim.settings import LimitSettings, PromptSettings, SimSettings
from tests.builders import an_agent
from tests.context.desks import Answers, a_desk, a_full_agent, a_world, an_overlay, rough_count

SCHEMA = {
    "type": "object",
    "properties": {"plan": {"type": "string", "maxLength": 50}},
    "required": ["plan"],
    "additionalProperties": False,
}
GOOD = '{"plan": "rest"}'


def call(name: str, **arguments: str) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def plan_of(value: dict[str, Any]) -> str | Refusal:
    return value["plan"] if value["plan"] != "bad" else Refusal(kind="invalid", text="a better plan is needed")


def ask(model: LLM, overlay: Overlay, *, settings: SimSettings | None = None, language="en", **fields) -> Answer[str]:
    values: dict[str, Any] = {
        "step": "plan",
        "template": "parts/me.j2",
        "values": {},
        "output": OutputFormat(kind="json", schema=SCHEMA),
        "parse": plan_of,
        "default": "nothing",
        "length": "short",
    }
    desk = a_desk(model, settings=settings, world=a_world(language=language))
    return asyncio.run(ask_agent(desk, overlay, "Ann", **{**values, **fields}))


def verdicts(overlay: Overlay) -> list[tuple[str, str, str, int]]:
    return [(v.key, v.status, v.drop, v.tool_calls) for v in overlay.finish().verdicts]


KEY = "Y1-W1/plan.0/Ann/Ann/plan"


def test_a_good_answer_is_taken():
    model, overlay = Answers([GOOD]), an_overlay(an_agent("Ann"))
    answer = ask(model, overlay)
    assert (answer.value, answer.status, answer.text, answer.key) == ("rest", "ok", GOOD, f"{KEY}/1")
    assert verdicts(overlay) == [(f"{KEY}/1", "ok", "", 0)]
    (request,) = model.asked
    assert (request.unit, request.agent, request.duty, request.affinity) == ("Y1-W1/plan.0/Ann", "Ann", "plan", "Ann")
    assert (request.role, request.max_tokens, request.output.tools) == ("policy", 400, ())
    assert [message.role for message in request.messages] == ["system", "user"]
    assert len(request.messages[0].parts) == 3


def test_a_refused_answer_is_asked_again_with_the_reason_and_never_trained_on():
    model, overlay = Answers(['{"plan": "bad"}', "no json", GOOD]), an_overlay(an_agent("Ann"))
    answer = ask(model, overlay)
    assert (answer.value, answer.status, answer.key) == ("rest", "repaired", f"{KEY}/3")
    assert verdicts(overlay) == [
        (f"{KEY}/1", "failed", "invalid_action", 0),
        (f"{KEY}/2", "failed", "malformed", 0),
        (f"{KEY}/3", "repaired", "", 0),
    ]
    assert "a better plan is needed" in model.asked[1].messages[-1].text
    assert "could not be read" in model.asked[2].messages[-1].text
    assert len({request.seed for request in model.asked}) == 3


def test_an_answer_that_breaks_its_form_is_counted_as_malformed():
    overlay = an_overlay(an_agent("Ann"))
    assert ask(Answers(['{"plan": 7}', '{"plans": "rest"}', GOOD]), overlay).value == "rest"
    assert [drop for _, _, drop, _ in verdicts(overlay)] == ["malformed", "malformed", ""]


@pytest.mark.parametrize("default", ["nothing", lambda: "nothing"])
def test_after_all_attempts_the_default_takes_its_place(default):
    overlay = an_overlay(an_agent("Ann"))
    answer = ask(Answers(["x", "", Reply(text=GOOD, finish="length")]), overlay, default=default)
    assert (answer.value, answer.status, answer.text, answer.key) == ("nothing", "fallback", "", f"{KEY}/3")
    assert [(status, drop) for _, status, drop, _ in verdicts(overlay)] == [
        ("failed", "malformed"),
        ("failed", "empty"),
        ("fallback", "truncated"),
    ]
    overlay.drop(answer.key, "anything")


def test_an_unanswered_call_is_not_asked_again():
    overlay = an_overlay(an_agent("Ann"))
    answer = ask(Answers([Reply(text="", finish="unanswered")]), overlay, tools=True)
    assert (answer.value, answer.status) == ("nothing", "fallback")
    assert verdicts(overlay) == [(f"{KEY}/1", "fallback", "unanswered", 0)]


def test_the_fallback_models_answer_is_used_but_not_trained_on():
    overlay = an_overlay(an_agent("Ann"))
    answer = ask(Answers([Reply(text=GOOD, finish="stop", fallback=True)]), overlay)
    assert (answer.value, answer.status) == ("rest", "fallback")
    assert verdicts(overlay) == [(f"{KEY}/1", "fallback", "fallback_model", 0)]


def test_memory_functions_run_and_become_facts():
    state = an_agent("Ann", files={"general.txt": MemoryFile(text="Old goals.")})
    replies = [
        call("read_file", path="general.txt"),
        call("update_file", path="general.txt", text="New goals.", summary="new") + call("list_files"),
        GOOD,
    ]
    model, overlay = Answers(replies), an_overlay(state)
    answer = ask(model, overlay, tools=True)
    assert answer.value == "rest"
    assert answer.key == f"{KEY}.3/1"
    assert overlay.finish().by_agent["Ann"] == (
        ReadFile(path="general.txt"),
        WroteFile(path="general.txt", text="New goals.", summary="new"),
    )
    assert overlay.state("Ann").files["general.txt"].text == "New goals."
    assert [(key, calls) for key, _, _, calls in verdicts(overlay)] == [
        (f"{KEY}.2/1", 2),
        (f"{KEY}.3/1", 0),
        (f"{KEY}/1", 1),
    ]
    last = model.asked[-1].messages
    assert [message.role for message in last] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert last[:2] == model.asked[0].messages
    assert "Old goals." in last[3].text
    assert "Written." in last[5].text


def test_an_update_without_a_read_is_refused_also_after_an_earlier_invocation():
    state = an_agent("Ann", files={"general.txt": MemoryFile(text="Old.")})
    overlay = an_overlay(state)
    ask(Answers([call("read_file", path="general.txt"), GOOD]), overlay, tools=True)
    blind = call("update_file", path="general.txt", text="Blind.")
    model = Answers([blind, GOOD])
    ask(model, overlay, tools=True, step="again")
    assert overlay.state("Ann").files["general.txt"].text == "Old."
    assert "read this file first" in model.asked[1].messages[-1].text


def test_a_read_before_the_update_in_the_same_reply_counts():
    overlay = an_overlay(an_agent("Ann", files={"general.txt": MemoryFile(text="Old.")}))
    both = call("read_file", path="general.txt") + call("update_file", path="general.txt", text="New.")
    ask(Answers([both, GOOD]), overlay, tools=True)
    assert overlay.state("Ann").files["general.txt"].text == "New."


def test_the_last_round_offers_no_functions():
    model, overlay = Answers([call("list_files"), call("list_files"), GOOD]), an_overlay(an_agent("Ann"))
    settings = SimSettings(limits=LimitSettings(tool_rounds=3))
    assert ask(model, overlay, tools=True, settings=settings).value == "rest"
    assert [len(request.output.tools) for request in model.asked] == [3, 3, 0]
    assert "No more function calls" in model.asked[2].messages[-1].text


class Restless:
    """A scripted model that calls a function in every round; `to_the_end` even where none is on offer."""

    def __init__(self, *, to_the_end: bool) -> None:
        self.to_the_end = to_the_end
        self.asked: list[Request] = []
        self.inner = Scripted()

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        if request.output.tools or self.to_the_end:
            return Reply(text=call("list_files"), finish="stop", model="restless@1")
        return await self.inner.complete(request)


def test_of_eight_rounds_the_first_seven_offer_functions_and_the_last_allows_text_only():
    model, overlay = Restless(to_the_end=False), an_overlay(an_agent("Ann"))
    answer = ask(model, overlay, tools=True)
    assert answer.status == "ok"
    assert [len(request.output.tools) for request in model.asked] == [3] * 7 + [0]
    assert [request.key for request in model.asked] == [f"{KEY}/1", *(f"{KEY}.{n}/1" for n in range(2, 9))]
    assert ["No more function calls" in request.messages[-1].text for request in model.asked] == [False] * 7 + [True]
    assert "7 rounds" in model.asked[0].messages[1].text
    assert [calls for *_, calls in sorted(verdicts(overlay), key=lambda line: line[0])] == [1] * 6 + [0, 1]


def test_who_calls_functions_even_in_the_last_round_gets_the_default_and_nothing_more_is_carried_out():
    model, overlay = Restless(to_the_end=True), an_overlay(an_agent("Ann"))
    answer = ask(model, overlay, tools=True)
    assert (answer.value, answer.status) == ("nothing", "fallback")
    assert [len(request.output.tools) for request in model.asked] == [3] * 7 + [0] * 3
    last = [(status, drop) for key, status, drop, _ in verdicts(overlay) if key.startswith(f"{KEY}.8/")]
    assert last == [("failed", "invalid_action")] * 2 + [("fallback", "invalid_action")]


def test_a_model_that_reasons_has_room_for_it_beside_the_answer():
    answers = {"thinking": True, "thinking_tokens": 900}
    model = Answers([Reply(text=GOOD, finish="stop", reasoning="Long.", model="m@1")])
    answer = ask(model, an_overlay(an_agent("Ann")), settings=SimSettings.model_validate({"answers": answers}))
    assert model.asked[0].max_tokens == 400 + 900
    assert answer.reasoning == "Long."


def test_functions_that_never_end_are_cut_off_after_the_rounds():
    settings = SimSettings(limits=LimitSettings(tool_rounds=2, structure_attempts=2))
    model, overlay = Answers([call("list_files")] * 3), an_overlay(an_agent("Ann"))
    assert ask(model, overlay, tools=True, settings=settings).status == "fallback"
    assert len(model.asked) == 3


def test_who_fails_with_functions_is_asked_once_more_without_them():
    settings = SimSettings(limits=LimitSettings(tool_rounds=8, structure_attempts=2))
    model, overlay = Answers([call("no_such"), "junk", GOOD]), an_overlay(an_agent("Ann"))
    answer = ask(model, overlay, tools=True, settings=settings)
    assert (answer.value, answer.status) == ("rest", "ok")
    assert model.asked[-1].output.tools == ()
    assert [(status, drop) for _, status, drop, _ in verdicts(overlay)] == [
        ("ok", ""),
        ("failed", "invalid_action"),
        ("failed", "malformed"),
    ]


def test_without_the_switch_no_functions_are_offered_or_described():
    model = Answers([GOOD])
    ask(model, an_overlay(an_agent("Ann")), tools=True, settings=SimSettings(prompts=PromptSettings(tools="none")))
    assert model.asked[0].output.tools == ()
    assert "tool_call" not in "".join(message.text for message in model.asked[0].messages)


def test_the_shared_head_is_the_same_with_and_without_functions():
    with_tools, without = Answers([GOOD]), Answers([GOOD])
    ask(with_tools, an_overlay(an_agent("Ann")), tools=True)
    ask(without, an_overlay(an_agent("Ann")))
    assert with_tools.asked[0].messages[0] == without.asked[0].messages[0]


def test_no_new_people_where_creating_them_is_off():
    overlay = an_overlay(an_agent("Ann"))
    model = Answers([call("update_file", path="characters/Ben.txt", text="Nice."), GOOD])
    ask(model, overlay, tools=True, create_people=False)
    assert overlay.state("Ann").knows() == ()
    assert "no file about a new person" in model.asked[1].messages[-1].text


def test_too_many_calls_at_once_are_not_all_carried_out():
    overlay = an_overlay(an_agent("Ann"))
    calls = "".join(call("update_file", path=f"others/{n}.txt", text="x") for n in range(8))
    model = Answers([calls, GOOD])
    ask(model, overlay, tools=True)
    assert len(overlay.state("Ann").files) == 6
    assert "2 more calls were not carried out" in model.asked[1].messages[-1].text


def test_refusals_are_shown_once():
    overlay = an_overlay(an_agent("Ann", refusals=("Action: <|x|>\n\n\nError: y",)))
    model = Answers([GOOD, GOOD])
    ask(model, overlay)
    ask(model, overlay, step="again")
    assert "Error: y" in model.asked[0].messages[1].text
    assert "Error: y" not in model.asked[1].messages[1].text
    assert RefusalsShown() in overlay.finish().by_agent["Ann"]


def test_refusals_stay_until_a_template_shows_them():
    overlay = an_overlay(an_agent("Ann"))
    overlay.cause("Ann", Refused(text="Action: x"))
    ask(Answers([GOOD]), overlay, template="parts/vitality.j2", values={"level": "good"})
    assert overlay.state("Ann").refusals == ("Action: x",)


def test_functions_are_offered_after_what_is_asked_for():
    cue = (Message(role="assistant", parts=("I said.",)), Message(role="user", parts=("Now answer.",)))
    model = Answers([call("list_files"), GOOD])
    ask(model, an_overlay(an_agent("Ann")), history=cue, tools=True)
    first, second = (request.messages for request in model.asked)
    assert "Memory functions are on offer" not in first[1].text
    assert first[-1].text.startswith("Now answer.\n\nMemory functions are on offer")
    assert second[: len(first)] == first


def test_a_history_stands_between_the_stage_prompt_and_the_end():
    history = (Message(role="assistant", parts=("I said.",)), Message(role="user", parts=("Ben said.",)))
    model = Answers([GOOD])
    ask(model, an_overlay(an_agent("Ann")), history=history)
    assert model.asked[0].messages[2:] == history


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("word", ["word", "记忆", "🦊"])
def test_no_prompt_of_a_full_life_exceeds_the_context_with_all_rounds_and_attempts(language, word):
    budgets = {"context": 8000, "head": 2400, "profile": 500, "memory": 700, "diaries": 600, "stage": 1300}
    budgets |= {"history": 900, "file": 300}
    answers = {"long": 600, "medium": 400, "short": 200, "text_chars": 400}
    settings = SimSettings.model_validate({"budgets": budgets, "answers": answers})
    state = a_full_agent(word=word)
    people = [f"characters/{name}.txt" for name in state.knows()]
    replies: list[str] = []
    for number in range(7):
        replies += ["junk " * 400, call("read_file", path=people[number]) + call("list_files")]
    model = Answers([*replies, "junk " * 400, "junk " * 400, GOOD])
    history = tuple(Message(role="user", parts=(f"{word} " * 300,)) for _ in range(20))
    ask(model, an_overlay(state), settings=settings, tools=True, length="long", history=history, language=language)
    assert len(model.asked) == 17
    for request in model.asked:
        tokens = sum(rough_count(message.text) for message in request.messages)
        assert tokens <= 8000 - request.max_tokens


def test_the_same_question_is_asked_the_same_way_again():
    first, second = Answers([GOOD]), Answers([GOOD])
    for model in (first, second):
        ask(model, an_overlay(a_full_agent()), tools=True)
    assert first.asked == second.asked
