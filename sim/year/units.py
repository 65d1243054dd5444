"""Names of the units around a unit of a year's end, and the number of ranking rounds, which `openings` tells."""

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


def year_end(year: int, stage: str, clock: Clock, *, who: str = "", index: int = 0) -> UnitKey:
    """A unit of a year's end; that of year 0 is the founding."""
    return UnitKey(year=year, week=clock.n_week if year else 0, stage=stage, index=index, who=who)


def of_all(year: int, stage: str, board: Board) -> frozenset[UnitKey]:
    """Everybody's units of one stage of a year's end (or of its last week)."""
    return frozenset(year_end(year, stage, board.clock, who=name) for name in board.names)


def next_week(year: int, stage: str, *, who: str = "") -> UnitKey:
    """A unit of the first week after a year's end."""
    return UnitKey(year=year + 1, week=1, stage=stage, who=who)


def rankings(year: int, board: Board) -> tuple[UnitKey, ...]:
    """The ranking rounds of a year's end in order; none while its openings are not known."""
    openings = year_end(year, "openings", board.clock)
    rounds = board.outputs(openings)["rounds"] if board.done(openings) else 0
    return tuple(year_end(year, "ranking", board.clock, index=number) for number in range(1, rounds + 1))


def ranked(year: int, board: Board) -> frozenset[UnitKey]:
    """The openings of a year's end and, once they are known, its last ranking round."""
    return frozenset({year_end(year, "openings", board.clock), *rankings(year, board)[-1:]})
