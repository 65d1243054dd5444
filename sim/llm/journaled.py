"""Answers from what is already recorded, else asks and returns only once the answer is durable."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

import msgspec

from sim.journal.blocks import digest
from sim.journal.protocol import Journal
from sim.journal.rows import CallRow, MessageRow, Timing
from sim.llm.protocol import LLM, Reply, Request


class Journaled:
    """The journal in front of a model. Recorded replies are handed in when a unit is dispatched, not looked up."""

    def __init__(self, inner: LLM, journal: Journal, *, host: str = "") -> None:
        """`host` is written into the timing of each call."""
        self._inner = inner
        self._journal = journal
        self._host = host
        self._prior: dict[str, Mapping[str, Reply]] = {}

    @contextmanager
    def with_prior(self, unit: str, prior: Mapping[str, Reply]) -> Generator[None]:
        """While a unit runs, answer its calls from its recorded replies."""
        self._prior[unit] = prior
        try:
            yield
        finally:
            del self._prior[unit]

    async def complete(self, request: Request) -> Reply:
        """The recorded reply, or a new one that is recorded before it is returned."""
        recorded = self._prior.get(request.unit, {}).get(request.key)
        if recorded is not None:
            return recorded
        reply = await self._inner.complete(request)
        await self._journal.record_call(row_of(request, reply, self._host))
        return reply


def row_of(request: Request, reply: Reply, host: str = "") -> CallRow:
    """The record of a call; what depends on the clock or the cache stands in its timing."""
    addresses = {part: digest(part) for message in request.messages for part in message.parts}
    usage = msgspec.structs.replace(reply.usage, cached_tokens=0)
    return CallRow(
        key=request.key,
        unit=request.unit,
        agent=request.agent,
        duty=request.duty,
        role=request.role,
        seed=request.seed,
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        top_p=request.top_p,
        messages=tuple(MessageRow(m.role, tuple(addresses[part] for part in m.parts)) for m in request.messages),
        reply=msgspec.structs.replace(reply, usage=usage, seconds=0.0, started=0.0),
        timing=Timing(reply.started, reply.seconds, reply.usage.cached_tokens, host),
        blocks={address: part for part, address in addresses.items()},
    )
