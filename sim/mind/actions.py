"""Actions in free text: what stands in a tag becomes a typed action, or an objection to its form.

Reading is lenient where nothing is in doubt: other field names, nested parameters, decisions in other words. Two
different receivers are in doubt. What a world's rules allow is decided in sim.core. Hidden words are never sent on.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from sim.core.agent import Value
from sim.core.deeds import ExitActivity, Gift
from sim.core.invitations import Cancel, Contact, Objection, Propose, Respond
from sim.core.keys import normal_form
from sim.core.names import nearest_names
from sim.core.visibility import parse_segments
from sim.mind.action_tags import SHOWN_CHARS, Found, shown
from sim.mind.desk import Desk

CONTACT_KINDS = ("contact", "propose_joint_activity", "respond_invitation", "cancel_joint_activity")
ACTIVITY_KINDS = ("gift", "exit_activity")
MALFORMED = frozenset({"unreadable", "untagged", "only_thought", "no_kind", "missing_field", "bad_decision"})
"""Objections to an action's form; all others are to its content."""
_GIVEN_CHARS = 80
"""Longest part of a refused value that is shown to the agent again."""

Action = Contact | Propose | Respond | Cancel | Gift | ExitActivity


class _Field(Value, frozen=True, kw_only=True):
    """A parameter: its names (the documented one first), whether it must be there, and what it is."""

    names: tuple[str, ...]
    needed: bool = True
    many: bool = False
    """A list of people."""
    told: bool = False
    """Words that others will read."""


