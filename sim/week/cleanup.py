"""9 Clean-up: who owns too much chooses what goes; the week's closing numbers are taken.

Outputs: `snapshot`, the numbers of the week's end; `skills`.
"""

from typing import Any

import msgspec

from sim.context.budget import clip
from sim.core.agent import AgentState, Possession, WeekSnapshot
from sim.core.facts import Lost, UnitFacts, WeekEnded
from sim.core.keys import UnitKey
from sim.engine.stage import Board, Job, Stage
from sim.environment.forms import closed
from sim.llm.outcome import Refusal
from sim.llm.protocol import OutputFormat
from sim.mind.desk import Desk
from sim.mind.invoke import ask_agent
from sim.mind.overlay import Overlay
from sim.week.chain import next_week_of_year, oneself, own

_ITEM_TOKENS = 16
"""Tokens of a possession's line besides its description; all lines together take half of the stage budget."""


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """The agent's review."""
    return frozenset({own(unit, "review")})


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Discard what is too much, then take the numbers."""
    overlay, name = Overlay(job), job.unit.who
    excess = len(overlay.state(name).possessions) - desk.settings.limits.possessions
    if excess > 0:
        discarded = await _choose(desk, overlay, name, excess)
        overlay.cause(name, *(Lost(item_id=item.id, reason="discarded") for item in discarded))
    state = overlay.state(name)
    snapshot = snapshot_of(state, job.unit)
    overlay.cause(name, WeekEnded(snapshot=snapshot))
    return overlay.finish({"snapshot": msgspec.to_builtins(snapshot), "skills": dict(state.skills)})


def snapshot_of(state: AgentState, unit: UnitKey) -> WeekSnapshot:
    """An agent's numbers at a week's end."""
    return WeekSnapshot(
        year=unit.year,
        week=unit.week,
        vitality=state.vitality,
        mood=state.mood,
        material=state.material,
        social=state.social,
        esteem=state.esteem,
        deposit=state.deposit,
        total_skills=state.total_skills(),
    )


async def _choose(desk: Desk, overlay: Overlay, name: str, excess: int) -> list[Possession]:
    """What the agent gives up; without a usable choice the cheapest things, older ones first."""
    items = overlay.state(name).possessions

    def parse(value: dict[str, Any]) -> list[Possession] | Refusal:
        numbers = list(dict.fromkeys(number for number in value["discard"] if 1 <= number <= len(items)))
        if len(numbers) < excess:
            return Refusal(kind="invalid", text=f"discard: {len(numbers)} < {excess}")
        return [items[number - 1] for number in numbers]

    def cheapest() -> list[Possession]:
        return sorted(items, key=lambda item: item.value)[:excess]

    number = {"type": "integer", "enum": list(range(1, len(items) + 1))}
    each = max(0, desk.settings.budgets.stage // (2 * len(items)) - _ITEM_TOKENS)
    answer = await ask_agent(
        desk,
        overlay,
        name,
        step="cleanup",
        template="cleanup.j2",
        values={
            "items": [
                {"name": item.name, "description": clip(item.description, each, desk.count), "value": item.value}
                for item in items
            ],
            "excess": excess,
            "limit": desk.settings.limits.possessions,
        },
        output=OutputFormat(
            kind="json",
            schema=closed({"discard": {"type": "array", "items": number, "minItems": excess, "maxItems": excess}}),
        ),
        parse=parse,
        default=cheapest,
        length="short",
    )
    return answer.value


def successors(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """Next week's settlement, or the year's end."""
    following = next_week_of_year(unit, board.clock)
    if following is not None:
        return (UnitKey(year=following[0], week=following[1], stage="settle", who=unit.who),)
    return (own(unit, "profile_update"), UnitKey(year=unit.year, week=unit.week, stage="openings"))


STAGE = Stage(name="cleanup", position=11, participants=oneself, needs=needs, run=run, successors=successors)
