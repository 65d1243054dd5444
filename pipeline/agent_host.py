"""Thin Ray actors that host the agents: their states, prompt rendering, parsing and model calls live here.

Hosts hold no rules and nothing that is not elsewhere: a dead one is replaced from snapshots and facts.
"""

from collections.abc import Mapping
from typing import Any

import msgspec
import ray

from pipeline.host_desk import HostSpec, open_workshop
from sim.core.facts import decode_facts, decode_state, encode
from sim.core.keys import UnitKey, parse_unit
from sim.engine.executor import Residents
from sim.engine.stage import Job
from sim.llm.protocol import Reply


class JobMessage(msgspec.Struct, frozen=True, kw_only=True):
    """A unit on its way to a host. Needed outputs travel as JSON; large shared ones as object references beside it."""

    unit: UnitKey
    participants: tuple[str, ...]
    needed: dict[str, Any]
    """Outputs by unit text; None where the value travels as one of the references, in sorted order of the keys."""
    prior: dict[str, Reply]


class AgentHost:
    """Some dozens of agents of one world."""

    def __init__(self, spec: HostSpec) -> None:
        """Nothing heavy here: `open` does the work, so that its errors reach the driver."""
        self._spec = spec
        self._residents = Residents()
        self._shared: dict[str, Any] = {}

    async def open(self) -> None:
        """Build the desk: world, settings, model stack, journal client."""
        self._workshop, self._journal = open_workshop(self._spec)

    async def take_in(self, states: list[bytes]) -> int:
        """Take in agents (again); returns how many live here."""
        for data in states:
            self._residents.take_in(decode_state(data))
        return len(states)

    async def state(self, name: str) -> bytes:
        """An agent as it is now."""
        return encode(self._residents.state(name))

    async def run(self, message: bytes, n_states: int, *objects: Any) -> bytes:
        """Do a unit's work, record it, apply it. `objects`: guests' states, then shared outputs."""
        job_message = msgspec.json.decode(message, type=JobMessage)
        guests = [decode_state(data) for data in objects[:n_states]]
        states = {guest.name: guest for guest in guests}
        for name in job_message.participants:
            if name not in states:
                states[name] = self._residents.state(name)
        needed = _with_shared(job_message.needed, objects[n_states:])
        facts = await self._workshop.work(Job(unit=job_message.unit, states=states, needed=needed), job_message.prior)
        await self._journal.record_unit(facts)
        self._residents.apply(facts)
        return encode(facts)

    async def apply(self, facts: bytes) -> None:
        """Let a unit that ran elsewhere, or earlier, become true of the agents who live here."""
        self._residents.apply(decode_facts(facts))

    async def snapshot(self, name: str, year: int, week: int) -> None:
        """Record an agent's state at a week's end."""
        await self._journal.record_snapshot(name, year, week, encode(self._residents.state(name)))

    async def ping(self) -> bool:
        """Whether the host is alive."""
        return True


def _with_shared(needed: Mapping[str, Any], shared: tuple[Any, ...]) -> dict[UnitKey, Any]:
    places = iter(shared)
    return {parse_unit(text): next(places) if value is None else value for text, value in sorted(needed.items())}


def start_host(spec: HostSpec, *, cpus: float) -> Any:
    """A host actor of its own; methods run concurrently on its event loop."""
    options: dict[str, Any] = {"num_cpus": cpus, "max_concurrency": 4096, "max_restarts": 0}
    return ray.remote(AgentHost).options(**options).remote(spec)
