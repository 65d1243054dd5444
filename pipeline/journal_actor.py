"""The one writer of a world's journal as a thin Ray actor on the driver's node, and the client that hosts use.

A client sends whatever has gathered since its last message in one message, and each write returns once it is durable.
"""

import asyncio
import contextlib
import logging
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import ray
from ray.exceptions import RayActorError, RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from sim.core.facts import UnitFacts, decode_facts, encode
from sim.journal.blocks import KnownBlocks
from sim.journal.lease import STALE_AFTER_S
from sim.journal.log import JournalFile
from sim.journal.protocol import JournalBusy, JournalConflict, JournalError
from sim.journal.rows import CallRow, PackedCall, pack_call
from sim.journal.tables import JournalId, SnapshotWrite, UnitWrite, Write
from sim.llm.protocol import Reply

log = logging.getLogger(__name__)
CALL_SECONDS = 300.0
RESTARTS = 20
"""Deaths of the writer that a run survives: what is sent again changes nothing."""
BUSY_SECONDS = STALE_AFTER_S + 15.0
"""How long an owner that is just dying, or died on another machine, is waited for."""


class JournalActor:
    """Owns the file; every method is the file's. Restarted after a death, it opens the file again by itself."""

    def __init__(self, path: str, identity: JournalId) -> None:
        """Nothing is opened yet."""
        self._path = Path(path)
        self._identity = identity
        self._file: JournalFile | None = None
        self._closed = False
        self._counts: Counter[str] = Counter()

    async def open(self) -> bool:
        """Open the file; whether anything is recorded in it already. JournalBusy while somebody else writes."""
        file = self._opened()
        return bool(self._counts["calls"] or file.done_units())

    async def append(self, writes: list[Write]) -> list[JournalConflict | None]:
        """Write durably in one transaction."""
        outcomes = await self._opened().append(writes)
        for write, conflict in zip(writes, outcomes, strict=True):
            if isinstance(write, PackedCall) and conflict is None:
                self._count(write)
        return outcomes

    async def replies_of(self, unit: str) -> dict[str, Reply]:
        """Recorded replies of a unit."""
        return self._opened().replies_of(unit)

    async def facts_of(self, unit: str) -> bytes | None:
        """Encoded facts of a finished unit."""
        facts = self._opened().facts_of(unit)
        return None if facts is None else encode(facts)

    async def counters(self) -> dict[str, Any]:
        """Calls, tokens and failures so far."""
        keys = ("calls", "prompt_tokens", "output_tokens", "cached_tokens")
        failed = {kind: self._counts[kind] for kind in ("truncated", "unanswered") if self._counts[kind]}
        return {**{key: self._counts[key] for key in keys}, "failed": failed}

    async def close(self) -> None:
        """Write what is waiting and let go of the file."""
        self._closed = True
        if self._file is not None:
            await asyncio.to_thread(self._file.close)
            self._file = None

    def _opened(self) -> JournalFile:
        if self._closed:
            raise JournalError(f"{self._path} is closed")
        if self._file is None:
            self._file = JournalFile(self._path, self._identity)
            self._counts = Counter(msgspec.structs.asdict(self._file.totals()))
        return self._file

    def _count(self, write: PackedCall) -> None:
        call = write.call
        self._counts["calls"] += 1
        self._counts["prompt_tokens"] += call.prompt_tokens
        self._counts["output_tokens"] += call.output_tokens
        self._counts["cached_tokens"] += write.timing.cached_tokens
        self._counts["truncated"] += call.finish == "length"
        self._counts["unanswered"] += call.finish == "unanswered"


