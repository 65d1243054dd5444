"""The life of one world in one page: found it (or go on with it), then let week follow week and year follow year.

The order of stages stands in `sim.week.WEEK` and `sim.year.FOUNDING` and `YEAR_END`; when each unit starts is the
scheduler's business.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sim.core.clock import Clock
from sim.core.keys import UnitKey
from sim.engine.board import LiveBoard
from sim.engine.executor import Executor
from sim.engine.scheduler import Scheduler
from sim.engine.stage import Stage
from sim.settings import SimSettings, TimeSettings
from sim.week import WEEK
from sim.year import FOUNDING, YEAR_END

STAGES: Mapping[str, Stage] = {stage.name: stage for stage in (*FOUNDING, *WEEK, *YEAR_END)}


def clock_of(time: TimeSettings, start_year: int, *, years_before: int = 0) -> Clock:
    """The clock of a life of `time.n_year` further years after `years_before` lived ones."""
    return Clock(
        n_year=years_before + time.n_year,
        n_week=time.n_week,
        n_day=time.n_day,
        n_contact=time.n_contact,
        start_year=start_year,
    )


async def live(
    settings: SimSettings,
    clock: Clock,
    names: Sequence[str],
    executor: Executor,
    *,
    past: Mapping[UnitKey, Mapping[str, Any]] | None = None,
    on_done: Callable[[UnitKey, int, int], None] | None = None,
    unit_alarm_s: float = 14400.0,
) -> None:
    """Live all years. `past` holds the year-end outputs of an earlier life that this one goes on with."""
    board = LiveBoard(clock, names)
    for unit in sorted(past or {}):
        board.put(unit, (past or {})[unit])
    scheduler = Scheduler(
        STAGES,
        board,
        executor,
        barriers=settings.scheduling.barriers,
        max_in_flight=settings.scheduling.max_in_flight,
        unit_alarm_s=unit_alarm_s,
        on_done=on_done,
    )
    await scheduler.run(founding_units(board.names) if not past else continuing_units(board, max(past).year))


def founding_units(names: Sequence[str]) -> list[UnitKey]:
    """The first units of a new world: births, positions, directory, and the judging at t = 0."""
    world_units = [UnitKey(year=0, week=0, stage=stage) for stage in ("openings", "directory")]
    agent_units = [UnitKey(year=0, week=0, stage=stage, who=name) for name in names for stage in ("birth", "judging")]
    return [*world_units, *agent_units]


def continuing_units(board: LiveBoard, year: int) -> list[UnitKey]:
    """The first units after a lived year: what its directory and judgings bring into being."""
    week = board.clock.n_week
    directory = UnitKey(year=year, week=week, stage="directory")
    units = list(STAGES["directory"].successors(directory, board))
    for name in board.names:
        judging = UnitKey(year=year, week=week, stage="judging", who=name)
        units.extend(unit for unit in STAGES["judging"].successors(judging, board) if unit.year > year)
    return units
