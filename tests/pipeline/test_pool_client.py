"""Requests become chat bodies for the right replica, answers become replies, and trouble gets its kind."""

import asyncio

import pytest

from pipeline.pool_client import PoolClient, ReplicaDown, chat_body, read_reply
from pipeline.routing import replica_for
from sim.llm.protocol import Message, OutputFormat, Request, TransportError

REQUEST = Request(
    key="Y1-W1/plan.0/李雷/李雷/plan/0",
    unit="Y1-W1/plan.0/李雷",
    agent="李雷",
    duty="plan",
    role="policy",
    messages=(Message(role="system", parts=("Du bist ", "李雷.")), Message(role="user", parts=("Plane.",))),
    output=OutputFormat(kind="text", text_chars=80),
    seed=2**63 - 1,
    max_tokens=40,
)
ANSWER = {
    "choices": [{"message": {"content": "Ich gehe."}, "finish_reason": "stop", "token_ids": [5, 6, 2]}],
    "usage": {"prompt_tokens": 30, "completion_tokens": 3, "cached_tokens": 16},
    "model": "policy@r2",
    "prompt_digest": "abc",
}


class Echo:
    """A link that answers as it is told to."""

    replicas = ("p-0", "p-1", "p-2")

    def __init__(self, answer):
        self.answer = answer
        self.asked = []

    async def chat(self, replica, body, timeout_s):
        self.asked.append((replica, body, timeout_s))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def healthy(self, replica):
        return replica != "p-2"


def test_a_request_reaches_its_replica_and_its_reply_is_whole():
    link = Echo(ANSWER)
    reply = asyncio.run(PoolClient(link, timeout_s=9.0).complete(REQUEST))
    ((replica, body, timeout_s),) = link.asked
    assert replica == replica_for("李雷", link.replicas)
    assert timeout_s == 9.0
    assert body["messages"][0] == {"role": "system", "content": "Du bist 李雷."}
    assert body["seed"] == 2**63 - 1
    assert (reply.text, reply.finish, reply.model) == ("Ich gehe.", "stop", "policy@r2")
    assert (reply.usage.prompt_tokens, reply.usage.output_tokens, reply.usage.cached_tokens) == (30, 3, 16)
    assert reply.token_ids == (5, 6, 2)
    assert reply.prompt_digest == "abc"


@pytest.mark.parametrize(
    "message",
    [
        {"content": "Ich gehe.", "reasoning": "Soll ich?"},
        {"content": "Ich gehe.", "reasoning_content": "Soll ich?"},
        {"content": "<think>Soll ich?</think>\n\nIch gehe."},
        {"content": "Soll ich?\n</think>\n\nIch gehe."},
    ],
)
def test_reasoning_is_set_apart_wherever_the_engine_leaves_it(message):
    choice = {**ANSWER["choices"][0], "message": message}
    reply = read_reply({**ANSWER, "choices": [choice]}, "p-0")
    assert (reply.text, reply.reasoning, reply.token_ids) == ("Ich gehe.", "Soll ich?", (5, 6, 2))


def test_template_options_are_passed_on():
    assert chat_body(REQUEST, {"enable_thinking": False})["chat_template_kwargs"] == {"enable_thinking": False}
    assert "chat_template_kwargs" not in chat_body(REQUEST, {})


@pytest.mark.parametrize(
    ("trouble", "kind", "retryable"),
    [
        (TimeoutError(), "timeout", True),
        (ReplicaDown("gone"), "refused", True),
        ({"error": {"status": 504, "message": "late"}}, "timeout", True),
        ({"error": {"status": 400, "message": "too long"}}, "status_400", False),
        ({"error": {"status": 429, "message": "busy"}}, "status_429", True),
        ({"error": {"status": 500, "message": "boom"}}, "status_500", True),
        (ANSWER | {"choices": [{"message": {"content": "Ich"}, "finish_reason": "abort"}]}, "garbage", True),
    ],
)
def test_trouble_is_classified(trouble, kind, retryable):
    with pytest.raises(TransportError) as caught:
        asyncio.run(PoolClient(Echo(trouble), timeout_s=1.0).complete(REQUEST))
    assert caught.value.kind == kind
    assert caught.value.retryable is retryable


def test_an_answer_without_text_is_a_reply():
    choice = {"message": {"content": None, "reasoning": "hm"}, "finish_reason": "length"}
    reply = read_reply(ANSWER | {"choices": [choice]}, "p-0")
    assert (reply.text, reply.reasoning, reply.finish) == ("", "hm", "length")


def test_a_pool_is_healthy_only_as_a_whole():
    assert not asyncio.run(PoolClient(Echo(ANSWER), timeout_s=1.0).healthy())
