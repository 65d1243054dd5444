"""A run from its settings: checks first, then the work; every refusal says what to change."""

import asyncio
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from pipeline import check_machine
from pipeline.atomic import write_text
from pipeline.load_settings import SettingsError, check_settings, dump_settings, refused_changes
from pipeline.plan import Machine, make_plan, plan_text
from pipeline.run_folder import RunFolder
from pipeline.settings import RunSettings, endpoints_of

log = logging.getLogger(__name__)
WORLDS = Path(__file__).parents[1] / "configs" / "worlds"
STOPPED = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def world_folder(name: str) -> Path:
    """The folder of a world of the settings: a path, or a name under configs/worlds."""
    given = Path(name)
    return given if given.is_dir() and (given / "world.yaml").exists() else WORLDS / name


def folder_to_extend(name: str) -> Path:
    """The folder that a larger world can be built from: the world's own, or for one that is still to be built, as
    `runs/worlds/apartment100`, the shipped one of that name without the number. As written from here, if below."""
    folder = world_folder(name)
    if not folder.exists():
        folder = WORLDS / Path(name).name.rstrip("0123456789").rstrip("-_ ")
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder


def dry_run(settings: RunSettings) -> int:
    """Print the resolved settings and the plan; 1 if the machine or cluster can't hold it."""
    print(dump_settings(settings))
    try:
        sizes = cast_sizes(settings)
        machine = machine_of(settings)
    except (ValueError, RuntimeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    plan = make_plan(settings, machine, sizes, folders_of(settings))
    print(plan_text(plan, machine))
    return 1 if plan.problems else 0


def launch(settings: RunSettings, *, again: str, takeover: bool = False) -> int:
    """Run it; the exit status. `again` is the command that goes on with it."""
    from pipeline.cluster import ClusterNotReady
    from pipeline.work import RunError, work

    try:
        folder = check_folder(settings)
        check_keys(settings)
        problems = make_plan(settings, machine_of(settings), cast_sizes(settings), folders_of(settings)).problems
        if problems:
            raise SettingsError("this run can't be done here: " + "; ".join(problems))
        asyncio.run(with_signals(lambda listen: work(settings, folder, listen=listen, takeover=takeover)))
    except (ValueError, ClusterNotReady, RunError) as error:
        print(f"\nerror: {error}", file=sys.stderr)
        return 1
    except (asyncio.CancelledError, KeyboardInterrupt):
        print(f"\nstopped; everything so far is saved. Go on with:\n  {again}", file=sys.stderr)
        return STOPPED
    return 0


async def with_signals(start: Callable[[Callable[[], None]], Awaitable[None]]) -> None:
    """Run it as a task that Ctrl-C and SIGTERM cancel once; a second signal ends the process.

    `start` gets a function that listens for signals again, to be called after a library took them for itself.
    """
    loop = asyncio.get_running_loop()
    working = asyncio.current_task()

    def stop(number: int) -> None:
        for other in _SIGNALS:
            loop.remove_signal_handler(other)
        print(f"\n{signal.Signals(number).name}: stopping cleanly …", file=sys.stderr)
        if working is not None:
            working.cancel()

    def listen() -> None:
        for number in _SIGNALS:
            loop.add_signal_handler(number, stop, number)

    listen()
    await start(listen)


def check_folder(settings: RunSettings) -> RunFolder:
    """The run's folder; SettingsError if another run lives there or a job gives a relative path. Nothing is written."""
    from pipeline.cluster import in_ray_job

    root = Path(settings.run_dir)
    if in_ray_job() and not root.is_absolute():
        raise SettingsError(
            f"run_dir = {settings.run_dir!r} is relative, but a Ray job works in a temporary copy that is deleted; "
            "give an absolute path, as run_dir=/shared/runs/first"
        )
    folder = RunFolder(root.absolute())
    if root.exists() and not root.is_dir():
        raise SettingsError(f"run_dir = {settings.run_dir!r} is a file; name a folder")
    if folder.settings.exists():
        before = check_settings(_yaml_of(folder.settings), str(folder.settings))
        refused = refused_changes(before, settings)
        if refused:
            raise SettingsError(
                f"{folder.root} holds a run with other settings:\n  "
                + "\n  ".join(refused)
                + "\nUse another run_dir, or the old values; only serving, cluster, limits, logging, sim.scheduling, "
                "rounds and steps may change"
            )
    elif root.exists() and any(path for path in root.iterdir() if not path.name.startswith("lease.json")):
        raise SettingsError(f"{folder.root} is not empty and no run; name a new or empty folder as run_dir")
    try:
        folder.root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"run_dir = {settings.run_dir!r} can't be written: {error}") from error
    return folder


def store_settings(settings: RunSettings, folder: RunFolder) -> None:
    """Write the resolved settings; only the owner of the folder may."""
    write_text(folder.settings, dump_settings(settings))


def check_keys(settings: RunSettings) -> None:
    """SettingsError if an environment variable that holds a key is not set."""
    for role, endpoint in endpoints_of(settings.serving).items():
        if endpoint.key_env and not os.environ.get(endpoint.key_env):
            raise SettingsError(
                f"serving.{role}.key_env: the environment variable {endpoint.key_env} is not set; export it, on a "
                "cluster for the Ray processes of every node"
            )


def cast_sizes(settings: RunSettings) -> dict[str, int]:
    """Characters of each world of the run; 0 for one that is not there and can be built from a shipped one."""
    from sim.world.loader import load_world

    sizes = {}
    for name in settings.worlds:
        buildable = not world_folder(name).exists() and (folder_to_extend(name) / "world.yaml").exists()
        sizes[name] = 0 if buildable else len(load_world(world_folder(name)).characters)
    return sizes


def folders_of(settings: RunSettings) -> dict[str, str]:
    """For each world of the run the folder that a larger one can be built from."""
    return {name: str(folder_to_extend(name)) for name in settings.worlds}


def machine_of(settings: RunSettings) -> Machine:
    """What there is to run on: the cluster where one is named, else this machine."""
    if settings.cluster.address or os.environ.get("RAY_ADDRESS"):
        from pipeline.cluster import connect

        there = connect(settings.cluster)
        return Machine(
            nodes=there.nodes,
            cpus=there.cpus,
            gpus=there.gpus,
            gpus_per_node=there.gpus_per_node,
            memory_gib=there.memory_gib,
            is_cluster=True,
        )
    gpus = len([path for path in Path("/dev").glob("nvidia[0-9]*") if path.name[6:].isdigit()])
    cpus = settings.cluster.logical_cpus or max(8, os.cpu_count() or 1)
    return Machine(
        nodes=1,
        cpus=cpus,
        gpus=gpus,
        gpus_per_node=gpus,
        memory_gib=check_machine.memory_gib(),
        is_cluster=False,
    )


def _yaml_of(path: Path) -> dict[str, object]:
    import yaml

    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is damaged ({error}); restore it, or use a new run_dir") from error
    if not isinstance(values, dict):
        raise SettingsError(f"{path} is damaged: it holds no settings; restore it, or use a new run_dir")
    return values


def monotonic() -> float:
    """Seconds of a clock that only goes forward."""
    return time.monotonic()
