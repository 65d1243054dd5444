"""Directory: what everybody may know of everybody until the next year's end. No model.

Outputs: `cards` by name, `homes` by owner, `positions`.
"""

from typing import Any

from sim.core.agent import AgentState
from sim.core.facts import UnitFacts
from sim.core.keys import UnitKey
from sim.engine.stage import Board, Job, Stage
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.year.units import next_week, nobody, of_all, ranked, year_end


def card_of(state: AgentState, age: int) -> dict[str, Any]:
    """Somebody's public side."""
    profile = state.profile
    return {
        "name": profile.name,
        "gender": profile.gender,
        "age": age,
        "appearance": profile.appearance,
        "position": state.position.key if state.position else "",
    }


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """At the founding births and positions; later changed profiles, who got which position, and the homes so far."""
    if unit.year == 0:
        return of_all(0, "birth", board) | {year_end(0, "openings", board.clock)}
    before = year_end(unit.year - 1, "directory", board.clock)
    return of_all(unit.year, "profile_update", board) | ranked(unit.year, board) | {before}


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Put the directory together."""
    year = job.unit.year
    positions = job.needed[year_end(year, "openings", desk.clock)]["positions"]
    if year == 0:
        births = job.outputs_of("birth")
        cards = {name: birth["card"] for name, birth in births.items()}
        homes = {name: birth["home"] for name, birth in births.items()}
    else:
        holders = next(reversed([unit for unit in sorted(job.needed) if unit.stage == "ranking"]))
        held = job.needed[holders]["holders"]
        updates = job.outputs_of("profile_update")
        cards = {name: {**update["card"], "position": held[name] or ""} for name, update in updates.items()}
        homes = job.needed[year_end(year - 1, "directory", desk.clock)]["homes"]
    return Overlay(job).finish({"cards": cards, "homes": homes, "positions": positions})


def successors(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """The next year's first units of the whole world."""
    if unit.year == board.clock.n_year:
        return ()
    return tuple(next_week(unit.year, stage) for stage in ("public_events", "acquaintance", "resolve"))


STAGE = Stage(
    name="directory", position=17, participants=nobody, needs=needs, run=run, successors=successors, pure=True
)
