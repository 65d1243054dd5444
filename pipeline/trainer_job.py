"""Runs the fine-tune as a process group of its own: spec file in, checkpoint out, log to a file.

One node: `python -m training.sft`, or torchrun. Several nodes: torchrun on each of them, started by srun inside the
Slurm job that the pipeline itself runs in (see slurm/README.md).
"""

import asyncio
import contextlib
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from training.checkpoint import CheckpointError, read_checkpoint
from training.settings import SftSettings
from training.sft_spec import LOSS_FILE, METRICS_FILE, PARENT_VARIABLE, SftSpec, write_spec

log = logging.getLogger(__name__)

SPEC_FILE = "spec.json"
LOG_FILE = "trainer.log"
ROOT = Path(__file__).absolute().parent.parent
_POLL_SECONDS = 0.5
_GRACE_SECONDS = 10.0
_SHOWN_LINES = 12
_LAUNCHER_VARIABLES = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")

Progress = Callable[[Mapping[str, float]], None]


class TrainerFailed(RuntimeError):
    """The fine-tune ended without a checkpoint; the text has its last words and names its log."""


class Trained(msgspec.Struct, frozen=True, kw_only=True):
    """A finished fine-tune."""

    checkpoint: str
    weights_digest: str
    metrics: Mapping[str, Any]


async def run_trainer(
    spec: SftSpec,
    settings: SftSettings,
    *,
    environment: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Trained:
    """Fine-tune by this spec, or take the checkpoint that an earlier, interrupted run of the same spec finished.

    `environment` adds to the trainer's variables, such as CUDA_VISIBLE_DEVICES. `progress` gets every step's numbers.
    """
    work = Path(spec.work)
    earlier = finished(spec)
    if earlier is not None:
        log.info("fine-tune: %s is finished, taken as it is", spec.checkpoint)
        return earlier
    write_spec(spec, work / SPEC_FILE)
    for name in (METRICS_FILE, LOSS_FILE):
        (work / name).unlink(missing_ok=True)
    command = trainer_command(work / SPEC_FILE, settings, os.environ)
    code = await run_group(
        command, _environment(settings, environment or {}), work, settings.timeout_minutes * 60.0, progress
    )
    if code != 0:
        raise TrainerFailed(f"the fine-tune ended with exit code {code}. {_last_words(work / LOG_FILE)}")
    result = finished(spec)
    if result is None:
        raise TrainerFailed(f"the fine-tune ended without a checkpoint. {_last_words(work / LOG_FILE)}")
    return result


def finished(spec: SftSpec) -> Trained | None:
    """The result of this very spec if its checkpoint is complete; None if there is none, or it came from another."""
    folder = Path(spec.checkpoint)
    try:
        made = read_checkpoint(folder)
    except ValueError:
        return None
    if made.facts.get("spec") != spec.digest:
        raise CheckpointError(
            f"{folder} is a checkpoint of another fine-tune (other data, base or settings); remove it to train again"
        )
    written = Path(spec.work) / METRICS_FILE
    metrics = json.loads(written.read_text(encoding="utf-8")) if written.is_file() else dict(made.facts)
    return Trained(checkpoint=str(folder), weights_digest=made.weights_digest, metrics=metrics)


def trainer_command(spec_file: Path, settings: SftSettings, environ: Mapping[str, str]) -> list[str]:
    """The command line of a fine-tune; ValueError if several nodes are asked for outside a Slurm job that has them."""
    module = ["-m", "training.sft", "--spec", str(spec_file)]
    if settings.launcher == "process":
        return [sys.executable, *module]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(settings.processes)]
    if settings.nodes == 1:
        return [*torchrun, "--standalone", *module]
    have = int(environ.get("SLURM_JOB_NUM_NODES", environ.get("SLURM_NNODES", "0")))
    if have < settings.nodes:
        raise ValueError(
            f"training.sft.nodes = {settings.nodes} needs a Slurm job of as many nodes, this one has {have or 'none'}; "
            "start the run as slurm/README.md says, or set nodes to 1"
        )
    job = environ["SLURM_JOB_ID"]
    meeting = f"{_first_host(environ['SLURM_JOB_NODELIST'])}:{29000 + int(job) % 1000}"
    srun = ["srun", "--overlap", "--nodes", str(settings.nodes), "--ntasks-per-node", "1", "--kill-on-bad-exit=1"]
    if settings.device != "cpu":
        srun += ["--gpus-per-node", str(settings.processes)]
    together = ["--nnodes", str(settings.nodes), "--rdzv-backend", "c10d", "--rdzv-id", job, "--rdzv-endpoint", meeting]
    return [*srun, *torchrun, *together, *module]


