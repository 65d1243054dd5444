"""The one seam to a model: what is asked, in which form the answer must come, what comes back.

Wrappers stand around a client in one fixed order, outermost first: structured → journaled → resilient → client.
`structured` is no LLM itself: it turns replies into typed outcomes.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec

Role = Literal["policy", "environment"]


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One chat message; its text is the parts joined. Parts are the blocks that the journal stores by content."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        """The message as the model sees it."""
        return "".join(self.parts)


class Tag(msgspec.Struct, frozen=True, kw_only=True):
    """A tagged JSON value inside free text: `<name>{…}</name>`, with the value's JSON schema."""

    name: str
    schema: Mapping[str, Any]
    at_most: int = 1
    at_least: int = 0


class OutputFormat(msgspec.Struct, frozen=True, kw_only=True):
    """The form an answer must have.

    json: one object of `schema`. tagged: free text of at most `text_chars` characters and any of `tags` after or inside
    it; `spans` names plain-text tags allowed inside the text (`private`, `visible_to`). text: free text only.
    `tools`: memory functions on offer; instead of the answer the model may send some `<tool_call>{…}</tool_call>`.
    """

    kind: Literal["json", "tagged", "text"]
    schema: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    tags: tuple[Tag, ...] = ()
    spans: tuple[str, ...] = ()
    text_chars: int = 2000
    tools: tuple[Mapping[str, Any], ...] = ()
    """JSON schemas of `{"name": …, "arguments": {…}}`, one per function; empty where none may be called."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """One model call."""

    key: str
    """Unique name of the call within a world's round; the journal's key (sim.core.keys.call_key)."""
    unit: str
    agent: str
    """Whose call it is; "" for the environment model."""
    duty: str
    """What is asked for, such as `plan`, `turn`, `next_speaker`; names the scripted model's kind of answer."""
    role: Role
    messages: tuple[Message, ...]
    output: OutputFormat
    seed: int
    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    affinity: str = ""
    """Calls of one affinity share a prompt prefix and should reach the same replica (an agent's name, or a duty)."""


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of one call, as the server counted them."""

    prompt_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """What came back. `finish` is `stop`, `length`, or `unanswered` when every try failed in transport."""

    text: str
    reasoning: str = ""
    finish: Literal["stop", "length", "unanswered"]
    usage: Usage = Usage()
    model: str = ""
    """Served model id with its version, `name@version`."""
    fallback: bool = False
    """Answered by the fallback endpoint."""
    token_ids: tuple[int, ...] = ()
    prompt_digest: str = ""
    """SHA-256 (32 hex digits) of the prompt's token ids, where the server gives them."""
    tries: tuple[str, ...] = ()
    """Kinds of the failed tries before this reply: timeout, refused, status_429, status_500, garbage …"""
    # Timing; never part of a result.
    seconds: float = 0.0
    started: float = 0.0


class LLM(Protocol):
    """Anything that answers a request."""

    async def complete(self, request: Request) -> Reply:
        """The model's reply. Raises ServerDown, TransportError; a bad answer is a reply, not an error."""
        ...


class TransportError(Exception):
    """One try failed on its way; `kind` classifies it, `retry_after` is the server's wish in seconds."""

    def __init__(self, kind: str, detail: str, *, retry_after: float | None = None, retryable: bool = True) -> None:
        """Keep the kind (timeout, refused, status_429, garbage …), a human detail, and what may be done."""
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after
        self.retryable = retryable


class ServerDown(Exception):
    """The server stayed unreachable beyond the allowed wait; the run stops with its state saved."""
