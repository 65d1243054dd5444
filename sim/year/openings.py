"""Openings: which positions there are. At the founding the world's own, with further ones where too few; each year new
ones beyond what anybody can do yet. The environment proposes, code keeps the limits.

Outputs: `positions` (all), `initial_count` (their number at the founding), `rounds` (of ranking at this year's end).
"""

from collections import Counter

import msgspec

from sim.context.view import public_skills
from sim.core.agent import Position
from sim.core.facts import UnitFacts
from sim.core.keys import UnitKey
from sim.core.position_supply import best_levels, found_positions, grow_positions, number_of_new, positions_wanted
from sim.engine.stage import Board, Job, Stage
from sim.environment.openings import propose_positions
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.year.units import nobody, nothing_more, of_all, year_end


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """At the founding all births; later everybody's skills after the last week, and the positions so far."""
    if unit.year == 0:
        return of_all(0, "birth", board)
    return of_all(unit.year, "cleanup", board) | {year_end(unit.year - 1, "openings", board.clock)}


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Found or enlarge the world of positions."""
    overlay = Overlay(job)
    rounds = desk.settings.limits.wishes
    if job.unit.year == 0:
        positions = await _found(job, desk, overlay)
        initial = len(positions)
    else:
        before = job.needed[year_end(job.unit.year - 1, "openings", desk.clock)]
        initial = before["initial_count"]
        positions = await _grow(job, desk, overlay, msgspec.convert(before["positions"], tuple[Position, ...]), initial)
    return overlay.finish({"positions": msgspec.to_builtins(positions), "initial_count": initial, "rounds": rounds})


async def _found(job: Job, desk: Desk, overlay: Overlay) -> tuple[Position, ...]:
    """The world's own positions and those of its people; more of them where the founding needs more."""
    births = job.outputs_of("birth")
    held = [msgspec.convert(birth["position"], Position) for birth in births.values() if birth["position"]]
    holders = Counter(position.key for position in held)
    existing = [*desk.world.positions, *held]
    wanted = positions_wanted(existing, holders, len(desk.names))
    best = best_levels(birth["skills"] for birth in births.values())
    told = {name: best[name] for name in public_skills(desk, best, existing)}
    proposed = await propose_positions(desk, overlay, present=existing, best=told, n=wanted, growth=False)
    ages = [birth["card"]["age"] for birth in births.values()]
    return found_positions(existing, proposed, holders, ages=ages, max_income=desk.settings.economy.max_salary)


async def _grow(
    job: Job, desk: Desk, overlay: Overlay, present: tuple[Position, ...], initial: int
) -> tuple[Position, ...]:
    """The positions so far and the year's new ones."""
    best = best_levels(outputs["skills"] for outputs in job.outputs_of("cleanup").values())
    n = number_of_new(initial)
    told = {name: best[name] for name in public_skills(desk, best, present)}
    proposed = await propose_positions(desk, overlay, present=present, best=told, n=n, growth=True)
    new = grow_positions(
        present,
        proposed,
        best,
        named=told,
        initial_count=initial,
        base_income=desk.settings.economy.unemployed_income,
        max_income=desk.settings.economy.max_salary,
    )
    return (*present, *new)


STAGE = Stage(name="openings", position=13, participants=nobody, needs=needs, run=run, successors=nothing_more)
