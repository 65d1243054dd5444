"""One writer at a time: a claim file with an attempt id that only rises, kept fresh by a heartbeat.

A claim is made by creating a file that must not exist yet, so of two takers one wins. The heartbeat is the file's own
time of change and is compared with that of a file written next to it, so no clocks need to agree. A claim may be taken
over when it was given back, its process is dead, or its heartbeat stopped.
"""

import os
import re
import socket
from collections.abc import Callable
from pathlib import Path

import msgspec

from sim.journal.protocol import JournalBusy

STALE_AFTER_S = 60.0


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds a claim. `started` tells a process from a later one with the same number."""

    host: str
    pid: int
    started: str = ""


class _Claim(msgspec.Struct, frozen=True, kw_only=True):
    """Content of a claim file."""

    attempt: int
    holder: Holder
    released: bool = False


def this_process() -> Holder:
    """The running process."""
    pid = os.getpid()
    return Holder(host=socket.gethostname(), pid=pid, started=_start_of(pid))


def is_alive(holder: Holder) -> bool:
    """Whether a process of this machine still runs, and is not another one with its number."""
    try:
        os.kill(holder.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return not holder.started or _start_of(holder.pid) == holder.started


def _start_of(pid: int) -> str:
    """The kernel's start time of a process; "" where the system does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return stat.rsplit(")", 1)[-1].split()[19]


class Lease:
    """A claim that this process holds."""

    def __init__(self, path: Path, attempt: int, holder: Holder) -> None:
        """Use `take`."""
        self.path = path
        self.attempt = attempt
        self._holder = holder

    @classmethod
    def take(
        cls,
        journal: Path,
        *,
        above: int = 0,
        stale_after_s: float = STALE_AFTER_S,
        holder: Holder | None = None,
        alive: Callable[[Holder], bool] = is_alive,
    ) -> "Lease":
        """Claim a journal with an attempt id above `above` and all earlier ones; JournalBusy if somebody is at work."""
        me = holder or this_process()
        now = _time_at(journal, me)
        claims = _claims(journal)
        for path in claims.values():
            _refuse_if_live(journal, path, now, stale_after_s, me.host, alive)
        attempt = max([above, *claims]) + 1
        path = journal.with_name(f"{journal.name}.lease.{attempt}")
        try:
            _write(path, _Claim(attempt=attempt, holder=me))
        except FileExistsError:
            raise JournalBusy(f"{journal}: another process took the journal just now; try again later") from None
        for old in claims.values():
            old.unlink(missing_ok=True)
        return cls(path, attempt, me)

    def beat(self) -> bool:
        """Show a sign of life; False if the claim is gone, because somebody took it over."""
        try:
            os.utime(self.path)
        except OSError:
            return self.path.exists()
        return True

    def release(self) -> None:
        """Give the claim back, so that the next taker need not wait; its attempt id stays used."""
        if self.path.exists():
            draft = self.path.with_name(f"{self.path.name}.released")
            draft.unlink(missing_ok=True)
            _write(draft, _Claim(attempt=self.attempt, holder=self._holder, released=True))
            os.replace(draft, self.path)


def _time_at(journal: Path, me: Holder) -> float:
    """The present time of the journal's file system."""
    probe = journal.with_name(f"{journal.name}.lease.time.{me.host}.{me.pid}")
    probe.write_bytes(b"")
    try:
        return probe.stat().st_mtime
    finally:
        probe.unlink(missing_ok=True)


def _claims(journal: Path) -> dict[int, Path]:
    """All claim files of a journal by attempt."""
    pattern = re.compile(re.escape(journal.name) + r"\.lease\.(\d+)")
    found = ((pattern.fullmatch(path.name), path) for path in journal.parent.iterdir())
    return {int(match.group(1)): path for match, path in found if match is not None}


def _refuse_if_live(
    journal: Path, path: Path, now: float, stale_after_s: float, host: str, alive: Callable[[Holder], bool]
) -> None:
    try:
        silent_s = now - path.stat().st_mtime
        content = path.read_bytes()
    except FileNotFoundError:
        return
    try:
        claim = msgspec.json.decode(content, type=_Claim)
    except msgspec.DecodeError:
        claim = _Claim(attempt=0, holder=Holder(host="an unknown host", pid=0))
    dead = claim.holder.host == host and not alive(claim.holder)
    if claim.released or dead or silent_s > stale_after_s:
        return
    raise JournalBusy(
        f"{journal} is being written by process {claim.holder.pid} on {claim.holder.host} (attempt {claim.attempt}, "
        f"last sign of life {max(0.0, silent_s):.0f} s ago). Wait until it ends, or stop it: it is taken over once it "
        f"is dead or silent for {stale_after_s:.0f} s. If it is surely gone, delete {path} and start again."
    )


def _write(path: Path, claim: _Claim) -> None:
    with path.open("xb") as file:
        file.write(msgspec.json.encode(claim))
        file.flush()
        os.fsync(file.fileno())
