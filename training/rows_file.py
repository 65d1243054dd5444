"""The training rows on disk: one Parquet file, written a few rows at a time, complete or absent."""

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

_ROWS_PER_GROUP = 256
_SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("source", pa.string()),
        ("world", pa.string()),
        ("year", pa.int32()),
        ("week", pa.int32()),
        ("stage", pa.string()),
        ("duty", pa.string()),
        ("agent", pa.string()),
        ("advantage", pa.float64()),
        ("messages", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
        ("answer", pa.string()),
        ("token_ids", pa.list_(pa.int32())),
        ("prompt_digest", pa.string()),
        ("model", pa.string()),
        ("output_tokens", pa.int32()),
    ]
)


class TrainRow(msgspec.Struct, frozen=True, kw_only=True):
    """One row: what the model was shown, what it answered, and where both come from."""

    key: str
    source: str
    """roleplay | environment | general."""
    world: str = ""
    year: int = 0
    week: int = 0
    stage: str = ""
    duty: str = ""
    agent: str = ""
    advantage: float = 0.0
    messages: tuple[Mapping[str, str], ...]
    answer: str
    token_ids: tuple[int, ...] = ()
    """The answer's ids as the trained model's own tokenizer gave them while serving; empty if not known."""
    prompt_digest: str = ""
    """Digest of the prompt's ids as served; "" if not known."""
    model: str = ""
    output_tokens: int


def write_rows(path: Path, rows: Iterable[TrainRow]) -> int:
    """Write all rows and return their number; the file appears when it is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    written = 0
    source = iter(rows)
    try:
        with pq.ParquetWriter(partial, _SCHEMA, compression="zstd") as writer:
            while group := [msgspec.to_builtins(row) for row in islice(source, _ROWS_PER_GROUP)]:
                writer.write_table(pa.Table.from_pylist(group, schema=_SCHEMA))
                written += len(group)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return written


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows as dicts, one row group in memory at a time."""
    with pq.ParquetFile(path) as file:
        for group in range(file.num_row_groups):
            yield from file.read_row_group(group).to_pylist()
