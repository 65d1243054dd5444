"""Lives the same world twice, with and without barriers, in the virtual time of a simulated model server.

The claim: a unit of work that starts as soon as what it needs is done ends the life sooner, with the same results.
"""

import argparse
import asyncio
import hashlib
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.virtual_clock import run_virtually
from sim.context.render import Renderer
from sim.core.facts import UnitFacts, encode
from sim.core.keys import Scope
from sim.engine.executor import LocalExecutor
from sim.journal.rows import CallRow
from sim.lifetime import STAGES, clock_of, live
from sim.llm.journaled import Journaled
from sim.llm.latency import BlockCache, Latency, count_pieces
from sim.llm.protocol import Reply, Request
from sim.llm.scripted import Scripted
from sim.llm.structured import Structured
from sim.mind.desk import Desk
from sim.settings import SchedulingSettings, SimSettings, TimeSettings
from sim.workshop import Workshop
from sim.world.loader import cast_of, initial_states, load_world
from sim.world.schema import World

WORLDS = Path(__file__).parents[1] / "configs" / "worlds"
CACHE_BLOCKS = 65_536
DAYS = ("joint", "encounter", "public_act", "solo")
SHORT = {"n_year": 2, "n_week": 2, "n_day": 3, "n_contact": 3}
LONG = {"n_year": 2, "n_week": 10, "n_day": 5, "n_contact": 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One life as it went."""

    seconds: float
    """Virtual time."""
    call_seconds: float
    """Virtual time of all calls, as if one came after the other."""
    calls: int
    prompt_tokens: int
    cached_tokens: int
    output_tokens: int
    most_in_flight: int
    units: Mapping[str, int]
    """Finished units by stage."""
    results: str
    """Digest of what every unit came to."""


class Server:
    """The scripted model behind at most `slots` simultaneous calls (0: any number), and what it did."""

    def __init__(self, language: str, slots: int) -> None:
        """A server with an empty prefix cache."""
        self._model = Scripted(
            language=language, latency=Latency(), cache=BlockCache(CACHE_BLOCKS), sleep=asyncio.sleep
        )
        self._slots = asyncio.Semaphore(slots) if slots else nullcontext()
        self._in_flight = 0
        self.most_in_flight = 0
        self.replies: list[Reply] = []

    async def complete(self, request: Request) -> Reply:
        """The reply, after its simulated time."""
        async with self._slots:
            self._in_flight += 1
            self.most_in_flight = max(self.most_in_flight, self._in_flight)
            reply = await self._model.complete(request)
            self._in_flight -= 1
        self.replies.append(reply)
        return reply


class MemoryJournal:
    """A journal that takes no time and keeps no more than a digest of each unit's facts."""

    def __init__(self) -> None:
        """Nothing recorded yet."""
        self._digest_by_unit: dict[str, bytes] = {}
        self.units: Counter[str] = Counter()

    async def replies_of(self, unit: str) -> Mapping[str, Reply]:
        """Nothing: every life starts anew."""
        return {}

    async def facts_of(self, unit: str) -> UnitFacts | None:
        """Nothing: every life starts anew."""
        return None

    async def record_call(self, row: CallRow) -> None:
        """Calls are counted by the server."""

    async def record_unit(self, facts: UnitFacts) -> None:
        """Keep the digest of what the unit came to."""
        self.units[facts.unit.stage] += 1
        self._digest_by_unit[str(facts.unit)] = hashlib.sha256(encode(facts)).digest()

    async def record_snapshot(self, agent: str, year: int, week: int, state: bytes) -> None:
        """Snapshots follow from the units."""

    def results(self) -> str:
        """One digest over all units, whatever the order in which they were done."""
        whole = hashlib.sha256()
        for unit in sorted(self._digest_by_unit):
            whole.update(unit.encode() + self._digest_by_unit[unit])
        return whole.hexdigest()


def crowd(world: World, n: int) -> World:
    """The world with n agents: its cast, then renamed copies of it, each copy knowing only its own."""
    most = len(world.characters) * (1 + len(world.names) // len(world.characters))
    if n > most:
        raise ValueError(f"--agents {n}: the name list of world {world.name!r} is enough for {most}")
    spare = iter(world.names)
    cast = list(world.characters)
    while len(cast) < n:
        names = {character.name: next(spare).name for character in world.characters}
        cast += [
            msgspec.structs.replace(
                character,
                name=names[character.name],
                knows={names[other]: memory for other, memory in character.knows.items()},
            )
            for character in world.characters
        ]
    return cast_of(msgspec.structs.replace(world, characters=tuple(cast)), n)


def measure(world: World, settings: SimSettings, *, seed: int = 1, slots: int = 0) -> Measured:
    """Live it once in virtual time."""
    server, journal = Server(world.language, slots), MemoryJournal()
    _, seconds = run_virtually(_live(world, settings, seed, server, journal))
    usages = [reply.usage for reply in server.replies]
    return Measured(
        seconds=seconds,
        call_seconds=sum(reply.seconds for reply in server.replies),
        calls=len(usages),
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        cached_tokens=sum(usage.cached_tokens for usage in usages),
        output_tokens=sum(usage.output_tokens for usage in usages),
        most_in_flight=server.most_in_flight,
        units=journal.units,
        results=journal.results(),
    )


async def _live(world: World, settings: SimSettings, seed: int, server: Server, journal: MemoryJournal) -> None:
    replies = Journaled(server, journal)
    desk = desk_of(world, settings, seed, replies)
    executor = LocalExecutor(Workshop(desk, STAGES, replies).work, journal, initial_states(world))
    await live(settings, desk.clock, desk.names, executor)


def desk_of(world: World, settings: SimSettings, seed: int, replies: Journaled) -> Desk:
    """What units of a life in one process work with; tokens are counted roughly."""
    return Desk(
        settings=settings,
        world=world,
        clock=clock_of(settings.time, world.start_year),
        scope=Scope(run_seed=seed, round=1, world=world.name),
        model=Structured(replies, attempts=settings.limits.structure_attempts, max_tokens_bound=settings.answers.long),
        render=Renderer(world.language),
        count=count_pieces,
        names=tuple(sorted(character.name for character in world.characters)),
    )


def report(
    world: World, settings: SimSettings, by_barriers: Mapping[bool, Measured], *, seed: int, slots: int
) -> list[str]:
    """What was simulated and what came out, as lines."""
    time, speed = settings.time, Latency()
    held, free = by_barriers[True], by_barriers[False]
    days = ", ".join(f"{free.units.get(stage, 0)} {stage}" for stage in DAYS)
    lines = [
        "schedule: the same life with and without barriers",
        f"  simulated: {len(world.characters)} agents of `{world.name}`, {time.n_year} years x {time.n_week} weeks x "
        f"{time.n_day} days, {time.n_contact} contact rounds; scripted model, seed {seed}",
        f"  days: {days}",
        f"  a call takes {speed.first_s:g} s + uncached prompt tokens / {speed.prefill_per_s:g} + output tokens / "
        f"{speed.decode_per_s:g}, however many run; at once: {slots or 'any number'}",
        f"  one prefix cache of {CACHE_BLOCKS} blocks; rendering, parsing and journal take no time; tokens are "
        "counted roughly",
        f"  {'':<12}{'virtual time':>14}{'calls':>8}{'in flight':>11}{'most':>6}{'cached':>8}{'prompt tok':>12}"
        f"{'output tok':>12}",
    ]
    for name, one in (("barriers", held), ("no barriers", free)):
        lines.append(
            f"  {name:<12}{one.seconds:>12.1f} s{one.calls:>8}{one.call_seconds / one.seconds:>11.1f}"
            f"{one.most_in_flight:>6}{one.cached_tokens / one.prompt_tokens:>8.1%}{one.prompt_tokens:>12}"
            f"{one.output_tokens:>12}"
        )
    lines.append(f"  ratio barriers / no barriers: {held.seconds / free.seconds:.2f}")
    lines.append(f"  all calls one after the other: {free.call_seconds:.1f} s")
    lines.append(f"  the same results: {'yes' if held.results == free.results else 'NO'}")
    return lines


def main(words: Sequence[str] | None = None) -> int:
    """Measure and print; 1 if barriers changed a result."""
    given = argparse.ArgumentParser(prog="benchmarks.schedule", description=__doc__)
    given.add_argument("--world", default="apartment", help="a folder under configs/worlds")
    given.add_argument("--agents", type=int, default=24, help="the world's cast, above that renamed copies of it")
    given.add_argument("--seed", type=int, default=1, help="seed of the life")
    given.add_argument("--slots", type=int, default=0, help="calls that the server takes at once (0: any number)")
    given.add_argument("--long", action="store_true", help="weeks of five days, years of ten weeks")
    asked = given.parse_args(words)
    try:
        world = crowd(load_world(WORLDS / asked.world), asked.agents)
    except ValueError as error:
        given.error(str(error))
    settings = SimSettings(n_agents=asked.agents, time=TimeSettings(**(LONG if asked.long else SHORT)))
    by_barriers: dict[bool, Measured] = {}
    for barriers in (True, False):
        scheduled = settings.model_copy(update={"scheduling": SchedulingSettings(barriers=barriers)})
        by_barriers[barriers] = measure(world, scheduled, seed=asked.seed, slots=asked.slots)
    print("\n".join(report(world, settings, by_barriers, seed=asked.seed, slots=asked.slots)))
    return int(by_barriers[True].results != by_barriers[False].results)


if __name__ == "__main__":
    sys.exit(main())
