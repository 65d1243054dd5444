"""A run at work: Ray, engines, all rounds, then tables and summary; every expected failure becomes one clear error."""

import asyncio
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pipeline.cluster import RAY_ERRORS, ClusterNotReady, connect, disconnect
from pipeline.finetune_step import make_base_model
from pipeline.launch import monotonic, store_settings, world_folder
from pipeline.progress import Progress
from pipeline.ray_executor import HostsLost
from pipeline.rounds import Run, run_rounds
from pipeline.run_folder import RunFolder
from pipeline.serving import Serving, weights_of_round
from pipeline.settings import RunSettings
from pipeline.steps import StepInputsChanged
from pipeline.summary import write_summary
from pipeline.tables import write_tables
from pipeline.trainer_job import TrainerFailed
from pipeline.vllm_pool import PoolFailed
from sim.journal.lease import Lease
from sim.journal.protocol import JournalError
from sim.lifetime import clock_of
from sim.llm.protocol import ServerDown
from sim.world.loader import load_world
from training.redeploy import RedeployError

log = logging.getLogger(__name__)
BEAT_SECONDS = 10.0
EXPECTED = (
    ClusterNotReady,
    HostsLost,
    PoolFailed,
    StepInputsChanged,
    TrainerFailed,
    RedeployError,
    JournalError,
    ServerDown,
    *RAY_ERRORS,
    TimeoutError,
    ValueError,
    OSError,
)


class RunError(RuntimeError):
    """The run stopped; the text says where, why and what to do. What was done before is saved."""


async def work(settings: RunSettings, folder: RunFolder, *, listen: Callable[[], None], takeover: bool) -> None:
    """Do the whole run in its folder; `listen` takes signals back after Ray took them."""
    with _log_file(folder, settings), _owned(folder, takeover) as lease:
        store_settings(settings, folder)
        progress = _progress(settings, folder)
        state = "failed"
        try:
            async with asyncio.TaskGroup() as together:
                beating = together.create_task(_beat(lease, folder))
                await _run(settings, folder, progress, listen)
                beating.cancel()
            state = "finished"
        except asyncio.CancelledError:
            state = "stopped"
            raise
        except (BaseExceptionGroup, *EXPECTED) as error:
            first = _first(error)
            if isinstance(first, RunError):
                raise first from error
            if not isinstance(first, EXPECTED) or _is_defect(first):
                raise
            log.error("stopped", exc_info=first)
            raise RunError(
                f"{first}\nEverything so far is saved in {folder.root}; details are in {folder.log}. The same command "
                "goes on from there"
            ) from first
        finally:
            progress.end(state)
            disconnect()


async def _run(settings: RunSettings, folder: RunFolder, progress: Progress, listen: Callable[[], None]) -> None:
    there = connect(settings.cluster, say=progress.note)
    listen()
    log.info("Ray: %d nodes, %g CPUs, %g GPUs", there.nodes, there.cpus, there.gpus)
    await asyncio.to_thread(make_base_model, settings, folder)
    serving = Serving(settings, folder, weights_of_round(settings, folder, _round_at_work(settings, folder)))
    progress.note("starting engines" if serving.uses_engines else "no engine of ours is needed")
    run = Run(settings=settings, folder=folder, serving=serving, progress=progress)
    if _round_at_work(settings, folder) <= settings.rounds:
        async with serving.running():
            await run_rounds(run)
    await asyncio.to_thread(write_tables, folder, settings)
    progress.end("finished")
    print(await asyncio.to_thread(write_summary, folder, settings))


async def _beat(lease: Lease, folder: RunFolder) -> None:
    """Show others that the folder is in use; RunError once somebody took it over."""
    while lease.beat():
        await asyncio.sleep(BEAT_SECONDS)
    raise RunError(f"{folder.root} was taken over by another process, which goes on with the run")


def _round_at_work(settings: RunSettings, folder: RunFolder) -> int:
    """The first round with an unfinished step; after the last one, the round that would follow."""
    for number in range(1, settings.rounds + 1):
        if any(not folder.manifest(number, step).exists() for step in settings.steps):
            return number
    return settings.rounds + 1


def _progress(settings: RunSettings, folder: RunFolder) -> Progress:
    start_year = load_world(world_folder(settings.worlds[0])).start_year
    return Progress(
        sys.stdout,
        monotonic,
        rounds=settings.rounds,
        steps=settings.steps,
        clock=clock_of(settings.sim.time, start_year),
        n_agents=dict.fromkeys(settings.worlds, settings.sim.n_agents),
        every_s=settings.logging.progress_s,
        status=folder.status,
    )


@contextmanager
def _owned(folder: RunFolder, takeover: bool) -> Iterator[Lease]:
    """The folder belongs to this process; a second run on it is refused with the owner's name."""
    try:
        lease = Lease.take(folder.lease, stale_after_s=0.0) if takeover else Lease.take(folder.lease)
    except JournalError as error:
        raise RunError(f"{folder.root} is in use: {error}; --takeover takes it from an owner that is gone") from error
    try:
        yield lease
    finally:
        lease.release()


@contextmanager
def _log_file(folder: RunFolder, settings: RunSettings) -> Iterator[None]:
    handler = logging.FileHandler(folder.log, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.setLevel(settings.logging.level)
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        handler.close()


def _is_defect(error: BaseException) -> bool:
    """Whether an error out of an actor is one that nobody expects: a fault of the program, not of its surroundings."""
    cause = getattr(error, "cause", None)
    return isinstance(cause, BaseException) and not isinstance(cause, EXPECTED)


def _first(group: BaseException) -> BaseException:
    """The first plain exception inside nested groups."""
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group
