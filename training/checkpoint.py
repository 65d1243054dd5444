"""Writes and checks a fine-tuned model as a plain Hugging Face folder that says how it was made.

Everything is written beside the final folder and moved there in one step, the done marker last inside it: a
half-written checkpoint has no marker and is never taken. The marker's digest proves later what a server loaded.
"""

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jinja2
import msgspec

from training.base_model import check_model_folder

DONE_MARKER = "CHECKPOINT.json"
CARD_TEMPLATE = Path(__file__).with_name("model_card.md.j2")
_CHUNK_BYTES = 8 * 2**20


class CheckpointError(ValueError):
    """A folder is no finished checkpoint; the text says why and what to do."""


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True):
    """What the done marker of a checkpoint says."""

    weights_digest: str
    dtype: str
    files: Mapping[str, int]
    """Name → size in bytes of every file."""
    facts: Mapping[str, Any] = {}
    """How it was made, as printed in the model card."""


def weights_digest(folder: Path) -> str:
    """SHA-256 over names and contents of the folder's safetensors files."""
    files = sorted(folder.glob("*.safetensors"))
    if not files:
        raise CheckpointError(f"{folder} holds no *.safetensors files; give a complete Hugging Face model folder")
    total = hashlib.sha256()
    for file in files:
        digest = hashlib.sha256()
        with file.open("rb") as stream:
            while block := stream.read(_CHUNK_BYTES):
                digest.update(block)
        total.update(f"{file.name}\n{digest.hexdigest()}\n".encode())
    return total.hexdigest()


def write_checkpoint(
    folder: Path, write_model: Callable[[Path], object], *, dtype: str, facts: Mapping[str, Any]
) -> Checkpoint:
    """Make the checkpoint: `write_model` fills a temporary folder, card and marker follow, then it gets its name."""
    partial = folder.with_name(f".{folder.name}.{os.getpid()}.partial")
    for left_over in folder.parent.glob(f".{folder.name}.*.partial"):
        shutil.rmtree(left_over, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        write_model(partial)
        check_model_folder(partial)
        digest = weights_digest(partial)
        (partial / "README.md").write_text(
            model_card({**facts, "weights_digest": digest, "dtype": dtype}), encoding="utf-8"
        )
        sizes = {path.name: path.stat().st_size for path in sorted(partial.iterdir()) if path.is_file()}
        made = Checkpoint(weights_digest=digest, dtype=dtype, files=sizes, facts=dict(facts))
        for name in sizes:
            _flush(partial / name)
        marker = partial / DONE_MARKER
        marker.write_bytes(msgspec.json.format(msgspec.json.encode(made, order="deterministic"), indent=1) + b"\n")
        _flush(marker)
        _flush(partial)
        _replace(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return made


def read_checkpoint(folder: Path, *, verify: bool = False) -> Checkpoint:
    """The marker of a finished checkpoint; `verify` also hashes the weights. CheckpointError if it is not whole."""
    remedy = "remove the folder and run the same command again"
    try:
        made = msgspec.json.decode((folder / DONE_MARKER).read_bytes(), type=Checkpoint)
    except FileNotFoundError as error:
        raise CheckpointError(f"{folder} is no finished checkpoint ({DONE_MARKER} is missing); {remedy}") from error
    except msgspec.DecodeError as error:
        raise CheckpointError(f"{folder / DONE_MARKER} is damaged ({error}); {remedy}") from error
    for name, size in made.files.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != size:
            raise CheckpointError(f"{path} is missing or not of its {size} bytes; {remedy}")
    check_model_folder(folder)
    if verify and weights_digest(folder) != made.weights_digest:
        raise CheckpointError(f"the weights in {folder} are not those that were written; {remedy}")
    return made


def is_checkpoint(folder: Path) -> bool:
    """Whether the folder is a finished checkpoint."""
    try:
        read_checkpoint(folder)
    except ValueError:
        return False
    return True


def model_card(facts: Mapping[str, Any]) -> str:
    """The README of a checkpoint from the facts of its making."""
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True
    )
    return environment.from_string(CARD_TEMPLATE.read_text(encoding="utf-8")).render(facts=_Facts(facts))


class _Facts(dict[str, Any]):
    """Facts of the card; one that is not known reads as a dash."""

    def __missing__(self, key: str) -> str:
        return "–"


def copy_tokenizer(source: Path, target: Path) -> None:
    """Copy tokenizer, chat template and generation settings unchanged, so that training and serving share them."""
    names = ("tokenizer*", "*.jinja", "special_tokens_map.json", "added_tokens.json", "vocab*", "merges.txt")
    for pattern in (*names, "generation_config.json", "preprocessor_config.json"):
        for path in sorted(source.glob(pattern)):
            shutil.copyfile(path, target / path.name)


def _replace(partial: Path, folder: Path) -> None:
    """Give the finished folder its name; an unfinished one in its place is removed first."""
    if folder.exists():
        if is_checkpoint(folder):
            raise CheckpointError(f"{folder} is a finished checkpoint already; give another folder or remove it")
        shutil.rmtree(folder)
    partial.rename(folder)
    _flush(folder.parent)


def _flush(path: Path) -> None:
    """Write a file's or folder's buffers to disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
