"""What the simulation may write into a journal, and what may go wrong with it."""

from typing import Protocol

from sim.core.facts import UnitFacts
from sim.journal.rows import CallRow


class JournalError(Exception):
    """The journal can't be used; the message says where and what to do."""


class JournalBusy(JournalError):
    """Another process is writing this journal."""


class JournalFenced(JournalError):
    """Somebody else took the journal over; this process may not write any more."""


class JournalConflict(JournalError):
    """A call or unit is already recorded with another content; what was recorded first holds."""


class Journal(Protocol):
    """A durable record. Each method returns when the row would survive the loss of the machine's power."""

    async def record_call(self, row: CallRow) -> None:
        """Write one call; writing the same again changes nothing, JournalConflict if another answer stands there."""
        ...

    async def record_unit(self, facts: UnitFacts) -> None:
        """Write the facts of a finished unit, by the same rule."""
        ...

    async def record_snapshot(self, agent: str, year: int, week: int, state: bytes) -> None:
        """Write an agent's encoded state before a week; the last two of each agent are kept."""
        ...
