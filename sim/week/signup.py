"""3b Sign-up: the agent sees the events that are open to it and chooses. Nothing is asked where nothing is open.

Outputs: `events`, the names of those it wants to go to.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from sim.context.names import resolve_name
from sim.core.agent import Note
from sim.core.clock import Slot
from sim.core.facts import Noted, UnitFacts
from sim.core.keys import UnitKey
from sim.engine.stage import Board, Job, Stage
from sim.environment.forms import closed
from sim.environment.public_events import Event
from sim.llm.protocol import OutputFormat
from sim.mind.desk import Desk
from sim.mind.invoke import ask_agent
from sim.mind.overlay import Overlay
from sim.week.chain import of_world, oneself, own


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """The agent's plan and the week's events."""
    return frozenset({own(unit, "plan"), of_world(unit, "public_events")})


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Ask which events the agent goes to."""
    overlay, name = Overlay(job), job.unit.who
    events = msgspec.convert(job.needed[of_world(job.unit, "public_events")]["events"], list[Event])
    open_events = [event for event in events if event.is_open_to(name)]
    chosen = await _choose(desk, overlay, name, open_events) if open_events else []
    if chosen:
        note = Note(year=job.unit.year, week=job.unit.week, kind="signup", text=", ".join(chosen))
        overlay.cause(name, Noted(note=note))
    return overlay.finish({"events": chosen})


async def _choose(desk: Desk, overlay: Overlay, name: str, events: Sequence[Event]) -> list[str]:
    names = [event.name for event in events]

    def parse(value: dict[str, Any]) -> list[str]:
        found = [resolve_name(text, names) for text in value["events"]]
        return [event for event in names if event in found]

    answer = await ask_agent(
        desk,
        overlay,
        name,
        step="signup",
        template="signup.j2",
        values={"events": [_told(overlay.unit, event) for event in events]},
        output=OutputFormat(
            kind="json",
            schema=closed(
                {"events": {"type": "array", "items": {"type": "string", "enum": names}, "maxItems": len(names)}}
            ),
        ),
        parse=parse,
        default=list[str],
        length="short",
    )
    return answer.value


def _told(unit: UnitKey, event: Event) -> dict[str, Any]:
    """An event as the prompt prints it."""
    slot = str(Slot(year=unit.year, week=unit.week, day=event.day))
    fields = ("name", "description", "location", "weeks")
    return {"slot": slot, **{field: getattr(event, field) for field in fields}}


def successors(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """The first contact round."""
    return (own(unit, "contact", index=1),)


STAGE = Stage(name="signup", position=4, participants=oneself, needs=needs, run=run, successors=successors)
