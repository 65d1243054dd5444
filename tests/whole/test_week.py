"""Whole small lives with the scripted model: all stages run; repeats, barriers and resumes change no byte."""

import asyncio
import hashlib
import random
from collections import Counter
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from lives import Life, faulty, lived, small_life

from sim.core.facts import encode
from sim.journal.reading import JournalReader
from sim.lifetime import STAGES
from sim.llm.protocol import Reply, Request
from sim.llm.scripted import Scripted


def record_of(folder: Path) -> bytes:
    """All finished units and all calls without timing: what must be the same bytes."""
    reader = JournalReader(folder / "journal.db")
    digest = hashlib.sha256()
    for facts in reader.units():
        digest.update(encode(facts))
    for row in reader.calls():
        digest.update(msgspec.msgpack.encode((row.key, row.seed, row.reply, [m.parts for m in row.messages])))
    reader.close()
    return digest.digest()


class Slow:
    """The scripted model, each reply after a few turns of the loop, drawn by a seed of its own."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.inner = Scripted()

    async def complete(self, request: Request) -> Reply:
        for _ in range(self.random.randrange(12)):
            await asyncio.sleep(0)
        return await self.inner.complete(request)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> tuple[Path, Life]:
    folder, life = tmp_path_factory.mktemp("life"), small_life()
    lived(folder, life)
    return folder, life


def test_every_stage_of_week_and_year_runs(undisturbed):
    folder, life = undisturbed
    reader = JournalReader(folder / "journal.db")
    stages = Counter(unit.stage for unit in reader.done_units())
    reader.close()
    n, weeks, rounds = life.settings.n_agents, life.settings.time.n_week, life.settings.time.n_contact
    for stage in ("settle", "plan", "signup", "agenda", "review", "cleanup"):
        assert stages[stage] == n * weeks, stage
    assert stages["contact"] == n * weeks * rounds
    assert stages["judging"] == 2 * n
    for stage in ("birth", "profile_update", "wishes", "take_up"):
        assert stages[stage] == n, stage
    assert stages["life_reward"] == 1
    assert set(stages) <= set(STAGES)


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(undisturbed, tmp_path):
    folder, life = undisturbed
    lived(tmp_path / "again", life)
    assert record_of(tmp_path / "again") == record_of(folder)
    lived(tmp_path / "other", small_life(seed=2))
    assert record_of(tmp_path / "other") != record_of(folder)


@pytest.mark.parametrize("barriers", [True, False])
@pytest.mark.parametrize("delays", [1, 2])
def test_order_and_barriers_change_nothing(undisturbed, tmp_path, barriers, delays):
    folder, _ = undisturbed
    lived(tmp_path, small_life(scheduling={"barriers": barriers}), Slow(delays))
    assert record_of(tmp_path) == record_of(folder)


class Stopped(Exception):
    pass


@pytest.mark.parametrize("stop_at", [1, 20, 47, 80, 104])
def test_a_life_that_was_broken_off_goes_on_to_the_same_bytes(undisturbed, tmp_path, stop_at):
    folder, life = undisturbed
    asked: list[str] = []

    class Counting(Scripted):
        async def complete(self, request):
            asked.append(request.key)
            return await super().complete(request)

    def stop(unit, done, pending):
        if done == stop_at:
            raise Stopped

    with pytest.raises(Stopped):
        lived(tmp_path, life, Counting(), on_done=stop)
    # A call that was broken off before it was durable is rightly asked again.
    with closing(JournalReader(tmp_path / "journal.db")) as reader:
        journaled = {row.key for row in reader.calls()}
    assert journaled or stop_at == 1
    asked.clear()
    lived(tmp_path, life, Counting())
    assert record_of(tmp_path) == record_of(folder)
    assert not journaled & set(asked), "a journaled call was asked again"


def test_a_life_goes_on_to_its_end_whatever_the_model_says(tmp_path):
    folder = tmp_path
    lived(folder, small_life(), faulty(malformed=0.3, empty=0.05, truncated=0.05))
    reader = JournalReader(folder / "journal.db")
    drops = Counter(verdict.drop.split(":")[0] for facts in reader.units() for verdict in facts.verdicts)
    rewards = [facts for facts in reader.units() if facts.unit.stage == "life_reward"]
    calls = reader.count_calls()
    reader.close()
    assert len(rewards) == 1
    assert drops["malformed"]
    assert drops["empty"]
    assert drops["truncated"]
    assert sum(drops.values()) == calls, "every call has a verdict"
