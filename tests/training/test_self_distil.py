"""Distilling asks until there is enough, keeps only real answers, and never depends on timing or the size of a wave."""

import asyncio
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.general import Prompt
from training.self_distil import DistilAnswer, distil, is_refusal


def a_prompt(number, text=None):
    return Prompt(id=f"p{number}", messages=({"role": "user", "content": text or f"Question {number}?"},), source="own")


def opened(number_of_prompts):
    def open_pass(number):
        order = list(range(number_of_prompts))
        random.Random(number).shuffle(order)
        return iter([a_prompt(place) for place in order])

    return open_pass


def answering(texts, asked=None, **fields):
    """Answers by the prompt's number and attempt; sooner for later prompts."""

    async def ask(question):
        if asked is not None:
            asked.append(question.key)
        number = int(question.messages[0]["content"].split()[1].rstrip("?"))
        await asyncio.sleep(0.001 * (number % 3))
        text = texts(number, question.attempt)
        return DistilAnswer(**{"text": text, "finish": "stop", "model": "policy@base", **fields})

    return ask


def run(open_pass, ask, needed, *, most=1000, wave=8):
    return asyncio.run(
        distil(open_pass, ask, needed_tokens=needed, most_prompts=most, count=lambda text: len(text.split()), wave=wave)
    )


def test_it_asks_until_there_is_enough_and_no_further():
    result = run(opened(50), answering(lambda n, _: f"the answer is {n}"), needed=21)
    assert [row.output_tokens for row in result.rows] == [5, 5, 5, 5, 5]
    assert result.asked == 5
    assert result.drops == ()


def test_every_row_says_where_it_comes_from():
    result = run(opened(1), answering(lambda *_: "yes"), needed=1)
    (row,) = result.rows
    assert (row.prompt_id, row.prompt_source, row.model) == ("p0", "own", "policy@base")
    assert row.messages == a_prompt(0).messages
    assert row.key.startswith("distil/own/p0/")


def test_the_servers_count_holds_where_it_gave_ids():
    ask = answering(lambda *_: "yes", output_tokens=42, prompt_digest="d", token_ids=(1, 2))
    (row,) = run(opened(1), ask, needed=1).rows
    assert (row.output_tokens, row.token_ids, row.prompt_digest) == (42, (1, 2), "d")


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"finish": "length"}, "truncated"),
        ({"finish": "unanswered"}, "unanswered"),
        ({"fallback": True}, "fallback"),
    ],
)
def test_broken_answers_are_dropped_and_counted(fields, reason):
    result = run(opened(3), answering(lambda *_: "fine", **fields), needed=10)
    assert result.rows == ()
    assert [(drop.source, drop.reason, drop.calls) for drop in result.drops] == [("general", reason, 3)]


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("I'm sorry, but I can't assist with that request.", True),
        ("I cannot help with that.", True),
        ("As an AI language model, I have no opinion.", True),
        ("Sorry, I can not do this.", True),
        ("I’m unable to assist with this.", True),
        ("抱歉，我不能回答这个问题。", True),
        ("To say no kindly, you could write: I'm sorry, but I already have plans.", False),
        ("I am a gardener in this story.", False),
        ("Canberra, not Sydney.", False),
    ],
)
def test_refusals_are_told_by_their_first_words(text, refused):
    assert is_refusal(text) is refused


def test_empty_and_refused_answers_are_dropped():
    texts = {0: "", 1: "  ", 2: "I cannot help with that."}
    result = run(opened(4), answering(lambda n, _: texts.get(n, "good answer")), needed=3)
    assert [row.answer for row in result.rows] == ["good answer"]
    assert {drop.reason for drop in result.drops} <= {"empty", "refused"}


def test_when_prompts_run_out_they_are_asked_again_as_another_attempt():
    asked = []
    result = run(opened(3), answering(lambda n, attempt: f"{n} {attempt}", asked), needed=18)
    assert len(result.rows) == 6
    assert sorted(key.rsplit("/", 1)[1] for key in asked) == ["0"] * 3 + ["1"] * 3
    assert len(set(asked)) == 6


def test_a_pass_without_a_new_answer_is_the_last():
    asked = []
    result = run(opened(3), answering(lambda n, _: f"always {n}", asked), needed=1000)
    assert len(result.rows) == 3
    assert len(asked) == 6
    assert [(drop.reason, drop.calls) for drop in result.drops] == [("repeated", 3)]


def test_the_number_of_prompts_is_bounded():
    asked = []
    result = run(opened(100), answering(lambda *_: "", asked), needed=10, most=7, wave=3)
    assert len(asked) == result.asked == 7


def test_nothing_is_asked_when_nothing_is_needed():
    asked = []
    assert run(opened(3), answering(lambda *_: "yes", asked), needed=0).rows == ()
    assert asked == []


def test_prompts_with_one_id_but_other_words_have_other_keys():
    prompts = [a_prompt(1), a_prompt(1, "Question 2?")]
    asked = []
    run(lambda _: iter(prompts), answering(lambda *_: "yes", asked), needed=3, wave=2)
    assert len(set(asked)) == 2


@given(st.integers(1, 20), st.integers(1, 20), st.integers(0, 60))
def test_the_size_of_a_wave_never_changes_the_result(wave, other_wave, needed):
    def texts(number, attempt):
        return ["", "I cannot help with that.", f"answer {number}", f"a longer answer {number} {attempt}"][number % 4]

    async def ask(question):
        number = int(question.messages[0]["content"].split()[1].rstrip("?"))
        return DistilAnswer(text=texts(number, question.attempt), finish="stop")

    assert run(opened(12), ask, needed, most=40, wave=wave) == run(opened(12), ask, needed, most=40, wave=other_wave)
