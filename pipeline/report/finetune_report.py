"""What a round's fine-tune left behind: the report of its data, the trainer's numbers; nothing where it did not run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from pipeline.run_folder import RunFolder
from training.prepare import REPORT_FILE, Prepared
from training.samples import Drop
from training.sft_spec import METRICS_FILE


def prepared_of(folder: RunFolder, round_number: int) -> Prepared | None:
    """The report of a round's training data; None before it is made. ValueError if it is damaged."""
    path = folder.step(round_number, "finetune") / REPORT_FILE
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=Prepared)
    except msgspec.DecodeError as error:
        raise ValueError(f"{path} is damaged ({error}); remove the folder to have the step done again") from error


def metrics_of(folder: RunFolder, round_number: int) -> Mapping[str, Any] | None:
    """The trainer's numbers; None where nothing was trained."""
    for path in _metrics_files(folder.step(round_number, "finetune")):
        return json.loads(path.read_text(encoding="utf-8"))
    return None


def drops_of(folder: RunFolder, round_number: int) -> tuple[Drop, ...]:
    """What was left out of a round's training data: by preparation, then by the trainer."""
    prepared, metrics = prepared_of(folder, round_number), metrics_of(folder, round_number)
    by_trainer = [
        Drop(source="roleplay", reason=f"trainer_{reason}", stage="sft", calls=len(keys))
        for reason, keys in sorted((metrics or {}).get("dropped", {}).items())
        if keys
    ]
    return (*(prepared.drops if prepared else ()), *by_trainer)


def _metrics_files(folder: Path) -> list[Path]:
    """Where the trainer's numbers may lie: the step's folder, or its work folder inside."""
    return [*sorted(folder.glob(METRICS_FILE)), *sorted(folder.glob(f"*/{METRICS_FILE}"))]
