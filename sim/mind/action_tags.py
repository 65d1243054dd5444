"""Takes a text apart into speech and the actions in its `<role_action>{…}</role_action>` tags, however badly written.

Tags may be full-width, escaped, in other brackets, nested, crossed or unclosed; one may hold several actions, a list,
or an object without a brace. What can't be read, stands outside a tag or inside a thought is found too, with its flaw.
"""

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import msgspec

from sim.core.agent import Value
from sim.core.visibility import shadow_of, tags_of
from sim.llm.json_reader import read_object
from sim.llm.outcome import Refusal

TAG = "role_action"
SHOWN_CHARS = 300
"""Longest part of an action that is shown to the agent again."""
MOST_FOUND = 50
"""Actions of one text that are looked at; what comes after so many would be refused for their number anyway."""

Flaw = Literal["", "unreadable", "untagged", "only_thought"]


class Found(Value, frozen=True, kw_only=True):
    """One action as written; `fields` is None where it can't be read or must not be, and `flaw` says why."""

    original: str
    fields: Mapping[str, Any] | None
    flaw: Flaw = ""
    before: str = ""
    """The text outside actions that precedes it; a tag that is open there hides the action too."""
    after: str = ""


class Reading(Value, frozen=True, kw_only=True):
    """A text taken apart: what was said outside the tags, and the actions in their order."""

    speech: str
    found: tuple[Found, ...]


_OPEN, _CLOSE = r"(?:[<‹〈《⟨\[【〔]|&lt;)", r"(?:[>›〉》⟩\]】〕]|&gt;)"
_MARK = re.compile(rf"{_OPEN}\s*(?P<slash>[/\\]?)\s*role[\s_-]?actions?\b[^<>\[\]{{}}\n&]*{_CLOSE}")
_THOUGHT = re.compile(r"<\s*(?P<slash>/?)\s*think(?:ing)?\s*>")
_UNTAGGED = re.compile(
    r"""["'“”＂]\s*(?:action|action_type|type|name|function)\s*["'“”＂]\s*[:：]\s*["'“”＂]\s*
    (?:contact|propose_joint_activity|respond_invitation|cancel_joint_activity|gift|exit_activity)\s*["'“”＂]""",
    re.IGNORECASE | re.VERBOSE,
)
_OBJECT_START = re.compile(r"""[<{｛"“”]""")
_FIELD = re.compile(r"""["“”＂]\s*[:：]""")
_FENCE = re.compile(r"(?:`+\s*(?:json|xml)?\s*)+", re.IGNORECASE)
_LISTS = ("actions", "role_actions", TAG)
_DEPTH = {"{": 1, "｛": 1, "}": -1, "｝": -1}
_CLOSING_QUOTES = {'"': '"', "“": "”“„", "”": "”“„", "„": "”“„", "＂": "＂", "「": "」"}
_QUOTES = (*_CLOSING_QUOTES, "'", "‘")


def read_actions(text: str) -> Reading:
    """All actions of a text and the text without them; an unclosed tag ends with its last whole object.

    What stands in a tag beside its objects is no speech, but the tags in it still hide what they enclose.
    """
    shadow, place = shadow_of(text)
    marks = list(_MARK.finditer(shadow))
    starts = [place[mark.start()] for mark in marks] + [len(text)]
    thoughts = [(place[start], place[end]) for start, end in _thoughts(shadow)]
    speech: list[str] = []
    outside: list[str] = []
    done: list[tuple[int, Found]] = []
    thought: list[tuple[int, Found]] = []
    at = 0
    for number, mark in enumerate(marks):
        following = marks[number + 1] if number + 1 < len(marks) else None
        said = text[at : starts[number]]
        if mark["slash"]:
            said, unopened = _without_unopened(said)
            done.extend((0, one) for one in unopened)
        speech.append(said)
        outside.append(said)
        at = place[mark.end()]
        body = text[at : starts[number + 1]]
        if mark["slash"] or (following and not following["slash"] and not body.strip()):
            continue
        escaped = mark[0].startswith("&")
        source = html.unescape(body) if escaped else body
        pieces, length = _objects(source)
        whole = not length or escaped or bool(following and following["slash"])
        inside = any(start <= starts[number] < end for start, end in thoughts)
        for beside, piece in _taken_apart(source, pieces, len(source) if whole else length):
            actions = _found(piece) if piece is not None else []
            unread = "" if piece is None or any(one.fields for one in actions) else piece
            outside.append(beside + unread)
            speech.append(tags_of(beside + unread))
            (thought if inside else done).extend((len(outside), one) for one in actions)
        at = starts[number + 1] if whole else at + length
    speech.append(text[at:])
    outside.append(text[at:])
    spoken, untagged = _without_untagged(" ".join(part.strip() for part in speech if _is_speech(part)))
    kept = done or [(where, _flawed(one, "only_thought")) for where, one in thought]
    found = [
        msgspec.structs.replace(one, before=" ".join(outside[:where]), after=" ".join(outside[where:]))
        for where, one in kept[:MOST_FOUND]
    ]
    return Reading(speech=spoken, found=tuple([*found, *untagged][:MOST_FOUND]))


