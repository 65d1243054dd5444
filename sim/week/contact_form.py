"""The form of a contact round's answer: free text with actions whose names, places and days are closed lists."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sim.core.invitations import MAX_NAME_CHARS, Book
from sim.environment.forms import closed
from sim.llm.protocol import OutputFormat, Tag
from sim.mind.actions import TAG
from sim.settings import SimSettings

_ENUM_NAMES = 200
"""Up to so many names stand in the form as a closed list; longer lists would slow the grammar down."""
_SHORT_ACTIONS = 2
_FULL_ONLY = ("proposal", "required_participants")
"""Parameters that a weak model does without."""
_MOST_ANSWER_FORMS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """Characters that an answer's texts may have, actions that it may hold, people that one invitation may name."""

    thoughts: int
    message: int
    actions: int
    invited: int


def lengths(settings: SimSettings) -> Lengths:
    """Full or brief answers, by the prompt profile."""
    most, actions = settings.answers.text_chars, settings.limits.actions_per_round
    if settings.prompts.profile == "short":
        return Lengths(thoughts=80, message=min(160, most), actions=min(_SHORT_ACTIONS, actions), invited=2)
    return Lengths(thoughts=min(800, most), message=min(700, most), actions=actions, invited=12)


def contact_format(book: Book, settings: SimSettings) -> OutputFormat:
    """Any of the actions that are possible now; a weak model writes one or two."""
    sizes, short = lengths(settings), settings.prompts.profile == "short"
    answers = _answers(book, sizes)
    others = _proposals(book, sizes, short=short)
    shapes = (
        ([*answers[:1], *others[-1:]] if answers else others)
        if short
        else [*answers, *others, *_calls_off(book, sizes)]
    )
    tags = tuple(
        Tag(
            name=TAG,
            schema=shape,
            at_most=1 if short else sizes.actions,
            at_least=1 if short and number == 0 else 0,
        )
        for number, shape in enumerate(shapes)
    )
    return OutputFormat(kind="tagged", tags=tags, text_chars=sizes.thoughts)


def _proposals(book: Book, sizes: Lengths, *, short: bool) -> list[dict[str, Any]]:
    """An invitation or a message to somebody known."""
    if not book.known:
        return []
    message, person = {"type": "string", "maxLength": sizes.message}, _one_of(book.known)
    people = {"type": "array", "items": person, "maxItems": min(sizes.invited, len(book.known))}
    properties = {
        "activity_name": {"type": "string", "minLength": 1, "maxLength": MAX_NAME_CHARS},
        "proposal": message,
        "invited_persons": {**people, "minItems": 1},
        "time": _one_of([str(slot) for slot in book.window]),
        "location": _one_of(book.places),
        "required_participants": people,
        "message": message,
    }
    if short:
        properties = {name: properties[name] for name in properties if name not in _FULL_ONLY}
    return [
        _action("propose_joint_activity", properties),
        _action("contact", {"to": person, "message": {**message, "minLength": 1}}),
    ]


def _answers(book: Book, sizes: Lengths) -> list[dict[str, Any]]:
    """An answer to an open invitation; one form for each, as long as they are few, so that names go together."""
    message = {"type": "string", "maxLength": sizes.message}
    pairs = [([one.activity], [one.proposer]) for one in book.invitations]
    if len(pairs) > _MOST_ANSWER_FORMS:
        pairs = [([one.activity for one in book.invitations], [one.proposer for one in book.invitations])]
    return [
        _action(
            "respond_invitation",
            {
                "activity_name": _one_of(activities),
                "to": _one_of(proposers),
                "decision": {"type": "string", "enum": ["yes", "no"]},
                "message": message,
            },
        )
        for activities, proposers in pairs
    ]


def _calls_off(book: Book, sizes: Lengths) -> list[dict[str, Any]]:
    """A cancellation of what the agent itself proposed."""
    standing = [plan.activity for plan in book.own if plan.standing]
    message = {"type": "string", "maxLength": sizes.message}
    shape = _action("cancel_joint_activity", {"activity_name": _one_of(standing), "message": message})
    return [shape] if standing else []


def _action(kind: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    return closed({"action": {"type": "string", "enum": [kind]}, **properties})


def _one_of(names: Iterable[str]) -> dict[str, Any]:
    """A closed list of names in their order, or any short text where the list would be too long."""
    values = list(dict.fromkeys(names))
    return {"type": "string", "enum": values} if len(values) <= _ENUM_NAMES else {"type": "string", "maxLength": 80}
