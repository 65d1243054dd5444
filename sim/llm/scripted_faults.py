"""Bad answers of the scripted model, on request: which call gets one, and how a good answer is spoilt."""

import hashlib
import random
from typing import Literal

import msgspec

from sim.llm.json_reader import Reading, read_checked, read_object
from sim.llm.protocol import OutputFormat
from sim.llm.tool_calls import OPEN

FaultKind = Literal["malformed", "empty", "truncated", "unanswered", "illegal"]

_STRANGER = "Nobody of this name"


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """Shares of calls that go wrong in each way."""

    malformed: float = 0.0
    empty: float = 0.0
    truncated: float = 0.0
    unanswered: float = 0.0
    illegal: float = 0.0
    """Actions that the rules refuse; only where an answer may hold actions."""

    def kind_of(self, key: str, seed: int) -> FaultKind | None:
        """What goes wrong with a call, drawn from its key (which ends with the attempt) and seed alone."""
        digest = hashlib.sha256(f"fault\x1f{seed}\x1f{key}".encode()).digest()
        drawn = int.from_bytes(digest[:7], "big") / 2**56
        kinds: tuple[FaultKind, ...] = ("malformed", "empty", "truncated", "unanswered", "illegal")
        for kind in kinds:
            drawn -= getattr(self, kind)
            if drawn < 0:
                return kind
        return None


def spoilt(text: str, output: OutputFormat, rng: random.Random, prose: str) -> str:
    """A malformed answer in place of a good one; it is sure to be refused by its form, or by the tags' reader."""
    if output.kind == "json":
        broken = [prose, text[: max(1, 2 * len(text) // 3)] + " and so on", _with_stranger(text)]
        choice = rng.choice(broken)
        return prose if isinstance(read_checked(choice, output.schema), Reading) else choice
    stray = f'{prose} {OPEN}{{"name": "recall", "arguments":'
    if not output.tags:
        return stray
    tag = rng.choice(output.tags)
    unfinished = f'{prose}\n<{tag.name}>{{"action": "</{tag.name}>'
    unknown = f'{prose}\n<{tag.name}>{{"{_STRANGER}": 1}}</{tag.name}>'
    return rng.choice([stray, unfinished, unknown])


def _with_stranger(text: str) -> str:
    """The answer with a property that nobody asked for."""
    reading = read_object(text)
    if not isinstance(reading, Reading):
        return text
    return msgspec.json.encode({_STRANGER: 1, **dict(list(reading.value.items())[1:])}).decode()
