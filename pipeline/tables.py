"""The Parquet tables of a run, over all rounds and worlds that have a journal, finished or not.

The same journals give the same bytes, `timings` apart. `pandas.read_parquet("RUN/tables/calls.parquet")` reads a table,
and so does `datasets.load_dataset("parquet", data_files="RUN/tables/calls.parquet")`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq

from pipeline.atomic import write_with
from pipeline.report.finetune_report import drops_of
from pipeline.run_folder import TABLES, RunFolder
from pipeline.settings import RunSettings
from pipeline.table_rows import (
    AdvantageLine,
    CallLine,
    DropLine,
    RewardLine,
    Row,
    Selected,
    SelectionLine,
    TimingLine,
    call_line,
    profile_columns,
    reward_lines,
    schema_of,
    select_rounds,
    timing_line,
)
from sim.core.agent import TALENTS, TRAITS
from sim.core.chronicle import AgentWeek, Rating, chronicle
from sim.core.counts import AgentYear, CallTokens, agent_years
from sim.core.facts import Verdict
from sim.core.keys import UnitKey
from sim.journal.reading import JournalReader

if TYPE_CHECKING:
    import pandas as pd

ROWS_PER_GROUP = 2048
_LIFE = [("round", pa.int64()), ("world", pa.string())]
_AGENT_YEARS = pa.schema([*_LIFE, *schema_of(AgentYear)])
_CHRONICLE = {
    "agent_weeks": pa.schema([*_LIFE, *schema_of(AgentWeek)]),
    "profiles": pa.schema(
        [*_LIFE, ("year", pa.int64()), ("agent", pa.string()), ("age", pa.int64()), ("position", pa.string())]
        + [("deposit", pa.int64()), *((f"trait_{name}", pa.int64()) for name in TRAITS)]
        + [(f"talent_{name}", pa.int64()) for name in TALENTS]
    ),
    "ratings": pa.schema([*_LIFE, *schema_of(Rating)]),
}
"""Tables of what is known whether or not a year is complete."""


@dataclass(frozen=True, slots=True)
class Lived:
    """One world's life in one round."""

    round: int
    world: str
    journal: JournalReader
    baseline: Mapping[str, float] = field(default_factory=dict[str, float])
    """Social reward at t = 0; of the round in which this life began."""
    reckonings: Mapping[UnitKey, Mapping[str, Any]] = field(default_factory=dict[UnitKey, Mapping[str, Any]])
    """Outputs of the finished `life_reward` units: one for each complete year."""


def lives(folder: RunFolder, rounds: Iterable[int] | None = None) -> Iterator[Lived]:
    """Every life of the run, or of some rounds, by round and world; a journal is open until the next is asked for."""
    baselines: dict[str, Mapping[str, float]] = {}
    wanted = None if rounds is None else frozenset(rounds)
    for number in folder.rounds_present():
        for world in folder.worlds_of(number):
            with closing(JournalReader(folder.journal(number, world))) as journal:
                reckonings = _reckonings(journal)
                for outputs in reckonings.values():
                    if "baseline" in outputs:
                        baselines[world] = outputs["baseline"]
                if wanted is None or number in wanted:
                    yield Lived(number, world, journal, baselines.get(world, {}), reckonings)


def rewards_of_round(folder: RunFolder, round_number: int) -> list[RewardLine]:
    """The life rewards of all worlds of a round, of the years that are complete."""
    return [line for life in lives(folder, [round_number]) for line in _rewards(life)]


def selection_of_round(folder: RunFolder, round_number: int, settings: RunSettings) -> Selected:
    """What the select step does: rewards, advantages, selection of all worlds of a round."""
    return select_rounds(rewards_of_round(folder, round_number), settings.training.selection)


def years_of_round(folder: RunFolder, round_number: int) -> list[dict[str, Any]]:
    """The yearly measures of all worlds of a round, without tokens, of the years that are complete."""
    return [row for life in lives(folder, [round_number]) for row in _agent_years(life, ())]


def write_tables(folder: RunFolder, settings: RunSettings) -> dict[str, int]:
    """Write all tables; returns the number of rows of each. Existing ones are replaced, each as a whole."""
    rows: dict[str, int] = {}
    rows["calls"] = rows["timings"] = _write_calls(folder)
    rewards = [line for life in lives(folder) for line in _rewards(life)]
    selected = select_rounds(rewards, settings.training.selection)
    drops = [
        DropLine(round=number, **msgspec.structs.asdict(drop))
        for number in folder.rounds_present()
        for drop in drops_of(folder, number)
    ]
    rows["rewards"] = _write(folder, "rewards", RewardLine, rewards)
    rows["advantages"] = _write(folder, "advantages", AdvantageLine, selected.advantages)
    rows["selection"] = _write(folder, "selection", SelectionLine, selected.selection)
    rows["drops"] = _write(folder, "drops", DropLine, drops)
    rows["agent_years"] = _write_agent_years(folder)
    return rows | _write_chronicles(folder)


def read_table(folder: RunFolder, name: str) -> "pd.DataFrame":
    """One table as a pandas frame; ValueError if there is no such table."""
    return _table(folder, name).to_pandas()


def read_lines(folder: RunFolder, name: str) -> list[dict[str, Any]]:
    """One table that fits in memory as plain rows; ValueError if there is no such table."""
    return _table(folder, name).to_pylist()


def _table(folder: RunFolder, name: str) -> pa.Table:
    if name not in TABLES:
        raise ValueError(f"{name!r} is no table of a run; there are {', '.join(TABLES)}")
    path = folder.table(name)
    if not path.is_file():
        raise ValueError(f"{path} does not exist yet; tables are written when a run ends")
    return pq.read_table(path)


