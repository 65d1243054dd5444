"""The trainer's process group: its command, its progress, and that nothing of it outlives its end."""

import asyncio
import json
import os
import sys
import time
from pathlib import Path

import pytest

from pipeline.trainer_job import LOG_FILE, TrainerFailed, finished, run_group, trainer_command
from training.settings import SftSettings
from training.sft_spec import LOSS_FILE, SftSpec

SPEC = Path("spec.json")
SLURM = {"SLURM_JOB_ID": "41234", "SLURM_JOB_NUM_NODES": "4", "SLURM_JOB_NODELIST": "n7"}
FAMILY = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print("child", child.pid, flush=True)
time.sleep(60)
"""


def test_one_process_runs_the_module():
    assert trainer_command(SPEC, SftSettings(), {}) == [sys.executable, "-m", "training.sft", "--spec", "spec.json"]


def test_one_node_runs_torchrun():
    command = trainer_command(SPEC, SftSettings(launcher="torchrun", processes=8), {})
    assert command[1:6] == ["-m", "torch.distributed.run", "--nproc-per-node", "8", "--standalone"]
    assert command[-4:] == ["-m", "training.sft", "--spec", "spec.json"]


def test_several_nodes_meet_at_the_first_host_of_the_slurm_job():
    settings = SftSettings(launcher="torchrun", processes=8, nodes=4)
    command = trainer_command(SPEC, settings, SLURM)
    assert command[0] == "srun"
    assert command[command.index("--nodes") + 1] == "4"
    assert command[command.index("--gpus-per-node") + 1] == "8"
    assert command[command.index("--rdzv-endpoint") + 1] == "n7:29234"


@pytest.mark.parametrize("environ", [{}, {**SLURM, "SLURM_JOB_NUM_NODES": "2"}])
def test_several_nodes_without_a_slurm_job_of_as_many_are_refused(environ):
    with pytest.raises(ValueError, match=r"training\.sft\.nodes = 4 needs a Slurm job"):
        trainer_command(SPEC, SftSettings(launcher="torchrun", nodes=4), environ)


def group(code, work, timeout_s=30.0, progress=None):
    return run_group([sys.executable, "-c", code], dict(os.environ), work, timeout_s, progress)


def child_of(work):
    """The id of the process that FAMILY started, once it is written."""
    for _ in range(500):
        text = (work / LOG_FILE).read_text(encoding="utf-8") if (work / LOG_FILE).is_file() else ""
        if text.endswith("\n"):
            return int(text.split()[1])
        time.sleep(0.02)
    raise AssertionError("the process never said its id")


def is_alive(pid):
    try:
        return (Path("/proc") / str(pid) / "stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pid):
    for _ in range(250):
        if not is_alive(pid):
            return True
        time.sleep(0.02)
    return False


def test_exit_code_and_log_come_back(tmp_path):
    assert asyncio.run(group("import sys; print('你好'); sys.exit(3)", tmp_path)) == 3
    assert (tmp_path / LOG_FILE).read_text(encoding="utf-8") == "你好\n"


def test_a_cancel_ends_the_whole_group(tmp_path):
    async def cancelled():
        task = asyncio.create_task(group(FAMILY, tmp_path))
        pid = await asyncio.to_thread(child_of, tmp_path)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return pid

    assert gone(asyncio.run(cancelled()))


def test_a_limit_ends_the_whole_group_and_says_so(tmp_path):
    with pytest.raises(TrainerFailed, match=r"timeout_minutes.*trainer\.log"):
        asyncio.run(group(FAMILY, tmp_path, timeout_s=1.5))
    assert gone(child_of(tmp_path))


def test_what_a_failed_leader_leaves_behind_is_ended(tmp_path):
    code = FAMILY.rsplit("time.sleep", 1)[0] + "sys.exit(1)"
    assert asyncio.run(group(code, tmp_path)) == 1
    assert gone(child_of(tmp_path))


def test_every_step_is_reported_once(tmp_path):
    code = f"""
import json, time
with open({str(tmp_path / LOSS_FILE)!r}, "a") as file:
    for step in range(3):
        line = json.dumps({{"step": step}}) + "\\n"
        file.write(line[:5]); file.flush(); time.sleep(0.3)
        file.write(line[5:]); file.flush(); time.sleep(0.3)
"""
    seen = []
    assert asyncio.run(group(code, tmp_path, progress=seen.append)) == 0
    assert seen == [{"step": 0}, {"step": 1}, {"step": 2}]
    assert json.loads((tmp_path / LOSS_FILE).read_text(encoding="utf-8").splitlines()[0]) == {"step": 0}


def test_without_a_checkpoint_nothing_is_finished(tmp_path):
    spec = SftSpec(base="m", data="d", data_digest="", checkpoint=str(tmp_path), work=str(tmp_path), seed=1)
    assert finished(spec) is None
