"""Claims: one holder, attempts that only rise, take-over of the dead and the silent, never of the living."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sim.journal.lease import Holder, Lease, is_alive, this_process
from sim.journal.protocol import JournalBusy

HERE = this_process()
ELSEWHERE = Holder(host="another-host", pid=4711, started="1")


def silent_for(lease: Lease, seconds: float) -> None:
    changed = lease.path.stat().st_mtime - seconds
    os.utime(lease.path, (changed, changed))


def test_attempts_rise_whatever_happens_to_the_files(tmp_path: Path) -> None:
    journal = tmp_path / "日記.journal"
    first = Lease.take(journal)
    first.release()
    second = Lease.take(journal)
    assert (first.attempt, second.attempt) == (1, 2)
    assert not first.path.exists()
    second.path.unlink()
    assert Lease.take(journal, above=2).attempt == 3


def test_a_living_holder_elsewhere_is_respected_until_it_is_silent(tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    lease = Lease.take(journal, holder=ELSEWHERE)
    silent_for(lease, 59)
    with pytest.raises(
        JournalBusy, match=r"process 4711 on another-host \(attempt 1, last sign of life (58|59|60) s ago"
    ):
        Lease.take(journal)
    silent_for(lease, 61)
    taken = Lease.take(journal)
    assert taken.attempt == 2
    assert not lease.beat()
    assert taken.beat()


def test_a_beat_is_a_sign_of_life(tmp_path: Path) -> None:
    lease = Lease.take(tmp_path / "journal", holder=ELSEWHERE)
    silent_for(lease, 1000)
    assert lease.beat()
    with pytest.raises(JournalBusy):
        Lease.take(tmp_path / "journal")


def test_the_dead_of_this_machine_need_no_waiting(tmp_path: Path) -> None:
    child = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    dead = Holder(host=HERE.host, pid=int(child.stdout))
    Lease.take(tmp_path / "journal", holder=dead)
    assert Lease.take(tmp_path / "journal").attempt == 2


def test_a_later_process_with_the_same_number_is_another_one() -> None:
    assert is_alive(HERE)
    assert not is_alive(Holder(host=HERE.host, pid=HERE.pid, started="1")) or not HERE.started


def test_a_dead_number_on_another_host_says_nothing(tmp_path: Path) -> None:
    Lease.take(tmp_path / "journal", holder=ELSEWHERE)
    with pytest.raises(JournalBusy):
        Lease.take(tmp_path / "journal", alive=lambda holder: False)


def test_an_unreadable_claim_counts_while_it_is_fresh(tmp_path: Path) -> None:
    claim = tmp_path / "journal.lease.7"
    claim.write_bytes(b"")
    with pytest.raises(JournalBusy, match="unknown host"):
        Lease.take(tmp_path / "journal")
    os.utime(claim, (1, 1))
    assert Lease.take(tmp_path / "journal").attempt == 8


def test_giving_back_a_lost_claim_does_not_touch_the_new_one(tmp_path: Path) -> None:
    old = Lease.take(tmp_path / "journal", holder=ELSEWHERE)
    silent_for(old, 1000)
    new = Lease.take(tmp_path / "journal")
    old.release()
    assert sorted(path.name for path in tmp_path.iterdir()) == [new.path.name]
    with pytest.raises(JournalBusy):
        Lease.take(tmp_path / "journal")
