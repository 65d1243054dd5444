"""sim's Executor over agent hosts: a whole unit runs on one host, owners apply the facts, dead hosts are replaced."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
import ray
from ray.exceptions import RayActorError

from pipeline.agent_host import JobMessage
from sim.core.agent import AgentState
from sim.core.facts import UnitFacts, apply, decode_facts, decode_state, encode
from sim.core.keys import UnitKey
from sim.engine.executor import Work
from sim.engine.stage import Job, Stage
from sim.journal.protocol import JournalConflict

log = logging.getLogger(__name__)
SHARED_BYTES = 20_000
"""Outputs larger than this are put into the object store once, instead of into every message."""


class HostsLost(RuntimeError):
    """Agent hosts died more often than allowed."""


class HostSilent(RuntimeError):
    """A host is there but does not answer."""


class RayExecutor:
    """Hosts by number; agents are dealt to them in order of their names."""

    def __init__(
        self,
        *,
        start_host: Callable[[int], Any],
        n_hosts: int,
        states: Mapping[str, AgentState],
        journal: Any,
        stages: Mapping[str, Stage],
        work_here: Work,
        host_restarts: int,
        call_timeout_s: float = 120.0,
    ) -> None:
        """`start_host(number)` makes an actor; `work_here` does pure world units in this process."""
        self._start_host = start_host
        self._names = sorted(states)
        self._owner = {name: number % n_hosts for number, name in enumerate(self._names)}
        self._base: dict[str, bytes] = {name: encode(states[name]) for name in self._names}
        self._since: dict[str, list[UnitFacts]] = {name: [] for name in self._names}
        self._journal = journal
        self._stages = stages
        self._work_here = work_here
        self._restarts_left = host_restarts
        self._timeout = call_timeout_s
        self._hosts: list[Any] = [None] * n_hosts
        self._locks = [asyncio.Lock() for _ in range(n_hosts)]
        self._shared: dict[UnitKey, Any] = {}

    async def open(self) -> None:
        """Start all hosts and give them their agents."""
        await asyncio.gather(*(self._open_host(number) for number in range(len(self._hosts))))

    async def close(self) -> None:
        """End all hosts."""
        for host in self._hosts:
            if host is not None:
                ray.kill(host)

    async def run(
        self, unit: UnitKey, participants: tuple[str, ...], needed: Mapping[UnitKey, Mapping[str, Any]]
    ) -> UnitFacts:
        """Run a unit on its first participant's host; a unit that the journal already has is only applied."""
        facts = await self._journal.facts_of(str(unit))
        if facts is None and not participants and self._stages[unit.stage].pure:
            facts = await self._work_here(Job(unit=unit, states={}, needed=needed), {})
            await self._journal.record_unit(facts)
        while facts is None:
            facts = await self._try_run(unit, participants, needed)
        await self._apply(facts)
        if unit.stage == "cleanup":
            await self._snapshot(unit)
        return facts

    async def state(self, name: str) -> AgentState:
        """An agent as it is now."""
        return decode_state(await self._on_host(self._owner[name], lambda host: host.state.remote(name)))

    async def _try_run(
        self, unit: UnitKey, participants: tuple[str, ...], needed: Mapping[UnitKey, Mapping[str, Any]]
    ) -> UnitFacts | None:
        number = self._owner[participants[0]] if participants else hash_number(str(unit), len(self._hosts))
        prior = await self._journal.replies_of(str(unit))
        plain, shared = self._split(needed)
        message = msgspec.json.encode(JobMessage(unit=unit, participants=participants, needed=plain, prior=dict(prior)))
        guests = [name for name in participants if self._owner[name] != number]
        involved = sorted({number, *(self._owner[name] for name in guests)})
        generation = [self._hosts[host] for host in involved]
        states = [self._hosts[self._owner[name]].state.remote(name) for name in guests]
        try:
            host = self._hosts[number]
            return decode_facts(await self._alive(host, host.run.remote(message, len(states), *states, *shared)))
        except JournalConflict:
            # A host that was replaced had written more than was known here: the unit runs again with its record.
            self._journal.look_back()
            return await self._journal.facts_of(str(unit))
        except (RayActorError, HostSilent) as error:
            for host_number, host in zip(involved, generation, strict=True):
                await self._revive_if_dead(host_number, host, error)
            return await self._journal.facts_of(str(unit))

    def _split(self, needed: Mapping[UnitKey, Mapping[str, Any]]) -> tuple[dict[str, Any], list[Any]]:
        plain: dict[str, Any] = {}
        shared: list[Any] = []
        for unit in sorted(needed, key=str):
            reference = self._shared.get(unit)
            if reference is not None and "for" not in needed[unit]:
                plain[str(unit)] = None
                shared.append(reference)
            else:
                plain[str(unit)] = needed[unit]
        return plain, shared

    async def _apply(self, facts: UnitFacts) -> None:
        data = encode(facts)
        names = [name for name in sorted(facts.by_agent) if name in self._owner]
        for name in names:
            self._since[name].append(facts)
        for number in sorted({self._owner[name] for name in names}):
            await self._on_host(number, lambda host: host.apply.remote(data))
        if not names and "for" not in facts.outputs:
            encoded = msgspec.json.encode(facts.outputs)
            if len(encoded) > SHARED_BYTES:
                self._shared = {unit: ref for unit, ref in self._shared.items() if unit.year >= facts.unit.year - 1}
                self._shared[facts.unit] = ray.put(msgspec.json.decode(encoded))

    async def _snapshot(self, unit: UnitKey) -> None:
        state = decode_state(self._base[unit.who])
        for facts in self._since[unit.who]:
            state = apply(state, facts)
        self._base[unit.who] = encode(state)
        self._since[unit.who] = []
        await self._journal.record_snapshot(unit.who, unit.year, unit.week, self._base[unit.who])

    async def _on_host(self, number: int, call: Callable[[Any], Any]) -> Any:
        """Call one host; a dead one is replaced first, then asked again (hosts' calls are idempotent)."""
        while True:
            host = self._hosts[number]
            try:
                return await asyncio.wait_for(_awaitable(call(host)), self._timeout)
            except (RayActorError, TimeoutError) as error:
                await self._revive_if_dead(number, host, error)

    async def _alive(self, host: Any, reference: Any) -> Any:
        """The result of a call of any length, as long as the host gives signs of life."""
        work = asyncio.ensure_future(_awaitable(reference))
        try:
            while not work.done():
                await asyncio.wait([work], timeout=self._timeout)
                if not work.done():
                    await self._ping(host)
            return work.result()
        finally:
            work.cancel()

    async def _ping(self, host: Any) -> None:
        try:
            await asyncio.wait_for(_awaitable(host.ping.remote()), self._timeout)
        except TimeoutError as error:
            raise HostSilent(f"no sign of life within {self._timeout:.0f} s") from error

    async def _revive_if_dead(self, number: int, host: Any, error: Exception) -> None:
        async with self._locks[number]:
            if self._hosts[number] is not host:
                return
            try:
                await self._ping(host)
                return
            except (RayActorError, HostSilent):
                ray.kill(host)
            if self._restarts_left <= 0:
                raise HostsLost(
                    f"agent host {number} died ({error}) and limits.host_restarts is used up; the state is saved: "
                    "find the cause in the Ray logs (often memory), then start the same command again"
                ) from error
            self._restarts_left -= 1
            self._journal.look_back()
            log.warning("agent host %d died (%s); replacing it, %d restarts left", number, error, self._restarts_left)
            await self._open_host(number)

    async def _open_host(self, number: int) -> None:
        host = self._start_host(number)
        try:
            await asyncio.wait_for(_awaitable(host.open.remote()), self._timeout)
            states = [self._present_state(name) for name in self._names if self._owner[name] == number]
            await asyncio.wait_for(_awaitable(host.take_in.remote(states)), self._timeout)
        except TimeoutError as error:
            free = {name: amount for name, amount in ray.available_resources().items() if ":" not in name}
            raise HostsLost(
                f"agent host {number} did not start within {self._timeout:.0f} s; free in the cluster are {free}: free "
                "some CPUs, or lower cluster.hosts or cluster.host_cpus"
            ) from error
        self._hosts[number] = host

    def _present_state(self, name: str) -> bytes:
        state = decode_state(self._base[name])
        for facts in self._since[name]:
            state = apply(state, facts)
        return encode(state)


def hash_number(text: str, n: int) -> int:
    """A stable number below n for a text, the same in every process."""
    return sum(text.encode("utf-8")) % n


async def _awaitable(reference: Any) -> Any:
    return await reference
