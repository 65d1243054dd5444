"""Where a run is, while it runs: one rewritten line on a terminal, plain lines elsewhere, status.json for outsiders.

It only tells: nothing waits for it, and a terminal that went away or a full disk never stops a run.
"""

import asyncio
import logging
import shutil
from collections import Counter
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TextIO

import msgspec

from pipeline.atomic import write_json
from pipeline.report.failure_kinds import COUNTED_BY_JOURNAL, FAILURES
from pipeline.report.life_progress import Chain, LifeProgress
from pipeline.report.rates import Counts, Rate, counts_of
from pipeline.report.screen_text import clipped, duration, plain, short
from sim.core.clock import Clock
from sim.core.facts import UnitFacts, Verdict
from sim.core.keys import UnitKey
from sim.engine.executor import Executor

log = logging.getLogger(__name__)
TERMINAL_S = 0.5
MOST_STAGES = 4


class Progress:
    """The progress of one run. The owner calls `tick` often (or runs `follow`); it decides itself when to speak."""

    def __init__(
        self,
        out: TextIO,
        now: Callable[[], float],
        *,
        rounds: int,
        steps: tuple[str, ...],
        clock: Clock,
        n_agents: Mapping[str, int],
        every_s: float,
        status: Path | None = None,
    ) -> None:
        """`now` is a monotonic clock in seconds; `clock` one round's years; `status` is where status.json goes."""
        self._screen = _Screen(out)
        self._now = now
        self._n_rounds = rounds
        self._steps = steps
        self._clock = clock
        self._n_agents = dict(n_agents)
        self._every_s = every_s
        self._status = status
        self._started = now()
        self._spoken = self._stored = float("-inf")
        self._took: dict[str, float] = {}
        self._round, self._step, self._detail, self._ended = 0, "", "", False
        self._new_step()

    def begin_step(self, round_number: int, step: str, *, years_before: int = 0) -> None:
        """A step's work begins (of skipped steps nothing is told); `years_before` of a world that goes on."""
        self._close_step()
        self._round, self._step, self._detail = round_number, step, ""
        self._new_step(years_before)
        self._tell()

    def unit_done(self, world: str, unit: UnitKey, done: int, pending: int) -> None:
        """A unit of a world's life is finished."""
        self._life.unit_done(world, unit, done, pending)
        self.tick()

    def calls(self, *snapshots: Mapping[str, Any], source: Hashable = "") -> None:
        """Journals' counters now: calls, prompt_tokens, output_tokens, cached_tokens, failed (by kind).

        Counters of several sources add up: each world tells its own.
        """
        self._snapshots[source] = snapshots
        self._counts = counts_of(snapshot for told in self._snapshots.values() for snapshot in told)
        for name, rate in self._rates.items():
            rate.see(self._now(), getattr(self._counts, name))

    def judged(self, verdicts: Iterable[Verdict]) -> None:
        """What became of a finished unit's calls: failures that the journals' counters can't know of."""
        for verdict in verdicts:
            kind = FAILURES.get(verdict.drop, "")
            if kind and kind not in COUNTED_BY_JOURNAL:
                self._judged[kind] += 1

    def detail(self, text: str) -> None:
        """What the step is at, in a few words, such as `step 3/12 loss 2.31`."""
        self._detail = plain(text)
        self.tick()

    def note(self, text: str) -> None:
        """One line that stays."""
        self._screen.keep(plain(text))

    def tick(self) -> None:
        """Speak if it is time to."""
        if self._now() - self._spoken >= (TERMINAL_S if self._screen.is_terminal else self._every_s):
            self._tell()

    async def follow(self, poll: Callable[[], Awaitable[list[Mapping[str, Any]]]], *, every_s: float = 1.0) -> None:
        """Poll journals' counters and tick, until cancelled; several may be followed at once."""
        source = object()
        while True:
            self.calls(*await poll(), source=source)
            self.tick()
            await asyncio.sleep(every_s)

    def end(self, state: Literal["finished", "stopped", "failed"] = "finished") -> None:
        """The run is over; the last line stays. Only the first call counts."""
        if self._ended:
            return
        self._ended = True
        self._close_step()
        self._screen.end()
        self._screen.keep(f"{state} after {duration(self._now() - self._started)}")
        self._store(state)

    def status(self, state: str = "working") -> dict[str, Any]:
        """What status.json says."""
        weeks, (done, pending) = self._life.weeks(), self._life.units()
        left, complete = self.seconds_left()
        rates = {name: rate.per_second() for name, rate in self._rates.items()}
        return {
            "state": state,
            "round": self._round,
            "rounds": self._n_rounds,
            "step": self._step,
            "detail": self._detail,
            "elapsed_s": round(self._now() - self._started, 1),
            "left_s": None if left is None else round(left, 1),
            "left_is_complete": complete,
            "life_share": round(self._life.share(), 4),
            "weeks": list(weeks) if weeks else None,
            "units": {"done": done, "known_and_unfinished": pending},
            "agents_after_stage": self._life.stages(),
            "calls": self._counts.calls,
            "prompt_tokens": self._counts.prompt_tokens,
            "output_tokens": self._counts.output_tokens,
            "cached_share": round(self._counts.cached_share, 4),
            "failed": self._failed(),
            "per_second": {name: None if rate is None else round(rate, 2) for name, rate in rates.items()},
        }

    def line(self) -> str:
        """The progress line in full length."""
        parts = [f"round {self._round}/{self._n_rounds} {self._step}"]
        if self._detail:
            parts.append(self._detail)
        parts += self._life_parts()
        if self._counts.calls:
            parts += self._call_parts()
        left, complete = self.seconds_left()
        if left is not None:
            parts.append(f"left {'about' if complete else 'at least'} {duration(left)}")
        return " · ".join(parts)

    def seconds_left(self) -> tuple[float | None, bool]:
        """Time left, and whether it covers all that is to come: a step that never ran yet has no length to go by."""
        this = self._left_in_step()
        known = dict(self._took)
        if this is not None:
            known.setdefault(self._step, self._now() - self._step_began + this)
        coming = self._coming_steps()
        lengths = [known[step] for step in coming if step in known]
        if this is None and not lengths:
            return None, False
        return (this or 0.0) + sum(lengths), this is not None and len(lengths) == len(coming)

    def _new_step(self, years_before: int = 0) -> None:
        clock = msgspec.structs.replace(self._clock, n_year=self._clock.n_year + years_before)
        self._life = LifeProgress(Chain(clock=clock, years_before=years_before), self._n_agents)
        self._share = Rate()
        self._counts = Counts()
        self._judged: Counter[str] = Counter()
        self._snapshots: dict[Hashable, Sequence[Mapping[str, Any]]] = {}
        self._rates = {name: Rate() for name in ("calls", "prompt_tokens", "output_tokens")}
        self._step_began = self._now()

    def _close_step(self) -> None:
        if self._step:
            self._took[self._step] = self._now() - self._step_began

    def _left_in_step(self) -> float | None:
        """Time left in this step: of a life by its share done in the last minute, else by the step's length before."""
        if self._step == "simulate":
            speed, share = self._share.per_second(), self._life.share()
            return (1.0 - share) / speed if speed else None
        before = self._took.get(self._step)
        return None if before is None else max(0.0, before - (self._now() - self._step_began))

    def _coming_steps(self) -> list[str]:
        if not self._step:
            return []
        here = self._steps.index(self._step) + 1 if self._step in self._steps else len(self._steps)
        return [*self._steps[here:], *self._steps * (self._n_rounds - self._round)]

    def _life_parts(self) -> list[str]:
        weeks = self._life.weeks()
        if weeks is None:
            return []
        (low, high), (done, _) = weeks, self._life.units()
        stages = [f"{stage} {number}" for stage, number in list(self._life.stages().items())[:MOST_STAGES]]
        span = low if low == high else f"{low}..{high}"
        return [f"{span} {100 * self._life.share():.0f} % ({done} units)", f"after {', '.join(stages)}"]

    def _call_parts(self) -> list[str]:
        counts, rates = self._counts, {name: rate.per_second() for name, rate in self._rates.items()}
        parts = [f"{short(counts.calls)} calls"]
        if rates["calls"] is not None:
            parts.append(f"{rates['calls']:.1f} calls/s")
            parts.append(f"{short(rates['prompt_tokens'] or 0)} tok/s in, {short(rates['output_tokens'] or 0)} out")
        parts.append(f"cached {100 * counts.cached_share:.0f} %")
        if failed := self._failed():
            parts.append("failed " + ", ".join(f"{kind} {number}" for kind, number in failed.items()))
        return parts

    def _failed(self) -> dict[str, int]:
        """Failed answers of this step by kind."""
        return dict(sorted((self._judged + Counter(self._counts.failed)).items()))

    def _tell(self) -> None:
        if self._ended:
            return
        self._spoken = self._now()
        self._share.see(self._spoken, self._life.share())
        self._screen.show(self.line())
        if self._spoken - self._stored >= min(self._every_s, 5.0):
            self._store("working")

    def _store(self, state: str) -> None:
        self._stored = self._now()
        if self._status is None:
            return
        try:
            write_json(self._status, self.status(state))
        except OSError as error:
            log.warning("%s could not be written: %s", self._status, error)


