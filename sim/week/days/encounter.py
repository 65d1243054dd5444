"""An encounter: two idle people run into each other; the environment says where and how, then as a joint activity.

Reads the resolved week and the directory. Causes gifts, changes, acquaintance and a record for both.
"""

from sim.context.view import labelled
from sim.core.agent import Location
from sim.core.facts import UnitFacts
from sim.engine.stage import Job, Stage
from sim.environment.encounter_scenes import scene_of
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.week.days.conversation import Conversation
from sim.week.days.occasion import Occasion, moved, occasion_of, open_values
from sim.week.days.order import POSITION, shared_needs, shared_participants, shared_reviews
from sim.week.days.together import conclude


async def run(job: Job, desk: Desk) -> UnitFacts:
    """One encounter from its scene to both records."""
    overlay = Overlay(job)
    occasion = occasion_of(job, desk, "encounter")
    values = {
        **open_values(occasion),
        "appearances": _appearances(desk, occasion),
        "acquainted": any(
            set(overlay.state(name).knows()) & set(occasion.participants) for name in occasion.participants
        ),
    }
    scene = await scene_of(desk, overlay, places=_places(job, desk, occasion), values=values)
    occasion = moved(occasion, scene.place)
    conversation = Conversation(desk, overlay, occasion)
    await conversation.run(scene.text)
    return overlay.finish(await conclude(desk, overlay, occasion, conversation))


def _places(job: Job, desk: Desk, occasion: Occasion) -> list[Location]:
    """The public places on offer, the drawn one first; weak models are asked for no choice."""
    offered = job.outputs_of("resolve")[""]["for"][occasion.participants[0]]["places"][job.unit.index - 1]
    by_name = {location.name: location for location in desk.world.locations}
    places = [by_name[name] for name in offered]
    return places[:1] if desk.settings.prompts.profile == "short" else places


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
