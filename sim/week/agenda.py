"""6 Agenda: the agent reads the last round's messages and the calendar's notices; its calendar is brought up to date.

No model, no outputs.
"""

import msgspec

from sim.core.agent import Activity, Message
from sim.core.facts import Scheduled, UnitFacts, Unscheduled
from sim.core.keys import UnitKey
from sim.engine.stage import Board, Job, Stage
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.week.chain import nothing_more, of_world, oneself, own
from sim.week.mail import deliver


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """The agent's last contact round and the resolution."""
    return frozenset({own(unit, "contact", index=board.clock.n_contact), of_world(unit, "resolve")})


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Take in what the resolution has for this agent."""
    overlay, name = Overlay(job), job.unit.who
    news = job.needed[of_world(job.unit, "resolve")]["for"][name]
    deliver(desk, overlay, name, msgspec.convert(news["messages"], list[Message]))
    for item in news["unscheduled"]:
        overlay.cause(name, Unscheduled(activity_key=item["key"], reason=item["reason"]))
    for activity in msgspec.convert(news["scheduled"], list[Activity]):
        overlay.cause(name, Scheduled(activity=activity))
    return overlay.finish()


STAGE = Stage(name="agenda", position=8, participants=oneself, needs=needs, run=run, successors=nothing_more, pure=True)