def _first_host(node_list: str) -> str:
    """The first host of Slurm's compressed list."""
    if "[" not in node_list:
        return node_list.split(",")[0]
    if shutil.which("scontrol") is None:
        raise ValueError(
            "scontrol is not on the PATH, so the hosts of this Slurm job can't be told; load Slurm's tools"
        )
    shown = subprocess.run(
        ["scontrol", "show", "hostnames", node_list], capture_output=True, text=True, check=True, timeout=30
    )
    return shown.stdout.split()[0]


def _environment(settings: SftSettings, more: Mapping[str, str]) -> dict[str, str]:
    """The trainer's variables: nothing of another launcher, this source tree first, no telemetry."""
    result = {name: value for name, value in os.environ.items() if name not in _LAUNCHER_VARIABLES}
    path = [str(ROOT), *filter(None, [result.get("PYTHONPATH")])]
    result |= {
        "PYTHONPATH": os.pathsep.join(path),
        "PYTHONUNBUFFERED": "1",
        "TOKENIZERS_PARALLELISM": "false",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "DO_NOT_TRACK": "1",
    }
    if settings.launcher == "torchrun" and "OMP_NUM_THREADS" not in more:
        result["OMP_NUM_THREADS"] = str(max(1, len(os.sched_getaffinity(0)) // settings.processes))
    if settings.nodes == 1:
        result[PARENT_VARIABLE] = str(os.getpid())
    return result | dict(more)


async def run_group(
    command: list[str], environment: dict[str, str], work: Path, timeout_s: float, progress: Progress | None
) -> int:
    """Exit code of the command; its group is ended if this is cancelled or takes too long."""
    losses = _Losses(work / LOSS_FILE, progress)
    with (work / LOG_FILE).open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
            env=environment,
            cwd=ROOT,
            start_new_session=True,
        )
    try:
        async with asyncio.timeout(timeout_s):
            while process.returncode is None:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(process.wait(), _POLL_SECONDS)
                losses.pass_on()
    except TimeoutError as error:
        raise TrainerFailed(
            f"the fine-tune was stopped after {timeout_s / 60:.0f} minutes (training.sft.timeout_minutes). "
            f"{_last_words(work / LOG_FILE)}"
        ) from error
    finally:
        await _end_group(process)
    return process.returncode or 0


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """End whatever is left of the process group: politely, then by force."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            await asyncio.wait_for(process.wait(), _GRACE_SECONDS)
        except TimeoutError:
            continue
        if not _group_lives(process.pid):
            break
    if process.returncode is None:
        await process.wait()


def _group_lives(group: int) -> bool:
    """Whether any process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


class _Losses:
    """Hands the lines of the loss file on as they appear."""

    def __init__(self, path: Path, progress: Progress | None) -> None:
        self._path = path
        self._progress = progress
        self._read = 0

    def pass_on(self) -> None:
        """Report what came since the last time; a line still being written waits."""
        if self._progress is None or not self._path.is_file():
            return
        with self._path.open("rb") as file:
            file.seek(self._read)
            for line in file:
                if not line.endswith(b"\n"):
                    break
                self._read += len(line)
                self._progress(json.loads(line))


def _last_words(path: Path) -> str:
    """The end of the trainer's log, its own error first if it gave one."""
    lines = [line.rstrip() for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("fine-tune: ")]
    shown = "\n".join(own[-1:] or lines[-_SHOWN_LINES:])
    return f"Its log is {path}; it ends with:\n{shown}"
