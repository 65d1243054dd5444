"""How long texts are and how alike: by words, or by characters where a script has no blanks."""

import math
import re
import unicodedata
import zlib
from collections.abc import Iterable, Sequence

import numpy as np

CHINESE = "\u3400-\u4dbf\u4e00-\u9fff"
WORDS_PER_CHARACTER = 0.625
"""A Chinese text of 160 characters says about as much as an English one of 100 words."""
_UNIT = re.compile(rf"[{CHINESE}]|[^\W\d_{CHINESE}]+|\d+")
_CHINESE = re.compile(rf"[{CHINESE}]")
_SENTENCE_END = re.compile(r"[.!?…](?=[\s\"”’)]|$)|[。！？]")
_SHINGLE = 3
_COLUMNS = 8192


def units(text: str) -> list[str]:
    """The words of a text, lower case; each Chinese character is one."""
    return _UNIT.findall(unicodedata.normalize("NFKC", text).casefold())


def word_count(text: str) -> int:
    """About how many English words a text is long."""
    found = units(text)
    characters = sum(1 for unit in found if _CHINESE.fullmatch(unit))
    return round(len(found) - characters + characters * WORDS_PER_CHARACTER)


def sentence_count(text: str) -> int:
    """How many sentences end in a text."""
    return len(_SENTENCE_END.findall(text))


def shingles(text: str, size: int = _SHINGLE) -> list[str]:
    """All runs of a few words."""
    found = units(text)
    return [" ".join(found[start : start + size]) for start in range(max(1, len(found) - size + 1))] if found else []


def likeness(texts: Sequence[str]) -> np.ndarray:
    """How alike each two texts are, 0 to 1: cosine of their runs of three words, a run that few share counting most.

    Weight of a run in a text: `count · (ln((1 + N) / (1 + texts that have it)) + 1)`. Runs are hashed into columns, so
    that a thousand texts take a moment.
    """
    counts = np.zeros((len(texts), _COLUMNS), dtype=np.float32)
    for row, text in enumerate(texts):
        for run in shingles(text):
            counts[row, zlib.crc32(run.encode()) % _COLUMNS] += 1
    shared_by = (counts > 0).sum(axis=0)
    weights = counts * (np.log((1 + len(texts)) / (1 + shared_by)) + 1).astype(np.float32)
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    unit_rows = weights / np.where(lengths == 0, 1, lengths)
    return unit_rows @ unit_rows.T


def alike_pairs(texts: Sequence[str], least: float) -> list[tuple[int, int, float]]:
    """Places of each two texts that are at least so much alike, the first before the second."""
    matrix = np.triu(likeness(texts), k=1)
    return [(int(one), int(other), float(matrix[one, other])) for one, other in np.argwhere(matrix >= least)]


def longest_copy(text: str, sources: Iterable[str]) -> int:
    """About the longest run of words that a text has word for word from one of the sources."""
    longest = 0
    for source in sources:
        there = set(shingles(source))
        run = 0
        for shingle in shingles(text):
            run = run + 1 if shingle in there else 0
            longest = max(longest, run + _SHINGLE - 1 if run else 0)
    return longest


def plain_form(name: str) -> str:
    """A name without accents, case, blanks and marks: names of one plain form are easily confused."""
    letters = unicodedata.normalize("NFKD", name).casefold()
    return "".join(char for char in letters if char.isalnum())


def most_alike(text: str, others: Sequence[str]) -> tuple[int, float]:
    """Place of the text most like this one, and how alike; (-1, 0) without any."""
    if not others:
        return -1, 0.0
    row = likeness([*others, text])[-1, :-1]
    place = int(row.argmax())
    return place, 0.0 if math.isnan(float(row[place])) else float(row[place])
