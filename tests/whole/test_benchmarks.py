"""The benchmarks measure what they say: virtual time adds up, and the two orders differ in time alone."""

import asyncio

import pytest

from benchmarks import memory, run, schedule
from benchmarks.diligent import fact, facts_in
from benchmarks.virtual_clock import run_virtually
from sim.settings import SchedulingSettings, SimSettings
from sim.world.loader import load_world

SMALL = SimSettings.model_validate(
    {
        "n_agents": 5,
        "time": {"n_year": 1, "n_week": 2, "n_day": 2, "n_contact": 2},
        "limits": {"turns_min": 2, "turns_max": 4, "tool_rounds": 3},
    }
)


async def side_by_side(*seconds: float) -> list[float]:
    async def one(length: float) -> float:
        await asyncio.sleep(length)
        return asyncio.get_running_loop().time()

    return list(await asyncio.gather(*(one(length) for length in seconds)))


def test_waits_side_by_side_take_as_long_as_the_longest():
    ends, seconds = run_virtually(side_by_side(3600.0, 7200.0))
    assert ends == [3600.0, 7200.0]
    assert seconds == 7200.0


def test_waits_one_after_the_other_add_up():
    async def work() -> None:
        await side_by_side(10.0)
        await side_by_side(5.0, 2.0)

    assert run_virtually(work())[1] == 15.0


def test_work_that_can_never_go_on_is_told():
    async def work() -> None:
        await asyncio.Event().wait()

    with pytest.raises(RuntimeError, match="stuck"):
        run_virtually(work())


def test_without_barriers_the_same_life_is_over_sooner():
    world = schedule.crowd(load_world(schedule.WORLDS / "apartment"), 5)
    held, free = (
        schedule.measure(world, SMALL.model_copy(update={"scheduling": SchedulingSettings(barriers=barriers)}))
        for barriers in (True, False)
    )
    assert free.results == held.results
    assert (free.calls, free.output_tokens) == (held.calls, held.output_tokens)
    assert free.seconds < held.seconds < held.call_seconds
    assert 0 < free.cached_tokens < free.prompt_tokens


def test_a_server_with_one_slot_serves_one_call_after_the_other():
    world = schedule.crowd(load_world(schedule.WORLDS / "apartment"), 3)
    settings = SMALL.model_copy(update={"n_agents": 3})
    one, many = (schedule.measure(world, settings, slots=slots) for slots in (1, 0))
    assert one.most_in_flight == 1 < many.most_in_flight
    assert one.seconds == pytest.approx(one.call_seconds)
    assert one.results == many.results


def test_a_crowd_is_the_cast_and_renamed_copies_who_know_only_their_own():
    world = load_world(schedule.WORLDS / "apartment")
    cast = len(world.characters)
    people = schedule.crowd(world, cast + 5).characters
    names = [person.name for person in people]
    assert len(set(names)) == cast + 5
    assert people[:cast] == world.characters
    assert all(set(person.knows) <= set(names[cast:]) for person in people[cast:])
    with pytest.raises(ValueError, match="--agents 999"):
        schedule.crowd(world, 999)


def test_an_unknown_benchmark_is_refused_with_those_there_are(capsys):
    with pytest.raises(SystemExit, match="2"):
        run.main(["nothing"])
    assert "schedule" in capsys.readouterr().err


TIGHT = SimSettings.model_validate(
    {
        "n_agents": 4,
        "time": {"n_year": 4, "n_week": 3, "n_day": 1, "n_contact": 1},
        "limits": {"turns_min": 2, "turns_max": 3, "tool_rounds": 4},
        "windows": {"diary_weeks": 2},
        "budgets": {"context": 9000, "profile": 600, "memory": 700, "diaries": 900, "stage": 1500, "history": 900,
                    "file": 300, "summary": 40},
        "answers": {"long": 400, "medium": 300, "short": 200, "text_chars": 900},
    }
)  # fmt: skip


def test_a_long_life_at_length_keeps_its_prompts_and_its_facts():
    years = memory.measure(schedule.crowd(load_world(schedule.WORLDS / "apartment"), 4), TIGHT)
    assert sorted(years) == [0, 1, 2, 3, 4]
    assert memory.faults(years) == []
    last = years[4]
    assert last.planted["general", 4] == last.planted["diary", 1] == 4
    assert last.prompted["diary", 4] == last.prompted["general", 4] == 4


def test_what_a_life_lost_or_let_grow_is_told():
    grown, small = memory.Year(), memory.Year()
    for year, tokens in ((grown, 120), (small, 100)):
        year.prompts_by_stage["plan"] = [tokens]
        year.least_room = 5
        year.planted["diary", 1] = 2
        year.kept["diary", 1] = 2
    assert memory.faults({2: small, 3: small}) == []
    assert "1.20 times" in memory.faults({2: small, 3: grown})[0]
    grown.prompts_by_stage["plan"], grown.kept["diary", 1], grown.least_room = [100], 1, -1
    assert memory.faults({2: small, 3: grown}) == [
        "a prompt and its answer are longer than the context",
        "lost: diary 1",
    ]


def test_a_cut_sentence_is_no_kept_fact():
    text = f"{fact('general', 3)} And {fact('person', 4)[:-9]}…"
    assert facts_in(text) == {("general", 3)}
