"""Where a unit runs: the protocol, the states of the agents who live in one place, and the executor of one process."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from sim.core.agent import AgentState
from sim.core.facts import UnitFacts, apply, encode
from sim.core.keys import UnitKey
from sim.engine.stage import Job

Work = Callable[[Job, Mapping[str, Any]], Awaitable[UnitFacts]]
"""Does one unit's work, answered as far as possible from the given earlier replies."""


class UnitJournal(Protocol):
    """What an executor needs of the journal; everything recorded is durable on return."""

    async def replies_of(self, unit: str) -> Mapping[str, Any]:
        """Journaled replies of an unfinished unit, by call key."""
        ...

    async def facts_of(self, unit: str) -> UnitFacts | None:
        """Facts of a finished unit."""
        ...

    async def record_unit(self, facts: UnitFacts) -> None:
        """Record a finished unit."""
        ...

    async def record_snapshot(self, agent: str, year: int, week: int, state: bytes) -> None:
        """Record an agent's state at a week's end."""
        ...


class Executor(Protocol):
    """Runs units and keeps the agents' states."""

    async def run(
        self, unit: UnitKey, participants: tuple[str, ...], needed: Mapping[UnitKey, Mapping[str, Any]]
    ) -> UnitFacts:
        """Do a unit's work; on return its facts are durable and true of all its agents."""
        ...


class Residents:
    """States of some agents; changed only by facts."""

    def __init__(self, states: Mapping[str, AgentState] | None = None) -> None:
        """Take in agents."""
        self._states: dict[str, AgentState] = dict(states or {})

    def take_in(self, state: AgentState) -> None:
        """Add an agent or set its state."""
        self._states[state.name] = state

    def state(self, name: str) -> AgentState:
        """An agent as it is now; KeyError if it lives elsewhere."""
        return self._states[name]

    def apply(self, facts: UnitFacts) -> tuple[str, ...]:
        """Let a finished unit's facts become true of the agents who live here; returns who they are."""
        mine = tuple(name for name in sorted(facts.by_agent) if name in self._states)
        for name in mine:
            self._states[name] = apply(self._states[name], facts)
        return mine


class LocalExecutor:
    """All agents in this process; used by tests, benchmarks and small runs without Ray."""

    def __init__(self, work: Work, journal: UnitJournal, states: Mapping[str, AgentState]) -> None:
        """An executor over initial states."""
        self._work = work
        self._journal = journal
        self.residents = Residents(states)

    async def run(
        self, unit: UnitKey, participants: tuple[str, ...], needed: Mapping[UnitKey, Mapping[str, Any]]
    ) -> UnitFacts:
        """Run, record, apply; a unit that the journal already has is only applied."""
        facts = await self._journal.facts_of(str(unit))
        if facts is None:
            states = {name: self.residents.state(name) for name in participants}
            prior = await self._journal.replies_of(str(unit))
            facts = await self._work(Job(unit=unit, states=states, needed=needed), prior)
            await self._journal.record_unit(facts)
        self.residents.apply(facts)
        if unit.stage == "cleanup":
            await self._journal.record_snapshot(unit.who, unit.year, unit.week, encode(self.residents.state(unit.who)))
        return facts
