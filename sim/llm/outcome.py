"""What became of a question once its answer was read: a value, a refusal to be sent back, or a counted failure."""

from typing import Any, Generic, Literal, TypeVar

import msgspec

from sim.llm.protocol import Reply

T = TypeVar("T")

RefusalKind = Literal["malformed", "invalid", "truncated", "empty", "unanswered"]


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why an answer is not accepted. `text` is written for the model: what is wrong and what to write instead."""

    kind: RefusalKind
    text: str
    code: str = ""
    """Names a fault of form, so that a prompt in any language has words for it; "" where `text` belongs to none."""
    detail: str = ""
    """With a code: the place or piece of the answer that it is about."""


class ToolCall(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a memory function as the model wrote it."""

    name: str
    arguments: dict[str, Any]


class Rejected(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt whose answer was not accepted."""

    key: str
    kind: RefusalKind
    text: str = ""


class Outcome(msgspec.Struct, Generic[T], frozen=True, kw_only=True):
    """The end of one question: `value` unless `status` is failed or the model called functions instead."""

    status: Literal["ok", "repaired", "failed"]
    """repaired: the accepted answer needed a lenient reading or a second attempt."""
    value: T | None
    reply: Reply
    key: str
    """Key of the last call."""
    tool_calls: tuple[ToolCall, ...] = ()
    rejected: tuple[Rejected, ...] = ()
