"""Who may read which part of a spoken text: `<private>`, `<visible_to="A,B">` and what is open to all present.

Models write tags badly: unclosed, crossed, with smart quotes or full-width brackets. In doubt, text stays private.
Names are resolved among the people present, never guessed; who can't be resolved does not read.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from sim.core.names import find_person

_QUOTES = str.maketrans(dict.fromkeys("“”„‟「」『』", '"'))
_KNOWN = r"(?:private|visible[\s_\-]*to)(?!\w)"
_OPEN, _CLOSE = "<‹〈《⟨≺⟪«", ">›〉》⟩≻⟫»"
_BRACKETS = r"\[({【〔"
_CUT = "|".join(name[:length] for name in ("private", "visible_to") for length in range(len(name) - 1, 0, -1))
"""What is left of a name where a text was cut inside its closing tag."""
_MARK = re.compile(
    rf"""
      (?:[{_OPEN}{_BRACKETS}]|&lt;) \s*(?P<slash6>[/\\])\s* (?P<name6>(?:{_CUT})?) (?P<rest6>)(?P<end6>)
        (?= \s*(?:$|[{_OPEN}{_BRACKETS}&]) )
    | [{_OPEN}] \s*(?P<slash1>[/\\]?)\s* (?P<name1>{_KNOWN}) (?P<rest1>[^{_OPEN}{_CLOSE}\n]*) (?P<end1>[{_CLOSE}])?
    | [\[({{【〔] \s*(?P<slash2>/?)\s* (?P<name2>{_KNOWN}) (?P<rest2>[^\])}}】〕\n]*) (?P<end2>[\])}}】〕])?
    | &lt; \s*(?P<slash3>/?)\s* (?P<name3>[^\W\d_][\w\-]*(?:\ to\b)?) (?P<rest3>(?:(?!&lt;).)*?) (?P<end3>&gt;)
    | < \s*(?P<slash4>/?)\s* (?P<name4>[^\W\d_][\w\-]*) (?P<rest4>[^<>\n]*) (?P<end4>>)?
    | (?P<slash5>/?) \b(?P<name5>visible_to\b | private\s*/?\s*>) (?P<rest5>) (?P<end5>)
    """,
    re.VERBOSE,
)
_PLAIN = frozenset({"b", "br", "em", "i", "p", "strong", "u"})
"""Formatting that models like to write and that hides nothing."""
_HIDING = ("priv", "vis", "secret", "hidden", "inner", "think", "thought", "whisper", "role", "tool")
"""Beginnings of tag names that hide what follows even where no closing tag does."""
_PUNCTUATION = re.compile(r"\s*[,，、;；/|]\s*")
_CONJUNCTIONS = re.compile(r"\s*(?:&|\band\b|和|与)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A stretch of one text with one audience. `to` names who may read it besides the speaker, unless it is open."""

    kind: Literal["public", "visible_to", "private"]
    text: str
    to: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """One tag of the text: where it stands, what it opens or closes, and who may read inside."""

    start: int
    stop: int
    closes: bool
    tag: str
    """Its name: `private`, `visible_to`, "" for formatting, or another name, which hides like `private`."""
    to: frozenset[str] = frozenset()
    cut: bool = False
    """Only the beginning of a closing tag is there."""


def parse_segments(text: str, people: Iterable[str]) -> tuple[Segment, ...]:
    """The text in stretches of one audience each; `people` are those whom a tag may name.

    Inside nested tags only those may read whom every enclosing tag allows. An unclosed tag lasts to the end; a closing
    tag without its opening makes all that stands before it private, even where the text was cut inside that tag.
    """
    shadow, position = shadow_of(text)
    pieces: list[Segment] = []
    opened: list[_Mark] = []
    at = 0
    for mark in _marks(shadow, sorted(set(people))):
        pieces.append(_segment(text[position[at] : position[mark.start]], opened))
        at = mark.stop
        if not mark.tag:
            continue
        if not mark.closes:
            opened.append(mark)
        elif mark.cut and opened:
            continue
        elif not _close(opened, mark.tag):
            pieces = [Segment(kind="private", text=piece.text) for piece in pieces]
    pieces.append(_segment(text[position[at] :], opened))
    return _joined(pieces)


def seen_by(segments: Iterable[Segment], reader: str, speaker: str) -> tuple[Segment, ...]:
    """What one reader may know of a text: its own segments whole, private ones of others not at all.

    A segment between others stays as an empty `visible_to` one: the reader sees that something passed, not what.
    """
    seen: list[Segment] = []
    for segment in segments:
        if speaker == reader or segment.kind == "public" or (segment.kind == "visible_to" and reader in segment.to):
            seen.append(segment)
        elif segment.kind == "visible_to":
            seen.append(Segment(kind="visible_to", text="", to=segment.to))
    return tuple(seen)


