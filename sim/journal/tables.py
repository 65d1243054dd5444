"""The journal's tables, and how each kind of write goes into them. What was recorded first holds."""

import sqlite3

import msgspec

from sim.core.keys import UnitKey
from sim.journal.blocks import pack, unpack
from sim.journal.protocol import JournalConflict, JournalError
from sim.journal.rows import PackedCall, StoredCall, Timing, text_of

VERSION = 1
KEPT_SNAPSHOTS = 2

CALL_COLUMNS = ", ".join(StoredCall.__struct_fields__)
TIMING_COLUMNS = ", ".join(Timing.__struct_fields__)

_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE blocks (id INTEGER PRIMARY KEY, address BLOB NOT NULL UNIQUE, data BLOB NOT NULL);
CREATE TABLE calls (
    id INTEGER PRIMARY KEY, unit TEXT NOT NULL, key TEXT NOT NULL, agent TEXT NOT NULL, duty TEXT NOT NULL,
    role TEXT NOT NULL, finish TEXT NOT NULL, model TEXT NOT NULL, fallback INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, request BLOB NOT NULL, text BLOB NOT NULL,
    extra BLOB NOT NULL, attempt INTEGER NOT NULL, UNIQUE (unit, key)
);
CREATE TABLE timings (
    id INTEGER PRIMARY KEY REFERENCES calls (id), started REAL NOT NULL, seconds REAL NOT NULL,
    cached_tokens INTEGER NOT NULL, host TEXT NOT NULL
);
CREATE TABLE units (
    id INTEGER PRIMARY KEY, unit TEXT NOT NULL UNIQUE, facts BLOB NOT NULL, attempt INTEGER NOT NULL
);
CREATE TABLE snapshots (
    agent TEXT NOT NULL, year INTEGER NOT NULL, week INTEGER NOT NULL, state BLOB NOT NULL,
    PRIMARY KEY (agent, year, week)
);
"""

_ADD_CALL = (
    f"INSERT INTO calls ({CALL_COLUMNS}, attempt) VALUES ({', '.join('?' * len(StoredCall.__struct_fields__))}, ?) "
    "ON CONFLICT DO NOTHING"
)
_ADD_TIMING = f"INSERT INTO timings (id, {TIMING_COLUMNS}) VALUES (?, ?, ?, ?, ?)"
_ADD_BLOCK = "INSERT INTO blocks (address, data) VALUES (?, ?) ON CONFLICT DO NOTHING"
_ADD_UNIT = "INSERT INTO units (unit, facts, attempt) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_DROP_SNAPSHOTS = (
    "DELETE FROM snapshots WHERE agent = ?1 AND (year, week) NOT IN "
    f"(SELECT year, week FROM snapshots WHERE agent = ?1 ORDER BY year DESC, week DESC LIMIT {KEPT_SNAPSHOTS})"
)


class JournalId(msgspec.Struct, frozen=True, kw_only=True):
    """Whose record a journal is."""

    run: str
    world: str
    round: int


class SnapshotWrite(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's encoded state before a week."""

    agent: str
    year: int
    week: int
    state: bytes


class UnitWrite(msgspec.Struct, frozen=True, kw_only=True):
    """The encoded facts of a finished unit."""

    unit: UnitKey
    facts: bytes


Write = PackedCall | UnitWrite | SnapshotWrite


def prepare(database: sqlite3.Connection, journal: JournalId, where: str) -> None:
    """Make the tables of a new journal, or check that an old one is this run's; inside the caller's transaction."""
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version == 0:
        for statement in filter(str.strip, _SCHEMA.split(";")):
            database.execute(statement)
        named = msgspec.to_builtins(journal, str_keys=True)
        database.executemany("INSERT INTO meta VALUES (?, ?)", [(name, str(value)) for name, value in named.items()])
        database.execute("INSERT INTO meta VALUES ('attempt', '0')")
        database.execute(f"PRAGMA user_version = {VERSION}")
        return
    check(database, journal, where)


def check(database: sqlite3.Connection, journal: JournalId | None, where: str) -> None:
    """Refuse a journal of another version of the tables, or of another run, world or round."""
    version = database.execute("PRAGMA user_version").fetchone()[0]
    if version != VERSION:
        raise JournalError(
            f"{where} has tables of version {version}, this program knows version {VERSION}; "
            "go on with the program that wrote it, or choose a new run folder"
        )
    found = identity(database)
    if journal is not None and found != journal:
        raise JournalError(
            f"{where} belongs to run {found.run!r}, world {found.world!r}, round {found.round}, not to run "
            f"{journal.run!r}, world {journal.world!r}, round {journal.round}; choose another run folder"
        )


def identity(database: sqlite3.Connection) -> JournalId:
    """Whose record this is."""
    return msgspec.convert(dict(database.execute("SELECT name, value FROM meta")), JournalId, strict=False)


def attempt_of(database: sqlite3.Connection) -> int:
    """The attempt that may write."""
    return int(database.execute("SELECT value FROM meta WHERE name = 'attempt'").fetchone()[0])


def set_attempt(database: sqlite3.Connection, attempt: int) -> None:
    """From now on only this attempt may write."""
    database.execute("UPDATE meta SET value = ? WHERE name = 'attempt'", (str(attempt),))


def apply(database: sqlite3.Connection, write: Write, attempt: int) -> None:
    """Do one write inside the caller's transaction; JournalConflict leaves all other rows as they are."""
    match write:
        case PackedCall():
            _add_call(database, write, attempt)
        case UnitWrite():
            _add_unit(database, write, attempt)
        case SnapshotWrite():
            values = (write.agent, write.year, write.week, pack(write.state))
            database.execute("INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?)", values)
            database.execute(_DROP_SNAPSHOTS, (write.agent,))


def _add_call(database: sqlite3.Connection, write: PackedCall, attempt: int) -> None:
    call = write.call
    added = database.execute(_ADD_CALL, (*msgspec.structs.astuple(call), attempt))
    if added.rowcount == 1:
        database.execute(_ADD_TIMING, (added.lastrowid, *msgspec.structs.astuple(write.timing)))
        database.executemany(_ADD_BLOCK, list(write.blocks.items()))
        return
    found = database.execute(f"SELECT {CALL_COLUMNS} FROM calls WHERE unit = ? AND key = ?", (call.unit, call.key))
    stored = StoredCall(*found.fetchone())
    if (stored.finish, stored.request, text_of(stored)) != (call.finish, call.request, text_of(call)):
        raise JournalConflict(
            f"call {call.key} is already recorded with another request or answer; the unit must run again with its "
            "recorded replies"
        )


def _add_unit(database: sqlite3.Connection, write: UnitWrite, attempt: int) -> None:
    unit = str(write.unit)
    added = database.execute(_ADD_UNIT, (unit, pack(write.facts), attempt))
    if added.rowcount == 1:
        return
    (stored,) = database.execute("SELECT facts FROM units WHERE unit = ?", (unit,)).fetchone()
    if unpack(stored) != write.facts:
        raise JournalConflict(f"unit {unit} is already recorded with other facts; those hold")
