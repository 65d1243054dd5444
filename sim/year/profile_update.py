"""1 Profile update: what the year did to a person, as the environment sees it, inside the yearly limits.

Outputs: `card` (the public side; its position is that of the year that ends), `skills`, `traits`, `talents`.
"""

from sim.core.facts import ProfileChanged, UnitFacts
from sim.core.keys import UnitKey
from sim.engine.stage import Board, Job, Stage
from sim.environment.profiles import yearly_change
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.year.directory import card_of
from sim.year.units import oneself, year_end


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """The end of the agent's last week."""
    return frozenset({year_end(unit.year, "cleanup", board.clock, who=unit.who)})


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Let the year leave its marks."""
    overlay, name = Overlay(job), job.unit.who
    profile = await yearly_change(desk, overlay, name)
    if profile != overlay.state(name).profile:
        overlay.cause(name, ProfileChanged(profile=profile))
    state = overlay.state(name)
    age = desk.clock.age(profile.birthday, job.unit.year, job.unit.week, desk.clock.n_day)
    return overlay.finish(
        {
            "card": card_of(state, age),
            "skills": dict(state.skills),
            "traits": dict(profile.traits),
            "talents": dict(profile.talents),
        }
    )


def successors(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """The application for positions."""
    return (year_end(unit.year, "wishes", board.clock, who=unit.who),)


STAGE = Stage(name="profile_update", position=12, participants=oneself, needs=needs, run=run, successors=successors)
