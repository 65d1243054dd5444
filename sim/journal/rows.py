"""A model call as it is recorded: the request's essentials, the reply, and, apart from both, its timing."""

from collections.abc import Container, Mapping
from typing import Literal

import msgspec

from sim.journal.blocks import decode_text, encode_text, pack, unpack
from sim.llm.protocol import Reply, Role, Usage


class MessageRow(msgspec.Struct, frozen=True, array_like=True):
    """One chat message: role, and its parts by their addresses."""

    role: str
    parts: tuple[bytes, ...]


class Timing(msgspec.Struct, frozen=True):
    """When and where a call ran; never part of a result."""

    started: float = 0.0
    seconds: float = 0.0
    cached_tokens: int = 0
    host: str = ""


class CallRow(msgspec.Struct, frozen=True, kw_only=True):
    """One call. The reply carries no timing and no cached tokens: those stand in `timing`."""

    key: str
    unit: str
    agent: str
    duty: str
    role: Role
    seed: int
    max_tokens: int
    temperature: float
    top_p: float
    messages: tuple[MessageRow, ...]
    reply: Reply
    timing: Timing = Timing()
    blocks: Mapping[bytes, str] = msgspec.field(default_factory=dict[bytes, str])
    """Texts of the messages' parts when a row is written; empty when it is read."""


class _Request(msgspec.Struct, frozen=True, array_like=True):
    """The part of a row that is only read as a whole."""

    seed: int
    max_tokens: int
    temperature: float
    top_p: float
    messages: tuple[MessageRow, ...]


class _Extra(msgspec.Struct, frozen=True, array_like=True):
    """The rarely used part of a reply."""

    reasoning: str = ""
    token_ids: tuple[int, ...] = ()
    prompt_digest: str = ""
    tries: tuple[str, ...] = ()


class StoredCall(msgspec.Struct, frozen=True):
    """The columns of a call, in the table's order."""

    unit: str
    key: str
    agent: str
    duty: str
    role: Role
    finish: Literal["stop", "length", "unanswered"]
    model: str
    fallback: int
    prompt_tokens: int
    output_tokens: int
    request: bytes
    text: bytes
    extra: bytes


class PackedCall(msgspec.Struct, frozen=True):
    """A row ready to be stored or sent: its columns, timing, and the blocks that may be new."""

    call: StoredCall
    timing: Timing
    blocks: dict[bytes, bytes]


_PACK = msgspec.msgpack.Encoder().encode
_REQUEST = msgspec.msgpack.Decoder(_Request)
_EXTRA = msgspec.msgpack.Decoder(_Extra)


def pack_call(row: CallRow, known: Container[bytes]) -> PackedCall:
    """The row's columns; blocks that are known to be stored are left out."""
    reply = row.reply
    request = _Request(row.seed, row.max_tokens, row.temperature, row.top_p, row.messages)
    extra = _Extra(reply.reasoning, reply.token_ids, reply.prompt_digest, reply.tries)
    call = StoredCall(
        unit=row.unit,
        key=row.key,
        agent=row.agent,
        duty=row.duty,
        role=row.role,
        finish=reply.finish,
        model=reply.model,
        fallback=int(reply.fallback),
        prompt_tokens=reply.usage.prompt_tokens,
        output_tokens=reply.usage.output_tokens,
        request=_PACK(request),
        text=pack(encode_text(reply.text)),
        extra=pack(_PACK(extra)),
    )
    new = {address: pack(encode_text(text)) for address, text in row.blocks.items() if address not in known}
    return PackedCall(call, row.timing, new)


def reply_of(call: StoredCall) -> Reply:
    """The recorded reply, as it is given again instead of asking."""
    more = _EXTRA.decode(unpack(call.extra))
    return Reply(
        text=text_of(call),
        reasoning=more.reasoning,
        finish=call.finish,
        usage=Usage(prompt_tokens=call.prompt_tokens, output_tokens=call.output_tokens),
        model=call.model,
        fallback=bool(call.fallback),
        token_ids=more.token_ids,
        prompt_digest=more.prompt_digest,
        tries=more.tries,
    )


def text_of(call: StoredCall) -> str:
    """The recorded answer's text."""
    return decode_text(unpack(call.text))


def row_of(call: StoredCall, timing: Timing) -> CallRow:
    """The row that was recorded, without its blocks."""
    request = _REQUEST.decode(call.request)
    return CallRow(
        key=call.key,
        unit=call.unit,
        agent=call.agent,
        duty=call.duty,
        role=call.role,
        seed=request.seed,
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        top_p=request.top_p,
        messages=request.messages,
        reply=reply_of(call),
        timing=timing,
    )
