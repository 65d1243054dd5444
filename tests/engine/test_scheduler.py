"""The scheduler's promises, on small graphs of its own: needs, late needs, barriers, errors, no false waiting."""

import asyncio
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.core.clock import Clock
from sim.core.facts import UnitFacts
from sim.core.keys import UnitKey
from sim.engine.board import LiveBoard
from sim.engine.scheduler import Scheduler, SchedulerStuck
from sim.engine.stage import Stage

CLOCK = Clock(n_year=1, n_week=1, n_day=3, n_contact=1)


def key(stage: str, index: int = 0, who: str = "") -> UnitKey:
    return UnitKey(year=1, week=1, stage=stage, index=index, who=who)


def stage(name, position, needs, successors, sub=0):
    async def run(job, desk):
        raise AssertionError("the executor of these tests does the work")

    return Stage(
        name=name,
        position=position,
        sub=sub,
        participants=lambda unit, board: (unit.who,) if unit.who else (),
        needs=lambda unit, board: frozenset(needs(unit, board)),
        run=run,
        successors=lambda unit, board: tuple(successors(unit, board)),
    )


def days_of(names, n_day):
    """Each agent lives its days alone; an evening waits for the first and the last agent only."""

    def day_needs(unit, board):
        return [key("day", unit.index - 1, unit.who)] if unit.index > 1 else []

    def day_successors(unit, board):
        return [key("day", unit.index + 1, unit.who)] if unit.index < n_day else [key("evening")]

    def evening_needs(unit, board):
        return [key("day", n_day, who) for who in (names[0], names[-1])]

    return {
        "day": stage("day", 1, day_needs, day_successors),
        "evening": stage("evening", 2, evening_needs, lambda unit, board: []),
    }


class Recorder:
    """An executor with random delays that notes the order of starts and ends."""

    def __init__(self, seed=0, fail_at=None):
        self.random = random.Random(seed)
        self.started = []
        self.ended = []
        self.needed = {}
        self.fail_at = fail_at

    async def run(self, unit, participants, needed):
        self.started.append(unit)
        self.needed[unit] = dict(needed)
        for _ in range(self.random.randrange(4)):
            await asyncio.sleep(0)
        if unit == self.fail_at:
            raise RuntimeError("the machine broke")
        self.ended.append(unit)
        return UnitFacts(unit=unit, by_agent={}, outputs={"text": str(unit), "for": {"a": 1, "b": 2}})


def scheduler(stages, executor, *, names=("a", "b"), barriers=False, max_in_flight=100, on_done=None):
    return Scheduler(
        stages, LiveBoard(CLOCK, names), executor, barriers=barriers, max_in_flight=max_in_flight, on_done=on_done
    )


@given(seed=st.integers(0, 10_000), barriers=st.booleans(), in_flight=st.integers(1, 5))
@settings(max_examples=40, deadline=None)
def test_every_unit_runs_once_after_its_needs(seed, barriers, in_flight):
    names = ("a", "b", "c")
    executor = Recorder(seed)
    work = scheduler(days_of(names, 3), executor, names=names, barriers=barriers, max_in_flight=in_flight)
    asyncio.run(work.run([key("day", 1, who) for who in names]))
    assert sorted(executor.started) == sorted([*(key("day", d, w) for d in (1, 2, 3) for w in names), key("evening")])
    for who in names:
        days = [unit.index for unit in executor.started if unit.who == who]
        assert days == [1, 2, 3]
    assert executor.ended.index(key("evening")) > executor.ended.index(key("day", 3, "c"))


def test_without_barriers_nobody_waits_for_a_stranger():
    names = ("a", "b")
    gate = asyncio.Event()

    class SlowB(Recorder):
        async def run(self, unit, participants, needed):
            if unit == key("day", 1, "b"):
                await gate.wait()
            facts = await super().run(unit, participants, needed)
            if unit == key("day", 3, "a"):
                gate.set()
            return facts

    executor = SlowB()
    work = scheduler(days_of(names, 3), executor)
    asyncio.run(asyncio.wait_for(work.run([key("day", 1, who) for who in names]), 10))
    assert executor.ended.index(key("day", 3, "a")) < executor.ended.index(key("day", 1, "b"))