def _taken_apart(body: str, pieces: Sequence[str], stop: int) -> Iterable[tuple[str, str | None]]:
    """Each piece of a tag's text with what stands before it; what follows the last one, up to `stop`, comes alone."""
    at = 0
    for piece in pieces:
        start = body.index(piece, at)
        yield body[at:start], piece
        at = start + len(piece)
    yield body[at:stop], None


def _is_speech(part: str) -> bool:
    """Whether a part says anything: blanks and the fences around a tag do not."""
    return bool(part.strip()) and not _FENCE.fullmatch(part.strip())


def _thoughts(shadow: str) -> list[tuple[int, int]]:
    """Where a text is thinking, by its `<think>` tags; unclosed to the end, before a lone end from the start."""
    spans: list[tuple[int, int]] = []
    opened: int | None = None
    for mark in _THOUGHT.finditer(shadow):
        if not mark["slash"]:
            opened = mark.start() if opened is None else opened
        else:
            spans.append((0 if opened is None else opened, mark.end()))
            opened = None
    return spans if opened is None else [*spans, (opened, len(shadow))]


def _objects(body: str) -> tuple[list[str], int]:
    """The objects of a tag's text, one piece each, and where the last whole one ends (0 if none is whole)."""
    pieces: list[str] = []
    depth = start = end = 0
    quote, escaped = "", False
    for place, char in enumerate(body):
        if escaped or (quote and char not in quote):
            escaped = not escaped and char == "\\"
            continue
        if quote or char in _CLOSING_QUOTES:
            quote = "" if quote else _CLOSING_QUOTES[char] if depth else ""
            continue
        if depth == 0 and _DEPTH.get(char) == 1:
            start = place
        depth = max(0, depth + _DEPTH.get(char, 0))
        if depth == 0 and char in "}｝":
            end = place + 1
            pieces.append(body[start:end])
            start = end
    if depth:
        pieces.append(body[start:])
    return pieces or [body], end


def _found(piece: str) -> list[Found]:
    """The action or, from a list named `actions`, the actions of one object."""
    original = shown(piece, SHOWN_CHARS)
    reading = read_object(_braced(piece))
    if isinstance(reading, Refusal):
        return [Found(original=original, fields=None, flaw="unreadable")]
    several = next((reading.value[name] for name in _LISTS if isinstance(reading.value.get(name), list)), None)
    if several and all(isinstance(item, dict) for item in several):
        return [Found(original=original, fields=item) for item in several]
    return [Found(original=original, fields=reading.value)]


def _braced(piece: str) -> str:
    """An object whose first brace, or both, are missing gets them."""
    inside = piece.strip()
    if "{" in inside or "｛" in inside or not inside.startswith(_QUOTES):
        return piece
    return "{" + inside if inside.endswith(("}", "｝")) else "{" + inside + "}"


def _without_untagged(speech: str) -> tuple[str, list[Found]]:
    """Speech without objects that are actions but for their missing tag; nobody would say them aloud."""
    if not _UNTAGGED.search(speech):
        return speech, []
    pieces = [piece for piece in _objects(speech)[0] if _UNTAGGED.search(piece)]
    for piece in pieces:
        speech = speech.replace(piece, " ", 1)
    parts = [part.strip() for part in speech.split("\n") if _is_speech(part)]
    found = [Found(original=shown(piece, SHOWN_CHARS), fields=None, flaw="untagged") for piece in pieces]
    return "\n".join(parts), found


def _without_unopened(part: str) -> tuple[str, list[Found]]:
    """What was said before a closing tag that nothing opens, without the object that it closes, if there is one."""
    start = _OBJECT_START.search(part)
    if start is None or not _FIELD.search(part):
        return part, []
    found = Found(original=shown(part[start.start() :], SHOWN_CHARS), fields=None, flaw="untagged")
    return part[: start.start()], [found]


def _flawed(found: Found, flaw: Flaw) -> Found:
    return Found(original=found.original, fields=None, flaw=flaw)


def shown(text: str, chars: int) -> str:
    """A text as it may be repeated to the model: one line, nothing invisible, not longer than that."""
    line = "".join(char for char in " ".join(text[: 4 * chars].split()) if char.isprintable())
    return line if len(line) <= chars else line[: chars - 1] + "…"
