"""How many calls of which kind a run made, counted from the table `calls` with a batch in memory at a time."""

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.report.failure_kinds import FAILURES

BY_ITSELF = frozenset({"ok", "repaired"})
_KEYS = ["round", "role", "year", "status", "drop", "finish", "fallback", "model"]
_SUMS = ["calls", "prompt_tokens", "output_tokens"]


class CallGroup(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """Calls that are alike, and their sums."""

    round: int
    role: str
    year: int
    status: str
    drop: str
    finish: str
    fallback: bool
    model: str
    calls: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0

    @property
    def is_judged(self) -> bool:
        """Whether the call's unit is finished, so that it is known what became of the answer."""
        return bool(self.status or self.drop)

    @property
    def by_itself(self) -> bool:
        """Whether the model itself answered: finished, and valid by the schema, actions inside a text included."""
        well_formed = self.status in BY_ITSELF and self.drop != "malformed_action"
        return self.finish == "stop" and not self.fallback and well_formed


def count_calls(path: Path) -> list[CallGroup]:
    """The groups of a table `calls`, sorted."""
    totals: dict[tuple[object, ...], list[int]] = {}
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(columns=[*_KEYS, "prompt_tokens", "output_tokens"]):
            table = pa.Table.from_batches([batch]).append_column("calls", pa.array([1] * batch.num_rows, pa.int64()))
            for row in table.group_by(_KEYS).aggregate([(name, "sum") for name in _SUMS]).to_pylist():
                total = totals.setdefault(tuple(row[name] for name in _KEYS), [0] * len(_SUMS))
                for place, name in enumerate(_SUMS):
                    total[place] += row[f"{name}_sum"]
    groups = [dict(zip([*_KEYS, *_SUMS], [*key, *total], strict=True)) for key, total in totals.items()]
    return sorted(msgspec.convert(group, CallGroup) for group in groups)


def total_calls(groups: Iterable[CallGroup], wanted: Callable[[CallGroup], bool] = lambda group: True) -> int:
    """Calls of all groups that are wanted."""
    return sum(group.calls for group in groups if wanted(group))


def share_by_itself(groups: Iterable[CallGroup], role: str) -> tuple[int, int]:
    """Of one role's calls whose fate is known: how many the model answered itself, and how many there are."""
    known = [group for group in groups if group.role == role and group.is_judged]
    return total_calls(known, lambda group: group.by_itself), total_calls(known)


def failures(groups: Iterable[CallGroup]) -> dict[str, int]:
    """Failed answers by kind, each kind named even where there are none."""
    counted = dict.fromkeys(FAILURES.values(), 0)
    for group in groups:
        if group.drop in FAILURES:
            counted[FAILURES[group.drop]] += group.calls
    return counted
