"""Actions in free text: every `<role_action>{…}</role_action>` becomes a typed action or an objection.

Reading is lenient about damage that leaves no doubt (width, quotes, commas, fences, a missing closing tag, several
actions in one tag); what a world's rules allow is decided elsewhere.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from sim.context.names import resolve_name
from sim.core.agent import Value
from sim.core.invitations import Cancel, Contact, Objection, Propose, Respond, nearest_names
from sim.core.keys import normal_form
from sim.core.visibility import tags_of
from sim.llm.json_reader import read_object
from sim.llm.outcome import Refusal
from sim.mind.desk import Desk

TAG = "role_action"
CONTACT_KINDS = ("contact", "propose_joint_activity", "respond_invitation", "cancel_joint_activity")
ACTIVITY_KINDS = ("gift", "exit_activity")
MALFORMED = frozenset({"unreadable", "no_kind", "missing_field", "bad_decision"})
"""Objections to an action's form; all others are to its content."""
SHOWN_CHARS = 300
"""Longest part of a refused action that is shown to the agent again."""


class Gift(Value, frozen=True, kw_only=True, tag=True):
    """Hand a possession to somebody present."""

    to: str
    item: str
    message: str = ""


class ExitActivity(Value, frozen=True, kw_only=True, tag=True):
    """Leave the activity before its end."""

    message: str = ""


Action = Contact | Propose | Respond | Cancel | Gift | ExitActivity


class Found(Value, frozen=True, kw_only=True):
    """One action as written; `fields` is None where it can't be read."""

    original: str
    fields: Mapping[str, Any] | None
    before: str = ""
    """The text outside actions that precedes it; a tag that is open there hides the action too."""
    after: str = ""


class Reading(Value, frozen=True, kw_only=True):
    """A text taken apart: what was said outside the tags, and the actions in their order."""

    speech: str
    found: tuple[Found, ...]


class _Field(Value, frozen=True, kw_only=True):
    """A parameter: its names (the documented one first), whether it must be there, whether it is a list."""

    names: tuple[str, ...]
    needed: bool = True
    many: bool = False


_TO = _Field(names=("to", "recipient", "person"))
_ACTIVITY = _Field(names=("activity_name", "activity", "name", "title"))
_MESSAGE = _Field(names=("message", "content", "text"))
_COMMENT = _Field(names=_MESSAGE.names, needed=False)
_SHAPES: Mapping[str, Mapping[str, _Field]] = {
    "contact": {"to": _TO, "message": _MESSAGE},
    "propose_joint_activity": {
        "activity": _ACTIVITY,
        "proposal": _Field(names=("proposal", "description"), needed=False),
        "invited": _Field(names=("invited_persons", "invited", "invitees"), many=True),
        "time": _Field(names=("time", "slot")),
        "location": _Field(names=("location", "place")),
        "required": _Field(names=("required_participants", "required"), needed=False, many=True),
        "message": _COMMENT,
    },
    "respond_invitation": {
        "activity": _ACTIVITY,
        "to": _Field(names=("to", "proposer")),
        "decision": _Field(names=("decision", "answer", "response")),
        "message": _COMMENT,
    },
    "cancel_joint_activity": {"activity": _ACTIVITY, "message": _COMMENT},
    "gift": {"to": _TO, "item": _Field(names=("item", "item_name", "object")), "message": _COMMENT},
    "exit_activity": {"message": _Field(names=("message", "reason", "content"), needed=False)},
}
_MAKERS: Mapping[str, Callable[..., Action]] = {
    "contact": Contact,
    "propose_joint_activity": Propose,
    "respond_invitation": Respond,
    "cancel_joint_activity": Cancel,
    "gift": Gift,
    "exit_activity": ExitActivity,
}
_KIND_NAMES = ("action", "type", "action_type", "function", "name")
_INNER_NAMES = ("parameters", "arguments", "params", "args")
_YES = frozenset({"yes", "y", "true", "accept", "accepted", "是", "同意", "接受", "好"})
_NO = frozenset({"no", "n", "false", "decline", "declined", "reject", "否", "不", "拒绝", "不同意"})
_WIDTH = str.maketrans("＜＞／＿＼", "<>/_\\")
_MARK = re.compile(rf"<\s*(?P<slash>[/\\]?)\s*{TAG.replace('_', '[_ -]?')}s?\b[^<>\n]*>", re.IGNORECASE)
_NAME_BREAK = re.compile(r"[,，、;；]")
_DEPTH = {"{": 1, "｛": 1, "}": -1, "｝": -1}
_CLOSING_QUOTE = {'"': '"', "“": "”", "＂": "＂"}


def read_actions(text: str) -> Reading:
    """All tagged actions of a text and the text without them; an unclosed tag ends with its last whole object.

    What stands in a tag beside its objects is no speech, but the tags in it still hide what they enclose.
    """
    marks = list(_MARK.finditer(text.translate(_WIDTH)))
    speech: list[str] = []
    outside: list[str] = []
    found: list[tuple[int, Found]] = []
    at = 0
    for number, mark in enumerate(marks, start=1):
        following = marks[number] if number < len(marks) else None
        speech.append(text[at : mark.start()])
        outside.append(speech[-1])
        at = mark.end()
        if not mark["slash"]:
            end = following.start() if following else len(text)
            pieces, length = _objects(text[at:end])
            stop = end if not length or (following and following["slash"]) else at + length
            for beside, piece in _taken_apart(text[at:end], pieces, stop - at):
                actions = _found(piece) if piece is not None else []
                unread = "" if piece is None or any(action.fields for action in actions) else piece
                outside.append(beside + unread)
                speech.append(tags_of(beside + unread))
                found.extend((len(outside), action) for action in actions)
            at = stop
    speech.append(text[at:])
    outside.append(speech[-1])
    return Reading(
        speech=" ".join(part.strip() for part in speech if part.strip()),
        found=tuple(
            msgspec.structs.replace(one, before=" ".join(outside[:place]), after=" ".join(outside[place:]))
            for place, one in found
        ),
    )


