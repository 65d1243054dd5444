"""3a Public events: which go on from earlier weeks, and which new ones the environment makes.

Outputs: `events`, all that take place in this week.
"""

from collections import Counter

import msgspec

from sim.core.facts import UnitFacts
from sim.core.keys import UnitKey, parse_unit
from sim.engine.stage import Board, Job, Stage
from sim.environment.public_events import Attended, Event, make_events
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.week.chain import directory, nobody, nothing_more, week_before


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """The year's directory; last week's events and who came to them, where this life had a last week."""
    needed = {directory(unit, board.clock)}
    before = week_before(unit, board.clock)
    if before is not None:
        past = [UnitKey(year=before[0], week=before[1], stage=stage) for stage in ("public_events", "resolve")]
        # In a year's first week both are done long ago, or belong to an earlier life whose weeks nobody keeps.
        needed.update(key for key in past if unit.week > 1 or board.done(key))
    return frozenset(needed)


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Keep what goes on, and ask for what is new."""
    overlay = Overlay(job)
    number = desk.clock.week_number(job.unit.year, job.unit.week)
    past = [msgspec.convert(item, Event) for outputs in _outputs(job, "public_events") for item in outputs["events"]]
    going_on = [event for event in past if event.takes_place_in(number)]
    cards = next((outputs["cards"] for outputs in _outputs(job, "directory")), {})
    new = await make_events(
        desk, overlay, week_number=number, going_on=going_on, attended=attendance(job, past), cards=cards
    )
    return overlay.finish({"events": msgspec.to_builtins([*going_on, *new])})


def attendance(job: Job, past: list[Event]) -> list[Attended]:
    """How many came to each of last week's events."""
    came: Counter[str] = Counter()
    for outputs in _outputs(job, "resolve"):
        for key in sorted(outputs["units"]):
            if parse_unit(key).stage == "public_act":
                came[outputs["units"][key]["activity"]["name"]] += 1
    return [Attended(name=event.name, n_people=came[event.name]) for event in past]


def _outputs(job: Job, stage: str) -> list[dict]:
    """Outputs of the needed units of one stage; those of an earlier life are empty."""
    return [dict(outputs) for outputs in job.outputs_of(stage).values() if outputs]


STAGE = Stage(name="public_events", position=3, participants=nobody, needs=needs, run=run, successors=nothing_more)
