"""A long life with the scripted model: every question is answered, and prompts don't grow from the second year on."""

import asyncio
import statistics

from sim.core.agent import MemoryFile, Note
from sim.core.facts import Noted, WeekBegan, apply_all
from sim.core.keys import UnitKey
from sim.engine.stage import Job
from sim.llm.protocol import OutputFormat, Reply, Request
from sim.llm.scripted import Scripted
from sim.llm.structured import Structured
from sim.mind.desk import Desk
from sim.mind.folding import fold_diaries
from sim.mind.invoke import ask_agent
from sim.mind.overlay import Overlay
from sim.settings import SimSettings
from tests.builders import an_agent
from tests.context.desks import a_clock, a_desk, rough_count

N_YEARS, N_WEEKS = 10, 10


class Watched:
    """The scripted model, and the size of every prompt that it was given."""

    def __init__(self) -> None:
        self.inner = Scripted()
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        return await self.inner.complete(request)


def a_long_desk(model: Watched) -> Desk:
    desk = a_desk(clock=a_clock(n_year=N_YEARS, n_week=N_WEEKS))
    fields = {name: getattr(desk, name) for name in desk.__slots__}
    return Desk(**{**fields, "model": Structured(model, attempts=3)})


async def review(desk: Desk, state, year: int, week: int):
    """A diary, with memory functions, and whatever must be folded."""
    unit = UnitKey(year=year, week=week, stage="review", who="Ann")
    overlay = Overlay(Job(unit=unit, states={"Ann": state}, needed={}))
    answer = await ask_agent(
        desk,
        overlay,
        "Ann",
        step="diary",
        template="parts/me.j2",
        values={},
        output=OutputFormat(kind="text"),
        parse=str.strip,
        default="",
        length="long",
        tools=True,
    )
    text = f"{answer.value} {'Something happened to me and I thought it over. ' * 30}"
    overlay.cause("Ann", Noted(note=Note(year=year, week=week, kind="diary", text=text)))
    await fold_diaries(desk, overlay, "Ann")
    assert all(verdict.status == "ok" for verdict in overlay.finish().verdicts)
    return overlay.state("Ann")


def test_prompts_of_the_tenth_year_are_no_longer_than_those_of_the_second():
    model = Watched()
    desk = a_long_desk(model)
    people = {
        f"characters/P{n:03d}.txt": MemoryFile(text="About. " * 90, summary="About. " * 40, touched=n)
        for n in range(60)
    }
    state = an_agent("Ann", files=people)
    by_year: dict[int, list[int]] = {year: [] for year in range(1, N_YEARS + 1)}
    for year in range(1, N_YEARS + 1):
        for week in range(1, N_WEEKS + 1):
            began = WeekBegan(year=year, week=week, first_record_week=0, first_message_week=0, weeks_per_year=N_WEEKS)
            state = apply_all(state, (began,))
            model.asked.clear()
            state = asyncio.run(review(desk, state, year, week))
            by_year[year] += [sum(rough_count(m.text) for m in request.messages) for request in model.asked]
    second, tenth = statistics.mean(by_year[2]), statistics.mean(by_year[10])
    assert abs(tenth - second) <= 0.1 * second
    limit = SimSettings().budgets.context
    assert max(max(sizes) for sizes in by_year.values()) <= limit
    kinds = [note.kind for note in state.diaries]
    assert kinds == ["life_summary", "year_summary", *["diary"] * 5]
