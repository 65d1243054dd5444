"""Everything that is read from a journal, also while another process writes it. Nothing is loaded as a whole."""

import sqlite3
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import msgspec

from sim.core.facts import UnitFacts, decode_facts
from sim.core.keys import UnitKey, parse_unit
from sim.journal.blocks import decode_text, unpack
from sim.journal.protocol import JournalError
from sim.journal.rows import CallRow, StoredCall, Timing, reply_of, row_of
from sim.journal.tables import CALL_COLUMNS, TIMING_COLUMNS, JournalId, SnapshotWrite, check, identity
from sim.llm.protocol import Message, Reply

_CALLS = f"SELECT {CALL_COLUMNS}, {TIMING_COLUMNS} FROM calls JOIN timings USING (id)"
_WIDTH = len(StoredCall.__struct_fields__)
_TOTALS = (
    "SELECT count(*), coalesce(sum(prompt_tokens), 0), coalesce(sum(output_tokens), 0), "
    "coalesce(sum(cached_tokens), 0), coalesce(sum(finish = 'length'), 0), coalesce(sum(finish = 'unanswered'), 0) "
    "FROM calls JOIN timings USING (id)"
)


class Totals(msgspec.Struct, frozen=True):
    """Sums over all recorded calls."""

    calls: int
    prompt_tokens: int
    output_tokens: int
    cached_tokens: int
    truncated: int
    unanswered: int


class JournalReader:
    """A read-only view; each query sees what is durable at its start."""

    def __init__(self, path: Path, journal: JournalId | None = None) -> None:
        """Open an existing journal; with `journal` given, refuse another run's."""
        self.path = path
        if not path.exists():
            raise JournalError(f"{path}: there is no journal; has this run been started?")
        try:
            self._database = _opened(path)
            check(self._database, journal, str(path))
        except sqlite3.DatabaseError as error:
            raise JournalError(f"{path} is no journal, or it is damaged or can't be read: {error}") from error
        self._block = lru_cache(maxsize=4096)(self._read_block)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def identity(self) -> JournalId:
        """Whose record this is."""
        return identity(self._database)

    def replies_of(self, unit: UnitKey | str) -> dict[str, Reply]:
        """The recorded replies of a unit, by call key."""
        rows = self._database.execute(f"SELECT {CALL_COLUMNS} FROM calls WHERE unit = ? ORDER BY key", (str(unit),))
        return {call.key: reply_of(call) for call in (StoredCall(*row) for row in rows)}

    def unit_done(self, unit: UnitKey | str) -> bool:
        """Whether the unit is finished."""
        return self._database.execute("SELECT 1 FROM units WHERE unit = ?", (str(unit),)).fetchone() is not None

    def facts_of(self, unit: UnitKey | str) -> UnitFacts | None:
        """What a finished unit caused, or None if it is not finished."""
        row = self._database.execute("SELECT facts FROM units WHERE unit = ?", (str(unit),)).fetchone()
        return None if row is None else decode_facts(unpack(row[0]))

    def done_units(self) -> list[UnitKey]:
        """The finished units, in the order of their keys."""
        return sorted(parse_unit(unit) for (unit,) in self._database.execute("SELECT unit FROM units"))

    def units(self, *, year: int | None = None, week: int | None = None) -> Iterator[UnitFacts]:
        """The facts of finished units, of all or of one year or week, in the order of their keys."""
        start, end = _range(year, week)
        rows = self._database.execute("SELECT unit FROM units WHERE unit >= ? AND unit < ?", (start, end))
        for unit in sorted(parse_unit(unit) for (unit,) in rows):
            facts = self.facts_of(unit)
            if facts is not None:
                yield facts

    def calls(self, *, year: int | None = None, week: int | None = None) -> Iterator[CallRow]:
        """Recorded calls, of all or of one year or week, by unit in the order of unit keys, then by call key."""
        for unit in self._units_with_calls(year, week):
            yield from self.calls_of(unit)

    def calls_of(self, unit: UnitKey | str) -> Iterator[CallRow]:
        """The recorded calls of a unit, by key."""
        for row in self._database.execute(f"{_CALLS} WHERE unit = ? ORDER BY key", (str(unit),)):
            yield row_of(StoredCall(*row[:_WIDTH]), Timing(*row[_WIDTH:]))

    def messages_of(self, row: CallRow) -> tuple[Message, ...]:
        """The exact messages that a call sent."""
        return tuple(
            msgspec.convert({"role": message.role, "parts": [self._block(part) for part in message.parts]}, Message)
            for message in row.messages
        )

    def snapshots_of(self, agent: str) -> list[SnapshotWrite]:
        """The agent's kept snapshots, latest first."""
        rows = self._database.execute(
            "SELECT agent, year, week, state FROM snapshots WHERE agent = ? ORDER BY year DESC, week DESC", (agent,)
        )
        return [_snapshot(*row) for row in rows]

    def last_snapshots(self) -> dict[str, SnapshotWrite]:
        """The latest snapshot of each agent, by name."""
        rows = self._database.execute("SELECT agent, year, week, state FROM snapshots ORDER BY agent, year, week")
        return {row[0]: _snapshot(*row) for row in rows}

    def totals(self) -> Totals:
        """Calls, tokens and unfinished answers so far."""
        row = self._database.execute(_TOTALS).fetchone()
        return Totals(*row)

    def count_calls(self) -> int:
        """How many calls are recorded."""
        return self._database.execute("SELECT count(*) FROM calls").fetchone()[0]

    def _units_with_calls(self, year: int | None, week: int | None) -> list[UnitKey]:
        """Units in whose name calls are recorded, whether finished or not; found in the index by skipping."""
        start, end = _range(year, week)
        found: list[UnitKey] = []
        after = "SELECT unit FROM calls WHERE unit {} ? AND unit < ? ORDER BY unit LIMIT 1"
        row = self._database.execute(after.format(">="), (start, end)).fetchone()
        while row is not None:
            found.append(parse_unit(row[0]))
            row = self._database.execute(after.format(">"), (row[0], end)).fetchone()
        return sorted(found)

    def _read_block(self, address: bytes) -> str:
        row = self._database.execute("SELECT data FROM blocks WHERE address = ?", (address,)).fetchone()
        if row is None:
            raise JournalError(f"{self.path} lacks a part of a prompt ({address.hex()}); the file is damaged")
        return decode_text(unpack(row[0]))


def _opened(path: Path) -> sqlite3.Connection:
    """A read-only connection; on a read-only disk, of a journal that nobody writes."""
    for how in ("mode=ro", "mode=ro&immutable=1"):
        address = f"{path.absolute().as_uri()}?{how}"
        database = sqlite3.connect(address, uri=True, isolation_level=None, check_same_thread=False, timeout=30.0)
        try:
            database.execute("SELECT count(*) FROM sqlite_master")
        except sqlite3.OperationalError:
            database.close()
            if path.with_name(f"{path.name}-wal").exists() or "immutable" in how:
                raise
        else:
            return database
    raise JournalError(f"{path} can't be read")


def _range(year: int | None, week: int | None) -> tuple[str, str]:
    """Texts between which all unit keys of a year or a week lie."""
    if year is None:
        return "Y", "Z"
    return (f"Y{year}-", f"Y{year}.") if week is None else (f"Y{year}-W{week}/", f"Y{year}-W{week}0")


def _snapshot(agent: str, year: int, week: int, state: bytes) -> SnapshotWrite:
    return SnapshotWrite(agent=agent, year=year, week=week, state=unpack(state))
