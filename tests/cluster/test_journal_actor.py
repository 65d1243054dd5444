"""The journal's writer as a real Ray actor: many clients, its death in between, an owner that is at work."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray

from pipeline import journal_actor as module
from pipeline.cluster import QUIET_ENV
from pipeline.journal_actor import ActorJournal, journal_actor
from sim.journal.log import JournalFile
from sim.journal.protocol import JournalBusy, JournalConflict, JournalError
from sim.journal.reading import JournalReader
from tests.journal.rows import HEAD, THIS, a_row, a_unit, some_facts

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    os.environ.update(QUIET_ENV)
    root = Path(__file__).parents[2]
    ray.init(
        address="local",
        num_cpus=4,
        include_dashboard=False,
        log_to_driver=False,
        object_store_memory=100 * 2**20,
        runtime_env={"env_vars": {**QUIET_ENV, "PYTHONPATH": str(root)}},
    )
    yield
    ray.shutdown()


def owner_of(path: Path) -> int:
    """The process that holds the journal's claim."""
    claims = sorted(path.parent.glob(f"{path.name}.lease.*"), key=lambda claim: int(claim.suffix[1:]))
    return json.loads(claims[-1].read_text(encoding="utf-8"))["holder"]["pid"]


@ray.remote(num_cpus=0.5)
class Client:
    """A host that writes through the actor."""

    def __init__(self, actor: Any, who: str) -> None:
        self._actor = actor
        self._who = who

    async def write(self, weeks: range) -> int:
        journal = ActorJournal(self._actor)

        async def one(week: int) -> None:
            unit = a_unit(week, who=self._who)
            await journal.record_call(a_row(unit, text=f"week {week}"))
            await journal.record_unit(some_facts(unit, week=week))

        for start in range(weeks.start, weeks.stop, 10):
            await asyncio.gather(*(one(week) for week in range(start, min(start + 10, weeks.stop))))
        return len(weeks)


def test_many_clients_write_and_a_killed_writer_loses_nothing_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "日記.db"
    names = ("Ann", "小雨", "Zoë")

    async def main() -> tuple[list[int], dict[str, Any]]:
        async with journal_actor(path, THIS) as (actor, has_past):
            assert not has_past
            clients = [Client.remote(actor, who) for who in names]  # type: ignore[attr-defined]
            writing = [client.write.remote(range(1, 301)) for client in clients]
            journal = ActorJournal(actor)
            while (await journal.counters())["calls"] < 100:
                await asyncio.sleep(0.05)
            os.kill(owner_of(path), signal.SIGKILL)
            counts = [await ref for ref in writing]
            assert await journal.facts_of(str(a_unit(300, who="小雨"))) == some_facts(a_unit(300, who="小雨"), week=300)
            replies = await journal.replies_of(str(a_unit(7, who="Ann")))
            assert [reply.text for reply in replies.values()] == ["week 7"]
            return counts, dict(await journal.counters())

    counts, counters = asyncio.run(main())
    assert counts == [300] * 3
    assert counters["calls"] >= 900
    reader = JournalReader(path, THIS)
    assert {row.unit for row in reader.calls()} == {str(a_unit(w, who=who)) for w in range(1, 301) for who in names}
    assert len(reader.done_units()) == 900
    row = next(iter(reader.calls(year=1, week=299)))
    assert [m.text for m in reader.messages_of(row)] == [HEAD, f"Now plan {row.unit}."]
    attempts = {claim.suffix for claim in tmp_path.glob("*.lease.*")}
    assert attempts == {".2"}


def test_conflicts_reach_only_their_writer_and_the_past_is_seen_again(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"

    async def first() -> list[Any]:
        async with journal_actor(path, THIS) as (actor, _):
            journal = ActorJournal(actor)
            await journal.record_call(a_row(text="first"))
            rows = [a_row(a_unit(2)), a_row(text="second"), a_row(a_unit(3))]
            return await asyncio.gather(*(journal.record_call(row) for row in rows), return_exceptions=True)

    async def second() -> bool:
        async with journal_actor(path, THIS) as (_, has_past):
            return has_past

    outcomes = asyncio.run(first())
    assert [type(outcome) for outcome in outcomes] == [type(None), JournalConflict, type(None)]
    assert asyncio.run(second())


def test_an_owner_at_work_is_waited_for_and_then_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "journal.db"
    owner = JournalFile(path, THIS)

    async def wait(then_close_after: float | None) -> None:
        async with asyncio.TaskGroup() as group:
            if then_close_after is not None:
                group.create_task(_close_later(owner, then_close_after))
            async with journal_actor(path, THIS) as (actor, _):
                await ActorJournal(actor).record_call(a_row())

    monkeypatch.setattr(module, "BUSY_SECONDS", 0.5)
    with pytest.raises(ExceptionGroup) as caught:
        asyncio.run(wait(None))
    assert caught.group_contains(JournalBusy, match=f"process {os.getpid()} on ")
    monkeypatch.setattr(module, "BUSY_SECONDS", 30.0)
    asyncio.run(wait(1.5))
    assert JournalReader(path, THIS).count_calls() == 1


async def _close_later(owner: JournalFile, seconds: float) -> None:
    await asyncio.sleep(seconds)
    owner.close()


def test_a_writer_that_is_gone_for_good_is_an_error_not_a_hang(tmp_path: Path) -> None:
    async def main() -> None:
        async with journal_actor(tmp_path / "journal.db", THIS) as (actor, _):
            journal = ActorJournal(actor)
            await journal.record_call(a_row())
            ray.kill(actor)
            await journal.record_call(a_row(a_unit(2)))

    with pytest.raises(JournalError, match="writer does not answer"):
        asyncio.run(asyncio.wait_for(main(), 60))
