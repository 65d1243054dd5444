"""What every stage of the week and the year offers to the scheduler, and what a running unit may use.

A stage is four functions: `participants` and `needs` say what a unit touches and waits for, `run` does the work on
frozen states and needed facts, `successors` names the units that come into being when it is done.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

import msgspec

from sim.core.agent import AgentState
from sim.core.clock import Clock
from sim.core.facts import UnitFacts
from sim.core.keys import UnitKey


class Board(Protocol):
    """Read-only view of finished units, for `participants`, `needs` and `successors`."""

    @property
    def clock(self) -> Clock:
        """Lengths of years, weeks and stages."""
        ...

    @property
    def names(self) -> tuple[str, ...]:
        """All agents of the world, sorted."""
        ...

    def done(self, unit: UnitKey) -> bool:
        """Whether the unit is finished."""
        ...

    def outputs(self, unit: UnitKey) -> Mapping[str, Any]:
        """Outputs of a finished unit; KeyError if it is not."""
        ...


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A unit ready to run: its agents' states before it and the outputs of the units it needed."""

    unit: UnitKey
    states: Mapping[str, AgentState]
    needed: Mapping[UnitKey, Mapping[str, Any]]

    def outputs_of(self, stage: str, *, index: int | None = None) -> dict[str, Mapping[str, Any]]:
        """Outputs of the needed units of one stage (and index), by the unit's `who`, in sorted order."""
        return {
            unit.who: self.needed[unit]
            for unit in sorted(self.needed)
            if unit.stage == stage and (index is None or unit.index == index)
        }


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One stage. With barriers units start in the order of week, position, index, sub-position."""

    name: str
    position: int
    """Place in the week's order; the four day stages share one place, their day index ranks them."""
    sub: int = 0
    """Order within one index of one place (a public event's second half comes after its first)."""
    participants: Callable[[UnitKey, Board], tuple[str, ...]]
    needs: Callable[[UnitKey, Board], frozenset[UnitKey]]
    """Asked when the unit is announced and again when all named units are done, until it names nothing new."""
    run: Callable[[Job, Any], Awaitable[UnitFacts]]
    """The second argument is the unit's `sim.mind.desk.Desk`: settings, world, model, renderer."""
    successors: Callable[[UnitKey, Board], tuple[UnitKey, ...]]
    pure: bool = False
    """Runs without a model: done in the scheduler's own process."""
