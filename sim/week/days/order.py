"""What a day's unit waits for, who takes part, and what follows it. Pure; all read from the resolved week."""

from collections.abc import Mapping
from typing import Any

from sim.core.keys import UnitKey, parse_unit
from sim.engine.stage import Board
from sim.week.chain import directory, of, of_world, own

POSITION = 9
"""Place of the days in the week's order."""


def shared_participants(unit: UnitKey, board: Board) -> tuple[str, ...]:
    """All who take part in a joint activity or an encounter, sorted."""
    return tuple(sorted(_resolved(unit, board)["units"][str(unit)]["participants"]))


def attendees(unit: UnitKey, board: Board) -> tuple[str, ...]:
    """All who attend the same public event on the same day, sorted."""
    activity = _resolved(unit, board)["for"][unit.who]["activities"][unit.index - 1]
    return tuple(sorted(activity["participants"]))


def previous_unit(unit: UnitKey, name: str, board: Board) -> UnitKey:
    """The unit of an agent's chain before its unit of this day; a public day ends with its second half."""
    if unit.index == 1:
        return of(name, unit, "agenda")
    before = parse_unit(_resolved(unit, board)["for"][name]["days"][unit.index - 2])
    return own(before, "public_meet", index=before.index) if before.stage == "public_act" else before


def shared_needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """Resolution, directory, and where each participant comes from."""
    before = {previous_unit(unit, name, board) for name in shared_participants(unit, board)}
    return frozenset({of_world(unit, "resolve"), directory(unit, board.clock), *before})


def solo_needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """Resolution and the agent's own unit before."""
    return frozenset({of_world(unit, "resolve"), previous_unit(unit, unit.who, board)})


def act_needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """Resolution, directory, the week's events, and the agent's own unit before."""
    return frozenset({*solo_needs(unit, board), directory(unit, board.clock), of_world(unit, "public_events")})


def meet_needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """What everybody who attends the event did there, the agent itself included."""
    acts = {of(name, unit, "public_act", index=unit.index) for name in attendees(unit, board)}
    return frozenset({of_world(unit, "resolve"), directory(unit, board.clock), *acts})


def _reviews(unit: UnitKey, names: tuple[str, ...], board: Board) -> tuple[UnitKey, ...]:
    """After the last day the reviews of those who took part; nothing after an earlier one."""
    return tuple(of(name, unit, "review") for name in names) if unit.index == board.clock.n_day else ()


def own_reviews(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """The agent's review after its last day."""
    return _reviews(unit, (unit.who,), board)


def shared_reviews(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """All participants' reviews after the last day."""
    return _reviews(unit, shared_participants(unit, board), board)


def _resolved(unit: UnitKey, board: Board) -> Mapping[str, Any]:
    return board.outputs(of_world(unit, "resolve"))
