"""A step has a name, inputs and outputs in its folder, and a manifest written last: a finished step is skipped."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from pipeline.atomic import read_json, write_json
from pipeline.run_folder import RunFolder

log = logging.getLogger(__name__)
Notes = Mapping[str, Any]
BEGUN_FILE = "begun.json"
"""Inputs with which an unfinished step was begun: it may only go on with the same."""


class StepInputsChanged(ValueError):
    """A finished step was made from other inputs than those of now."""


async def run_step(
    folder: RunFolder,
    round_number: int,
    name: str,
    inputs: Mapping[str, Any],
    work: Callable[[Path], Awaitable[Notes]],
) -> Notes:
    """The notes of a step: from its manifest if it is finished, else by doing it. Its folder is handed to `work`."""
    manifest = folder.manifest(round_number, name)
    if manifest.exists():
        done = read_json(manifest)
        _check_inputs(manifest, done["inputs"], dict(inputs))
        log.info("round %d: %s is done, skipped", round_number, name)
        return done["notes"]
    log.info("round %d: %s", round_number, name)
    target = folder.step(round_number, name)
    target.mkdir(parents=True, exist_ok=True)
    begun = target / BEGUN_FILE
    if begun.exists():
        _check_inputs(begun, read_json(begun), dict(inputs))
    else:
        write_json(begun, dict(inputs))
    notes = await work(target)
    write_json(manifest, {"step": name, "round": round_number, "inputs": dict(inputs), "notes": notes})
    return read_json(manifest)["notes"]


def finished(folder: RunFolder, round_number: int, name: str) -> Notes | None:
    """The notes of a finished step, or None."""
    manifest = folder.manifest(round_number, name)
    return read_json(manifest)["notes"] if manifest.exists() else None


def _check_inputs(manifest: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    changed = sorted(key for key in {*before, *now} if before.get(key) != now.get(key))
    if changed:
        differences = "; ".join(f"{key}: {before.get(key)!r} → {now.get(key)!r}" for key in changed)
        raise StepInputsChanged(
            f"{manifest.parent} was made from other inputs ({differences}); use a new run_dir, or remove this folder "
            "and those of all later steps to make them again"
        )
