"""5 Take-up: the agent holds what it was granted, learns how its application went, knows new colleagues. No model."""

import itertools

import msgspec

from sim.core.agent import Note, Position
from sim.core.facts import CameToKnow, Noted, TookPosition, UnitFacts
from sim.core.keys import UnitKey
from sim.core.vacancies import STAY_CURRENT
from sim.engine.stage import Board, Job, Stage
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.year.units import oneself, ranked, year_end


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """The agent's wishes and the last ranking round."""
    return ranked(unit.year, board) | {year_end(unit.year, "wishes", board.clock, who=unit.who)}


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Let the year's matching take effect for one agent."""
    overlay, name = Overlay(job), job.unit.who
    wishes = job.needed[year_end(job.unit.year, "wishes", desk.clock, who=name)]["wishes"]
    last = next(reversed([unit for unit in sorted(job.needed) if unit.stage == "ranking"]))
    result = job.needed[last]["for"][name]
    position = msgspec.convert(result["position"], Position | None)
    before = overlay.state(name).position
    old, new = before.key if before else None, position.key if position else None
    if old != new:
        overlay.cause(name, TookPosition(position=position))
    tried = list(itertools.takewhile(lambda wish: wish not in (STAY_CURRENT, old), wishes))
    if old != new or tried:
        values = {"old": old, "new": new, "tried": tried}
        text = desk.render.render("year/outcome.j2", values)
        note = Note(year=job.unit.year, week=job.unit.week, kind="record", text=text)
        overlay.cause(name, Noted(note=note))
    for colleague in result["colleagues"]:
        values = {"name": colleague, "position": new, "year": job.unit.year}
        entry = desk.render.render("year/colleague.j2", values)
        overlay.cause(name, CameToKnow(name=colleague, first_entry=entry))
    return overlay.finish()


def successors(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """The judging."""
    return (year_end(unit.year, "judging", board.clock, who=unit.who),)


STAGE = Stage(name="take_up", position=16, participants=oneself, needs=needs, run=run, successors=successors, pure=True)