def _reckonings(journal: JournalReader) -> dict[UnitKey, Mapping[str, Any]]:
    """Outputs of the finished `life_reward` units by unit."""
    found = {unit: journal.facts_of(unit) for unit in journal.done_units() if unit.stage == "life_reward"}
    return {unit: facts.outputs for unit, facts in found.items() if facts is not None}


def _rewards(life: Lived) -> list[RewardLine]:
    return reward_lines(life.round, life.world, life.reckonings, life.baseline)


def _agent_years(life: Lived, tokens: Iterable[CallTokens]) -> list[dict[str, Any]]:
    """Measures of the complete years of one life."""
    years = {unit.year for unit in life.reckonings}
    names = sorted({name for outputs in life.reckonings.values() for name in outputs["rewards"]})
    if not years:
        return []
    measured = agent_years(life.journal.units(), tokens, names=names, n_years=max(years))
    return [
        {"round": life.round, "world": life.world, **msgspec.structs.asdict(row)}
        for row in measured
        if row.year in years
    ]


def _write_calls(folder: RunFolder) -> int:
    """Write `calls` and `timings` in one pass over the journals."""
    written = 0

    def stream(calls_path: Path, timings_path: Path) -> None:
        nonlocal written
        calls_schema, timings_schema = schema_of(CallLine), schema_of(TimingLine)
        with (
            pq.ParquetWriter(calls_path, calls_schema, compression="zstd") as calls,
            pq.ParquetWriter(timings_path, timings_schema, compression="zstd") as timings,
        ):
            source = _call_lines(folder)
            while group := list(islice(source, ROWS_PER_GROUP)):
                calls.write_table(_arrow(calls_schema, [call for call, _ in group]))
                timings.write_table(_arrow(timings_schema, [timing for _, timing in group]))
                written += len(group)

    write_with(
        folder.table("calls"),
        lambda calls: write_with(folder.table("timings"), lambda timings: stream(calls, timings)),
    )
    return written


def _call_lines(folder: RunFolder) -> Iterator[tuple[CallLine, TimingLine]]:
    """All calls of the run with their timings, unit by unit."""
    for life in lives(folder):
        unit, verdicts = "", None
        for row in life.journal.calls():
            if row.unit != unit:
                unit, verdicts = row.unit, _verdicts(life.journal, row.unit)
            verdict = (verdicts or {}).get(row.key)
            yield (
                call_line(life.round, life.world, row, verdict, unit_done=verdicts is not None),
                timing_line(life.round, life.world, row),
            )


def _verdicts(journal: JournalReader, unit: str) -> dict[str, Verdict] | None:
    """Verdicts of a finished unit by call key; None of an unfinished one."""
    facts = journal.facts_of(unit)
    return None if facts is None else {verdict.key: verdict for verdict in facts.verdicts}


def _write_agent_years(folder: RunFolder) -> int:
    """Write `agent_years`; tokens are read from `calls`, which is there already."""
    calls = pads.dataset(folder.table("calls"), format="parquet")
    rows = [row for life in lives(folder) for row in _agent_years(life, _tokens(calls, life.round, life.world))]
    write_with(folder.table("agent_years"), lambda path: _write_group(path, _AGENT_YEARS, rows))
    return len(rows)


def _write_chronicles(folder: RunFolder) -> dict[str, int]:
    """Write the tables of weeks, profiles and ratings; one life's units are read at a time."""
    rows: dict[str, list[dict[str, Any]]] = {name: [] for name in _CHRONICLE}
    for life in lives(folder):
        found, where = chronicle(life.journal.units()), {"round": life.round, "world": life.world}
        rows["agent_weeks"] += [where | msgspec.structs.asdict(week) for week in found.weeks]
        rows["profiles"] += [where | profile_columns(profile) for profile in found.profiles]
        rows["ratings"] += [where | msgspec.structs.asdict(rating) for rating in found.ratings]
    for name, schema in _CHRONICLE.items():
        write_with(folder.table(name), lambda path, name=name, schema=schema: _write_group(path, schema, rows[name]))
    return {name: len(rows[name]) for name in _CHRONICLE}


def _tokens(calls: pads.Dataset, round_number: int, world: str) -> Iterator[CallTokens]:
    """The tokens of one life's calls, a batch in memory at a time."""
    of_life = (pads.field("round") == round_number) & (pads.field("world") == world)
    names = ["unit", "agent", "prompt_tokens", "output_tokens"]
    for batch in calls.to_batches(columns=names, filter=of_life):
        columns = [batch.column(name).to_pylist() for name in names]
        for unit, agent, read, written in zip(*columns, strict=True):
            yield CallTokens(unit=unit, agent=agent, input_tokens=read, output_tokens=written)


def _write(folder: RunFolder, name: str, row: type[Row], rows: Sequence[Any]) -> int:
    """Write a table that fits in memory."""
    schema = schema_of(row)
    write_with(folder.table(name), lambda path: pq.write_table(_arrow(schema, rows), path, compression="zstd"))
    return len(rows)


def _write_group(path: Path, schema: pa.Schema, rows: list[dict[str, Any]]) -> None:
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path, compression="zstd")


def _arrow(schema: pa.Schema, rows: Sequence[Any]) -> pa.Table:
    """Rows as an Arrow table."""
    built = [msgspec.to_builtins(row) for row in rows]
    columns = [[_sound(row[name]) for row in built] for name in schema.names]
    return pa.table([pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema)


def _sound(value: Any) -> Any:
    """A text with lone surrogates, which no file format holds, gets question marks in their place."""
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode("utf-8")
    return value
