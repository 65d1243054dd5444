"""The one place that turns text into token ids: counting, prompts as served, and training rows with their labels.

A row's prompt is rendered by the chat template that serving uses; its answer is the server's own ids where known.
Labels stand on the answer and the end-of-turn token only. Reads `tokenizer.json` itself: torch is never imported.
"""

import functools
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tokenizers import Tokenizer

from sim.core.keys import digest_of_ids
from training.chat_template import ChatTemplate

IGNORED = -100
TOKENIZER_FILES = ("tokenizer*", "*.jinja", "special_tokens_map.json", "vocab*", "merges.txt", "generation_config.json")
_HUB_NAME = re.compile(r"^[\w.-]+/[\w.-]+$")
_COUNTED_TEXTS = 4096
_MARK = "ANSWER"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenRow:
    """One training row: all ids, and labels that are -100 on the prompt."""

    input_ids: list[int]
    labels: list[int]
    prompt_len: int
    origin: Literal["served", "text"]
    """Whether the answer's ids are the server's own or made from its text."""

    @property
    def digest(self) -> str:
        """Digest of the prompt's ids, comparable with the server's."""
        return digest_of_ids(self.input_ids[: self.prompt_len])


class ChatTokenizer:
    """A model folder's tokenizer and chat template."""

    def __init__(self, folder: Path, template_options: Mapping[str, Any] | None = None) -> None:
        """Read the folder; ValueError naming what is missing or unfit for training."""
        self.folder = folder
        settings = _read_json(folder / "tokenizer_config.json")
        self._tokenizer = _load_backend(folder)
        special = {name: _token_text(value) for name, value in settings.items() if name.endswith("_token")}
        named = {name: text for name, text in special.items() if text}
        self._template = ChatTemplate(_template_source(folder, settings), named, template_options)
        self.stop_id = self._find_stop_id(special.get("eos_token", ""))

    def ids_of(self, text: str) -> list[int]:
        """The ids of a text, nothing added."""
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    def decode(self, ids: Sequence[int], *, with_special: bool = False) -> str:
        """The text of ids."""
        return self._tokenizer.decode(list(ids), skip_special_tokens=not with_special)

    def prompt_ids(self, messages: Sequence[Mapping[str, str]]) -> list[int]:
        """The ids that a server feeds the model before it answers."""
        return self.ids_of(self._template.render(messages, add_generation_prompt=True))

    def _find_stop_id(self, eos_token: str) -> int:
        """The special token that ends the assistant's turn in the chat template, else the end-of-sequence token."""
        turn = [{"role": "user", "content": "-"}, {"role": "assistant", "content": _MARK}]
        tail = self._template.render(turn, add_generation_prompt=False).rpartition(_MARK)[2]
        special = {index for index, token in self._tokenizer.get_added_tokens_decoder().items() if token.special}
        found = [index for index in self.ids_of(tail) if index in special]
        eos_id = self._tokenizer.token_to_id(eos_token) if eos_token else None
        stop = found[0] if found else eos_id
        ends = _end_ids(self.folder) | ({eos_id} if eos_id is not None else set())
        if stop is None or stop not in ends:
            raise ValueError(
                f"{self.folder}: the chat template ends an answer with {tail.strip()!r}, which is not among the "
                "model's end-of-sequence tokens, so it would never stop; add it to generation_config.json"
            )
        return stop


def load_tokenizer(name: str, template_options: Mapping[str, Any] | None = None) -> ChatTokenizer:
    """The tokenizer of a model folder or hub name; a folder is read without any network.

    `template_options` must be those of serving, or rows would not begin with the prompts that were served.
    """
    return ChatTokenizer(model_folder(name, TOKENIZER_FILES), template_options)


def model_folder(name: str, files: Sequence[str]) -> Path:
    """The folder of a model; of a hub name the local copy of these files, fetched if need be."""
    if Path(name).is_dir():
        return Path(name)
    if not _HUB_NAME.match(name) or name.startswith("."):
        raise ValueError(f"model {name!r} is neither an existing folder nor a hub name of the form owner/model")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=list(files)))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ValueError(
            f"model {name!r} could not be fetched from the hub ({type(error).__name__}); check the name and the "
            "network, or give the path of a downloaded folder"
        ) from error


def counter(tokenizer: ChatTokenizer) -> Callable[[str], int]:
    """A function that counts a text's tokens and remembers the last few thousand texts."""

    @functools.lru_cache(maxsize=_COUNTED_TEXTS)
    def count(text: str) -> int:
        return len(tokenizer.ids_of(text))

    return count


def render_row(
    tokenizer: ChatTokenizer, messages: Sequence[Mapping[str, str]], answer: str, token_ids: Sequence[int] = ()
) -> TokenRow:
    """A training row of the messages as served and the answer; the server's own answer ids are preferred.

    Ids that don't spell the answer come from another tokenizer and give way to the text. The prompt's boundary is known
    from its own ids, never searched for, and the last label is the end-of-turn token.
    """
    prompt = tokenizer.prompt_ids(messages)
    served = list(token_ids)
    origin: Literal["served", "text"] = "served" if _spells(tokenizer, served, answer) else "text"
    target = served if origin == "served" else tokenizer.ids_of(answer)
    if not target or target[-1] != tokenizer.stop_id:
        target = [*target, tokenizer.stop_id]
    row = TokenRow(
        input_ids=prompt + target, labels=[IGNORED] * len(prompt) + target, prompt_len=len(prompt), origin=origin
    )
    assert row.labels[row.prompt_len :] == row.input_ids[row.prompt_len :]
    assert len(row.labels) == len(row.input_ids)
    return row


def _spells(tokenizer: ChatTokenizer, ids: Sequence[int], answer: str) -> bool:
    """Whether served ids contain the answer; reasoning before it may be among them."""
    return bool(ids) and bool(answer.strip()) and answer.strip() in tokenizer.decode(ids)


def _load_backend(folder: Path) -> Tokenizer:
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ValueError(
            f"{folder} has no tokenizer.json; load it once with transformers.AutoTokenizer and save it there again"
        )
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def _template_source(folder: Path, settings: Mapping[str, Any]) -> str:
    """The chat template: its own file, or inside the tokenizer's settings (as text, or as a named list)."""
    path = folder / "chat_template.jinja"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    source = settings.get("chat_template")
    if isinstance(source, list):
        source = next((entry["template"] for entry in source if entry.get("name") == "default"), None)
    if not source:
        raise ValueError(f"{folder} has no chat template; use an instruction-tuned model")
    return source


def _end_ids(folder: Path) -> set[int]:
    """The ids at which a server stops, from the generation and model settings."""
    found: set[int] = set()
    for name in ("generation_config.json", "config.json"):
        value = _read_json(folder / name).get("eos_token_id") if (folder / name).is_file() else None
        found |= set(value) if isinstance(value, list) else ({value} if isinstance(value, int) else set())
    return found


def _token_text(value: Any) -> str:
    """A special token's text; the settings give it plain or as an object."""
    if isinstance(value, Mapping):
        value = value.get("content")
    return value if isinstance(value, str) else ""


def _read_json(path: Path) -> Any:
    if not path.is_file():
        raise ValueError(f"{path} is missing; give a complete Hugging Face model folder")
    return json.loads(path.read_text(encoding="utf-8"))
