"""Whole weeks for tests: every stage of the week over a small cast, in one process, without a journal."""

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from sim.core.agent import AgentState
from sim.core.facts import UnitFacts, decode_facts, encode
from sim.core.keys import UnitKey
from sim.engine.board import LiveBoard
from sim.engine.executor import Residents
from sim.engine.scheduler import Scheduler
from sim.engine.stage import Job, Stage
from sim.mind.desk import Desk
from sim.week import WEEK
from sim.week.chain import nobody, nothing_more
from tests.week.days import card


async def _nothing(job: Job, desk: Desk) -> UnitFacts:
    return UnitFacts(unit=job.unit, by_agent={})


def _end(name: str) -> Stage:
    """A year-end stage at which these tests stop."""
    return Stage(
        name=name, position=12, participants=nobody, needs=lambda unit, board: frozenset(), run=_nothing,
        successors=nothing_more,
    )  # fmt: skip


STAGES: Mapping[str, Stage] = {stage.name: stage for stage in (*WEEK, _end("profile_update"), _end("openings"))}


class Household:
    """An executor that keeps the states, all facts and all outputs."""

    def __init__(self, desk: Desk, states: Iterable[AgentState]) -> None:
        self._desk = desk
        self.residents = Residents({state.name: state for state in states})
        self.facts: dict[UnitKey, UnitFacts] = {}
        self.order: list[UnitKey] = []

    async def run(
        self, unit: UnitKey, participants: tuple[str, ...], needed: Mapping[UnitKey, Mapping[str, Any]]
    ) -> UnitFacts:
        states = {name: self.residents.state(name) for name in participants}
        facts = await STAGES[unit.stage].run(Job(unit=unit, states=states, needed=needed), self._desk)
        facts = decode_facts(encode(facts))
        self.residents.apply(facts)
        self.facts[unit] = facts
        self.order.append(unit)
        return facts

    def of(self, stage: str) -> list[UnitFacts]:
        """Facts of all units of one stage, in the order of their keys."""
        return [self.facts[unit] for unit in sorted(self.facts) if unit.stage == stage]


def founded(states: Iterable[AgentState]) -> dict[UnitKey, dict[str, Any]]:
    """Outputs of the founding units that a first week looks at."""
    people = list(states)
    units: dict[UnitKey, dict[str, Any]] = {
        UnitKey(year=0, week=0, stage="judging", who=state.name): {} for state in people
    }
    units[UnitKey(year=0, week=0, stage="directory")] = {
        "cards": {state.name: card(state.name) for state in people},
        "homes": {state.name: msgspec.to_builtins(state.home) for state in people},
        "positions": [],
    }
    return units


def live_weeks(desk: Desk, states: Iterable[AgentState], *, barriers: bool = False) -> Household:
    """Live all weeks of the desk's first year."""
    people = list(states)
    board = LiveBoard(desk.clock, [state.name for state in people])
    for unit, outputs in founded(people).items():
        board.put(unit, outputs)
    house = Household(desk, people)
    scheduler = Scheduler(STAGES, board, house, barriers=barriers, max_in_flight=50)
    world = [UnitKey(year=1, week=1, stage=stage) for stage in ("public_events", "acquaintance", "resolve")]
    own = [UnitKey(year=1, week=1, stage="settle", who=state.name) for state in people]
    asyncio.run(asyncio.wait_for(scheduler.run([*world, *own]), timeout=120))
    return house


def run_alone(stage: Stage, job: Job, desk: Desk) -> UnitFacts:
    """One unit of one stage; its facts as they are read back from a journal."""
    return decode_facts(encode(asyncio.run(asyncio.wait_for(stage.run(job, desk), timeout=30))))
