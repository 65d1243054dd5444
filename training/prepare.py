"""From journaled calls to the training data: collect, cut to size, distil general answers, mix, write; in one page.

Reads nothing by itself: calls, prompts and answers come from what it is handed, so the result depends on them, the
settings and the seed alone.
"""

import math
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from sim.core.facts import Verdict
from sim.core.keys import Scope, seed_of
from training.general import Prompt
from training.mixing import Mixture, Row, general_tokens_wanted, mix
from training.rows_file import TrainRow, write_rows
from training.samples import (
    Call,
    Drop,
    DropCounter,
    Rater,
    Sample,
    cap_samples,
    collect_samples,
    draw_environment,
    sample_id,
)
from training.self_distil import WAVE, DistilAnswer, DistilAsk, Distilled, GeneralRow, distil
from training.settings import TrainingSettings
from training.tokens import ChatTokenizer, counter

DATA_FILE = "train.parquet"
REPORT_FILE = "prepared.json"
SMALLEST_WAVE = 8
"""Prompts that are asked at once at least; more where more is needed, so that few are asked in vain."""


class Content(msgspec.Struct, frozen=True, kw_only=True):
    """The text of a call, fetched when its row is written."""

    messages: tuple[Mapping[str, str], ...]
    answer: str
    token_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """Everything that the data set is made from."""

    calls: Iterable[Call]
    verdicts: Mapping[tuple[str, str], Verdict]
    """By (world, key)."""
    advantages: Mapping[Rater, float]
    """Of the selected (world, agent, year) only."""
    content_of: Callable[[Sample], Content]
    open_pass: Callable[[int], Iterator[Prompt]]
    ask: Callable[[DistilAsk], Awaitable[DistilAnswer]]
    tokenizer: ChatTokenizer
    years_before: int = 0
    """Years lived before this round, of worlds that go on; `selection.years` counts from there."""
    model: str = ""
    """Served name of the model that is trained, without version; "" for any."""


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One source's share of the data set."""

    source: str
    rows: int
    output_tokens: int


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a round's calls. Without `enough` rows there is no data set, and the old weights stay."""

    enough: bool
    data: str = ""
    """Name of the Parquet file in the step's folder."""
    rows: int = 0
    parts: tuple[Part, ...] = ()
    asked: int = 0
    """General prompts that were answered by the current model."""
    gap_tokens: float = 0.0
    """Output tokens by which the general half misses its goal, and by which it may."""
    allowed_gap_tokens: float = 0.0
    drops: tuple[Drop, ...]
    too_long: tuple[str, ...] = ()
    """Keys of rows beyond training.sft.max_length."""


async def prepare(inputs: Inputs, settings: TrainingSettings, folder: Path, scope: Scope) -> Prepared:
    """Make the data set in `folder`, with its report beside it."""
    drops = DropCounter()
    too_long: list[str] = []
    samples = _roleplay_half(inputs, settings, scope, drops, too_long)
    if sum(sample.source == "roleplay" for sample in samples) < settings.min_rows:
        return _report(folder, Prepared(enough=False, drops=drops.report(), too_long=tuple(too_long)))
    distilled = await _general_half(inputs, settings, scope, samples)
    drops.take_in(distilled.drops)
    general = distilled.rows
    mixture = mix(
        [Row(id=sample_id(sample), tokens=sample.output_tokens) for sample in samples],
        [Row(id=row.key, tokens=row.output_tokens) for row in general],
        general_share=settings.mixture.general_share,
        seed=seed_of(scope, "mixing"),
    )
    by_id = {sample_id(sample): sample for sample in samples}
    kept = [by_id[name] for name in mixture.role_play]
    _count_unmixed(mixture, by_id, len(general), drops)
    if sum(sample.source == "roleplay" for sample in kept) < settings.min_rows:
        return _report(folder, Prepared(enough=False, asked=distilled.asked, drops=drops.report()))
    general_by_id = {row.key: row for row in general}
    count = write_rows(folder / DATA_FILE, _rows(mixture, by_id, general_by_id, inputs.content_of))
    prepared = Prepared(
        enough=True,
        data=DATA_FILE,
        rows=count,
        parts=_parts(kept, mixture),
        asked=distilled.asked,
        gap_tokens=mixture.gap,
        allowed_gap_tokens=mixture.allowed_gap,
        drops=drops.report(),
        too_long=tuple(too_long),
    )
    return _report(folder, prepared)


def _roleplay_half(
    inputs: Inputs, settings: TrainingSettings, scope: Scope, drops: DropCounter, too_long: list[str]
) -> tuple[Sample, ...]:
    """Role-play samples, capped, and environment samples where the settings ask for them."""
    used = [inputs.years_before + period for period in settings.selection.years]
    years = frozenset(used if settings.mixture.environment else [])
    collected = collect_samples(
        inputs.calls,
        inputs.verdicts,
        {rater: value for rater, value in inputs.advantages.items() if rater[2] in used},
        count=counter(inputs.tokenizer),
        model=inputs.model,
        environment_years=years,
    )
    drops.take_in(collected.drops)
    fitting = [sample for sample in collected.samples if _fits(sample, inputs, settings.sft.max_length)]
    for sample in sorted(set(collected.samples) - set(fitting)):
        drops.add(sample.source, "too_long", sample.stage)
        too_long.append(f"{sample.world}: {sample.key}")
    roleplay = tuple(sample for sample in fitting if sample.source == "roleplay")
    roleplay = cap_samples(roleplay, settings.mixture.max_roleplay_rows, seed_of(scope, "cap"), drops)
    environment = draw_environment(
        tuple(sample for sample in fitting if sample.source == "environment"),
        sum(sample.output_tokens for sample in roleplay),
        settings.mixture.environment_share,
        seed_of(scope, "environment"),
        drops,
    )
    return roleplay + environment


