"""2 Plan: the agent looks back and ahead, writes its week's plan and chooses a living standard, which is paid at once.

Outputs: `standard`, the living standard that holds.
"""

from dataclasses import dataclass
from typing import Any

from sim.core.agent import LivingStandard, Note
from sim.core.facts import Changed, ChoseStandard, Noted, Refused, UnitFacts
from sim.core.keys import UnitKey
from sim.core.settlement import COST_PER_WEEK, MATERIAL_PER_WEEK, STANDARDS, settle_standard
from sim.engine.stage import Board, Job, Stage
from sim.environment.forms import closed
from sim.llm.protocol import OutputFormat
from sim.mind.answer import Answer
from sim.mind.desk import Desk
from sim.mind.invoke import ask_agent
from sim.mind.overlay import Overlay
from sim.week.chain import oneself, own

_FULL_CHARS, _SHORT_CHARS = 1500, 240


@dataclass(frozen=True, slots=True, kw_only=True)
class WeekPlan:
    """What the agent decided."""

    text: str
    standard: LivingStandard


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """The settlement of the week."""
    return frozenset({own(unit, "settle")})


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Ask for the plan and let the choice of a standard take effect."""
    overlay, name = Overlay(job), job.unit.who
    answer = await _ask(desk, overlay, name)
    if answer.value.text:
        note = Note(year=job.unit.year, week=job.unit.week, kind="plan", text=answer.value.text)
        overlay.cause(name, Noted(note=note))
    standard = _live(desk, overlay, name, answer)
    return overlay.finish({"standard": standard})


async def _ask(desk: Desk, overlay: Overlay, name: str) -> Answer[WeekPlan]:
    short = desk.settings.prompts.profile == "short"
    chars = min(_SHORT_CHARS if short else _FULL_CHARS, desk.settings.answers.text_chars)
    state = overlay.state(name)

    def parse(value: dict[str, Any]) -> WeekPlan:
        return WeekPlan(text=value["plan"].strip()[:chars], standard=value["living_standard"])

    return await ask_agent(
        desk,
        overlay,
        name,
        step="plan",
        template="plan.j2",
        values={
            "chars": chars,
            "standards": [
                {"name": standard, "cost": COST_PER_WEEK[standard], "material": MATERIAL_PER_WEEK[standard]}
                for standard in STANDARDS
            ],
        },
        output=OutputFormat(
            kind="json",
            schema=closed(
                {
                    "plan": {"type": "string", "minLength": 1, "maxLength": chars},
                    "living_standard": {"type": "string", "enum": list(STANDARDS)},
                }
            ),
        ),
        parse=parse,
        default=WeekPlan(text="", standard=state.living_standard),
        length="long",
        tools=True,
        create_people=False,
    )


def _live(desk: Desk, overlay: Overlay, name: str, answer: Answer[WeekPlan]) -> LivingStandard:
    """Pay the chosen standard, or the one that can be paid, and tell the agent if it is another."""
    chosen, state = answer.value.standard, overlay.state(name)
    outcome = settle_standard(chosen, state.deposit)
    overlay.cause(
        name,
        ChoseStandard(standard=outcome.standard),
        Changed(reason="living_standard", money=-outcome.paid, material=outcome.material),
    )
    if outcome.verdict != "as_chosen":
        values = {
            "verdict": outcome.verdict,
            "chosen": chosen,
            "cost": COST_PER_WEEK[chosen],
            "deposit": state.deposit,
            "standard": outcome.standard,
            "paid": outcome.paid,
            "currency": desk.world.currency,
        }
        overlay.cause(name, Refused(text=desk.render.render("parts/standard.j2", values)))
    if outcome.verdict != "as_chosen" and chosen != "frugal":
        overlay.drop(answer.key, "invalid_action")
    return outcome.standard


def successors(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """The choice of public events."""
    return (own(unit, "signup"),)


STAGE = Stage(name="plan", position=2, participants=oneself, needs=needs, run=run, successors=successors)
