"""The journal of one world's round, opened for writing: claimed, checked, and able to answer what is durable."""

import asyncio
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from sim.core.facts import UnitFacts, encode
from sim.journal.blocks import KnownBlocks
from sim.journal.lease import STALE_AFTER_S, Lease
from sim.journal.protocol import JournalBusy, JournalError
from sim.journal.reading import JournalReader
from sim.journal.rows import CallRow, pack_call
from sim.journal.tables import JournalId, SnapshotWrite, UnitWrite, Write, attempt_of, prepare, set_attempt
from sim.journal.writer import Outcomes, Writer

_PRAGMAS = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",
    "PRAGMA temp_store = MEMORY",
    "PRAGMA cache_size = -65536",
    "PRAGMA wal_autocheckpoint = 4000",
)


class JournalFile(JournalReader):
    """A journal with its one writer; it also answers every question about what is durable."""

    def __init__(
        self, path: Path, journal: JournalId, *, lease: Lease | None = None, stale_after_s: float = STALE_AFTER_S
    ) -> None:
        """Open or create it. JournalBusy while somebody else writes; JournalError for another run's journal."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self._lease = lease or Lease.take(path, above=_last_attempt(path), stale_after_s=stale_after_s)
        try:
            database = _opened(path, journal, self._lease.attempt)
        except (sqlite3.Error, JournalError) as error:
            self._lease.release()
            if isinstance(error, JournalError):
                raise
            raise JournalError(f"{path} can't be opened: {error}") from error
        self._writer = Writer(database, path, self._lease)
        self._known = KnownBlocks()
        super().__init__(path, journal)

    @property
    def attempt(self) -> int:
        """This writer's attempt id; later writers have larger ones."""
        return self._lease.attempt

    async def record_call(self, row: CallRow) -> None:
        """Write one call durably."""
        packed = pack_call(row, self._known)
        await self._one(packed)
        self._known.learn(packed.blocks)

    async def record_unit(self, facts: UnitFacts) -> None:
        """Write a finished unit durably."""
        await self._one(UnitWrite(unit=facts.unit, facts=encode(facts)))

    async def record_snapshot(self, agent: str, year: int, week: int, state: bytes) -> None:
        """Write an agent's state durably; the last two are kept."""
        await self._one(SnapshotWrite(agent=agent, year=year, week=week, state=state))

    async def append(self, writes: Sequence[Write]) -> Outcomes:
        """Write several rows durably in one transaction; the outcome of each is None or its conflict."""
        return await asyncio.wrap_future(self._writer.submit(writes))

    def close(self) -> None:
        """Write what is waiting, let go of the file and of the claim."""
        super().close()
        self._writer.close()
        self._lease.release()

    async def _one(self, write: Write) -> None:
        (conflict,) = await self.append([write])
        if conflict is not None:
            raise conflict


def _opened(path: Path, journal: JournalId, attempt: int) -> sqlite3.Connection:
    """The writing connection, from now on the only one whose attempt may write."""
    is_new = not path.exists()
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30.0)
    try:
        for pragma in _PRAGMAS:
            database.execute(pragma)
        database.execute("BEGIN IMMEDIATE")
        prepare(database, journal, str(path))
        if attempt_of(database) >= attempt:
            raise JournalBusy(f"{path} was taken by another process just now; try again later")
        set_attempt(database, attempt)
        database.execute("COMMIT")
    except (sqlite3.Error, JournalError):
        database.close()
        raise
    if is_new:
        _sync_folder(path.parent)
    return database


def _last_attempt(path: Path) -> int:
    """The last attempt that wrote; 0 for a journal that does not exist yet."""
    if not path.exists():
        return 0
    try:
        database = sqlite3.connect(path, isolation_level=None, timeout=30.0)
        try:
            has_tables = database.execute("PRAGMA user_version").fetchone()[0]
            return attempt_of(database) if has_tables else 0
        finally:
            database.close()
    except sqlite3.Error as error:
        raise JournalError(
            f"{path} is no journal, or damaged: {error}; move it away to begin this round anew"
        ) from error


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
