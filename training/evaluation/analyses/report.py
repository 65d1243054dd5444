"""Writes every analysis: its tables as CSV, its picture as PNG, and an index that says what each file shows.

A table that has nothing to show has its columns and no row, and the index says why. Equal tables give equal bytes.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from training.evaluation.analyses.catalogue import ANALYSES, Analysis, Sheet
from training.evaluation.analyses.drawing import nothing, save, styled
from training.evaluation.analyses.lettering import Lettering
from training.evaluation.analyses.lives import Lives

INDEX, LABELS = "index.md", "labels.csv"
_FLOAT = "%.10g"


def write_analyses(lives: Lives, target: Path, letters: Lettering | None = None) -> Path:
    """Write all analyses into a folder; the index comes last, and its path is returned."""
    letters = letters or Lettering()
    target.mkdir(parents=True, exist_ok=True)
    sections = [_write_analysis(analysis, lives, target, letters) for analysis in ANALYSES]
    legend = pd.DataFrame(letters.legend(), columns=["number", "text"])
    _write_csv(target / LABELS, legend)
    page = "\n\n".join([_head(lives, len(legend)), *sections]) + "\n"
    _whole(target / INDEX, lambda path: path.write_text(page, encoding="utf-8"))
    return target / INDEX


def _write_analysis(analysis: Analysis, lives: Lives, target: Path, letters: Lettering) -> str:
    """One analysis' files; returns its part of the index."""
    tables = {sheet.name: sheet.make(lives) for sheet in analysis.sheets}
    for name, table in tables.items():
        _write_csv(target / f"{name}.csv", table)
    lacking = analysis.lacks(lives)
    empty = all(table.empty for table in tables.values())
    if empty and not lacking:
        lacking = "there is no case of it"
    with styled():
        made = nothing(analysis.title, lacking) if empty else analysis.draw(tables, letters)
        _whole(target / f"{analysis.name}.png", lambda path: save(made, path))
    return _section(analysis, tables, lives, lacking)


def _section(analysis: Analysis, tables: Mapping[str, pd.DataFrame], lives: Lives, lacking: str) -> str:
    """What the index says of one analysis."""
    lines = [f"## {analysis.title}", "", f"Picture: [{analysis.name}.png]({analysis.name}.png)", ""]
    if lacking:
        lines += [f"**Lacking**: {_cell(lacking)}.", ""]
    lines += ["| file | shows | definition | behind it | empty |", "|---|---|---|---|---|"]
    for sheet in analysis.sheets:
        name = f"{sheet.name}.csv"
        cells = [f"[{name}]({name})", sheet.shows, sheet.definition, _behind(sheet, lives, tables[sheet.name])]
        lines.append(f"| {' | '.join(map(_cell, [*cells, _gaps(sheet, tables[sheet.name])]))} |")
    return "\n".join(lines)


def _behind(sheet: Sheet, lives: Lives, table: pd.DataFrame) -> str:
    """How much a table was made from."""
    frame: pd.DataFrame = getattr(lives, sheet.source)
    worlds = frame["world"].nunique()
    rows = f"{len(table)} rows"
    if sheet.source == "calls":
        return f"{len(frame)} calls in {worlds} worlds; {rows}"
    if sheet.source == "ratings":
        return f"{int(frame['affection'].notna().sum())} known affections in {worlds} worlds; {rows}"
    agents = len(frame[["world", "agent"]].drop_duplicates())
    years = frame["year"].nunique()
    return f"{len(frame)} agents' years ({agents} agents, {years} years) in {worlds} worlds; {rows}"


def _gaps(sheet: Sheet, table: pd.DataFrame) -> str:
    """How many values are empty, and when that is so."""
    empty = int(table.isna().to_numpy().sum())
    return f"{empty} of {table.size} values: {sheet.gaps}" if empty else "none"


def _head(lives: Lives, n_labels: int) -> str:
    """What was looked at."""
    runs = ", ".join(f"{_cell(run)} round {number}" for run, number in lives.rounds.items())
    worlds = ", ".join(_cell(world) for world in sorted({*lives.years["world"], *lives.calls["world"]})) or "none"
    labels = (
        f"The fonts at hand can't draw {n_labels} names: pictures show their numbers, [{LABELS}]({LABELS}) lists them."
        if n_labels
        else "Pictures show all names as they are."
    )
    return "\n".join(
        [
            "# Analyses",
            "",
            f"Runs: {runs}. Worlds: {worlds}. {len(lives.years)} complete agents' years.",
            "",
            "Years that are not complete are left out, except in what calls cost and in the weeks. What is not defined "
            f"is empty in a table, never a number. {labels}",
        ]
    )


def _cell(text: str) -> str:
    """Text that breaks no table."""
    return " ".join(text.replace("|", "\\|").split())


def _write_csv(path: Path, table: pd.DataFrame) -> None:
    _whole(
        path,
        lambda temporary: table.to_csv(
            temporary, index=False, encoding="utf-8", float_format=_FLOAT, lineterminator="\n"
        ),
    )


def _whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file that is complete or absent."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    write(temporary)
    os.replace(temporary, path)
