"""Small whole lives with the scripted model in one process, for tests: a world, a journal, an executor."""

import asyncio
from dataclasses import dataclass
from pathlib import Path

from sim.context.render import Renderer
from sim.core.keys import Scope
from sim.engine.executor import LocalExecutor
from sim.journal.local import LocalJournal
from sim.journal.log import JournalFile
from sim.journal.tables import JournalId
from sim.lifetime import STAGES, clock_of, live
from sim.llm.journaled import Journaled
from sim.llm.latency import count_pieces
from sim.llm.protocol import LLM
from sim.llm.scripted import Scripted
from sim.llm.scripted_faults import Faults
from sim.llm.structured import Structured
from sim.mind.desk import Desk
from sim.settings import SimSettings
from sim.workshop import Workshop
from sim.world.loader import cast_of, initial_states, load_world
from sim.world.schema import World

WORLDS = Path(__file__).parents[2] / "configs" / "worlds"
SMALL = {
    "n_agents": 4,
    "time": {"n_year": 1, "n_week": 2, "n_day": 2, "n_contact": 2},
    "limits": {"turns_min": 2, "turns_max": 4, "tool_rounds": 3},
}


@dataclass(frozen=True, kw_only=True)
class Life:
    """One life to be lived."""

    settings: SimSettings
    world: World
    seed: int = 1
    round: int = 1

    @property
    def scope(self) -> Scope:
        return Scope(run_seed=self.seed, round=self.round, world=self.world.name)


def small_life(world: str = "apartment", *, seed: int = 1, **changes) -> Life:
    settings = SimSettings.model_validate({**SMALL, **changes})
    return Life(settings=settings, world=cast_of(load_world(WORLDS / world), settings.n_agents), seed=seed)


def desk_of(life: Life, model: LLM) -> Desk:
    states = initial_states(life.world)
    return Desk(
        settings=life.settings,
        world=life.world,
        clock=clock_of(life.settings.time, life.world.start_year),
        scope=life.scope,
        model=Structured(
            model,
            attempts=life.settings.limits.structure_attempts,
            max_tokens_bound=life.settings.answers.long,
        ),
        render=Renderer(life.world.language),
        count=count_pieces,
        names=tuple(sorted(states)),
    )


async def live_in(folder: Path, life: Life, model: LLM | None = None, on_done=None) -> LocalExecutor:
    """Live it (on) in a folder."""
    identity = JournalId(run="test", round=life.round, world=life.world.name)
    file = JournalFile(folder / "journal.db", identity)
    try:
        journal = LocalJournal(file)
        replies = Journaled(model or Scripted(language=life.world.language), journal)
        desk = desk_of(life, replies)
        workshop = Workshop(desk, STAGES, replies)
        executor = LocalExecutor(workshop.work, journal, initial_states(life.world))
        await live(life.settings, desk.clock, desk.names, executor, on_done=on_done)
        return executor
    finally:
        file.close()


def lived(folder: Path, life: Life, model: LLM | None = None, on_done=None) -> LocalExecutor:
    return asyncio.run(live_in(folder, life, model, on_done))


def faulty(**shares: float) -> Scripted:
    return Scripted(faults=Faults(**shares))