class ActorJournal:
    """sim's Journal over the actor."""

    def __init__(self, actor: Any, *, has_past: bool = True) -> None:
        """`has_past` false: nothing was recorded before this process, so nothing of the past is looked up."""
        self._actor = actor
        self._has_past = has_past
        self._known = KnownBlocks()
        self._waiting: list[tuple[Write, asyncio.Future[None]]] = []
        self._sending: asyncio.Task[None] | None = None

    async def record_call(self, row: CallRow) -> None:
        """Write one call durably."""
        packed = pack_call(row, self._known)
        await self._write(packed)
        self._known.learn(packed.blocks)

    async def record_unit(self, facts: UnitFacts) -> None:
        """Write a finished unit durably."""
        await self._write(UnitWrite(unit=facts.unit, facts=encode(facts)))

    async def record_snapshot(self, agent: str, year: int, week: int, state: bytes) -> None:
        """Write an agent's state durably."""
        await self._write(SnapshotWrite(agent=agent, year=year, week=week, state=state))

    async def replies_of(self, unit: str) -> Mapping[str, Reply]:
        """Recorded replies of a unit."""
        return await self._read("replies_of", unit) if self._has_past else {}

    async def facts_of(self, unit: str) -> UnitFacts | None:
        """Facts of a finished unit."""
        data = await self._read("facts_of", unit) if self._has_past else None
        return None if data is None else decode_facts(data)

    async def counters(self) -> Mapping[str, Any]:
        """Calls, tokens and failures so far."""
        return await self._read("counters")

    def look_back(self) -> None:
        """From now on the past may hold something: a host died, and what it wrote last is not known here."""
        self._has_past = True

    async def _read(self, method: str, *arguments: Any) -> Any:
        try:
            return await self._ask(method, *arguments)
        except (RayActorError, TimeoutError) as error:
            raise _as_journal_error(error) from error

    async def _ask(self, method: str, *arguments: Any) -> Any:
        async with asyncio.timeout(CALL_SECONDS):
            return await getattr(self._actor, method).remote(*arguments)

    async def _write(self, write: Write) -> None:
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((write, done))
        if self._sending is None or self._sending.done():
            self._sending = asyncio.create_task(self._send())
        await done

    async def _send(self) -> None:
        """Send what waits, message after message, until nothing waits."""
        await asyncio.sleep(0)
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                outcomes = await self._ask("append", [write for write, _ in batch])
            except (RayError, TimeoutError, JournalError) as error:
                _settle(batch, [_as_journal_error(error)] * len(batch))
            else:
                _settle(batch, outcomes)


def _settle(batch: list[tuple[Write, asyncio.Future[None]]], outcomes: list[Any]) -> None:
    for (_, done), error in zip(batch, outcomes, strict=True):
        if done.done():
            continue
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)


def _as_journal_error(error: Exception) -> JournalError:
    if isinstance(error, JournalError):
        return error
    return JournalError(
        f"the journal's writer does not answer ({type(error).__name__}: {error}); nothing is lost: start the same "
        "command again"
    )


@asynccontextmanager
async def journal_actor(path: Path, identity: JournalId) -> AsyncIterator[tuple[Any, bool]]:
    """A writer for the block's time: its handle, and whether the journal has a past. A dying owner is waited for."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    options: dict[str, Any] = {
        "num_cpus": 0,
        "max_concurrency": 10_000,
        "scheduling_strategy": here,
        "max_restarts": RESTARTS,
        "max_task_retries": -1,
    }
    remote: Any = ray.remote(JournalActor)
    actor = remote.options(**options).remote(str(path), identity)
    try:
        yield actor, await _opened(actor)
    finally:
        with contextlib.suppress(RayActorError, TimeoutError):
            async with asyncio.timeout(CALL_SECONDS):
                await actor.close.remote()
        ray.kill(actor)


async def _opened(actor: Any) -> bool:
    began, told = time.monotonic(), False
    while True:
        try:
            async with asyncio.timeout(CALL_SECONDS):
                return await actor.open.remote()
        except JournalBusy as error:
            if time.monotonic() - began > BUSY_SECONDS:
                raise JournalBusy(str(error.args[0] if error.args else error)) from error
            if not told:
                log.warning("waiting for the journal's last owner to end: %s", error)
            told = True
            await asyncio.sleep(1.0)
