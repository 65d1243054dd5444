"""The simulate step: all worlds of a round side by side, each with its journal, its hosts and its agents' states."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from typing import Any

from pipeline.agent_host import start_host
from pipeline.host_desk import HostSpec, open_workshop
from pipeline.journal_actor import ActorJournal, journal_actor
from pipeline.launch import world_folder
from pipeline.progress import Progress, Told
from pipeline.ray_executor import RayExecutor
from pipeline.run_folder import RunFolder
from pipeline.serving import Serving, tokenizer_of
from pipeline.settings import RunSettings, world_label
from sim.core.agent import AgentState
from sim.core.facts import apply, decode_state
from sim.core.keys import Scope, UnitKey
from sim.journal.reading import JournalReader
from sim.journal.tables import JournalId
from sim.lifetime import STAGES, clock_of, live
from sim.world.loader import cast_of, initial_states, load_world
from sim.world.schema import World

YEAR_END = ("profile_update", "wishes", "take_up", "judging")
CARRIED = ("directory", "openings", "judging")
"""Year-end units whose outputs a life that goes on may ask for."""


async def live_round(
    settings: RunSettings, folder: RunFolder, round_number: int, serving: Serving, progress: Progress
) -> Mapping[str, Any]:
    """Live all worlds of a round; what each came to."""
    async with asyncio.TaskGroup() as worlds:
        tasks = {
            name: worlds.create_task(_live_world(settings, folder, round_number, name, serving, progress), name=name)
            for name in settings.worlds
        }
    return {"worlds": {name: task.result() for name, task in sorted(tasks.items())}}


async def _live_world(
    settings: RunSettings, folder: RunFolder, round_number: int, name: str, serving: Serving, progress: Progress
) -> Mapping[str, Any]:
    folder_of_world = world_folder(name)
    world = cast_of(load_world(folder_of_world), settings.sim.n_agents, folder_of_world)
    label = world_label(name)
    years_before = (round_number - 1) * settings.sim.time.n_year if settings.world == "continue" else 0
    states, past = _beginning(folder, round_number, label, world, years_before, settings)
    identity = JournalId(run=folder.root.name, round=round_number, world=label)
    async with journal_actor(folder.journal(round_number, label), identity) as (actor, has_past):
        spec = HostSpec(
            settings=settings,
            world=world,
            scope=Scope(run_seed=settings.seed, round=round_number, world=label),
            years_before=years_before,
            journal=actor,
            has_past=has_past,
            links=serving.links(),
            version=serving.weights.version,
            tokenizer=tokenizer_of(settings),
        )
        workshop, journal = open_workshop(spec)
        async with _hosts(settings, spec, states, journal, workshop.work) as executor:
            follow = asyncio.create_task(progress.follow(lambda: _counters(journal)))
            try:
                await live(
                    settings.sim,
                    clock_of(settings.sim.time, world.start_year, years_before=years_before),
                    sorted(states),
                    Told(executor, progress),
                    past=past,
                    on_done=lambda unit, done, pending: progress.unit_done(name, unit, done, pending),
                    unit_alarm_s=settings.limits.unit_timeout_s,
                )
            finally:
                follow.cancel()
        counters = await journal.counters()
    return {"digest": world.digest, "agents": len(states), "calls": counters["calls"]}


@asynccontextmanager
async def _hosts(
    settings: RunSettings, spec: HostSpec, states: Mapping[str, AgentState], journal: ActorJournal, work: Any
) -> AsyncIterator[RayExecutor]:
    executor = RayExecutor(
        start_host=lambda number: start_host(spec, cpus=settings.cluster.host_cpus),
        n_hosts=min(settings.cluster.hosts, len(states)),
        states=states,
        journal=journal,
        stages=STAGES,
        work_here=work,
        host_restarts=settings.limits.host_restarts,
    )
    try:
        await executor.open()
        yield executor
    finally:
        await executor.close()


async def _counters(journal: ActorJournal) -> list[Mapping[str, Any]]:
    return [await journal.counters()]


def _beginning(
    folder: RunFolder, round_number: int, label: str, world: World, years_before: int, settings: RunSettings
) -> tuple[dict[str, AgentState], dict[UnitKey, Mapping[str, Any]]]:
    """The agents' first states, and the year-end outputs of the life that this one goes on with."""
    if not years_before:
        return initial_states(world), {}
    with closing(JournalReader(folder.journal(round_number - 1, label))) as reader:
        names = sorted(character.name for character in world.characters)
        week = settings.sim.time.n_week
        states = {name: _last_state(reader, name, years_before, week) for name in names}
        past: dict[UnitKey, Mapping[str, Any]] = {}
        for stage in CARRIED:
            for who in names if stage == "judging" else [""]:
                unit = UnitKey(year=years_before, week=week, stage=stage, who=who)
                past[unit] = _facts(reader, unit).outputs
    return states, past


def _last_state(reader: JournalReader, name: str, year: int, week: int) -> AgentState:
    """An agent after its last year end: the last week's snapshot, then the year-end units."""
    latest = reader.snapshots_of(name)[0]
    state = decode_state(latest.state)
    for stage in YEAR_END:
        state = apply(state, _facts(reader, UnitKey(year=year, week=week, stage=stage, who=name)))
    return state


def _facts(reader: JournalReader, unit: UnitKey) -> Any:
    facts = reader.facts_of(unit)
    if facts is None:
        raise ValueError(f"{reader.path} lacks {unit}: the earlier round is not complete; finish it first")
    return facts
