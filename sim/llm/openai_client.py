"""A client for any server that speaks the OpenAI chat protocol. What goes wrong on the way is named here, once.

The key comes from the environment and stands in no message, log or representation.
"""

import email.utils
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Literal

import httpx
import msgspec

from sim.core.keys import digest_of_ids
from sim.llm.protocol import OutputFormat, Reply, Request, TransportError, Usage
from sim.llm.reasoning import apart

StructuredMode = Literal["json_schema", "structural_tag", "json_object", "none"]
ToResponseFormat = Callable[[OutputFormat], Mapping[str, Any]]

PROBE_S = 10.0
CONNECT_S = 10.0
MAX_DETAIL = 300
_RETRYABLE = {408, 409, 425, 429}
_FOR_EVER = {501, 505}


class _Details(msgspec.Struct):
    cached_tokens: int | None = 0


class _Usage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Details | None = None


class _Message(msgspec.Struct):
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    token_ids: tuple[int, ...] | None = None


class _Completion(msgspec.Struct):
    """What is used of a server's answer."""

    choices: list[_Choice]
    usage: _Usage | None = None
    model: str | None = None
    prompt_token_ids: list[int] | None = None


class OpenAIClient:
    """One model of one server."""

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        key_env: str = "",
        structured: StructuredMode = "json_schema",
        to_response_format: ToResponseFormat | None = None,
        version: str = "0",
        extra: Mapping[str, Any] | None = None,
        timeout_s: float = 600.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`key_env` names the environment variable with the key; `to_response_format` makes the body fields of a form
        for mode structural_tag; `extra` goes into every body."""
        self._base = _checked(base_url)
        self._model = model
        self._version = version
        self._mode: StructuredMode = structured
        self._to_response_format = to_response_format
        self._extra = dict(extra or {})
        self._key = _key_from(key_env)
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=256)
        times = httpx.Timeout(timeout_s, connect=CONNECT_S)
        self._http = httpx.AsyncClient(headers=headers, timeout=times, limits=limits, transport=transport)

    def __repr__(self) -> str:
        """Address and model, nothing secret."""
        return f"OpenAIClient({self._base}, {self._model})"

    async def complete(self, request: Request) -> Reply:
        """The server's reply. Raises TransportError."""
        started, began = time.time(), time.perf_counter()  # noqa: TID251  (timing of the call, no part of a result)
        response = await self._send(self._body(request))
        if response.status_code != 200:
            raise self._refusal(response)
        return self._reply(response, started, time.perf_counter() - began)

    async def probe(self) -> bool:
        """Whether the server answers at all, within some seconds."""
        try:
            response = await self._http.get(f"{self._base}/models", timeout=PROBE_S)
        except httpx.HTTPError:
            return False
        return response.status_code < 500

    async def aclose(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    def _body(self, request: Request) -> dict[str, Any]:
        return {
            "model": self._model,
            "messages": [{"role": message.role, "content": message.text} for message in request.messages],
            "seed": request.seed,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "top_p": request.top_p,
            **self._extra,
            **self._form(request.output),
        }

    def _form(self, output: OutputFormat) -> Mapping[str, Any]:
        """What makes the server enforce the form, as far as it can. Function calls would break a plain JSON form."""
        if self._mode == "structural_tag" and self._to_response_format is not None:
            return self._to_response_format(output)
        if output.kind != "json" or output.tools or self._mode == "none":
            return {}
        if self._mode == "json_object":
            return {"response_format": {"type": "json_object"}}
        schema = {"name": "answer", "schema": dict(output.schema), "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}

    async def _send(self, body: Mapping[str, Any]) -> httpx.Response:
        """The one place where exceptions of the connection get their names."""
        try:
            return await self._http.post(f"{self._base}/chat/completions", json=body)
        except httpx.ConnectTimeout as error:
            raise self._failed("refused", f"no connection within {CONNECT_S:g} s") from error
        except httpx.TimeoutException as error:
            raise self._failed("timeout", "the server took too long") from error
        except httpx.ConnectError as error:
            raise self._failed("refused", str(error)) from error
        except httpx.DecodingError as error:
            raise self._failed("garbage", str(error)) from error
        except httpx.TransportError as error:
            raise self._failed("reset", f"{type(error).__name__} {error}") from error

    def _refusal(self, response: httpx.Response) -> TransportError:
        status = response.status_code
        retryable = status in _RETRYABLE or (status >= 500 and status not in _FOR_EVER)
        return self._failed(
            f"status_{status}", response.text or "no text", retry_after=_retry_after(response), retryable=retryable
        )

    def _reply(self, response: httpx.Response, started: float, seconds: float) -> Reply:
        try:
            body = msgspec.convert(json.loads(response.content), _Completion, strict=False)
            choice = body.choices[0]
        except (ValueError, IndexError, RecursionError) as error:
            raise self._failed("garbage", f"no chat completion: {response.text[:100]!r} ({error!r})") from error
        message, usage = choice.message, body.usage or _Usage()
        text, reasoning = apart(message.content or "", message.reasoning or message.reasoning_content or "")
        return Reply(
            text=text,
            reasoning=reasoning,
            finish="length" if choice.finish_reason == "length" else "stop",
            usage=Usage(
                prompt_tokens=usage.prompt_tokens,
                output_tokens=usage.completion_tokens,
                cached_tokens=(usage.prompt_tokens_details or _Details()).cached_tokens or 0,
            ),
            model=body.model if body.model and "@" in body.model else f"{self._model}@{self._version}",
            token_ids=choice.token_ids or (),
            prompt_digest=digest_of_ids(body.prompt_token_ids) if body.prompt_token_ids else "",
            started=started,
            seconds=seconds,
        )

    def _failed(
        self, kind: str, detail: str, *, retry_after: float | None = None, retryable: bool = True
    ) -> TransportError:
        """An error that names the server and is free of the key, which servers like to repeat."""
        clean = detail.replace(self._key, "***") if self._key else detail
        clean = " ".join(clean.split())[:MAX_DETAIL]
        return TransportError(kind, f"{self._base}: {clean}", retry_after=retry_after, retryable=retryable)


def _checked(base_url: str) -> str:
    """The address without a final slash; one with a password would be written into logs."""
    try:
        url = httpx.URL(base_url)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host or url.userinfo:
        raise ValueError("base_url: must be like http://host:8000/v1, without user and password")
    return base_url.rstrip("/")


def _key_from(name: str) -> str:
    if not name:
        return ""
    key = os.environ.get(name, "").strip()
    if not key:
        raise ValueError(f"key_env: the environment variable {name} is not set; set it to the server's key")
    if not (key.isascii() and key.isprintable()):
        raise ValueError(f"key_env: the environment variable {name} holds something that can't be a key; set it anew")
    return key


def _retry_after(response: httpx.Response) -> float | None:
    """The server's wish in seconds; a date counts from the server's own present."""
    wish = response.headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(wish))
    except ValueError:
        pass
    try:
        then = email.utils.parsedate_to_datetime(wish)
        now = email.utils.parsedate_to_datetime(response.headers.get("date", ""))
        return max(0.0, (then - now).total_seconds())
    except (ValueError, TypeError):
        return None
