"""Turns a model's replies into typed outcomes: reads, checks, and asks again with the error named.

An answer cut off by its length is never accepted; one that never came is not asked for again. Each further attempt has
its own key, seed and messages, so that no request is sent twice.
"""

import hashlib
import re
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from sim.llm.json_reader import read_checked
from sim.llm.outcome import Outcome, Refusal, Rejected, ToolCall
from sim.llm.protocol import LLM, Message, Reply, Request
from sim.llm.tool_calls import OPEN, mentions_call, read_calls

T = TypeVar("T")

GROWTH = 1.5
BLANK_RUN = 200
SHOWN_CHARS = 1200
_BLANKS = re.compile(rf"\s{{{BLANK_RUN}}}")


class _Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that was read: decoded value or text, or function calls instead."""

    value: Any = None
    calls: tuple[ToolCall, ...] = ()
    repaired: bool = False


class Structured:
    """Asks until an answer has the required form and the caller's `parse` accepts it, or the attempts are used up."""

    def __init__(self, llm: LLM, *, attempts: int, max_tokens_bound: int = 0) -> None:
        """`max_tokens_bound` limits how long an answer may become after one was cut off; 0: never longer."""
        self._llm = llm
        self._attempts = attempts
        self._bound = max_tokens_bound

    async def ask(
        self, request: Request, parse: Callable[[Any], T | Refusal], *, feedback: Callable[[Refusal], str]
    ) -> Outcome[T]:
        """The outcome of one question; `feedback` words a refusal for the model."""
        rejected: list[Rejected] = []
        current = request
        while True:
            reply = await self._llm.complete(current)
            result = self._judge(current, reply, parse)
            if not isinstance(result, Refusal):
                again = bool(rejected) or result.repaired
                return Outcome(
                    status="repaired" if again else "ok",
                    value=result.value,
                    reply=reply,
                    key=current.key,
                    tool_calls=result.calls,
                    rejected=tuple(rejected),
                )
            rejected.append(Rejected(key=current.key, kind=result.kind, text=result.text))
            if result.kind == "unanswered" or len(rejected) >= self._attempts:
                return Outcome(status="failed", value=None, reply=reply, key=current.key, rejected=tuple(rejected))
            current = self._again(request, current, reply, result, feedback, len(rejected))

    def _judge(self, request: Request, reply: Reply, parse: Callable[[Any], T | Refusal]) -> _Accepted | Refusal:
        """What was read and accepted by the caller, or why not."""
        read = _read(request, reply)
        if isinstance(read, Refusal) or read.calls:
            return read
        value = parse(read.value)
        return value if isinstance(value, Refusal) else _Accepted(value=value, repaired=read.repaired)

    def _again(
        self,
        first: Request,
        last: Request,
        reply: Reply,
        refusal: Refusal,
        feedback: Callable[[Refusal], str],
        attempt: int,
    ) -> Request:
        """The next attempt: other key, seed and messages, and more room after an answer that was cut off."""
        messages = first.messages
        if reply.text.strip():
            shown = Message(role="assistant", parts=(_shown(reply.text),))
            messages = (*messages, shown, Message(role="user", parts=(feedback(refusal),)))
        max_tokens = last.max_tokens
        if refusal.kind == "truncated":
            max_tokens = max(max_tokens, min(self._bound, int(max_tokens * GROWTH)))
        return msgspec.structs.replace(
            first,
            key=attempt_key(first.key, attempt),
            seed=attempt_seed(first.seed, attempt),
            messages=messages,
            max_tokens=max_tokens,
        )


def attempt_key(key: str, further: int) -> str:
    """The key of the n-th further attempt: the last component counts attempts."""
    stem, attempt = key.rsplit("/", 1)
    return f"{stem}/{int(attempt) + further}"


def attempt_seed(seed: int, further: int) -> int:
    """A 63-bit seed of its own for a further attempt."""
    return int.from_bytes(hashlib.sha256(f"{seed}\x1fattempt\x1f{further}".encode()).digest()[:8], "big") >> 1


def _read(request: Request, reply: Reply) -> _Accepted | Refusal:
    """The answer by its required form, before the caller looks at it."""
    output, text = request.output, reply.text
    refusal = _unusable(reply)
    if refusal is not None:
        return refusal
    if mentions_call(text):
        if not output.tools:
            return Refusal(kind="invalid", text=f"{OPEN}: no function may be called now", code="no_calls")
        calls = read_calls(text, output.tools)
        return calls if isinstance(calls, Refusal) else _Accepted(calls=calls.calls, repaired=calls.repaired)
    if output.kind != "json":
        return _Accepted(value=text)
    reading = read_checked(text, output.schema)
    if isinstance(reading, Refusal):
        return reading
    return _Accepted(value=reading.value, repaired=reading.repaired)


def _unusable(reply: Reply) -> Refusal | None:
    """Why a reply can't even be read."""
    text = reply.text
    if reply.finish == "unanswered":
        return Refusal(kind="unanswered", text="no answer")
    if _BLANKS.search(text) is not None:
        return Refusal(kind="malformed", text=f"{BLANK_RUN} blanks in a row", code="blanks")
    if reply.finish == "length":
        return Refusal(kind="truncated", text="the answer was cut off at its largest length")
    if not text.strip():
        return Refusal(kind="empty", text="the answer is empty")
    try:
        text.encode()
    except UnicodeEncodeError:
        return Refusal(kind="malformed", text="the text has characters that are no valid Unicode", code="unicode")
    return None


def _shown(text: str) -> str:
    """A rejected answer as it is shown again: not longer than needed, without runs of blanks."""
    short = _BLANKS.split(text, maxsplit=1)[0].encode("utf-8", "replace").decode()
    return short if len(short) <= SHOWN_CHARS else short[:SHOWN_CHARS] + " …"
