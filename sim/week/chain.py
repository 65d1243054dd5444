"""Names of the units around a unit: the agent's own, everybody's, the world's, those of other weeks and year ends."""

from sim.core.clock import Clock
from sim.core.keys import UnitKey
from sim.engine.stage import Board


def nobody(unit: UnitKey, board: Board) -> tuple[str, ...]:
    """Participants of a unit of the whole world."""
    return ()


def oneself(unit: UnitKey, board: Board) -> tuple[str, ...]:
    """Participants of a unit of one agent."""
    return (unit.who,)


def nothing_more(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """Successors of a unit whose followers are announced by others."""
    return ()


def own(unit: UnitKey, stage: str, *, index: int = 0) -> UnitKey:
    """The same agent's unit of another stage of this week."""
    return UnitKey(year=unit.year, week=unit.week, stage=stage, index=index, who=unit.who)


def of_world(unit: UnitKey, stage: str) -> UnitKey:
    """The world's unit of a stage of this week."""
    return UnitKey(year=unit.year, week=unit.week, stage=stage)


def of(name: str, unit: UnitKey, stage: str, *, index: int = 0) -> UnitKey:
    """Somebody's unit of a stage of this week."""
    return UnitKey(year=unit.year, week=unit.week, stage=stage, index=index, who=name)


def of_all(unit: UnitKey, board: Board, stage: str, *, index: int = 0) -> frozenset[UnitKey]:
    """Everybody's units of a stage of this week."""
    return frozenset(of(name, unit, stage, index=index) for name in board.names)


def year_end(year: int, stage: str, clock: Clock, *, who: str = "") -> UnitKey:
    """A unit of a year's end; that of year 0 is the founding."""
    return UnitKey(year=year, week=clock.n_week if year else 0, stage=stage, who=who)


def directory(unit: UnitKey, clock: Clock) -> UnitKey:
    """The directory that holds in the unit's year: that of the last year's end."""
    return year_end(unit.year - 1, "directory", clock)


def week_before(unit: UnitKey, clock: Clock) -> tuple[int, int] | None:
    """Year and week before the unit's; None in the very first week."""
    number = clock.week_number(unit.year, unit.week)
    return clock.week_at(number - 1) if number > 1 else None


def next_week_of_year(unit: UnitKey, clock: Clock) -> tuple[int, int] | None:
    """Year and week after the unit's within the same year."""
    return (unit.year, unit.week + 1) if unit.week < clock.n_week else None