def open_text(segments: Iterable[Segment]) -> str:
    """What anybody present may read, without notices."""
    return " ".join(segment.text.strip() for segment in segments if segment.kind == "public").strip()


def tags_of(text: str) -> str:
    """The tags of a text as written, without what stands between them."""
    shadow, position = shadow_of(text)
    return "".join(text[position[mark.start] : position[mark.stop]] for mark in _marks(shadow, []) if mark.tag)


def shadow_of(text: str) -> tuple[str, list[int]]:
    """The text as tags are looked for in it, and where in the text each of its characters and its end stand.

    Full-width and look-alike characters are plain there, invisible ones are left out.
    """
    characters: list[str] = []
    position: list[int] = []
    for index, character in enumerate(text):
        if unicodedata.category(character) == "Cf":
            continue
        plain = unicodedata.normalize("NFKC", character).casefold().translate(_QUOTES)
        characters.append(plain if len(plain) == 1 else character)
        position.append(index)
    return "".join(characters), [*position, len(text)]


def _marks(shadow: str, people: list[str]) -> Iterable[_Mark]:
    """All tags of the shadow text in order; what only looks like one is searched for tags inside."""
    at = 0
    while match := _MARK.search(shadow, at):
        mark = _mark(match, shadow, people)
        if mark is not None:
            yield mark
            at = mark.stop
        else:
            at = match.start() + 1


def _mark(match: re.Match[str], shadow: str, people: list[str]) -> _Mark | None:
    """The tag that a match is, or None if it hides nothing and is no formatting."""
    form = next(n for n in "612345" if match[f"name{n}"] is not None)
    name, rest, whole = match[f"name{form}"], match[f"rest{form}"], match[f"end{form}"] is not None
    closes = bool(match[f"slash{form}"])
    stop = match.end() if whole else match.end(f"name{form}")
    if form == "6":
        return _Mark(start=match.start(), stop=stop, closes=True, tag="private", cut=True)
    if name in _PLAIN and whole and not rest.strip(" /"):
        return _Mark(start=match.start(), stop=stop, closes=closes, tag="")
    if re.fullmatch(_KNOWN, name) or form == "5":
        selective = name.startswith("visible")
        # A tag without its end names nobody: what would be its names may be speech.
        to = _readers(rest, people) if selective and whole else frozenset[str]()
        tag = "visible_to" if selective else "private"
        return _Mark(start=match.start(), stop=stop, closes=closes, tag=tag, to=to)
    if name.startswith(_HIDING) or (f"<{name}" if closes else f"</{name}") in shadow:
        return _Mark(start=match.start(), stop=stop, closes=closes, tag=name)
    return None


def _readers(rest: str, people: list[str]) -> frozenset[str]:
    """The people whom a tag names; nobody for a name that is none of theirs."""

    def resolve(text: str) -> list[str]:
        name = find_person(text.strip(" '\"=:`*"), people)
        if name is not None:
            return [name]
        parts = _PUNCTUATION.split(text)
        if len(parts) > 1:
            return [name for part in parts for name in resolve(part)]
        parts = _CONJUNCTIONS.split(text)
        found = [resolve(part) for part in parts] if len(parts) > 1 else []
        return [name for names in found for name in names] if all(found) else []

    return frozenset(name for text in re.findall(r'"([^"]*)"', rest) or [rest] for name in resolve(text))


def _close(opened: list[_Mark], tag: str) -> bool:
    """Take away the innermost open tag of the same name; whether there was one."""
    for index in range(len(opened) - 1, -1, -1):
        if opened[index].tag == tag:
            del opened[index]
            return True
    return False


def _segment(text: str, opened: list[_Mark]) -> Segment:
    """The stretch inside the tags that are open there."""
    if not opened:
        return Segment(kind="public", text=text)
    readers = frozenset[str].intersection(*(mark.to for mark in opened))
    return Segment(kind="visible_to" if readers else "private", text=text, to=tuple(sorted(readers)))


def _joined(pieces: list[Segment]) -> tuple[Segment, ...]:
    """Neighbours of one audience as one segment; blank ones left out."""
    joined: list[Segment] = []
    for piece in pieces:
        if not piece.text.strip():
            continue
        if joined and (joined[-1].kind, joined[-1].to) == (piece.kind, piece.to):
            piece = Segment(kind=piece.kind, text=joined.pop().text + piece.text, to=piece.to)
        joined.append(piece)
    return tuple(joined)
