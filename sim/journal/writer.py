"""One thread that writes: whatever is waiting goes into one transaction, and is acknowledged once that is durable.

A transaction begins by asking whether this attempt may still write; one that was taken over never writes again.
"""

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from pathlib import Path

from sim.journal.lease import Lease
from sim.journal.protocol import JournalConflict, JournalError, JournalFenced
from sim.journal.tables import Write, apply, attempt_of

BATCH = 2000
BEAT_S = 10.0
_FULL = {"SQLITE_FULL", "SQLITE_IOERR", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_FSYNC", "SQLITE_IOERR_SHMSIZE"}

Outcomes = list[JournalConflict | None]


class _Job:
    """Writes that are acknowledged together; each has its own outcome."""

    __slots__ = ("done", "writes")

    def __init__(self, writes: Sequence[Write]) -> None:
        self.writes = writes
        self.done: Future[Outcomes] = Future()


class Writer:
    """Owns the writing connection."""

    def __init__(
        self, database: sqlite3.Connection, path: Path, lease: Lease, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Start the thread; the connection is its own from now on."""
        self._database = database
        self._path = path
        self._lease = lease
        self._clock = clock
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"journal {path.name}", daemon=True)
        self._thread.start()

    def submit(self, writes: Sequence[Write]) -> Future[Outcomes]:
        """Hand writes over; the future tells when they are durable, and which of them conflict."""
        job = _Job(writes)
        if self._closed.is_set():
            job.done.set_exception(self._closed_error())
            return job.done
        self._jobs.put(job)
        return job.done

    def close(self, timeout_s: float = 60.0) -> None:
        """Write what is waiting, then stop; JournalError if that takes too long."""
        self._closed.set()
        self._jobs.put(None)
        self._thread.join(timeout_s)
        if self._thread.is_alive():
            raise JournalError(f"{self._path} could not be closed within {timeout_s:.0f} s; is its disk reachable?")

    def _run(self) -> None:
        try:
            self._serve()
        finally:
            self._closed.set()
            self._database.close()
            self._refuse_waiting()

    def _serve(self) -> None:
        """Write and beat until the end is asked for."""
        beat_at = self._clock()
        while True:
            if self._clock() >= beat_at:
                self._lease.beat()
                beat_at = self._clock() + BEAT_S
            try:
                first = self._jobs.get(timeout=BEAT_S)
            except queue.Empty:
                continue
            jobs, ended = self._waiting(first)
            if jobs:
                self._commit(jobs)
            if ended:
                return

    def _refuse_waiting(self) -> None:
        """Nobody may wait for a thread that has ended."""
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job is not None and job.done.set_running_or_notify_cancel():
                job.done.set_exception(self._closed_error())

    def _closed_error(self) -> JournalError:
        return JournalError(f"{self._path} is closed; open it again to write")

    def _waiting(self, first: _Job | None) -> tuple[list[_Job], bool]:
        """The jobs that wait now, at most a batch, without those whose caller has gone; and whether this is the end."""
        jobs: list[_Job] = []
        many, job = 0, first
        while job is not None:
            if job.done.set_running_or_notify_cancel():
                jobs.append(job)
                many += len(job.writes)
            if many >= BATCH:
                return jobs, False
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return jobs, False
        return jobs, True

    def _commit(self, jobs: list[_Job]) -> None:
        """One durable transaction; all jobs learn of it or of its failure."""
        try:
            outcomes = self._transaction(jobs)
        except (sqlite3.Error, JournalError, ValueError, OverflowError) as error:
            failure = self._explained(error)
            for job in jobs:
                job.done.set_exception(failure)
        else:
            for job, outcome in zip(jobs, outcomes, strict=True):
                job.done.set_result(outcome)
        finally:
            for job in jobs:
                if not job.done.done():
                    job.done.set_exception(self._closed_error())

    def _transaction(self, jobs: list[_Job]) -> list[Outcomes]:
        database = self._database
        database.execute("BEGIN IMMEDIATE")
        try:
            attempt = attempt_of(database)
            if attempt != self._lease.attempt:
                raise JournalFenced(
                    f"{self._path} was taken over by attempt {attempt}; attempt {self._lease.attempt} may not write "
                    "any more: end this process"
                )
            outcomes = [[self._one(write) for write in job.writes] for job in jobs]
            database.execute("COMMIT")
        finally:
            if database.in_transaction:
                database.execute("ROLLBACK")
        return outcomes

    def _one(self, write: Write) -> JournalConflict | None:
        try:
            apply(self._database, write, self._lease.attempt)
        except JournalConflict as conflict:
            return conflict
        return None

    def _explained(self, error: Exception) -> JournalError:
        if isinstance(error, JournalError):
            return error
        if getattr(error, "sqlite_errorname", "") in _FULL:
            return JournalError(
                f"{self._path} can't be written ({error}): its disk is full or failing. Free space and start the same "
                "command again; everything that was acknowledged is there, and nothing else counts"
            )
        return JournalError(f"{self._path} can't be written: {error}")
