"""Whole weeks of a small cast with the scripted model: nothing is left over, and the order of work changes nothing."""

import asyncio
import random
from collections import Counter

import pytest

from sim.core.agent import AgentState
from sim.core.facts import encode
from sim.llm.protocol import Reply, Request
from sim.llm.scripted import Scripted
from sim.llm.scripted_faults import Faults
from tests.builders import a_clock, an_agent
from tests.context.desks import a_desk, a_world
from tests.week.days import some_settings
from tests.week.lived import Household, live_weeks

NAMES = ("Ann", "Ben", "Cleo", "Dora", "Eli", "Fay", "Gus")
CLOCK = a_clock(n_year=1, n_week=2, n_day=2, n_contact=3)


class Dawdling:
    """The scripted model, which lets others go first a varying number of times before it answers."""

    def __init__(self, seed: int) -> None:
        self._inner = Scripted()
        self._rng = random.Random(seed)

    async def complete(self, request: Request) -> Reply:
        for _ in range(self._rng.randint(0, 40)):
            await asyncio.sleep(0)
        return await self._inner.complete(request)


def cast() -> list[AgentState]:
    return [an_agent(name, knows=[other for other in NAMES if other != name][:3]) for name in NAMES]


def weeks(
    *, barriers: bool = False, language: str = "en", short: bool = False, faults: Faults | None = None
) -> Household:
    model = Scripted(language=language, faults=faults)
    desk = a_desk(
        model, settings=some_settings(short=short), world=a_world(language=language), names=NAMES, clock=CLOCK
    )
    return live_weeks(desk, cast(), barriers=barriers)


@pytest.mark.parametrize("short", [True, False])
def test_the_order_of_work_changes_nothing(short: bool) -> None:
    free, barred = weeks(short=short), weeks(short=short, barriers=True)
    assert free.order != barred.order
    assert free.facts.keys() == barred.facts.keys()
    for unit in free.facts:
        assert encode(free.facts[unit]) == encode(barred.facts[unit]), str(unit)
    for name in NAMES:
        assert encode(free.residents.state(name)) == encode(barred.residents.state(name))


@pytest.mark.parametrize("seed", [1, 2])
def test_how_long_answers_take_changes_nothing(seed: int) -> None:
    at_once = weeks()
    desk = a_desk(Dawdling(seed), settings=some_settings(), names=NAMES, clock=CLOCK)
    late = live_weeks(desk, cast())
    assert late.order != at_once.order
    for name in NAMES:
        assert encode(late.residents.state(name)) == encode(at_once.residents.state(name))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_everybody_lives_every_stage_of_every_week(language: str) -> None:
    house = weeks(language=language)
    n_units = Counter(unit.stage for unit in house.facts)
    for stage in ("settle", "plan", "signup", "agenda", "review", "cleanup"):
        assert n_units[stage] == len(NAMES) * CLOCK.n_week
    assert n_units["contact"] == len(NAMES) * CLOCK.n_week * CLOCK.n_contact
    for name in NAMES:
        state = house.residents.state(name)
        assert len(state.snapshots) == CLOCK.n_week
        assert len(state.diaries) == CLOCK.n_week
        assert state.deposit >= 0
        assert all(0 <= value <= 100 for value in (state.vitality, state.mood, state.social, state.esteem))


def test_no_fault_of_the_model_stops_a_week() -> None:
    faults = Faults(malformed=0.3, empty=0.05, truncated=0.05)
    house = weeks(faults=faults)
    assert len(house.of("cleanup")) == len(NAMES) * CLOCK.n_week
    drops = Counter(verdict.drop for facts in house.facts.values() for verdict in facts.verdicts)
    assert all(drops[kind] for kind in ("malformed", "empty", "truncated"))
