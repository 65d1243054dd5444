"""General prompts that the current model answers, so that it keeps what it knows.

They come from the file that ships, a JSONL file or a hub data set, all in the `messages` schema of Tulu 3. A prompt
is what stands before the last answer. Order is drawn by seed; no source is held in memory as a whole.
"""

import json
import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from sim.core.keys import digest_of, normal_form

OFFLINE = "offline"
OFFLINE_FILE = Path(__file__).parent / "data" / "general_prompts.jsonl"
LONGEST_PROMPT_CHARS = 8000
_ROLES = ("system", "user", "assistant")
_SHUFFLE_BUFFER = 10_000


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """One general prompt: messages that end with the user's turn."""

    id: str
    messages: tuple[Mapping[str, str], ...]
    source: str


def open_prompts(source: str, seed: int) -> Iterator[Prompt]:
    """The usable prompts of a source in an order drawn by seed, each wording once; ValueError with a remedy if none."""
    rows = _hub_rows(source, seed) if _is_hub_name(source) else _file_rows(_local_file(source), seed)
    seen: set[str] = set()
    for row in rows:
        prompt = prompt_of(row)
        if prompt is None:
            continue
        wording = digest_of(normal_form(json.dumps(prompt.messages, ensure_ascii=False)).encode())
        if wording not in seen:
            seen.add(wording)
            yield prompt
    if not seen:
        raise ValueError(
            f"training.mixture.source = {source!r} holds no usable prompt; each row needs `messages` with a user's turn"
        )


def prompt_of(row: Mapping[str, Any]) -> Prompt | None:
    """The prompt of a row in the `messages` schema, or None if there is none that can be used."""
    messages = row.get("messages")
    if not isinstance(messages, list | tuple) or not all(_is_message(message) for message in messages):
        return None
    answers = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    turns = messages
    if answers and messages[-1]["role"] == "assistant":
        turns = messages[: answers[-1]]
    if not turns or turns[-1]["role"] != "user":
        return None
    if sum(len(message["content"]) for message in turns) > LONGEST_PROMPT_CHARS:
        return None
    plain = tuple({"role": message["role"], "content": message["content"]} for message in turns)
    identity = str(row.get("id") or digest_of(json.dumps(plain, ensure_ascii=False).encode()))
    return Prompt(id=identity, messages=plain, source=str(row.get("source") or "unknown"))


def _is_message(message: Any) -> bool:
    """Whether this is a chat message with text."""
    return (
        isinstance(message, Mapping)
        and message.get("role") in _ROLES
        and isinstance(message.get("content"), str)
        and bool(message["content"].strip())
    )


def _is_hub_name(source: str) -> bool:
    return source != OFFLINE and not source.endswith(".jsonl") and not Path(source).exists()


def _local_file(source: str) -> Path:
    path = OFFLINE_FILE if source == OFFLINE else Path(source)
    if not path.is_file():
        raise ValueError(
            f"training.mixture.source = {source!r}: there is no such file; give a JSONL file, `{OFFLINE}`, or the name "
            "of a hub data set"
        )
    return path


def _file_rows(path: Path, seed: int) -> Iterator[Mapping[str, Any]]:
    """The rows of a JSONL file in drawn order; only the places of its lines are kept in memory."""
    with path.open("rb") as file:
        places = [0]
        for line in file:
            places.append(places[-1] + len(line))
        places.pop()
        random.Random(seed).shuffle(places)
        for place in places:
            file.seek(place)
            line = file.readline()
            if line.strip():
                yield _parsed(path, place, line)


def _parsed(path: Path, place: int, line: bytes) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path}, byte {place}: not a line of JSON ({error}); repair or remove the line") from error
    if not isinstance(row, dict):
        raise ValueError(f"{path}, byte {place}: a row must be an object with `messages`; repair or remove the line")
    return row


def _hub_rows(name: str, seed: int) -> Iterable[Mapping[str, Any]]:
    """The rows of a hub data set, streamed, shuffled in a buffer."""
    import datasets
    from datasets.exceptions import DatasetsError

    try:
        rows = datasets.load_dataset(name, split="train", streaming=True)
    except (DatasetsError, OSError, ValueError) as error:
        raise ValueError(
            f"training.mixture.source = {name!r} could not be opened ({error}); check the name and the network, set "
            f"it to a downloaded JSONL file, or to `{OFFLINE}` for the prompts that ship"
        ) from error
    return rows.shuffle(seed=seed, buffer_size=_SHUFFLE_BUFFER)
