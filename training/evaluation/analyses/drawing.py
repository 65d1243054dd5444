"""Figures without a display, and the few forms that the pictures are made of.

Equal data give equal bytes on one machine: nothing in a file tells the time or the version.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd
from matplotlib import rc_context, rcParamsDefault
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from training.evaluation.analyses.lettering import families

DPI = 110
COLOURS = ("#3366aa", "#cc6633", "#339966", "#aa3377", "#888833", "#6688cc", "#cc3333", "#555555")
STYLE: Mapping[str, Any] = {
    "font.family": list(families()),
    "font.size": 8.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.0,
    "figure.titlesize": 10.0,
    "legend.frameon": False,
    "axes.unicode_minus": False,
}


def styled() -> AbstractContextManager[None]:
    """Everything drawn inside has the same fonts and sizes, whatever a user's own settings are."""
    return rc_context(cast("Any", {**rcParamsDefault, **STYLE, "backend": "agg"}))


def figure(
    rows: int, columns: int, *, title: str, width: float = 3.6, height: float = 2.8
) -> tuple[Figure, list[Axes]]:
    """A figure with a grid of axes, row by row."""
    made = Figure(figsize=(max(4.5, width * columns), height * rows + 0.5), layout="constrained")
    FigureCanvasAgg(made)
    made.suptitle(title)
    return made, [axes for line in made.subplots(rows, columns, squeeze=False) for axes in line]


def save(made: Figure, path: Path) -> None:
    """Write a figure as PNG."""
    with styled():
        made.savefig(path, format="png", dpi=DPI, metadata={"Software": None})


def nothing(title: str, reason: str) -> Figure:
    """A picture that says why there is none."""
    made, (axes,) = figure(1, 1, title=title, width=5.0, height=1.6)
    axes.set_axis_off()
    axes.text(0.5, 0.5, f"Nothing to show.\n{reason}", ha="center", va="center", wrap=True)
    return made


def lines(axes: Axes, frame: pd.DataFrame, *, x: str, y: str, by: str, labels: Mapping[str, str]) -> None:
    """One line for each value of a column, with its label."""
    for place, (value, group) in enumerate(frame.groupby(by, sort=True)):
        colour = COLOURS[place % len(COLOURS)]
        axes.plot(group[x], group[y], marker="o", markersize=3, linewidth=1, color=colour, label=labels[str(value)])
    if len(frame):
        axes.legend(fontsize=7)


def heat(
    axes: Axes, values: pd.DataFrame, *, low: float, high: float, form: str = ".2f", colours: str = "RdBu_r"
) -> None:
    """A table as colours with its numbers; what is not defined stays empty."""
    matrix = values.to_numpy(float)
    axes.imshow(np.ma.masked_invalid(matrix), vmin=low, vmax=high, cmap=colours, aspect="auto")
    axes.set_xticks(range(matrix.shape[1]), [str(name) for name in values.columns], rotation=30, ha="right")
    axes.set_yticks(range(matrix.shape[0]), [str(name) for name in values.index])
    for row in range(matrix.shape[0]):
        for column in range(matrix.shape[1]):
            if np.isfinite(matrix[row, column]):
                axes.text(column, row, format(matrix[row, column], form), ha="center", va="center", fontsize=6)


def bars(axes: Axes, names: Sequence[str], values: Sequence[float], *, colour: str = COLOURS[0]) -> None:
    """Horizontal bars with their values, the first on top."""
    places = list(range(len(names)))
    axes.barh(places, np.nan_to_num(np.asarray(values, float)), color=colour, height=0.7)
    for place, value in enumerate(values):
        text = f" {value:.3g}" if np.isfinite(value) else " not defined"
        axes.text(value if np.isfinite(value) else 0.0, place, text, va="center", fontsize=6)
    axes.set_yticks(places, list(names), fontsize=6)
    axes.invert_yaxis()


def whole_numbers(axes: Axes, values: pd.Series) -> None:
    """Ticks at the whole numbers that occur, thinned where there are many."""
    there = sorted({int(value) for value in values})
    axes.set_xticks(there[:: max(1, len(there) // 10)])
