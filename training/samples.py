"""Which journaled calls may be learnt from: calls of selected agents joined with what became of them, drops counted.

Light on purpose: a sample names its call and carries numbers; prompt and answer are fetched by key only when the data
set is written, so a round of any size fits in memory. Order of the calls never matters.
"""

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

import msgspec

from sim.core.facts import Verdict
from sim.core.keys import parse_unit
from training.filters import DropReason, drop_label, drop_reason
from training.mixing import Row, draw_evenly

Source = Literal["roleplay", "environment", "general"]
Rater = tuple[str, str, int]
"""World, agent, year."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One journaled model call, without its prompt."""

    world: str
    key: str
    unit: str
    """Text form of its unit of work."""
    agent: str
    """"" for the environment model."""
    duty: str
    finish: str
    """stop | length | unanswered."""
    answer: str
    fallback: bool = False
    other_model: bool = False
    """Of an agent whom another model plays than the one that is trained."""
    prompt_tokens: int = 0
    output_tokens: int = 0
    prompt_digest: str = ""
    """Set where the server gave token ids: then its counts are the model's own."""
    model: str = ""
    """Served id, `name@version`."""


class Sample(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One call that may be trained on. Its numbers say everything but the text."""

    world: str
    key: str
    source: Source
    agent: str
    year: int
    week: int
    stage: str
    duty: str
    advantage: float
    """Of the agent in that year; 0 for the environment model."""
    prompt_tokens: int
    """0 where the server did not count with the model's tokenizer."""
    output_tokens: int
    """With the end-of-turn token."""
    prompt_digest: str
    """"" where the ids are not the trained model's."""
    model: str
    status: str


class Drop(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """A kind of calls that were left out, and how many."""

    source: Source
    reason: str
    stage: str
    calls: int


class Collected(msgspec.Struct, frozen=True, kw_only=True):
    """Samples by world and key, and what was left out."""

    samples: tuple[Sample, ...]
    drops: tuple[Drop, ...]


class DropCounter:
    """Counts drops by source, reason and stage."""

    def __init__(self) -> None:
        """Nothing counted yet."""
        self._calls: dict[tuple[Source, str, str], int] = {}

    def add(self, source: Source, reason: str, stage: str, calls: int = 1) -> None:
        """Count calls that were left out."""
        key = (source, reason, stage)
        self._calls[key] = self._calls.get(key, 0) + calls

    def take_in(self, drops: Iterable["Drop"]) -> None:
        """Count what another counter reported."""
        for drop in drops:
            self.add(drop.source, drop.reason, drop.stage, drop.calls)

    def report(self) -> tuple[Drop, ...]:
        """The counts, sorted."""
        return tuple(
            Drop(source=source, reason=reason, stage=stage, calls=self._calls[source, reason, stage])
            for source, reason, stage in sorted(self._calls)
        )


def collect_samples(
    calls: Iterable[Call],
    verdicts: Mapping[tuple[str, str], Verdict],
    advantages: Mapping[Rater, float],
    *,
    count: Callable[[str], int],
    model: str = "",
    environment_years: frozenset[int] = frozenset(),
) -> Collected:
    """Samples of the selected (world, agent, year) in `advantages`, and of the environment model in the given years.

    `verdicts` is by (world, key). A call of somebody who was not selected is no candidate and no drop; so are all calls
    of year 0. Token numbers are the server's where it served `model` (a name without version; "" for any) and gave
    ids; otherwise they come from another tokenizer, and `count` counts the answer anew.
    """
    samples: list[Sample] = []
    drops = DropCounter()
    for call in calls:
        unit = parse_unit(call.unit)
        advantage = _advantage(call, unit.year, advantages, environment_years)
        if advantage is None:
            continue
        source: Source = "roleplay" if call.agent else "environment"
        verdict = verdicts.get((call.world, call.key))
        reason = drop_reason(
            verdict,
            finish=call.finish,
            text=call.answer,
            fallback=call.fallback,
            other_model=call.other_model,
        )
        if reason is not None or verdict is None:
            drops.add(source, drop_label(reason or DropReason.UNUSED, verdict), unit.stage)
            continue
        own = bool(call.prompt_digest) and model in ("", call.model.rpartition("@")[0])
        samples.append(
            Sample(
                world=call.world,
                key=call.key,
                source=source,
                agent=call.agent,
                year=unit.year,
                week=unit.week,
                stage=unit.stage,
                duty=call.duty,
                advantage=advantage,
                prompt_tokens=call.prompt_tokens if own else 0,
                output_tokens=call.output_tokens if own else count(call.answer) + 1,
                prompt_digest=call.prompt_digest if own else "",
                model=call.model,
                status=verdict.status,
            )
        )
    return Collected(samples=tuple(sorted(samples)), drops=drops.report())


def _advantage(
    call: Call, year: int, advantages: Mapping[Rater, float], environment_years: frozenset[int]
) -> float | None:
    """The advantage with which a call is a candidate, or None if it is none."""
    if year == 0:
        return None
    if call.agent:
        return advantages.get((call.world, call.agent, year))
    return 0.0 if year in environment_years else None


def cap_samples(samples: tuple[Sample, ...], most: int, seed: int, drops: DropCounter) -> tuple[Sample, ...]:
    """At most so many samples, drawn by seed and kept in order (0: all); the rest is counted as `cap`."""
    if not most or len(samples) <= most:
        return samples
    kept = sorted(random.Random(seed).sample(range(len(samples)), most))
    chosen = set(kept)
    for index, sample in enumerate(samples):
        if index not in chosen:
            drops.add(sample.source, "cap", sample.stage)
    return tuple(samples[index] for index in kept)


def draw_environment(
    samples: tuple[Sample, ...], roleplay_tokens: int, share: float, seed: int, drops: DropCounter
) -> tuple[Sample, ...]:
    """Environment samples of about this share of the role-play output tokens, duties in turn; the rest is counted."""
    by_id = {sample_id(sample): sample for sample in samples}
    by_duty: dict[str, list[Row]] = {}
    for name, sample in by_id.items():
        by_duty.setdefault(sample.duty, []).append(Row(id=name, tokens=sample.output_tokens))
    drawn = {row.id for row in draw_evenly(by_duty, roleplay_tokens * share, seed=seed)}
    for name, sample in by_id.items():
        if name not in drawn:
            drops.add("environment", "not_drawn", sample.stage)
    return tuple(sample for name, sample in by_id.items() if name in drawn)


def sample_id(sample: Sample) -> str:
    """A sample's name among those of all worlds."""
    return f"{sample.world}\x1f{sample.key}"
