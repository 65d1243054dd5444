"""The LLM protocol over a pool of engines: a request becomes a chat body for the replica of its affinity."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Protocol

from pipeline.response_format import response_format
from pipeline.routing import replica_for
from sim.llm.protocol import Reply, Request, TransportError, Usage
from sim.llm.reasoning import apart


class ReplicaDown(Exception):
    """The replica that was asked is gone or broken; another try may find it restarted."""


class Link(Protocol):
    """A way to the engines of one pool."""

    @property
    def replicas(self) -> Sequence[str]:
        """Their names."""
        ...

    async def chat(self, replica: str, body: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """The engine's reply or error as a dict. Raises ReplicaDown, TimeoutError."""
        ...

    async def healthy(self, replica: str) -> bool:
        """Whether the replica answers."""
        ...


class PoolClient:
    """Asks the engines of one pool."""

    def __init__(self, link: Link, *, timeout_s: float, template_options: Mapping[str, Any] | None = None) -> None:
        """`template_options` go to the chat template (AnswerSettings.template_options)."""
        self._link = link
        self._timeout_s = timeout_s
        self._template_options = dict(template_options or {})

    async def complete(self, request: Request) -> Reply:
        """The engine's reply. Raises TransportError for what went wrong on the way."""
        replica = replica_for(request.affinity or request.agent or request.duty, self._link.replicas)
        body = chat_body(request, self._template_options)
        started, began = time.time(), time.perf_counter()  # noqa: TID251  (timing of the call, no part of a result)
        try:
            answer = await self._link.chat(replica, body, self._timeout_s)
        except TimeoutError as error:
            raise TransportError("timeout", f"{replica}: no answer within {self._timeout_s:g} s") from error
        except ReplicaDown as error:
            raise TransportError("refused", f"{replica}: {error}") from error
        return read_reply(answer, replica, started=started, seconds=time.perf_counter() - began)

    async def healthy(self) -> bool:
        """Whether every engine answers."""
        return all([await self._link.healthy(replica) for replica in self._link.replicas])


def chat_body(request: Request, template_options: Mapping[str, Any]) -> dict[str, Any]:
    """The request as an OpenAI chat body."""
    body: dict[str, Any] = {
        "messages": [{"role": message.role, "content": message.text} for message in request.messages],
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "seed": request.seed,
    }
    if template_options:
        body["chat_template_kwargs"] = dict(template_options)
    return body | response_format(request.output, request.max_tokens)


def read_reply(answer: Mapping[str, Any], replica: str, *, started: float = 0.0, seconds: float = 0.0) -> Reply:
    """An engine's answer as a reply; TransportError if it is an error or no answer at all."""
    if "error" in answer:
        status = int(answer["error"]["status"])
        kind = "timeout" if status == 504 else f"status_{status}"
        raise TransportError(kind, f"{replica}: {answer['error']['message']}", retryable=status >= 500 or status == 429)
    choice = answer["choices"][0]
    finish = _finish(choice.get("finish_reason"), replica)
    usage, message = answer["usage"], choice["message"]
    text, reasoning = apart(
        message.get("content") or "", message.get("reasoning") or message.get("reasoning_content") or ""
    )
    return Reply(
        text=text,
        reasoning=reasoning,
        finish=finish,
        usage=Usage(
            prompt_tokens=usage["prompt_tokens"],
            output_tokens=usage.get("completion_tokens", 0),
            cached_tokens=usage.get("cached_tokens", 0),
        ),
        model=answer["model"],
        token_ids=tuple(choice.get("token_ids", ())),
        prompt_digest=answer["prompt_digest"],
        seconds=seconds,
        started=started,
    )


def _finish(reason: str | None, replica: str) -> Literal["stop", "length"]:
    """The reason of an answer's end; TransportError if it was broken off."""
    if reason in ("stop", "length"):
        return "stop" if reason == "stop" else "length"
    raise TransportError("garbage", f"{replica}: the answer ended by {reason!r}")