class Told:
    """An executor whose finished units' verdicts are told."""

    def __init__(self, inner: Executor, progress: Progress) -> None:
        """Stand in front of the executor that does the work."""
        self._inner = inner
        self._progress = progress

    async def run(
        self, unit: UnitKey, participants: tuple[str, ...], needed: Mapping[UnitKey, Mapping[str, Any]]
    ) -> UnitFacts:
        """Have the unit done."""
        facts = await self._inner.run(unit, participants, needed)
        self._progress.judged(facts.verdicts)
        return facts


class _Screen:
    """Where lines go: rewritten in place on a terminal, one after the other elsewhere; silent once it is gone."""

    def __init__(self, out: TextIO) -> None:
        self._out: TextIO | None = out
        self._open_line = False
        try:
            self.is_terminal = out.isatty()
        except ValueError:
            self.is_terminal = False

    def show(self, line: str) -> None:
        """The line of now, in place of the one before."""
        if self.is_terminal:
            columns = shutil.get_terminal_size().columns
            self._write(f"\r{clipped(line, max(20, columns - 1))}\x1b[K")
            self._open_line = True
        else:
            self._write(f"{line}\n")

    def keep(self, line: str) -> None:
        """A line that stays, above the line of now."""
        self._write(f"\r\x1b[K{line}\n" if self._open_line else f"{line}\n")
        self._open_line = False

    def end(self) -> None:
        """Leave the line of now where it is."""
        if self._open_line:
            self._write("\n")
        self._open_line = False

    def _write(self, text: str) -> None:
        if self._out is None:
            return
        encoding = getattr(self._out, "encoding", None) or "utf-8"
        try:
            self._out.write(text.encode(encoding, "replace").decode(encoding))
            self._out.flush()
        except (OSError, ValueError):
            self._out = None
