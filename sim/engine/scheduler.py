"""Starts every unit as soon as what it needs is done; with barriers, one rank of the week after the other.

Both orders give the same results: a unit sees only its own agents' states after their earlier units, and the outputs of
the units that it needs.
"""

import asyncio
import heapq
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping

from sim.core.keys import UnitKey
from sim.engine.board import LiveBoard
from sim.engine.executor import Executor
from sim.engine.stage import Stage

log = logging.getLogger(__name__)
Rank = tuple[int, int, int, int]


class SchedulerStuck(RuntimeError):
    """Units wait for units that nobody announced: a stage's needs and successors disagree."""


class Scheduler:
    """The graph of units of one world, worked off as it unfolds."""

    def __init__(
        self,
        stages: Mapping[str, Stage],
        board: LiveBoard,
        executor: Executor,
        *,
        barriers: bool,
        max_in_flight: int,
        unit_alarm_s: float = 14400.0,
        on_done: Callable[[UnitKey, int, int], None] | None = None,
    ) -> None:
        """`on_done(unit, done, pending)` is told of every finished unit."""
        self._stages = stages
        self._board = board
        self._executor = executor
        self._barriers = barriers
        self._max_in_flight = max_in_flight
        self._unit_alarm_s = unit_alarm_s
        self._on_done = on_done
        self._seen: set[UnitKey] = set()
        self._missing: dict[UnitKey, set[UnitKey]] = {}
        self._waiters: dict[UnitKey, list[UnitKey]] = {}
        self._ready: list[tuple[Rank, UnitKey]] = []
        self._ranks: list[Rank] = []
        self._pending_of_rank: Counter[Rank] = Counter()
        self._running: dict[asyncio.Task[None], UnitKey] = {}
        self._n_done = 0

    async def run(self, first: Iterable[UnitKey]) -> None:
        """Work until nothing is left. A failing unit cancels the others and its error is raised."""
        for unit in sorted(first):
            self._announce(unit)
        try:
            while self._start_ready():
                finished, _ = await asyncio.wait(
                    self._running, return_when=asyncio.FIRST_COMPLETED, timeout=self._unit_alarm_s
                )
                if not finished:
                    self._alarm()
                for task in finished:
                    del self._running[task]
                _raise_first(finished)
        finally:
            await self._cancel_running()
        if self._missing:
            raise SchedulerStuck(self._describe_stuck())

    def _start_ready(self) -> bool:
        while self._ready and len(self._running) < self._max_in_flight:
            rank, unit = self._ready[0]
            if self._barriers and rank != self._lowest_rank():
                break
            heapq.heappop(self._ready)
            self._running[asyncio.create_task(self._work(unit), name=str(unit))] = unit
        return bool(self._running)

    async def _work(self, unit: UnitKey) -> None:
        participants = self._stages[unit.stage].participants(unit, self._board)
        needs = self._stages[unit.stage].needs(unit, self._board)
        needed = {need: self._board.slice_for(need, participants) for need in sorted(needs)}
        facts = await self._executor.run(unit, participants, needed)
        self._finish(unit, facts.outputs)

    def _finish(self, unit: UnitKey, outputs: Mapping[str, object]) -> None:
        self._board.put(unit, outputs)
        self._pending_of_rank[self._rank(unit)] -= 1
        self._n_done += 1
        for successor in self._stages[unit.stage].successors(unit, self._board):
            self._announce(successor)
        for waiter in self._waiters.pop(unit, ()):
            missing = self._missing[waiter]
            missing.discard(unit)
            if not missing:
                self._ask_needs(waiter)
        if unit.stage == "resolve":
            self._board.forget_before(self._board.clock.week_number(unit.year, unit.week))
        if self._on_done:
            self._on_done(unit, self._n_done, len(self._seen) - self._n_done)

    def _announce(self, unit: UnitKey) -> None:
        if unit in self._seen:
            return
        self._seen.add(unit)
        rank = self._rank(unit)
        if not self._pending_of_rank[rank]:
            heapq.heappush(self._ranks, rank)
        self._pending_of_rank[rank] += 1
        self._ask_needs(unit)

    def _ask_needs(self, unit: UnitKey) -> None:
        """Wait for what is still missing; a unit may name more once it can read what it named first."""
        needs = self._stages[unit.stage].needs(unit, self._board)
        missing = {need for need in needs if not self._board.done(need)}
        if missing:
            self._missing[unit] = missing
            for need in missing:
                self._waiters.setdefault(need, []).append(unit)
            return
        self._missing.pop(unit, None)
        heapq.heappush(self._ready, (self._rank(unit), unit))

    def _rank(self, unit: UnitKey) -> Rank:
        stage = self._stages[unit.stage]
        return (self._board.clock.week_number(unit.year, unit.week), stage.position, unit.index, stage.sub)

    def _lowest_rank(self) -> Rank:
        while not self._pending_of_rank[self._ranks[0]]:
            del self._pending_of_rank[heapq.heappop(self._ranks)]
        return self._ranks[0]

    def _alarm(self) -> None:
        units = ", ".join(sorted(str(unit) for unit in self._running.values())[:5])
        at_work = len(self._running)
        log.warning("no unit finished for %.0f s; %d at work, among them %s", self._unit_alarm_s, at_work, units)

    async def _cancel_running(self) -> None:
        for task in self._running:
            task.cancel()
        if self._running:
            done, _ = await asyncio.wait(self._running, timeout=30)
            for task in done:
                if not task.cancelled():
                    task.exception()  # one error is raised already; the others are its companions

    def _describe_stuck(self) -> str:
        lines = [
            f"{unit} waits for {', '.join(str(need) for need in sorted(missing)[:3])}"
            for unit, missing in sorted(self._missing.items())[:5]
        ]
        return f"{len(self._missing)} units wait for units that nobody announced: " + "; ".join(lines)


def _raise_first(finished: Iterable[asyncio.Task[None]]) -> None:
    """Raise the error of one of several units that failed at the same moment; none is left unretrieved."""
    errors = [error for task in finished if (error := task.exception()) is not None]
    if errors:
        raise errors[0]
