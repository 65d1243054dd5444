"""The client: what it sends, how it reads answers, and how each failure is named; the key shows up nowhere."""

import asyncio
import json
import logging
import pickle
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from sim.core.keys import digest_of_ids
from sim.llm.openai_client import OpenAIClient
from sim.llm.protocol import OutputFormat, Reply, Request, TransportError, Usage
from tests.llm.replay import a_request

KEY = "sk-very-secret-123"
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
ANSWER = {
    "model": "served-name",
    "choices": [{"message": {"role": "assistant", "content": "你好"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 12, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 8}},
}

Handler = Callable[[httpx.Request], httpx.Response]


def client(handler: Handler, **changes: Any) -> OpenAIClient:
    given = {"base_url": "http://host:8000/v1/", "model": "m", "key_env": "LIFE_KEY", **changes}
    return OpenAIClient(**given, transport=httpx.MockTransport(handler))


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIFE_KEY", KEY)


def ask(
    answer: Any, request: Request | None = None, *, status: int = 200, headers: Any = None, **changes: Any
) -> Reply:
    def handler(_: httpx.Request) -> httpx.Response:
        if isinstance(answer, Exception):
            raise answer
        content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return httpx.Response(status, content=content, headers=headers)

    return asyncio.run(client(handler, **changes).complete(request or a_request()))


def body_of(request: Request, **changes: Any) -> dict[str, Any]:
    seen: list[httpx.Request] = []

    def handler(sent: httpx.Request) -> httpx.Response:
        seen.append(sent)
        return httpx.Response(200, json=ANSWER)

    asyncio.run(client(handler, **changes).complete(request))
    assert str(seen[0].url) == "http://host:8000/v1/chat/completions"
    assert seen[0].headers["authorization"] == f"Bearer {KEY}"
    return json.loads(seen[0].content)


def test_what_is_sent() -> None:
    body = body_of(a_request(seed=2**62, temperature=0.7, top_p=0.9), extra={"return_token_ids": True})
    assert body == {
        "model": "m",
        "messages": [{"role": "system", "content": "You are Ann."}, {"role": "user", "content": "Plan."}],
        "seed": 2**62,
        "max_tokens": 100,
        "temperature": 0.7,
        "top_p": 0.9,
        "return_token_ids": True,
    }


def test_the_form_is_enforced_as_far_as_the_server_can() -> None:
    plain = a_request(output=OutputFormat(kind="json", schema=SCHEMA))
    with_tools = a_request(output=OutputFormat(kind="json", schema=SCHEMA, tools=(SCHEMA,)))
    tagged = a_request(output=OutputFormat(kind="tagged"))
    schema = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True}}
    assert body_of(plain, structured="json_schema")["response_format"] == schema
    assert body_of(plain, structured="json_object")["response_format"] == {"type": "json_object"}
    assert "response_format" not in body_of(plain, structured="none")
    assert "response_format" not in body_of(with_tools, structured="json_schema")
    assert "response_format" not in body_of(tagged, structured="json_object")
    made = body_of(tagged, structured="structural_tag", to_response_format=lambda form: {"response_format": form.kind})
    assert made["response_format"] == "tagged"


def test_what_comes_back() -> None:
    reply = ask(ANSWER, version="3")
    assert (reply.text, reply.finish, reply.model) == ("你好", "stop", "m@3")
    assert reply.usage == Usage(prompt_tokens=12, output_tokens=3, cached_tokens=8)
    assert reply.started > 0


def test_token_ids_lengths_and_reasoning() -> None:
    answer = {
        "model": "m@r2",
        "choices": [{"message": {"content": None, "reasoning": "hm"}, "finish_reason": "length", "token_ids": [4, 5]}],
        "usage": None,
        "prompt_token_ids": [1, 2, 3],
    }
    reply = ask(answer)
    assert (reply.text, reply.reasoning, reply.finish, reply.model) == ("", "hm", "length", "m@r2")
    assert (reply.token_ids, reply.prompt_digest) == ((4, 5), digest_of_ids([1, 2, 3]))