def _fits(sample: Sample, inputs: Inputs, max_length: int) -> bool:
    """Whether the whole row is within the limit; the prompt is counted here where the server did not."""
    prompt = sample.prompt_tokens or len(inputs.tokenizer.prompt_ids(inputs.content_of(sample).messages))
    return prompt + sample.output_tokens <= max_length


async def _general_half(
    inputs: Inputs, settings: TrainingSettings, scope: Scope, samples: tuple[Sample, ...]
) -> Distilled:
    """More general answers than the mixture needs, to choose from."""
    mixture = settings.mixture
    tokens = sum(sample.output_tokens for sample in samples)
    room = settings.sft.max_length - mixture.distil_max_tokens
    if room < 1:
        raise ValueError(
            f"training.mixture.distil_max_tokens = {mixture.distil_max_tokens} leaves no room for a prompt within "
            f"training.sft.max_length = {settings.sft.max_length}; lower the one or raise the other"
        )
    needed = general_tokens_wanted(tokens, mixture.general_share) * mixture.distil_factor
    return await distil(
        lambda number: _askable(inputs.open_pass(number), inputs.tokenizer, room),
        inputs.ask,
        needed_tokens=needed,
        wave=min(WAVE, max(SMALLEST_WAVE, math.ceil(needed / mixture.distil_max_tokens))),
        most_prompts=mixture.distil_max_prompts,
        count=counter(inputs.tokenizer),
    )


def _askable(prompts: Iterator[Prompt], tokenizer: ChatTokenizer, most_tokens: int) -> Iterator[Prompt]:
    """The prompts that leave room for the longest answer."""
    for prompt in prompts:
        if len(tokenizer.prompt_ids(prompt.messages)) <= most_tokens:
            yield prompt


def _count_unmixed(mixture: Mixture, samples: Mapping[str, Sample], n_general: int, drops: DropCounter) -> None:
    """Count what the mixture left out: role-play rows for want of general ones, general rows beyond the need."""
    kept = set(mixture.role_play)
    for name, sample in samples.items():
        if name not in kept:
            drops.add(sample.source, "thinned", sample.stage)
    if n_general > len(mixture.general):
        drops.add("general", "surplus", "distil", n_general - len(mixture.general))


def _rows(
    mixture: Mixture,
    samples: Mapping[str, Sample],
    general: Mapping[str, GeneralRow],
    content_of: Callable[[Sample], Content],
) -> Iterator[TrainRow]:
    """The chosen rows in training order, texts fetched one by one."""
    for name in mixture.rows:
        if name in samples:
            yield _roleplay_row(samples[name], content_of(samples[name]))
        else:
            yield _general_row(general[name])


def _roleplay_row(sample: Sample, content: Content) -> TrainRow:
    return TrainRow(
        key=sample.key,
        source=sample.source,
        world=sample.world,
        year=sample.year,
        week=sample.week,
        stage=sample.stage,
        duty=sample.duty,
        agent=sample.agent,
        advantage=sample.advantage,
        messages=content.messages,
        answer=content.answer,
        token_ids=content.token_ids if sample.prompt_digest else (),
        prompt_digest=sample.prompt_digest,
        model=sample.model,
        output_tokens=sample.output_tokens,
    )


def _general_row(row: GeneralRow) -> TrainRow:
    return TrainRow(
        key=row.key,
        source="general",
        duty=row.prompt_source,
        messages=row.messages,
        answer=row.answer,
        token_ids=row.token_ids if row.prompt_digest else (),
        prompt_digest=row.prompt_digest,
        model=row.model,
        output_tokens=row.output_tokens,
    )


def _parts(kept: list[Sample], mixture: Mixture) -> tuple[Part, ...]:
    """Rows and output tokens by source."""
    parts = [
        Part(
            source=source,
            rows=sum(sample.source == source for sample in kept),
            output_tokens=sum(sample.output_tokens for sample in kept if sample.source == source),
        )
        for source in ("roleplay", "environment")
    ]
    parts.append(Part(source="general", rows=len(mixture.general), output_tokens=mixture.general_tokens))
    return tuple(part for part in parts if part.rows)


def _report(folder: Path, prepared: Prepared) -> Prepared:
    """Store the report beside the data."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / REPORT_FILE).write_bytes(msgspec.json.format(msgspec.json.encode(prepared), indent=1) + b"\n")
    return prepared


def card_facts(prepared: Prepared) -> dict[str, Any]:
    """What a model card says about its data: rows and tokens by source, and calls left out by reason."""
    drops: dict[str, int] = {}
    for drop in prepared.drops:
        drops[drop.reason] = drops.get(drop.reason, 0) + drop.calls
    return {"mixture": [msgspec.to_builtins(part) for part in prepared.parts], "drops": dict(sorted(drops.items()))}
