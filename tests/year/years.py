"""Foundings and year ends for tests: agents, a desk, and the scheduler over the stages of the year alone."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sim.core.agent import AgentState, Position, WeekSnapshot
from sim.core.facts import UnitFacts
from sim.core.keys import UnitKey
from sim.engine.board import LiveBoard
from sim.engine.executor import LocalExecutor
from sim.engine.scheduler import Scheduler
from sim.engine.stage import Job
from sim.mind.desk import Desk
from sim.settings import SimSettings
from sim.world.schema import Character, Home
from sim.year import FOUNDING, YEAR_END
from tests.builders import a_clock, a_position, an_agent
from tests.context.desks import a_desk, a_world
from tests.week.days import Model

STAGES = {stage.name: stage for stage in (*FOUNDING, *YEAR_END)}
NAMES = ("Ann", "Ben", "Cy", "Dee", "Eve", "丁")


class Memory:
    """A journal that lasts as long as a test."""

    def __init__(self) -> None:
        self.units: dict[str, UnitFacts] = {}

    async def replies_of(self, unit: str) -> Mapping[str, Any]:
        return {}

    async def facts_of(self, unit: str) -> UnitFacts | None:
        return None

    async def record_unit(self, facts: UnitFacts) -> None:
        self.units[str(facts.unit)] = facts

    async def record_snapshot(self, agent: str, year: int, week: int, state: bytes) -> None:
        raise AssertionError("no week ends here")


class Lived(msgspec.Struct, kw_only=True):
    """What a stretch of life left behind."""

    facts: dict[str, UnitFacts]
    states: dict[str, AgentState]

    def outputs(self, stage: str, who: str = "", *, index: int = 0, year: int = 1) -> Mapping[str, Any]:
        """Outputs of one unit."""
        return self.facts[f"Y{year}-W{year and 2}/{stage}.{index}/{who}"].outputs


def a_snapshot(week: int, **fields: float) -> WeekSnapshot:
    """A week's closing numbers of year 1."""
    values: dict[str, Any] = {"vitality": 50.0, "mood": 50.0, "material": 50.0, "social": 50.0, "esteem": 50.0}
    return WeekSnapshot(**{"year": 1, "week": week, "deposit": 0, "total_skills": 0.0, **values, **fields})


def some_agents(names: Sequence[str] = NAMES, **fields: Any) -> dict[str, AgentState]:
    """Agents who know each other and hold a place each, two weeks after the year began."""
    return {
        name: an_agent(
            name,
            knows=[other for other in names if other != name],
            **{
                "position": a_position("House", f"Role {number}", capacity=2),
                "skills": {"baking": 30.0 + number, "law": 5.0},
                "deposit": 500 + 10 * number,
                "deposit_at_year_start": 450,
                "snapshots": (a_snapshot(1, mood=40.0 + number), a_snapshot(2, mood=60.0 - number)),
                **fields,
            },
        )
        for number, name in enumerate(names)
    }


def a_character(state: AgentState) -> Character:
    """An agent's file in the world, as far as the stages of the year read it: what it can do at the start."""
    words = dict.fromkeys(("gender", "birthday", "appearance", "details", "conflicts", "motivation", "values"), "x")
    home = Home(description="x", objects=())
    skills = {name: int(level) for name, level in state.skills.items()}
    more: dict[str, Any] = {"traits": {}, "talents": {}, "deposit": 0, "goals": "x", "preferences": "x", "home": home}
    return Character(name=state.name, skills=skills, **words, **more)


def a_year_desk(
    model: Any = None,
    *,
    states: Mapping[str, AgentState] | None = None,
    positions: Sequence[Position] | None = None,
    world_of: Mapping[str, AgentState] | None = None,
    n_year: int = 1,
    settings: SimSettings | None = None,
    language: str = "en",
) -> Desk:
    """A desk of a world with these agents; its own positions are those that they hold unless others are given.

    `world_of` are the agents as the world had them, unless they are as at the start.
    """
    people = states if states is not None else some_agents()
    held = [state.position for state in people.values() if state.position]
    own = tuple(positions if positions is not None else {position.key: position for position in held}.values())
    cast = tuple(a_character(state) for state in (world_of or people).values())
    return a_desk(
        model or Model(language=language),
        settings=settings,
        world=a_world(positions=own, language=language, characters=cast),
        clock=a_clock(n_year=n_year, n_week=2),
        names=tuple(sorted(people)),
    )


def live(desk: Desk, states: Mapping[str, AgentState], board: LiveBoard, first: Sequence[UnitKey], **how: Any) -> Lived:
    """Work the units off, and whatever follows from them."""

    async def work(job: Job, prior: Mapping[str, Any]) -> UnitFacts:
        return await STAGES[job.unit.stage].run(job, desk)

    journal = Memory()
    executor = LocalExecutor(work, journal, states)
    scheduler = Scheduler(STAGES, board, executor, **{"barriers": False, "max_in_flight": 64, **how})
    asyncio.run(asyncio.wait_for(scheduler.run(first), timeout=60))
    return Lived(facts=journal.units, states={name: executor.residents.state(name) for name in states})


def found(model: Any, states: Mapping[str, AgentState], **desk: Any) -> Lived:
    """The founding of a world of these agents."""
    table = a_year_desk(model, states=states, n_year=0, **desk)
    first = [UnitKey(year=0, week=0, stage=stage) for stage in ("openings", "directory")]
    first += [
        UnitKey(year=0, week=0, stage=stage, who=name) for name in sorted(states) for stage in ("birth", "judging")
    ]
    return live(table, states, LiveBoard(table.clock, states), first)


def end_year(model: Any, states: Mapping[str, AgentState], *, founding: Lived | None = None, **given: Any) -> Lived:
    """The end of year 1 of these agents, after their founding and their last clean-up."""
    how = {key: given.pop(key) for key in ("barriers", "max_in_flight") if key in given}
    before = founding or found(Model(language=given.get("language", "en")), states, **given)
    table = a_year_desk(model, states=states, **given)
    board = LiveBoard(table.clock, states)
    for facts in before.facts.values():
        board.put(facts.unit, facts.outputs)
    for name, state in states.items():
        cleanup = UnitKey(year=1, week=2, stage="cleanup", who=name)
        board.put(cleanup, {"snapshot": {}, "skills": dict(state.skills)})
    first = [UnitKey(year=1, week=2, stage="openings")]
    first += [UnitKey(year=1, week=2, stage="profile_update", who=name) for name in sorted(states)]
    return live(table, states, board, first, **how)
