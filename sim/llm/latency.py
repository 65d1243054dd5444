"""How long a served model would take: a prefix cache of token blocks and a formula. Nothing waits here."""

import hashlib
import re
from collections import OrderedDict
from collections.abc import Sequence

import msgspec

BLOCK_TOKENS = 16
CHARS_PER_TOKEN = 4
_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\u3000-\u303f"
_WIDE = re.compile(f"[{_CJK}]")
_PIECE = re.compile(f"[{_CJK}]|[^{_CJK}]{{1,{CHARS_PER_TOKEN}}}")


def pieces(text: str) -> list[str]:
    """The text cut into about as many pieces as a tokenizer makes: single wide characters, else four at a time."""
    return _PIECE.findall(text)


def count_pieces(text: str) -> int:
    """About the number of tokens of a text: one per wide character, one per four others."""
    wide = len(_WIDE.findall(text))
    return wide + -(-(len(text) - wide) // CHARS_PER_TOKEN)


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Speed of one replica."""

    first_s: float = 0.10
    prefill_per_s: float = 8000.0
    decode_per_s: float = 40.0

    def seconds(self, *, prompt_tokens: int, cached_tokens: int, output_tokens: int) -> float:
        """Time to the first token (0.10 + uncached / 8000), then 40 tokens a second."""
        uncached = max(0, prompt_tokens - cached_tokens)
        return self.first_s + uncached / self.prefill_per_s + output_tokens / self.decode_per_s


class BlockCache:
    """A prefix cache: whole blocks of 16 tokens, each known by all up to its end; the least recently used go first."""

    def __init__(self, capacity_blocks: int) -> None:
        """Hold at most so many blocks."""
        self._capacity = capacity_blocks
        self._blocks: OrderedDict[bytes, None] = OrderedDict()

    def admit(self, tokens: Sequence[str]) -> int:
        """Tokens of the prompt's prefix that were cached; afterwards all its whole blocks are."""
        chain = _chain(tokens)
        cached = 0
        for block in chain:
            if block not in self._blocks:
                break
            cached += 1
        for block in reversed(chain):
            self._blocks[block] = None
            self._blocks.move_to_end(block)
        while len(self._blocks) > self._capacity:
            self._blocks.popitem(last=False)
        return cached * BLOCK_TOKENS

    def clear(self) -> None:
        """Drop everything, as after new weights."""
        self._blocks.clear()


def _chain(tokens: Sequence[str]) -> list[bytes]:
    """Digests of the whole blocks, each over all tokens up to its end."""
    digests: list[bytes] = []
    running = hashlib.blake2b(digest_size=16)
    for start in range(0, len(tokens) - len(tokens) % BLOCK_TOKENS, BLOCK_TOKENS):
        running.update("\x1f".join(tokens[start : start + BLOCK_TOKENS]).encode("utf-8", "surrogatepass"))
        digests.append(running.digest())
    return digests
