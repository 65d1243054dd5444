"""The evaluate step: the first round's model against that of a later round, in the same worlds; a page and two files.

The page shows averages with intervals and the yearly means; `evaluation.parquet` and `.csv` hold every number.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from pipeline.atomic import write_text, write_with
from pipeline.report.screen_text import table
from pipeline.run_folder import RunFolder
from pipeline.settings import RunSettings
from pipeline.steps import Notes
from pipeline.tables import rewards_of_round, years_of_round
from training.evaluation.life import (
    LEVEL,
    Compared,
    Comparison,
    Interval,
    compare,
    comparison_rows,
    comparison_seed,
)

PARQUET_FILE, CSV_FILE, TEXT_FILE = "evaluation.parquet", "evaluation.csv", "evaluation.txt"
BASE_ROUND = 1
_YEARS_PER_BLOCK = 6
_SCHEMA = pa.schema(
    [
        ("metric", pa.string()),
        ("year", pa.int64()),
        ("base", pa.float64()),
        ("tuned", pa.float64()),
        ("delta", pa.float64()),
        ("delta_low", pa.float64()),
        ("delta_high", pa.float64()),
        ("percent", pa.float64()),
        ("percent_low", pa.float64()),
        ("percent_high", pa.float64()),
    ]
)
"""One row for each metric and year, and one with year 0 for the average over years, which alone has intervals."""


def evaluate_step(folder: RunFolder, settings: RunSettings, round_number: int, target: Path) -> Notes:
    """Compare a round with the first one and write the result into the step's folder; nothing to compare in round 1."""
    if round_number == BASE_ROUND:
        return {"compared": False, "why": "this is the round that later ones are compared with"}
    if settings.world == "continue":
        return {"compared": False, "why": "with world: continue the rounds are different years of one life"}
    base, tuned = measured_years(folder, BASE_ROUND), measured_years(folder, round_number)
    comparison = compare(base, tuned, seed=comparison_seed(settings.seed, round_number))
    page = comparison_text(comparison, round_number)
    rows = pa.Table.from_pylist(comparison_rows(comparison), schema=_SCHEMA)
    write_with(target / PARQUET_FILE, lambda path: pq.write_table(rows, path, compression="zstd"))
    write_with(target / CSV_FILE, lambda path: pacsv.write_csv(rows, path))
    write_text(target / TEXT_FILE, page)
    return {"compared": True, "base_round": BASE_ROUND, "pairs": comparison.pairs, "years": list(comparison.years)}


def measured_years(folder: RunFolder, round_number: int) -> list[dict[str, Any]]:
    """The yearly measures of a round with the rewards beside them."""
    rewards = {
        (line.world, line.agent, line.year): {"economic": line.economic, "subjective": line.subjective}
        for line in rewards_of_round(folder, round_number)
    }
    return [row | rewards[row["world"], row["agent"], row["year"]] for row in years_of_round(folder, round_number)]


def comparison_text(comparison: Comparison, round_number: int) -> str:
    """The comparison as a page of plain text, at most 100 columns wide."""
    lines = [
        f"Round {round_number} (tuned) against round {BASE_ROUND} (base): {comparison.pairs} agents, "
        f"{len(comparison.years)} years; intervals hold {100 * LEVEL:.0f} %.",
        "",
        *table([["average of years", "base", "tuned", "delta", "interval", "delta %", "interval"]]
               + [_average(row) for row in comparison.rows]),
    ]  # fmt: skip
    for first in range(0, len(comparison.years), _YEARS_PER_BLOCK):
        years = comparison.years[first : first + _YEARS_PER_BLOCK]
        lines += [
            "",
            *table([["by year", *(f"Y{year}" for year in years)], *(_yearly(row, years) for row in comparison.rows)]),
        ]
    return "\n".join(lines) + "\n"


def _average(row: Compared) -> list[str]:
    percent = [f"{row.percent.value:+.1f}", _span(row.percent)] if row.percent else ["-", "-"]
    return [row.label, f"{row.base:.2f}", f"{row.tuned:.2f}", f"{row.delta.value:+.2f}", _span(row.delta), *percent]


def _span(interval: Interval) -> str:
    return f"{interval.low:+.1f} .. {interval.high:+.1f}"


def _yearly(row: Compared, years: Sequence[int]) -> list[str]:
    return [row.label, *(f"{row.base_by_year[year]:.1f} > {row.tuned_by_year[year]:.1f}" for year in years)]
