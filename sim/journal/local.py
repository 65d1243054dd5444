"""A journal in this process, as an executor wants it: reads can be awaited, and none are made of a new journal."""

from collections.abc import Mapping

from sim.core.facts import UnitFacts
from sim.journal.log import JournalFile
from sim.journal.rows import CallRow
from sim.llm.protocol import Reply


class LocalJournal:
    """The journal file of one world, written by this process."""

    def __init__(self, file: JournalFile) -> None:
        """What is recorded now can be asked for; units of this process are never looked up again."""
        self._file = file
        self._old = file.count_calls() > 0 or bool(file.done_units())

    async def replies_of(self, unit: str) -> Mapping[str, Reply]:
        """Journaled replies of an unfinished unit."""
        return self._file.replies_of(unit) if self._old else {}

    async def facts_of(self, unit: str) -> UnitFacts | None:
        """Facts of a finished unit."""
        return self._file.facts_of(unit) if self._old else None

    async def record_call(self, row: CallRow) -> None:
        """Record a call."""
        await self._file.record_call(row)

    async def record_unit(self, facts: UnitFacts) -> None:
        """Record a finished unit."""
        await self._file.record_unit(facts)

    async def record_snapshot(self, agent: str, year: int, week: int, state: bytes) -> None:
        """Record an agent's state at a week's end."""
        await self._file.record_snapshot(agent, year, week, state)
