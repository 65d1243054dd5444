"""What one row of each table of a run is, and how rows come from the journal and from training's arithmetic. Pure.

A column that may differ between two equal runs (times, hosts, cached tokens) stands in `timings` and nowhere else.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
import pyarrow as pa

from sim.core.agent import TALENTS, TRAITS
from sim.core.chronicle import ProfileYear
from sim.core.facts import Verdict
from sim.core.keys import UnitKey, parse_unit
from sim.journal.rows import CallRow
from training.advantage import advantages_by_agent, normalised_returns, returns
from training.filters import drop_label, drop_reason
from training.samples import Rater
from training.selection import select, select_period
from training.settings import SelectionSettings


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all rows; the encoded field names are the columns, in their order."""


class CallLine(Row, frozen=True, kw_only=True):
    """One model call. `status` and `drop` are "" while its unit is not finished."""

    round: int
    world: str
    key: str
    unit: str
    year: int
    week: int
    stage: str
    index: int
    who: str
    agent: str
    """"" for the environment model."""
    duty: str
    role: str
    attempt: int
    status: str
    """ok | repaired | failed | fallback."""
    drop: str
    """Why it is never trained on; "" if it may be."""
    finish: str
    fallback: bool
    model: str
    prompt_tokens: int
    output_tokens: int
    prompt_digest: str
    seed: int
    answer: str


class TimingLine(Row, frozen=True, kw_only=True):
    """When and where a call ran."""

    round: int
    world: str
    key: str
    unit: str
    started: float
    seconds: float
    host: str
    cached_tokens: int
    tries: str
    """Kinds of the failed tries before the reply, separated by commas."""


class RewardLine(Row, frozen=True, kw_only=True):
    """One agent's life reward of one year."""

    round: int
    world: str
    year: int
    agent: str
    social: float
    social_affection: float
    social_respect: float
    baseline_social: float | None
    """The social reward at t = 0, from profiles alone; null where that is not known."""
    adjusted_social: float | None
    """Minus that at t = 0; null where that is not known."""
    subjective: float
    economic: float
    z_social: float
    z_subjective: float
    z_economic: float
    reward: float
    n_penalties: int


class AdvantageLine(Row, frozen=True, kw_only=True):
    """What one agent's year is worth in its life."""

    round: int
    world: str
    year: int
    agent: str
    reward: float
    discounted_return: float = msgspec.field(name="return")
    normalised_return: float
    advantage: float


class SelectionLine(Row, frozen=True, kw_only=True):
    """One agent's place among all of its world and year."""

    round: int
    world: str
    year: int
    agent: str
    rank: int
    advantage: float
    reward: float
    selected: bool
    used: bool
    """Selected, and of a year that training.selection.years names."""


class DropLine(Row, frozen=True, kw_only=True):
    """How many calls of one kind were left out of a round's training data."""

    round: int
    source: str
    reason: str
    stage: str
    calls: int


class Selected(msgspec.Struct, frozen=True, kw_only=True):
    """A round's advantages and selection."""

    advantages: tuple[AdvantageLine, ...]
    selection: tuple[SelectionLine, ...]

    def raters(self) -> dict[Rater, float]:
        """The advantage of each selected (world, agent, year)."""
        return {(line.world, line.agent, line.year): line.advantage for line in self.selection if line.selected}


def schema_of(row: type[msgspec.Struct]) -> pa.Schema:
    """The Arrow schema of a row's columns."""
    kinds = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}
    fields = msgspec.structs.fields(row)
    types = [(field.encode_name, field.type) for field in fields]
    return pa.schema([(name, kinds.get(kind, pa.float64())) for name, kind in types])


def call_line(round_number: int, world: str, row: CallRow, verdict: Verdict | None, *, unit_done: bool) -> CallLine:
    """A journaled call with what became of it."""
    unit, reply = parse_unit(row.unit), row.reply
    drop = ""
    if unit_done:
        reason = drop_reason(verdict, finish=reply.finish, text=reply.text, fallback=reply.fallback)
        drop = drop_label(reason, verdict) if reason else ""
    return CallLine(
        round=round_number,
        world=world,
        key=row.key,
        unit=row.unit,
        year=unit.year,
        week=unit.week,
        stage=unit.stage,
        index=unit.index,
        who=unit.who,
        agent=row.agent,
        duty=row.duty,
        role=row.role,
        attempt=attempt_of(row.key),
        status=verdict.status if verdict else "",
        drop=drop,
        finish=reply.finish,
        fallback=reply.fallback,
        model=reply.model,
        prompt_tokens=reply.usage.prompt_tokens,
        output_tokens=reply.usage.output_tokens,
        prompt_digest=reply.prompt_digest,
        seed=row.seed,
        answer=reply.text,
    )


