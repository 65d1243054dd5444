"""The real command on a real local Ray: killed, interrupted, crowded, it ends with the bytes of an undisturbed run."""

import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest
from commands import (
    LIVE_ONLY,
    ROOT,
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

pytestmark = pytest.mark.ray


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    done = run(folder, LIVE_ONLY)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_run_leaves_tables_that_pandas_reads(undisturbed):
    calls = table(undisturbed, "calls")
    assert len(calls) > 100
    assert set(calls["role"]) == {"policy", "environment"}
    assert len(table(undisturbed, "rewards")) == 4
    assert len(table(undisturbed, "timings")) == len(calls)
    assert table(undisturbed, "selection")["selected"].sum() == 1


@pytest.mark.parametrize("units", [15, 45, 75])
def test_kill_9_in_the_middle_of_a_week_changes_no_byte(undisturbed, tmp_path, units):
    folder = tmp_path / "killed"
    process = start(folder, LIVE_ONLY)
    wait_for(lambda: recorded_units(folder) >= units or process.poll() is not None, seconds=120, what=f"{units} units")
    kill_hard(process)
    before = recorded_units(folder)
    assert not (folder / "tables").exists()
    again = run(folder, LIVE_ONLY)
    assert again.returncode == 0, again.stdout + again.stderr
    assert before >= units
    assert digests(folder) == digests(undisturbed)


@pytest.mark.parametrize("victim", ["AgentHost", "JournalActor"])
def test_an_actor_that_dies_in_the_middle_of_a_week_changes_no_byte(undisturbed, tmp_path, victim):
    folder = tmp_path / "bereaved"
    process = start(folder, LIVE_ONLY)
    wait_for(lambda: recorded_units(folder) >= 30 or process.poll() is not None, seconds=120, what="30 units")
    family = psutil.Process(process.pid).children(recursive=True)
    victims = [child for child in family if f"ray::{victim}" in " ".join(child.cmdline())]
    assert victims, [child.cmdline() for child in family]
    victims[0].kill()
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    assert digests(folder) == digests(undisturbed)


def test_ctrl_c_stops_cleanly_says_how_to_go_on_and_goes_on(undisturbed, tmp_path):
    folder = tmp_path / "stopped"
    process = start(folder, LIVE_ONLY)
    wait_for(lambda: recorded_units(folder) >= 20 or process.poll() is not None, seconds=120, what="20 units")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=90)
    assert process.returncode == 130, output
    assert "Go on with:" in output
    assert "Traceback" not in output
    again = run(folder, LIVE_ONLY)
    assert again.returncode == 0, again.stdout + again.stderr
    assert digests(folder) == digests(undisturbed)


def test_hosts_and_barriers_change_no_byte(undisturbed, tmp_path):
    folder = tmp_path / "other"
    done = run(folder, [*LIVE_ONLY, "cluster.hosts=3", "sim.scheduling.barriers=true"])
    assert done.returncode == 0, done.stdout + done.stderr
    assert digests(folder) == digests(undisturbed)


def test_a_second_run_on_the_folder_is_refused_with_the_owner(tmp_path):
    folder = tmp_path / "shared"
    first = start(folder, LIVE_ONLY)
    try:
        wait_for(lambda: recorded_units(folder) >= 5 or first.poll() is not None, seconds=120, what="5 units")
        second = run(folder, LIVE_ONLY, timeout=120)
        assert second.returncode == 1
        assert str(first.pid) in second.stderr
    finally:
        kill_hard(first)


def test_a_finished_run_is_not_done_again(undisturbed):
    began = time.time_ns()
    done = run(undisturbed, LIVE_ONLY)
    assert done.returncode == 0, done.stdout + done.stderr
    journal = undisturbed / "rounds" / "01" / "simulate" / "apartment" / "journal.db"
    assert journal.stat().st_mtime_ns < began


def test_other_settings_for_an_existing_run_are_refused(undisturbed):
    done = run(undisturbed, [*LIVE_ONLY, "seed=99"])
    assert done.returncode == 1
    assert "seed: 1 → 99" in done.stderr


def test_show_prints_a_week(undisturbed):
    agent = table(undisturbed, "rewards")["agent"][0]
    words = [*command(undisturbed)[:2], "--show", str(undisturbed), "--agent", agent, "--week", "Y1-W2"]
    shown = subprocess.run(words, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60, check=True)
    assert agent in shown.stdout
    words[words.index(agent)] = "Nobody Atall"
    refused = subprocess.run(
        words, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert refused.returncode == 2
    assert agent in refused.stderr