def test_reasoning_left_in_the_answer_is_set_apart() -> None:
    choice = {"message": {"content": "\n<think>first {a}</think>\n\nDone."}, "finish_reason": "stop"}
    reply = ask({"choices": [choice]})
    assert (reply.text, reply.reasoning) == ("Done.", "first {a}")


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (httpx.ReadTimeout("slow"), "timeout"),
        (httpx.PoolTimeout("full"), "timeout"),
        (httpx.ConnectTimeout("slow"), "refused"),
        (httpx.ConnectError("refused"), "refused"),
        (httpx.ReadError("lost"), "reset"),
        (httpx.RemoteProtocolError("half an answer"), "reset"),
        (b"<html>Bad gateway</html>", "garbage"),
        (b"", "garbage"),
        (b"\xff\xfe", "garbage"),
        (b"[" * 100_000, "garbage"),
        ({"choices": []}, "garbage"),
        ({"choices": [{"text": "old style"}]}, "garbage"),
        ({"choices": [{"message": {"content": 5.5}}], "usage": {"prompt_tokens": "many"}}, "garbage"),
        ("just text", "garbage"),
        (None, "garbage"),
    ],
)
def test_failures_of_the_way_have_names_and_may_be_tried_again(failure: Any, kind: str) -> None:
    with pytest.raises(TransportError) as caught:
        ask(failure)
    assert (caught.value.kind, caught.value.retryable) == (kind, True)
    assert "http://host:8000/v1" in str(caught.value)
    assert len(caught.value.detail) < 400


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        (400, False),
        (401, False),
        (404, False),
        (408, True),
        (422, False),
        (429, True),
        (500, True),
        (501, False),
        (503, True),
    ],
)
def test_statuses(status: int, retryable: bool) -> None:
    with pytest.raises(TransportError) as caught:
        ask({"error": {"message": "why"}}, status=status)
    assert (caught.value.kind, caught.value.retryable) == (f"status_{status}", retryable)
    assert "why" in caught.value.detail


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2.5"}, 2.5),
        ({"Retry-After": "-1"}, 0.0),
        (
            {"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT", "Date": "Wed, 21 Oct 2026 07:28:00 GMT"},
            30.0,
        ),
        ({"Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT"}, None),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_the_servers_wish_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    with pytest.raises(TransportError) as caught:
        ask({}, status=429, headers=headers)
    assert caught.value.retry_after == seconds


def test_the_key_is_written_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    made = client(lambda _: httpx.Response(401, json={"error": f"Incorrect API key provided: {KEY}"}))
    with pytest.raises(TransportError) as caught:
        asyncio.run(made.complete(a_request()))
    assert "***" in caught.value.detail
    told = [
        str(caught.value),
        repr(caught.value),
        repr(made),
        str(made),
        caplog.text,
        repr(pickle.dumps(caught.value.args)),
    ]
    assert not any(KEY in text for text in told)


@pytest.mark.parametrize("value", ["", "schlüssel", "two\nlines"])
def test_a_missing_or_broken_key_is_named_without_its_value(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("LIFE_KEY", value)
    with pytest.raises(ValueError, match="environment variable LIFE_KEY") as caught:
        client(lambda _: httpx.Response(200))
    assert not value or value not in str(caught.value)


@pytest.mark.parametrize("address", ["", "host:8000", "ftp://host/v1", "http://me:secret@host/v1", "http://"])
def test_addresses_that_can_not_be_used(address: str) -> None:
    with pytest.raises(ValueError, match="base_url") as caught:
        client(lambda _: httpx.Response(200), base_url=address)
    assert "secret" not in str(caught.value)


def test_the_probe_asks_only_whether_somebody_is_there() -> None:
    def gone(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    assert asyncio.run(client(lambda _: httpx.Response(200, json={})).probe())
    assert asyncio.run(client(lambda _: httpx.Response(404)).probe())
    assert not asyncio.run(client(lambda _: httpx.Response(503)).probe())
    assert not asyncio.run(client(gone).probe())


def test_no_key_no_header() -> None:
    seen: list[httpx.Request] = []

    def handler(sent: httpx.Request) -> httpx.Response:
        seen.append(sent)
        return httpx.Response(200, json=ANSWER)

    made = client(handler, key_env="")
    asyncio.run(made.complete(a_request()))
    assert "authorization" not in seen[0].headers
