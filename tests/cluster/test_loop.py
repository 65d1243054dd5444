"""The whole loop by the real command: scripted with a real fine-tune, with faults, as a Ray job; and with real vLLM."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from commands import (
    ROOT,
    SMALL,
    command,
    digests,
    environment,
    kill_hard,
    recorded_units,
    run,
    start,
    table,
    wait_for,
)

FAULTS = {"malformed": 0.3, "empty": 0.05, "truncated": 0.05, "unanswered": 0.02}
FAULTY = [
    f"serving.{role}.faults.{kind}={share}" for role in ("policy", "environment") for kind, share in FAULTS.items()
]
SMALL_ENGINE = (
    "sim.n_agents=3",
    "sim.time.n_year=1",
    "sim.time.n_week=1",
    "sim.time.n_day=1",
    "sim.time.n_contact=1",
    "training.min_rows=1",
    "training.mixture.max_roleplay_rows=4",
    "cluster.hosts=1",
)


def manifest(run_dir: Path, number: int, step: str) -> dict:
    return json.loads((run_dir / "rounds" / f"{number:02d}" / step / "manifest.json").read_text(encoding="utf-8"))[
        "notes"
    ]


@pytest.mark.ray
@pytest.mark.engine
def test_two_rounds_with_a_scripted_model_and_a_real_fine_tune(tmp_path):
    folder = tmp_path / "smoke"
    done = run(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    for number in (1, 2):
        assert manifest(folder, number, "finetune")["trained"]
        assert manifest(folder, number, "redeploy")["version"] == f"r{number + 1}"
        assert (folder / "rounds" / f"{number:02d}" / "finetune" / "checkpoint" / "README.md").is_file()
    calls = table(folder, "calls")
    assert set(calls[calls["round"] == 1]["model"]) == {"scripted@r1"}
    assert set(calls[calls["round"] == 2]["model"]) == {"scripted@r2"}
    first, second = (manifest(folder, number, "finetune")["weights_digest"] for number in (1, 2))
    assert first != second
    assert "role-play" in done.stdout


@pytest.mark.ray
@pytest.mark.engine
def test_a_run_killed_in_its_second_round_goes_on_and_can_be_extended(tmp_path):
    words = [*SMALL[:-1], "training.min_rows=1"]
    undisturbed, killed = tmp_path / "undisturbed", tmp_path / "killed"
    assert run(undisturbed, words).returncode == 0
    process = start(killed, words)
    wait_for(lambda: recorded_units(killed, 2) >= 15 or process.poll() is not None, seconds=240, what="round 2")
    kill_hard(process)
    again = run(killed, words)
    assert again.returncode == 0, again.stdout + again.stderr
    assert digests(killed) == digests(undisturbed)
    finished = run(killed, words)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    longer = run(killed, [*words, "rounds=3"])
    assert longer.returncode == 0, longer.stdout + longer.stderr
    assert set(table(killed, "calls")["model"]) == {"scripted@r1", "scripted@r2", "scripted@r3"}


@pytest.mark.ray
@pytest.mark.engine
def test_a_world_that_goes_on_is_trained_on_in_every_round(tmp_path):
    folder = tmp_path / "goes_on"
    done = run(folder, [*SMALL[:-1], "training.min_rows=1", "world=continue"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(set(table(folder, "rewards")["year"])) == [1, 2]
    assert manifest(folder, 2, "finetune")["trained"]


@pytest.mark.ray
@pytest.mark.engine
def test_bad_answers_are_counted_by_kind_and_never_trained_on(tmp_path):
    folder = tmp_path / "faulty"
    done = run(folder, FAULTY)
    assert done.returncode == 0, done.stdout + done.stderr
    calls = table(folder, "calls")
    kinds = Counter(calls["drop"])
    for kind in FAULTS:
        assert kinds[kind], f"no call is counted as {kind}: {kinds}"
    assert kinds["empty"] / len(calls) == pytest.approx(FAULTS["empty"], abs=0.025)
    assert kinds["truncated"] / len(calls) == pytest.approx(FAULTS["truncated"], abs=0.025)
    dropped = {(line.round, line.key) for line in calls[calls["drop"] != ""].itertuples()}
    for number in (1, 2):
        rows = pd.read_parquet(folder / "rounds" / f"{number:02d}" / "finetune" / "train.parquet")
        played = rows[rows["source"] == "roleplay"]
        assert len(played)
        assert not {(number, key) for key in played["key"]} & dropped
        assert (rows["answer"].str.strip() != "").all()


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


@pytest.fixture
def ray_head(tmp_path):
    """A cluster of one node started as a user would, with the token authentication that Ray turns on."""
    token = tmp_path / "token"
    token.write_text("0123456789abcdef" * 4, encoding="utf-8")
    token.chmod(0o600)
    ports = {
        name: free_port()
        for name in ("port", "dashboard-port", "dashboard-agent-listen-port", "ray-client-server-port")
    }
    env = environment(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN_PATH=str(token), RAY_USAGE_STATS_ENABLED="0")
    words = [f"--{name}={port}" for name, port in ports.items()]
    ray = str(Path(sys.executable).with_name("ray"))
    head = subprocess.Popen(
        [ray, "start", "--head", "--block", "--num-cpus=8", "--disable-usage-stats", *words],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield ray, env, f"http://127.0.0.1:{ports['dashboard-port']}"
    finally:
        os.killpg(head.pid, signal.SIGTERM)
        try:
            head.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(head.pid, signal.SIGKILL)


@pytest.mark.ray
@pytest.mark.engine
def test_ray_job_submit_runs_the_smoke_config(ray_head, tmp_path):
    ray, env, address = ray_head
    folder = tmp_path / "job"

    def submit(run_dir: str, *words: str) -> subprocess.CompletedProcess:
        python = [sys.executable, *command(Path(run_dir), words)[1:]]
        full = [ray, "job", "submit", "--address", address, "--working-dir", str(tmp_path / "tree"), "--", *python]
        return subprocess.run(full, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=400, check=False)

    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split(
        "\n"
    )
    for name in filter(None, tracked):
        target = tmp_path / "tree" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    deadline = time.monotonic() + 120
    while (relative := submit("runs/relative")).returncode and "relative" not in relative.stdout + relative.stderr:
        assert time.monotonic() < deadline, relative.stdout + relative.stderr
        time.sleep(2)
    done = submit(str(folder))
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert set(table(folder, "calls")["model"]) == {"scripted@r1", "scripted@r2"}


@pytest.mark.ray
@pytest.mark.engine
def test_a_small_loop_with_a_real_model_in_real_vllm(tmp_path):
    folder = tmp_path / "engine"
    done = run(folder, SMALL_ENGINE, timeout=900, config=ROOT / "configs" / "laptop.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    calls = table(folder, "calls")
    for number in (1, 2):
        assert set(calls[calls["round"] == number]["model"]) == {f"shared@r{number}"}
    trained, proof = manifest(folder, 1, "finetune"), manifest(folder, 1, "redeploy")
    assert trained["trained"]
    assert proof["weights_digest"] == trained["weights_digest"]
    for role in ("policy", "environment"):
        mine = calls[calls["role"] == role]
        own = mine[mine["status"].isin(["ok", "repaired"]) & (mine["finish"] == "stop")]
        assert len(own) >= len(mine) / 2, f"{role}: {len(own)} of {len(mine)} answers are the model's own"
    rows = pd.read_parquet(folder / "rounds" / "01" / "finetune" / "train.parquet")
    assert set(rows["source"]) == {"roleplay", "general"}
    tokens = rows.groupby("source")["output_tokens"].sum()
    shortest = rows["output_tokens"].min()
    assert abs(tokens["roleplay"] - tokens["general"]) <= max(0.01 * tokens.sum(), shortest / 2)
