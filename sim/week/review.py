"""8 Review: the agent writes its diary of the week and tends its memory files; old diaries fold into summaries.

No outputs.
"""

from typing import Any

from sim.core.agent import Note
from sim.core.facts import Noted, UnitFacts
from sim.core.keys import UnitKey, parse_unit
from sim.engine.stage import Board, Job, Stage
from sim.environment.forms import closed
from sim.llm.protocol import OutputFormat
from sim.mind.desk import Desk
from sim.mind.folding import fold_diaries
from sim.mind.invoke import ask_agent
from sim.mind.overlay import Overlay
from sim.week.chain import of_world, oneself, own

_FULL_CHARS, _SHORT_CHARS = 1500, 240


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """The agent's own unit of the week's last day; a public event ends with its second half."""
    days = board.outputs(of_world(unit, "resolve"))["for"][unit.who]["days"]
    last = parse_unit(days[-1])
    if last.stage == "public_act":
        last = own(unit, "public_meet", index=last.index)
    return frozenset({last})


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Write the diary, then fold what has become too much."""
    overlay, name = Overlay(job), job.unit.who
    text = await _diary(desk, overlay, name)
    if text:
        note = Note(year=job.unit.year, week=job.unit.week, kind="diary", text=text)
        overlay.cause(name, Noted(note=note))
    await fold_diaries(desk, overlay, name)
    return overlay.finish()


async def _diary(desk: Desk, overlay: Overlay, name: str) -> str:
    """The week's entry; without a usable one nothing is written."""
    short = desk.settings.prompts.profile == "short"
    chars = min(_SHORT_CHARS if short else _FULL_CHARS, desk.settings.answers.text_chars)

    def parse(value: dict[str, Any]) -> str:
        return value["diary"].strip()[:chars]

    answer = await ask_agent(
        desk,
        overlay,
        name,
        step="diary",
        duty="review",
        template="review.j2",
        values={"chars": chars},
        output=OutputFormat(
            kind="json", schema=closed({"diary": {"type": "string", "minLength": 1, "maxLength": chars}})
        ),
        parse=parse,
        default="",
        length="long",
        tools=True,
    )
    return answer.value


def successors(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """Clean-up."""
    return (own(unit, "cleanup"),)


STAGE = Stage(name="review", position=10, participants=oneself, needs=needs, run=run, successors=successors)
