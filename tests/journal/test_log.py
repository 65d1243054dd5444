"""The journal file: what is acknowledged is there, once, whoever reads; what was recorded first holds."""

import asyncio
import os
import pickle
import sqlite3
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from sim.journal.log import JournalFile
from sim.journal.protocol import JournalBusy, JournalConflict, JournalError, JournalFenced
from sim.journal.reading import JournalReader, Totals
from sim.journal.rows import CallRow, MessageRow, pack_call
from sim.journal.tables import JournalId
from sim.llm.protocol import Reply
from tests.journal.rows import HEAD, THIS, a_row, a_unit, some_facts


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "世界 one.journal"


def record(journal: JournalFile, *rows: CallRow) -> None:
    async def all_of_them() -> None:
        await asyncio.gather(*(journal.record_call(row) for row in rows))

    asyncio.run(all_of_them())


def test_calls_come_back_as_they_were_recorded(path: Path) -> None:
    reply = Reply(
        text="好的。\nFine \ud83d",
        reasoning="because",
        finish="length",
        model="m@2",
        fallback=True,
        token_ids=(1, 70000),
        prompt_digest="ab",
        tries=("timeout", "status_429"),
    )
    rows = [a_row(), a_row(step="answer"), a_row(a_unit(2), reply=reply), a_row(a_unit(2), attempt=1)]
    journal = JournalFile(path, THIS)
    record(journal, *rows)
    journal.close()

    reader = JournalReader(path, THIS)
    found = {row.key: row for row in reader.calls()}
    for row in rows:
        assert found[row.key] == msgspec.structs.replace(row, blocks={})
        assert [m.text for m in reader.messages_of(row)] == [HEAD, f"Now plan {row.unit}."]
    assert reader.replies_of(a_unit(2)) == {row.key: row.reply for row in rows[2:]}
    assert reader.replies_of(a_unit(3)) == {}
    assert reader.count_calls() == 4
    assert reader.totals() == Totals(4, 27, 9, 16, 1, 0)


def test_facts_of_finished_units(path: Path) -> None:
    journal = JournalFile(path, THIS)
    facts = some_facts(standard="frugal", words="静か")
    asyncio.run(journal.record_unit(facts))
    assert journal.unit_done(a_unit())
    assert journal.facts_of(a_unit()) == facts
    assert not journal.unit_done(a_unit(2))
    assert journal.facts_of(a_unit(2)) is None
    journal.close()


def test_iteration_goes_by_key_and_can_be_narrowed(path: Path) -> None:
    units = [a_unit(week, year=year, who=who) for year in (1, 2, 10) for week in (1, 2, 10) for who in ("B", "A")]
    journal = JournalFile(path, THIS)
    record(journal, *(a_row(unit) for unit in reversed(units)))
    for unit in units:
        asyncio.run(journal.record_unit(some_facts(unit)))
    ordered = sorted(units)
    assert [row.unit for row in journal.calls()] == [str(unit) for unit in ordered]
    assert [facts.unit for facts in journal.units()] == ordered == journal.done_units()
    assert [facts.unit for facts in journal.units(year=1)] == [u for u in ordered if u.year == 1]
    assert [row.unit for row in journal.calls(year=10, week=1)] == [
        str(u) for u in ordered if (u.year, u.week) == (10, 1)
    ]
    journal.close()


def test_shared_blocks_are_stored_once(path: Path) -> None:
    journal = JournalFile(path, THIS)
    record(journal, *(a_row(a_unit(week)) for week in range(1, 101)))
    record(journal, *(a_row(a_unit(week)) for week in range(101, 201)))
    journal.close()
    database = sqlite3.connect(path)
    assert database.execute("SELECT count(*) FROM blocks").fetchone() == (201,)
    assert database.execute("SELECT max(length(data)) FROM blocks").fetchone()[0] < len(HEAD) / 10
    database.close()


def test_writing_again_changes_nothing_and_another_answer_is_refused(path: Path) -> None:
    journal = JournalFile(path, THIS)
    record(journal, a_row(text="first"), a_row(text="first"), a_row(a_unit(2)))
    record(journal, a_row(text="first"))
    with pytest.raises(JournalConflict, match="already recorded"):
        record(journal, a_row(text="second"))
    with pytest.raises(JournalConflict, match="already recorded"):
        record(journal, a_row(text="first", messages=(MessageRow("user", ()),)))
    assert journal.count_calls() == 2
    asyncio.run(journal.record_unit(some_facts(a=1)))
    asyncio.run(journal.record_unit(some_facts(a=1)))
    with pytest.raises(JournalConflict):
        asyncio.run(journal.record_unit(some_facts(a=2)))
    assert [reply.text for reply in journal.replies_of(a_unit()).values()] == ["first"]
    journal.close()


def test_a_conflict_leaves_the_other_rows_of_its_batch(path: Path) -> None:
    journal = JournalFile(path, THIS)
    record(journal, a_row(text="first"))
    packed = [pack_call(row, ()) for row in (a_row(a_unit(2)), a_row(text="second"), a_row(a_unit(3)))]
    outcomes = asyncio.run(journal.append(pickle.loads(pickle.dumps(packed))))
    assert [outcome is None for outcome in outcomes] == [True, False, True]
    assert journal.count_calls() == 3
    journal.close()


def test_the_last_two_snapshots_of_each_agent_are_kept(path: Path) -> None:
    journal = JournalFile(path, THIS)
    for year, week in [(1, 9), (1, 10), (2, 1)]:
        asyncio.run(journal.record_snapshot("小雨", year, week, f"state {year} {week}".encode()))
    asyncio.run(journal.record_snapshot("Ann", 1, 1, b"{}"))
    assert [(s.year, s.week) for s in journal.snapshots_of("小雨")] == [(2, 1), (1, 10)]
    assert {name: s.state for name, s in journal.last_snapshots().items()} == {"小雨": b"state 2 1", "Ann": b"{}"}
    journal.close()


