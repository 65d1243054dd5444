"""Turns the rows file into token ids on disk, once per fine-tune; what can't be trained on is dropped and named.

A row whose prompt does not give the served ids again was made by another tokenizer or template. A few such rows are
dropped; many mean the wrong model folder, and the fine-tune stops.
"""

import functools
import os
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from training.tokens import ChatTokenizer, load_tokenizer, render_row

if TYPE_CHECKING:
    from datasets import Dataset

Options = tuple[tuple[str, Any], ...]
"""What the chat template is told, as pairs."""

MOST_DIFFERENT = 0.1
_ROWS_PER_PROCESS = 2000
_REPORT = "rows.json"


class TokenReport(msgspec.Struct, frozen=True, kw_only=True):
    """What became of the rows."""

    rows: int
    input_tokens: int
    label_tokens: int
    served_answers: int
    """Rows whose answer has the very ids that were served."""
    dropped: Mapping[str, tuple[str, ...]]
    """Reason → keys of the rows."""


def make_token_rows(
    data: Path, base: str, folder: Path, max_length: int, template_options: Mapping[str, Any]
) -> TokenReport:
    """Tokenise the rows file into a data set in `folder`, in the file's order; ValueError if none can be used."""
    import datasets

    datasets.disable_progress_bars()
    cache = folder.with_name(f"{folder.name}.cache")
    for left_over in (cache, folder):
        shutil.rmtree(left_over, ignore_errors=True)
    rows = datasets.Dataset.from_parquet(str(data), cache_dir=str(cache))
    processes = min(os.cpu_count() or 1, len(rows) // _ROWS_PER_PROCESS)
    done = rows.map(
        token_columns,
        fn_kwargs={"base": base, "max_length": max_length, "options": tuple(sorted(template_options.items()))},
        remove_columns=[name for name in rows.column_names if name != "key"],
        features=_features(),
        num_proc=processes if processes > 1 else None,
        new_fingerprint="token-rows",
        load_from_cache_file=False,
    )
    report = _report(done, sum(bool(digest) for digest in rows["prompt_digest"]))
    usable = done.filter(_is_usable, input_columns="fault", load_from_cache_file=False, new_fingerprint="usable")
    usable.select_columns(["input_ids", "labels"]).save_to_disk(str(folder))
    (folder / _REPORT).write_bytes(msgspec.json.encode(report))
    shutil.rmtree(cache, ignore_errors=True)
    return report


def read_token_rows(folder: Path) -> "tuple[Dataset, TokenReport]":
    """The data set made by `make_token_rows`, read from disk as needed, and its report."""
    import datasets

    report = msgspec.json.decode((folder / _REPORT).read_bytes(), type=TokenReport)
    return datasets.Dataset.load_from_disk(str(folder)), report


def token_columns(row: Mapping[str, Any], base: str, max_length: int, options: Options) -> dict[str, Any]:
    """Token columns of one row, or the fault for which it is dropped."""
    nothing: dict[str, Any] = {"input_ids": [], "labels": [], "input_tokens": 0, "label_tokens": 0, "served": False}
    tokenizer = _tokenizer(base, options)
    try:
        made = render_row(tokenizer, row["messages"], row["answer"], row["token_ids"] or ())
    except ValueError:
        return nothing | {"fault": "template_refused"}
    if row["prompt_digest"] and made.digest != row["prompt_digest"]:
        return nothing | {"fault": "prompt_differs"}
    if len(made.input_ids) > max_length:
        return nothing | {"fault": "too_long"}
    return {
        "input_ids": made.input_ids,
        "labels": made.labels,
        "input_tokens": len(made.input_ids),
        "label_tokens": len(made.labels) - made.prompt_len,
        "served": made.origin == "served",
        "fault": "",
    }


@functools.lru_cache(maxsize=1)
def _tokenizer(base: str, options: Options) -> ChatTokenizer:
    """The tokenizer, loaded once in each process."""
    return load_tokenizer(base, dict(options))


def _is_usable(fault: str) -> bool:
    return fault == ""


def _features() -> Any:
    import datasets

    ids = datasets.Sequence(datasets.Value("int32"))
    return datasets.Features(
        {
            "key": datasets.Value("string"),
            "input_ids": ids,
            "labels": ids,
            "input_tokens": datasets.Value("int32"),
            "label_tokens": datasets.Value("int32"),
            "served": datasets.Value("bool"),
            "fault": datasets.Value("string"),
        }
    )


def _report(done: "Dataset", with_digest: int) -> TokenReport:
    """Counts over all rows; ValueError if nothing is left, or if too many prompts differ from those served."""
    faults = list(done["fault"])
    dropped: dict[str, list[str]] = {}
    for key, fault in zip(done["key"], faults, strict=True):
        if fault:
            dropped.setdefault(fault, []).append(key)
    counts = Counter(faults)
    if counts["prompt_differs"] > MOST_DIFFERENT * max(1, with_digest):
        raise ValueError(
            f"{counts['prompt_differs']} of {with_digest} prompts don't give the ids that were served; the model "
            "folder has another tokenizer or chat template than the one that served them"
        )
    if not counts[""]:
        raise ValueError(f"no row can be trained on: {dict(sorted(counts.items()))}")
    return TokenReport(
        rows=counts[""],
        input_tokens=sum(done["input_tokens"]),
        label_tokens=sum(done["label_tokens"]),
        served_answers=sum(done["served"]),
        dropped={reason: tuple(keys) for reason, keys in sorted(dropped.items())},
    )
