"""7 Judging: in private, every agent scores the people of its circle on affection and respect; then a new year begins.

At the founding this happens from profiles and first memories alone. Outputs: `scores` by name (None is missing),
`snapshots` (week-end numbers of the year), `deposit_start`, `deposit_end`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sim.context.recall import recently_related
from sim.context.view import people_lines
from sim.core.agent import AgentState
from sim.core.facts import UnitFacts, YearBegan
from sim.core.keys import UnitKey
from sim.core.social import DIMENSIONS
from sim.engine.stage import Board, Job, Stage
from sim.environment.forms import closed
from sim.llm.outcome import Refusal
from sim.llm.protocol import OutputFormat
from sim.mind.desk import Desk
from sim.mind.invoke import ask_agent
from sim.mind.overlay import Overlay
from sim.year.units import next_week, oneself, year_end

Scores = dict[str, dict[str, int | None]]
_MOST_AT_ONCE = 8
_TOKENS_EACH = 24
"""About what the answer needs for one person."""


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """The directory of the time, and the agent's unit before."""
    before = "take_up" if unit.year else "birth"
    directory = year_end(unit.year, "directory", board.clock)
    return frozenset({directory, year_end(unit.year, before, board.clock, who=unit.who)})


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Ask for the scores, hand over the year's numbers, and begin the next year."""
    overlay, name = Overlay(job), job.unit.who
    state = overlay.state(name)
    cards = job.needed[year_end(job.unit.year, "directory", desk.clock)]["cards"]
    circle = [person for person in recently_related(state, len(state.files)) if person in cards and person != name]
    scores = await _score_all(desk, overlay, name, cards, circle[: desk.settings.limits.rated_people])
    outputs = {
        "scores": scores,
        "snapshots": msgspec.to_builtins(state.snapshots),
        "deposit_start": state.deposit_at_year_start,
        "deposit_end": state.deposit,
    }
    overlay.cause(name, YearBegan())
    return overlay.finish(outputs)


async def _score_all(
    desk: Desk, overlay: Overlay, name: str, cards: Mapping[str, Mapping[str, Any]], circle: Sequence[str]
) -> Scores:
    """Scores of the whole circle; the calls are independent of each other."""
    groups = _groups(desk, overlay.state(name), cards, circle)
    async with asyncio.TaskGroup() as tasks:
        asked = [
            tasks.create_task(_score(desk, overlay, name, cards, group, step=f"judging.{number}"))
            for number, group in enumerate(groups, start=1)
        ]
    given = {person: pair for task in asked for person, pair in task.result().items()}
    missing: dict[str, int | None] = dict.fromkeys(DIMENSIONS)
    return {person: given.get(person, missing) for person in sorted(circle)}


def _groups(
    desk: Desk, state: AgentState, cards: Mapping[str, Mapping[str, Any]], circle: Sequence[str]
) -> list[Sequence[str]]:
    """The circle in as few groups as the answer's length and the prompt's share for people allow."""
    most = max(1, min(_MOST_AT_ONCE, desk.settings.answers.medium // _TOKENS_EACH))
    for size in range(most, 0, -1):
        groups = [circle[first : first + size] for first in range(0, len(circle), size)]
        if size == 1 or all(len(people_lines(desk, state, cards, group)) == len(group) for group in groups):
            return groups
    return []


async def _score(
    desk: Desk,
    overlay: Overlay,
    name: str,
    cards: Mapping[str, Mapping[str, Any]],
    people: Sequence[str],
    *,
    step: str,
) -> Scores:
    """Scores of some people; of nobody where the answer fails."""

    def parse(value: dict[str, Any]) -> Scores | Refusal:
        return {person: {dimension: value[person][dimension] for dimension in DIMENSIONS} for person in people}

    score = {"type": "integer", "minimum": 0, "maximum": 100}
    answer = await ask_agent(
        desk,
        overlay,
        name,
        step=step,
        duty="judging",
        template="year/judging.j2",
        values={
            "people": people_lines(desk, overlay.state(name), cards, people),
            "names": list(people),
            "founding": overlay.unit.year == 0,
        },
        output=OutputFormat(
            kind="json",
            schema=closed({person: closed(dict.fromkeys(DIMENSIONS, score)) for person in people}),
        ),
        parse=parse,
        default=dict[str, dict[str, int | None]],
        length="medium",
    )
    return answer.value


def successors(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """The agent's next year, and the reckoning of the one that ended."""
    following = [next_week(unit.year, "settle", who=unit.who)] if unit.year < board.clock.n_year else []
    reckoning = [year_end(unit.year, "life_reward", board.clock)] if unit.year else []
    return (*following, *reckoning)


STAGE = Stage(name="judging", position=18, participants=oneself, needs=needs, run=run, successors=successors)