def attempt_of(key: str) -> int:
    """The attempt's number, the last part of a call's key."""
    last = key.rpartition("/")[2]
    return int(last) if last.isdigit() else 1


def timing_line(round_number: int, world: str, row: CallRow) -> TimingLine:
    """When and where a journaled call ran."""
    return TimingLine(
        round=round_number,
        world=world,
        key=row.key,
        unit=row.unit,
        started=row.timing.started,
        seconds=row.timing.seconds,
        host=row.timing.host,
        cached_tokens=row.timing.cached_tokens,
        tries=",".join(row.reply.tries),
    )


def reward_lines(
    round_number: int,
    world: str,
    reckonings: Mapping[UnitKey, Mapping[str, Any]],
    baseline: Mapping[str, float],
) -> list[RewardLine]:
    """Rows of the finished years, from the outputs of their `life_reward` units, by year and agent."""
    return [
        RewardLine(
            round=round_number,
            world=world,
            year=unit.year,
            agent=name,
            baseline_social=baseline.get(name),
            adjusted_social=reward["social"] - baseline[name] if name in baseline else None,
            **{field: reward[field] for field in RewardLine.__struct_fields__ if field in reward},
        )
        for unit in sorted(reckonings)
        for name, reward in sorted(reckonings[unit]["rewards"].items())
    ]


def profile_columns(profile: ProfileYear) -> dict[str, Any]:
    """A profile as one flat row; a quality that is not known is null."""
    plain = {name: getattr(profile, name) for name in ("year", "agent", "age", "position", "deposit")}
    traits = {f"trait_{name}": profile.traits.get(name) for name in TRAITS}
    return plain | traits | {f"talent_{name}": profile.talents.get(name) for name in TALENTS}


def select_rounds(rewards: Iterable[RewardLine], settings: SelectionSettings) -> Selected:
    """Advantages and selection (SPEC section 8), in every round and world on its own, over the years that are there."""
    by_world: dict[tuple[int, str], dict[str, dict[int, float]]] = {}
    for line in rewards:
        by_world.setdefault((line.round, line.world), {}).setdefault(line.agent, {})[line.year] = line.reward
    advantage_lines: list[AdvantageLine] = []
    selection_lines: list[SelectionLine] = []
    for (number, world), lives in sorted(by_world.items()):
        years = sorted({year for life in lives.values() for year in life})
        earned = {name: [lives[name][year] for year in years] for name in sorted(lives)}
        gained = advantages_by_agent(earned, settings.gamma)
        advantage_lines += _advantage_lines(number, world, years, earned, gained, settings.gamma)
        selection_lines += _selection_lines(number, world, years, earned, gained, settings)
    return Selected(advantages=tuple(advantage_lines), selection=tuple(selection_lines))


def _advantage_lines(
    number: int,
    world: str,
    years: Sequence[int],
    earned: Mapping[str, Sequence[float]],
    gained: Mapping[str, Sequence[float]],
    gamma: float,
) -> list[AdvantageLine]:
    total = {name: returns(earned[name], gamma) for name in earned}
    normal = {name: normalised_returns(earned[name], gamma) for name in earned}
    return [
        AdvantageLine(
            round=number,
            world=world,
            year=year,
            agent=name,
            reward=earned[name][place],
            discounted_return=total[name][place],
            normalised_return=normal[name][place],
            advantage=gained[name][place],
        )
        for place, year in enumerate(years)
        for name in sorted(earned)
    ]


def _selection_lines(
    number: int,
    world: str,
    years: Sequence[int],
    earned: Mapping[str, Sequence[float]],
    gained: Mapping[str, Sequence[float]],
    settings: SelectionSettings,
) -> list[SelectionLine]:
    kept = select(gained, earned, fraction=settings.fraction)
    lines: list[SelectionLine] = []
    for place, year in enumerate(years):
        advantage = {name: gained[name][place] for name in gained}
        reward = {name: earned[name][place] for name in earned}
        for rank, name in enumerate(select_period(advantage, reward, fraction=1.0), start=1):
            selected = name in kept[place + 1]
            lines.append(
                SelectionLine(
                    round=number,
                    world=world,
                    year=year,
                    agent=name,
                    rank=rank,
                    advantage=advantage[name],
                    reward=reward[name],
                    selected=selected,
                    used=selected and year - years[0] + 1 in settings.years,
                )
            )
    return lines