def test_another_runs_journal_is_refused(path: Path) -> None:
    JournalFile(path, THIS).close()
    for other in (
        JournalId(run="run-2", world="apartment", round=1),
        JournalId(run="run-1", world="campus", round=1),
        JournalId(run="run-1", world="apartment", round=2),
    ):
        with pytest.raises(JournalError, match="belongs to run 'run-1', world 'apartment', round 1"):
            JournalFile(path, other)
    assert JournalReader(path).identity() == THIS
    JournalFile(path, THIS).close()


def test_other_tables_and_other_files_are_refused(path: Path) -> None:
    with pytest.raises(JournalError, match="no journal"):
        JournalReader(path)
    JournalFile(path, THIS).close()
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(JournalError, match="version 99"):
        JournalFile(path, THIS)
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(JournalError, match="no journal, or damaged"):
        JournalFile(path, THIS)


def test_a_second_writer_is_told_who_is_at_work(path: Path) -> None:
    journal = JournalFile(path, THIS)
    with pytest.raises(JournalBusy, match=f"process {os.getpid()} on .* delete .*lease.1 and start again"):
        JournalFile(path, THIS)
    record(journal, a_row())
    journal.close()
    second = JournalFile(path, THIS)
    assert second.attempt == 2
    second.close()


def test_a_writer_that_was_taken_over_can_write_no_more(path: Path) -> None:
    old = JournalFile(path, THIS)
    record(old, a_row())
    next(path.parent.glob("*.lease.1")).unlink()
    new = JournalFile(path, THIS)
    assert new.attempt == 2
    record(new, a_row(a_unit(2)))
    with pytest.raises(JournalFenced, match="taken over by attempt 2"):
        record(old, a_row(a_unit(3)))
    assert new.count_calls() == 2
    old.close()
    record(new, a_row(a_unit(4)))
    new.close()


def test_a_closed_journal_refuses_instead_of_waiting(path: Path) -> None:
    journal = JournalFile(path, THIS)
    journal.close()
    with pytest.raises(JournalError, match="is closed"):
        record(journal, a_row())


def test_reading_while_somebody_writes(path: Path) -> None:
    journal = JournalFile(path, THIS)
    record(journal, *(a_row(a_unit(week)) for week in range(1, 20)))
    reader = JournalReader(path, THIS)
    rows = reader.calls()
    next(rows)
    record(journal, *(a_row(a_unit(week)) for week in range(20, 40)))
    assert reader.count_calls() == 39
    assert len(list(rows)) == 18
    reader.close()
    journal.close()


WRITE_UNTIL_KILLED = """
import asyncio, sys
from pathlib import Path
from sim.journal.log import JournalFile
from tests.journal.rows import THIS, a_row, a_unit

journal = JournalFile(Path(sys.argv[1]), THIS)
limit = int(sys.argv[2])
if limit:
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

async def write(week):
    await journal.record_call(a_row(a_unit(week), text=f"answer {week} " + "x" * 50))
    print(week, flush=True)

async def main():
    for start in range(1, 10**7, 8):
        await asyncio.gather(*(write(week) for week in range(start, start + 8)))

asyncio.run(main())
"""


def start_writer(path: Path, limit: int = 0) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITE_UNTIL_KILLED, str(path), str(limit)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def check_acknowledged(path: Path, acknowledged: list[int]) -> None:
    """The acknowledged rows are there, the lease is taken over, and writing goes on."""
    journal = JournalFile(path, THIS)
    assert journal.attempt == 2
    found = {row.unit: row for row in journal.calls()}
    for week in acknowledged:
        row = found[str(a_unit(week))]
        assert row.reply.text.startswith(f"answer {week} ")
        assert [m.text for m in journal.messages_of(row)] == [HEAD, f"Now plan {row.unit}."]
    assert len(found) - len(acknowledged) <= 8
    record(journal, a_row(a_unit(10**8)))
    journal.close()


def test_whatever_was_acknowledged_survives_a_kill(path: Path) -> None:
    writer = start_writer(path)
    assert writer.stdout is not None
    seen = [int(writer.stdout.readline()) for _ in range(200)]
    with pytest.raises(JournalBusy, match=f"process {writer.pid} "):
        JournalFile(path, THIS)
    writer.kill()
    rest, _ = writer.communicate(timeout=60)
    seen += [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    check_acknowledged(path, seen)


def test_a_torn_tail_costs_only_what_was_not_acknowledged(path: Path) -> None:
    journal = JournalFile(path, THIS)
    record(journal, *(a_row(a_unit(week)) for week in range(1, 11)))
    wal = path.with_name(path.name + "-wal")
    whole = wal.read_bytes()
    record(journal, a_row(a_unit(11)))
    torn = wal.read_bytes()
    copy = path.with_name("copy.journal")
    copy.write_bytes(path.read_bytes())
    copy.with_name("copy.journal-wal").write_bytes(torn[: len(whole) + (len(torn) - len(whole)) // 2])
    journal.close()
    again = JournalFile(copy, THIS)
    assert sorted(row.unit for row in again.calls()) == sorted(str(a_unit(week)) for week in range(1, 11))
    record(again, a_row(a_unit(11)))
    assert again.count_calls() == 11
    again.close()


def test_a_full_disk_is_said_and_nothing_partial_counts(path: Path) -> None:
    writer = start_writer(path, limit=600_000)
    out, err = writer.communicate(timeout=120)
    assert writer.returncode != 0
    assert "its disk is full or failing. Free space and start the same command again" in err
    seen = [int(line) for line in out.splitlines()]
    assert seen
    check_acknowledged(path, seen)
