"""5 Acquaintance: who knows whom at the week's start, turned round, so that a contact round knows whom it waits for.

Outputs: `for` each agent the names of those who know it. No model.
"""

from sim.core.facts import UnitFacts
from sim.core.keys import UnitKey
from sim.engine.stage import Board, Job, Stage
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.week.chain import nobody, nothing_more, of_all


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """Everybody's settlement."""
    return of_all(unit, board, "settle")


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Turn `A knows B` into `B is known by A`."""
    known_by: dict[str, list[str]] = {name: [] for name in desk.names}
    for name, outputs in job.outputs_of("settle").items():
        for person in outputs["knows"]:
            known_by[person].append(name)
    return Overlay(job).finish({"for": known_by})


STAGE = Stage(
    name="acquaintance", position=5, participants=nobody, needs=needs, run=run, successors=nothing_more, pure=True
)
