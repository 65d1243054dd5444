"""A desk for tests of context and mind: a small world, a rough token count, and a model that answers from a list."""

import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from sim.context.render import Renderer
from sim.core.agent import AgentState, MemoryFile, Message, Note
from sim.core.clock import Clock
from sim.core.keys import Scope, UnitKey
from sim.engine.stage import Job
from sim.llm.protocol import LLM, Reply, Request
from sim.llm.structured import Structured
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.settings import SimSettings
from sim.world.schema import World
from tests.builders import a_clock, a_joint, a_place, a_profile, a_slot, an_agent, an_item

_NO_ASCII = re.compile(r"[^\x00-\x7f]")


def rough_count(text: str) -> int:
    """About four ASCII characters or one other character per token; always rounded up."""
    others = 0 if text.isascii() else len(_NO_ASCII.findall(text))
    return math.ceil((len(text) - others) / 4) + others


class Answers:
    """A model that gives prepared replies in turn and keeps what it was asked."""

    def __init__(self, replies: Iterable[str | Reply]) -> None:
        self.left = list(replies)
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        reply = self.left.pop(0)
        return reply if isinstance(reply, Reply) else Reply(text=reply, finish="stop", model="list@1")


def a_world(**fields: Any) -> World:
    """Two places, nothing else."""
    values: dict[str, Any] = {
        "name": "house",
        "language": "en",
        "start_year": 2024,
        "currency": "dollars",
        "worldview": "A house by the river where everybody knows the stairs.",
        "rules": "Homes are private.",
        "content_policy": "",
        "locations": (a_place(), a_place("Roof")),
        "positions": (),
        "prices": (),
        "names": (),
        "stories": (),
        "characters": (),
        "digest": "0",
    }
    return World(**{**values, **fields})


def a_desk(
    model: LLM | None = None,
    *,
    settings: SimSettings | None = None,
    world: World | None = None,
    count: Callable[[str], int] = rough_count,
    clock: Clock | None = None,
    names: tuple[str, ...] = ("Ann", "Ben", "Mara Voss"),
) -> Desk:
    """A desk around a model."""
    settings, world = settings or SimSettings(), world or a_world()
    return Desk(
        settings=settings,
        world=world,
        clock=clock or a_clock(),
        scope=Scope(run_seed=1, round=1, world=world.name),
        model=Structured(model or Answers(()), attempts=settings.limits.structure_attempts),
        render=Renderer(world.language),
        count=count,
        names=names,
    )


def an_overlay(*states: AgentState, stage: str = "plan", week: int = 1, index: int = 0) -> Overlay:
    """The working copy of a unit of these agents."""
    unit = UnitKey(year=1, week=week, stage=stage, index=index, who=states[0].name if states else "")
    return Overlay(Job(unit=unit, states={state.name: state for state in states}, needed={}))


def a_full_agent(name: str = "Ann", *, word: str = "word") -> AgentState:
    """Everything filled to its limit and beyond: 80 known people, long texts, 50 possessions, full windows."""
    long = f"{word} " * 3000
    people = [f"Person {number:02d} {word[:20]}" for number in range(80)]
    files = {f"characters/{who}.txt": MemoryFile(text=long, summary=long, touched=n) for n, who in enumerate(people)}
    files |= {f"others/topic {n}.txt": MemoryFile(text=long, summary=long, touched=200 + n) for n in range(60)}
    files["general.txt"] = MemoryFile(text=long, summary=long, touched=500)
    prose = dict.fromkeys(("appearance", "details", "conflicts", "motivation", "values", "preferences"), long)
    return an_agent(
        name,
        profile=a_profile(name, **prose),
        files=files,
        met={who: n for n, who in enumerate(people)},
        skills={f"skill {n} {word[:20]}": 3.0 * n for n in range(60)},
        possessions=tuple(an_item(f"i{n}", name=f"{word[:60]} {n}", description=long) for n in range(50)),
        schedule=tuple(a_joint(f"{word[:60]} {n}", slot=a_slot(1, 1 + n % 3, 1 + n % 2)) for n in range(40)),
        messages=tuple(
            Message(year=1, week=1 + n % 3, round=1, sender=people[n % 80], to=name, text=long) for n in range(200)
        ),
        diaries=tuple(Note(year=1, week=n + 1, kind="diary", text=long) for n in range(12)),
        records=tuple(Note(year=1, week=1 + n % 2, day=1, kind="record", text=long) for n in range(40)),
        week_outputs=tuple(Note(year=1, week=1, kind="plan", text=long) for _ in range(20)),
        refusals=tuple(f"Action: {long}\nError: {n}" for n in range(30)),
        vitality=5.0,
        mood=29.0,
        social=9.0,
        esteem=0.0,
        material=10.0,
    )