_TO = _Field(names=("to", "recipient", "person"))
_ACTIVITY = _Field(names=("activity_name", "activity", "name", "title"))
_NEW_ACTIVITY = _Field(names=_ACTIVITY.names, told=True)
_MESSAGE = _Field(names=("message", "content", "text"), told=True)
_COMMENT = _Field(names=_MESSAGE.names, needed=False, told=True)
_SHAPES: Mapping[str, Mapping[str, _Field]] = {
    "contact": {"to": _TO, "message": _MESSAGE},
    "propose_joint_activity": {
        "activity": _NEW_ACTIVITY,
        "proposal": _Field(names=("proposal", "description"), needed=False, told=True),
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
    "exit_activity": {"message": _Field(names=("message", "reason", "content"), needed=False, told=True)},
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
_YES = frozenset((
    "yes", "y", "yeah", "yep", "true", "ok", "okay", "sure", "of course", "gladly", "with pleasure", "accept",
    "accepted", "accepting", "i accept", "agree", "agreed", "i agree", "confirm", "confirmed", "是", "是的", "好",
    "好的", "好啊", "可以", "行", "同意", "接受", "参加", "愿意", "没问题", "答应",
))  # fmt: skip
_NO = frozenset((
    "no", "n", "nope", "false", "no thanks", "no, thanks", "no thank you", "no, thank you", "decline", "declined",
    "declining", "i decline", "refuse", "refused", "reject", "rejected", "否", "不", "不是", "不行", "不可以", "不同意",
    "不接受", "不参加", "不愿意", "不去", "拒绝", "婉拒",
))  # fmt: skip
_NAME_BREAK = re.compile(r"[,，、;；]")


def read_action(found: Found, kinds: Sequence[str]) -> Action | Objection:
    """The typed action of one of these kinds, or what is wrong with its form."""
    if found.fields is None:
        return Objection(code=found.flaw or "unreadable", nearest=tuple(kinds))
    kind, values = _kind_and_values(found.fields)
    if not kind:
        return Objection(code="no_kind", nearest=tuple(kinds))
    if kind not in kinds:
        return Objection(code="unknown_kind", values={"given": kind}, nearest=nearest_names(kind, kinds, len(kinds)))
    given = {name: _value(values, field) for name, field in _SHAPES[kind].items()}
    objection = _incomplete(kind, given)
    if objection is not None:
        return objection
    if kind in ACTIVITY_KINDS:
        _leave_out_hidden(kind, given)
    if kind == "respond_invitation":
        decision = _decision(given["decision"])
        if decision is None:
            return Objection(code="bad_decision", values={"given": given["decision"]}, nearest=("yes", "no"))
        given["decision"] = decision
    return _MAKERS[kind](**given)


def _incomplete(kind: str, given: Mapping[str, Any]) -> Objection | None:
    """The first parameter that must be there and is not."""
    for name, field in _SHAPES[kind].items():
        if field.needed and not given[name]:
            return Objection(code="missing_field", values={"kind": kind, "field": field.names[0]})
    return None


def _leave_out_hidden(kind: str, given: dict[str, Any]) -> None:
    """Take from the words for others what they may not read; those of contact are taken apart for each receiver."""
    people = [given["to"]] if "to" in given else []
    for name, field in _SHAPES[kind].items():
        if field.told:
            given[name] = _open_to(given[name], people)


def _open_to(text: str, readers: Sequence[str]) -> str:
    """What all these readers may read of a text: nothing private, nothing that is for others only."""
    return "".join(
        segment.text
        for segment in parse_segments(text, readers)
        if segment.kind == "public" or (readers and set(readers) <= set(segment.to))
    ).strip()


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
        **{name: shown(text, _GIVEN_CHARS) for name, text in objection.values.items()},
        "nearest": list(objection.nearest),
    }
    return desk.render.render("parts/objection.j2", values)


def _kind_and_values(fields: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """The kind of an action and its parameters, in any of the forms that models use."""
    if len(fields) == 1:
        name, inner = next(iter(fields.items()))
        if isinstance(inner, dict):
            inner = cast(dict[str, Any], inner)
            return (_kind(name), inner) if _kind(name) in _SHAPES else _kind_and_values(inner)
    kinds = [_kind(fields[name]) for name in _KIND_NAMES if isinstance(fields.get(name), str)]
    kind = next((kind for kind in kinds if kind in _SHAPES), kinds[0] if kinds else "")
    inner = next((fields[name] for name in _INNER_NAMES if isinstance(fields.get(name), dict)), {})
    return kind, {**fields, **inner, **_doubled(fields, inner)}


def _doubled(outer: Mapping[str, Any], inner: Mapping[str, Any]) -> dict[str, list[Any]]:
    """Receivers that are given twice and differently: both, so that no rule finds a person of that name."""
    return {
        name: [outer[name], inner[name]]
        for name in _TO.names
        if name in outer and inner.get(name, outer[name]) != outer[name]
    }


def _kind(text: str) -> str:
    """The form in which kinds are compared: `Propose joint-activity` is `propose_joint_activity`."""
    return re.sub(r"[\s-]+", "_", normal_form(text))[:SHOWN_CHARS]


def _value(values: Mapping[str, Any], field: _Field) -> Any:
    """A parameter's text or list of texts; empty if it is not there or no text."""
    present = [values[name] for name in field.names if values.get(name) not in (None, "")]
    if field.many:
        return _people(present[0]) if present else ()
    texts = [_text(value) for value in present]
    if field.names[0] == _TO.names[0]:
        return ", ".join(dict.fromkeys(texts))
    return texts[0] if texts else ""


def _people(value: Any) -> tuple[str, ...]:
    """The names in a list or in one text; what is no name stays, to be refused as one."""
    if isinstance(value, list):
        items = cast(list[Any], value)
        return tuple(text for item in items if (text := _text(item) or shown(str(item or ""), _GIVEN_CHARS)))
    return tuple(part.strip() for part in _NAME_BREAK.split(_text(value) or str(value)) if part.strip())


def _text(value: Any) -> str:
    """A text without control characters, a number or truth value as one, some of them in one; nothing else is.

    A text that shows nothing is none.
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(text for item in cast(list[Any], value) if (text := _text(item)))
    text = str(value) if isinstance(value, str | int | float) else ""
    text = "".join(char for char in text if char in "\n\t" or unicodedata.category(char) != "Cc").strip()
    return "" if all(unicodedata.category(char) == "Cf" for char in text) else text


def _decision(text: str) -> str | None:
    """`yes` or `no`, or None if the text is neither."""
    form = normal_form(text).strip(" .!。！'\"“”")
    return "yes" if form in _YES else "no" if form in _NO else None
