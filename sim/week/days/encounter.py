"""An encounter: two idle people run into each other; the environment writes how, then as a joint activity.

Reads the resolved week and the directory. Causes gifts, changes, acquaintance and a record for both.
"""

from sim.context.view import labelled
from sim.core.facts import UnitFacts
from sim.engine.stage import Job, Stage
from sim.environment.encounter_scenes import scene_of
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.week.days.conversation import Conversation
from sim.week.days.occasion import Occasion, occasion_of, open_values
from sim.week.days.order import POSITION, shared_needs, shared_participants, shared_reviews
from sim.week.days.together import conclude


async def run(job: Job, desk: Desk) -> UnitFacts:
    """One encounter from its scene to both records."""
    overlay = Overlay(job)
    occasion = occasion_of(job, desk, "encounter")
    conversation = Conversation(desk, overlay, occasion)
    values = {
        **open_values(occasion),
        "appearances": _appearances(desk, occasion),
        "acquainted": any(
            set(overlay.state(name).knows()) & set(occasion.participants) for name in occasion.participants
        ),
    }
    await conversation.run(await scene_of(desk, overlay, values=values))
    return overlay.finish(await conclude(desk, overlay, occasion, conversation))


def _appearances(desk: Desk, occasion: Occasion) -> list[str]:
    """How the two look, as anybody can see."""
    cards = {name: occasion.cards.get(name) or {} for name in occasion.participants}
    return [labelled(desk, name, card.get("appearance", "")) for name, card in cards.items()]


STAGE = Stage(
    name="encounter",
    position=POSITION,
    participants=shared_participants,
    needs=shared_needs,
    run=run,
    successors=shared_reviews,
)