def _taken_apart(body: str, pieces: Sequence[str], stop: int) -> Iterable[tuple[str, str | None]]:
    """Each piece of a tag's text with what stands before it; what follows the last one, up to `stop`, comes alone."""
    at = 0
    for piece in pieces:
        start = body.index(piece, at)
        yield body[at:start], piece
        at = start + len(piece)
    yield body[at:stop], None


def read_action(found: Found, kinds: Sequence[str]) -> Action | Objection:
    """The typed action of one of these kinds, or what is wrong with its form."""
    if found.fields is None:
        return Objection(code="unreadable", nearest=tuple(kinds))
    kind, values = _kind_and_values(found.fields)
    if not kind:
        return Objection(code="no_kind", nearest=tuple(kinds))
    if kind not in kinds:
        return Objection(code="unknown_kind", values={"given": kind}, nearest=nearest_names(kind, kinds, len(kinds)))
    given: dict[str, Any] = {}
    for name, field in _SHAPES[kind].items():
        value = _value(values, field)
        if not value and field.needed:
            return Objection(code="missing_field", values={"kind": kind, "field": field.names[0]})
        given[name] = value
    if kind == "respond_invitation":
        decision = _decision(given["decision"])
        if decision is None:
            return Objection(code="bad_decision", values={"given": given["decision"]}, nearest=("yes", "no"))
        given["decision"] = decision
    return _MAKERS[kind](**given)


def find_name(text: str, allowed: Sequence[str]) -> str | None:
    """The allowed name that a text means, or None: what the rules of invitations look names up with."""
    name = resolve_name(text, allowed)
    return None if isinstance(name, Refusal) else name


def drop_reason(objection: Objection) -> str:
    """Why an answer with such an action is kept out of training."""
    return "malformed_action" if objection.code in MALFORMED else "invalid_action"


def explain(desk: Desk, found: Found, objection: Objection) -> str:
    """The refusal as the agent reads it: `Action: <original>` and `Error: <what to change>`."""
    values = {
        "original": found.original,
        "code": objection.code,
        "given": "",
        "to": "",
        "kind": "",
        "field": "",
        "limit": "",
        **objection.values,
        "nearest": list(objection.nearest),
    }
    return desk.render.render("parts/objection.j2", values)


def _objects(body: str) -> tuple[list[str], int]:
    """The objects of a tag's text, one piece each, and where the last whole one ends (0 if none is whole)."""
    pieces: list[str] = []
    depth = start = end = 0
    quote, escaped = "", False
    for place, char in enumerate(body):
        if escaped or (quote and char != quote):
            escaped = not escaped and char == "\\"
            continue
        if quote or char in _CLOSING_QUOTE:
            quote = "" if quote else _CLOSING_QUOTE[char] if depth else ""
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
    original = " ".join(piece.split())
    original = original if len(original) <= SHOWN_CHARS else original[: SHOWN_CHARS - 1] + "…"
    reading = read_object(piece)
    if isinstance(reading, Refusal):
        return [Found(original=original, fields=None)]
    several = reading.value.get("actions")
    if isinstance(several, list) and several and all(isinstance(item, dict) for item in several):
        return [Found(original=original, fields=item) for item in several]
    return [Found(original=original, fields=reading.value)]


def _kind_and_values(fields: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The kind of an action and its parameters, in any of the forms that models use."""
    if len(fields) == 1:
        name, inner = next(iter(fields.items()))
        if isinstance(inner, dict):
            return (_kind(name), inner) if _kind(name) in _SHAPES else _kind_and_values(inner)
    kinds = [_kind(fields[name]) for name in _KIND_NAMES if isinstance(fields.get(name), str)]
    kind = next((kind for kind in kinds if kind in _SHAPES), kinds[0] if kinds else "")
    inner = next((fields[name] for name in _INNER_NAMES if isinstance(fields.get(name), dict)), {})
    return kind, {**fields, **inner}


def _kind(text: str) -> str:
    """The form in which kinds are compared: `Propose joint-activity` is `propose_joint_activity`."""
    return re.sub(r"[\s-]+", "_", normal_form(text))[:SHOWN_CHARS]


def _value(values: Mapping[str, Any], field: _Field) -> Any:
    """A parameter's text or list of texts; empty if it is not there or no text."""
    present = [values[name] for name in field.names if values.get(name) not in (None, "")]
    value = present[0] if present else ""
    if field.many:
        items = value if isinstance(value, list) else _NAME_BREAK.split(_text(value))
        return tuple(text for item in items if (text := _text(item)))
    return _text(value)


def _text(value: Any) -> str:
    """A text, or a number or truth value as one; nothing else is."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).strip() if isinstance(value, str | int | float) else ""


def _decision(text: str) -> str | None:
    """`yes` or `no`, or None if the text is neither."""
    form = normal_form(text).strip(".!。！")
    return "yes" if form in _YES else "no" if form in _NO else None
