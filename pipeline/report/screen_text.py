"""Text for a terminal or a page of fixed width: how wide it is there, cut, padded, wrapped, and cleared of controls."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence

PAGE = 100
"""Columns of a page."""
_WIDE = frozenset("WF")
_NO_WIDTH = frozenset(("Mn", "Me", "Cf"))
_ELLIPSIS = "…"


def width(text: str) -> int:
    """Columns that a text takes: East Asian wide characters take two, combining ones none."""
    return sum(_width(character) for character in text)


def plain(text: str) -> str:
    """The text without control characters and lone surrogates, so that nothing of it can steer a terminal."""
    kept = (" " if character in "\t\r\n" else character for character in text)
    return "".join(character for character in kept if unicodedata.category(character) not in ("Cc", "Cs"))


def clipped(text: str, columns: int) -> str:
    """The text in at most so many columns, with an ellipsis where something is missing."""
    if width(text) <= columns:
        return text
    taken, used = [], 0
    for character in text:
        used += _width(character)
        if used > columns - 1:
            break
        taken.append(character)
    return "".join(taken).rstrip() + _ELLIPSIS if columns > 0 else ""


def padded(text: str, columns: int, *, right: bool = False) -> str:
    """The text filled up with blanks to so many columns."""
    blanks = " " * max(0, columns - width(text))
    return blanks + text if right else text + blanks


def wrapped(text: str, columns: int) -> list[str]:
    """The text in lines of at most so many columns; its own line breaks stay. Breaks at blanks where there are any."""
    return [line for part in text.splitlines() or [""] for line in _wrapped_line(plain(part).rstrip(), columns)]


def block(mark: str, texts: Iterable[str], *, columns: int = PAGE) -> list[str]:
    """Texts with a mark before each, wrapped and indented below it."""
    indent = " " * width(mark)
    lines: list[str] = []
    for text in texts:
        first, *rest = wrapped(text, columns - width(mark))
        lines += [(mark + first).rstrip(), *((indent + line).rstrip() for line in rest)]
    return lines


def table(rows: Sequence[Sequence[str]], *, left: int = 1, gap: str = "  ") -> list[str]:
    """Rows in columns; the first `left` columns are set to the left, the others to the right."""
    widths = (
        [max(width(row[place]) for row in rows if place < len(row)) for place in range(max(map(len, rows)))]
        if rows
        else []
    )
    lines = []
    for row in rows:
        cells = [padded(cell, widths[place], right=place >= left) for place, cell in enumerate(row)]
        lines.append(gap.join(cells).rstrip())
    return lines


def duration(seconds: float) -> str:
    """A length of time in two units at most: `45 s`, `3 min 20 s`, `2 h 05 min`, `1 d 4 h`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def short(number: float) -> str:
    """A count in few characters: `950`, `12.3k`, `4.1M`."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{letter}"
    return f"{number:.0f}"


def _wrapped_line(text: str, columns: int) -> Iterator[str]:
    while width(text) > columns:
        fitting = _fitting(text, columns)
        at = text.rfind(" ", 1, fitting + 1)
        end = at if at > fitting // 2 else fitting
        yield text[:end].rstrip()
        text = text[end:].lstrip(" ")
    yield text


def _fitting(text: str, columns: int) -> int:
    """How many characters fit; at least one, so that every line gets on."""
    used = 0
    for place, character in enumerate(text):
        used += _width(character)
        if used > columns:
            return max(1, place)
    return len(text)


def _width(character: str) -> int:
    if unicodedata.category(character) in _NO_WIDTH:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1
