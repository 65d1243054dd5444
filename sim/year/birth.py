"""Birth: how an agent enters the directory. No model, unless the world gives the agent no home: then one is made.

Outputs: `card` (the public side), `skills`, `home`, `position`, `traits`, `talents`.
"""

import msgspec

from sim.core.facts import MovedIn, UnitFacts
from sim.core.keys import UnitKey
from sim.engine.stage import Board, Job, Stage
from sim.environment.openings import make_home
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.year.directory import card_of
from sim.year.units import nothing_more, oneself


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """Nothing: a life begins here."""
    return frozenset()


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Tell what the world needs to know of the agent."""
    overlay, name = Overlay(job), job.unit.who
    state = overlay.state(name)
    if not state.home.objects or not state.home.description.strip():
        overlay.cause(name, MovedIn(home=await make_home(desk, overlay, name)))
    state = overlay.state(name)
    return overlay.finish(
        {
            "card": card_of(state, desk.clock.age(state.profile.birthday, 1, 1)),
            "skills": dict(state.skills),
            "home": msgspec.to_builtins(state.home),
            "position": msgspec.to_builtins(state.position),
            "traits": dict(state.profile.traits),
            "talents": dict(state.profile.talents),
        }
    )


STAGE = Stage(name="birth", position=0, participants=oneself, needs=needs, run=run, successors=nothing_more)
