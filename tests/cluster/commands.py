"""Runs of the real command line in processes of their own, for tests: start, wait, kill, read the tables."""

import hashlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq

ROOT = Path(__file__).parents[2]
SMOKE = ROOT / "configs" / "smoke.yaml"
SMALL = ("sim.n_agents=4", "sim.time.n_year=1", "cluster.hosts=2", "rounds=1")
LIVE_ONLY = (*SMALL, "steps=[simulate,select]")
SAME_BYTES = ("calls", "agent_years", "rewards", "advantages", "selection", "drops")


def recorded_units(run_dir: Path, round_number: int = 1) -> int:
    """Finished units in a round's journal, while somebody may be writing it."""
    path = run_dir / "rounds" / f"{round_number:02d}" / "simulate" / "apartment" / "journal.db"
    if not path.exists():
        return 0
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        return database.execute("SELECT count(*) FROM units").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        database.close()


def command(run_dir: Path, words: Sequence[str] = (), config: Path = SMOKE) -> list[str]:
    return [sys.executable, "pipeline/run.py", "--config", str(config), f"run_dir={run_dir}", *words]


def environment(**more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return clean | {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"} | more


def run(run_dir: Path, words: Sequence[str] = (), *, timeout: float = 300, config: Path = SMOKE, **more: str):
    return subprocess.run(
        command(run_dir, words, config),
        cwd=ROOT,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def start(run_dir: Path, words: Sequence[str] = (), **more: str) -> subprocess.Popen:
    return subprocess.Popen(
        command(run_dir, words),
        cwd=ROOT,
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def wait_for(condition, *, seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {seconds} s"
        time.sleep(0.05)


def kill_hard(process: subprocess.Popen) -> None:
    os.kill(process.pid, signal.SIGKILL)
    process.wait(30)


def digests(run_dir: Path) -> dict[str, str]:
    """The content of each table that must be the same in equal runs."""
    return {
        name: hashlib.sha256((run_dir / "tables" / f"{name}.parquet").read_bytes()).hexdigest() for name in SAME_BYTES
    }


def table(run_dir: Path, name: str):
    return pq.read_table(run_dir / "tables" / f"{name}.parquet").to_pandas()