def test_with_barriers_ranks_follow_one_another():
    names = ("a", "b", "c", "d")
    executor = Recorder(seed=3)
    asyncio.run(
        scheduler(days_of(names, 3), executor, names=names, barriers=True).run([key("day", 1, w) for w in names])
    )
    assert [unit.index for unit in executor.ended] == [*sorted(unit.index for unit in executor.ended[:-1]), 0]


def test_needs_are_asked_again_when_the_first_are_done():
    def late_needs(unit, board):
        first = key("list")
        if not board.done(first):
            return [first]
        return [first, key("item", 0, "x")]

    stages = {
        "list": stage("list", 1, lambda u, b: [], lambda u, b: [key("reader")]),
        "item": stage("item", 1, lambda u, b: [key("list")], lambda u, b: []),
        "reader": stage("reader", 2, late_needs, lambda u, b: []),
    }
    executor = Recorder(seed=1)
    asyncio.run(scheduler(stages, executor).run([key("list"), key("reader"), key("item", 0, "x")]))
    assert set(executor.needed[key("reader")]) == {key("list"), key("item", 0, "x")}


def test_a_unit_sees_only_its_own_slices():
    stages = {
        "mail": stage("mail", 1, lambda u, b: [], lambda u, b: [key("read", 0, "a"), key("all")]),
        "read": stage("read", 2, lambda u, b: [key("mail")], lambda u, b: []),
        "all": stage("all", 3, lambda u, b: [key("mail")], lambda u, b: []),
    }
    executor = Recorder()
    asyncio.run(scheduler(stages, executor).run([key("mail")]))
    assert executor.needed[key("read", 0, "a")][key("mail")]["for"] == {"a": 1}
    assert executor.needed[key("all")][key("mail")]["for"] == {"a": 1, "b": 2}


def test_units_that_wait_for_nothing_announced_are_named():
    stages = {"lost": stage("lost", 1, lambda u, b: [key("never")], lambda u, b: []), "never": None}
    with pytest.raises(SchedulerStuck, match=r"lost\.0.*never\.0"):
        asyncio.run(scheduler(stages, Recorder()).run([key("lost")]))


def test_a_failing_unit_stops_the_others_and_is_raised():
    names = ("a", "b")
    executor = Recorder(fail_at=key("day", 2, "a"))
    with pytest.raises(RuntimeError, match="the machine broke"):
        asyncio.run(scheduler(days_of(names, 3), executor).run([key("day", 1, who) for who in names]))


def test_progress_counts_done_and_pending():
    seen = []
    work = scheduler(days_of(("a",), 2), Recorder(), names=("a",), on_done=lambda unit, n, left: seen.append((n, left)))
    asyncio.run(work.run([key("day", 1, "a")]))
    assert seen == [(1, 1), (2, 1), (3, 0)]


def test_old_outputs_are_forgotten_but_stay_done():
    clock = Clock(n_year=3, n_week=2, n_day=1, n_contact=1)
    board = LiveBoard(clock, ("a",))
    weekly = UnitKey(year=1, week=1, stage="contact", index=1, who="a")
    yearly = UnitKey(year=1, week=2, stage="directory")
    for unit in (weekly, yearly):
        board.put(unit, {"x": 1})
    board.forget_before(clock.week_number(1, 2))
    assert board.done(weekly)
    assert board.outputs(yearly) == {"x": 1}
    with pytest.raises(KeyError):
        board.outputs(weekly)
    board.forget_before(clock.week_number(3, 2) + 1)
    assert board.done(yearly)
    with pytest.raises(KeyError):
        board.outputs(yearly)
