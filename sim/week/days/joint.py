"""A joint activity: analyses, turns, feedback and reflection of those who agreed to come.

Reads the resolved week and the directory. Causes gifts, changes, acquaintance and a record for each participant.
"""

from sim.core.facts import UnitFacts
from sim.engine.stage import Job, Stage
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.week.days.conversation import Conversation
from sim.week.days.occasion import occasion_of, open_values
from sim.week.days.order import POSITION, shared_needs, shared_participants, shared_reviews
from sim.week.days.together import conclude


async def run(job: Job, desk: Desk) -> UnitFacts:
    """One joint activity from its beginning to everybody's record."""
    overlay = Overlay(job)
    occasion = occasion_of(job, desk, "joint")
    conversation = Conversation(desk, overlay, occasion)
    await conversation.run(desk.render.render("days/opening.j2", open_values(occasion)))
    return overlay.finish(await conclude(desk, overlay, occasion, conversation))


STAGE = Stage(
    name="joint",
    position=POSITION,
    participants=shared_participants,
    needs=shared_needs,
    run=run,
    successors=shared_reviews,
)
