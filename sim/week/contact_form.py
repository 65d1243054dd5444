"""The form of a contact round's answer: free text with actions whose names, places and days are closed lists."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim.core.invitations import MAX_NAME_CHARS, Book, Invitation
from sim.environment.forms import closed
from sim.llm.protocol import OutputFormat, Tag
from sim.mind.action_tags import TAG
from sim.settings import SimSettings

_ENUM_NAMES = 200
"""Up to so many names stand in the form as a closed list; longer lists would slow the grammar down."""
_SHORT_ACTIONS = 2
_SHORT_NAME_CHARS = 24
_FULL_ONLY = ("proposal", "required_participants")
"""Parameters that a weak model does without."""
_MOST_ANSWER_FORMS = 12


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
        actions = min(_SHORT_ACTIONS, actions)
        return Lengths(thoughts=min(80, most // 4), message=min(160, most), actions=actions, invited=1)
    return Lengths(thoughts=min(800, most), message=min(700, most), actions=actions, invited=12)


def contact_format(book: Book, settings: SimSettings, *, answered: Collection[tuple[str, str]] = ()) -> OutputFormat:
    """Any of the actions that are possible now; `answered` are invitations (proposer, activity) with an answer already.

    A weak model writes one or two: an answer if one is due, else a proposal; and a message.
    """
    sizes = lengths(settings)
    form = _short_form if settings.prompts.profile == "short" else _full_form
    return OutputFormat(kind="tagged", tags=form(book, sizes, answered), text_chars=sizes.thoughts)


def _short_form(book: Book, sizes: Lengths, answered: Collection[tuple[str, str]]) -> tuple[Tag, ...]:
    due = [one for one in book.invitations if (one.proposer, one.activity) not in answered]
    proposal, message = _proposals(book, sizes, short=True)
    first = _answers(due[:1], sizes)[0] if due else proposal
    if sizes.actions == 1:
        return (Tag(name=TAG, schema={"anyOf": [first, message]}, at_least=1),)
    return (Tag(name=TAG, schema=first, at_least=1), Tag(name=TAG, schema=message))


def _full_form(book: Book, sizes: Lengths, answered: Collection[tuple[str, str]]) -> tuple[Tag, ...]:
    proposal, message = _proposals(book, sizes, short=False)
    once = [*_answers(book.invitations, sizes), *_calls_off(book, sizes)]
    left = max(2, sizes.actions - len(once))
    return (
        *(Tag(name=TAG, schema=schema) for schema in once),
        Tag(name=TAG, schema=proposal, at_most=left // 2),
        Tag(name=TAG, schema=message, at_most=left - left // 2),
    )


def _proposals(book: Book, sizes: Lengths, *, short: bool) -> tuple[dict[str, Any], dict[str, Any]]:
    """An invitation of and a message to somebody known."""
    message, person = {"type": "string", "maxLength": sizes.message}, _one_of(book.known)
    people = {"type": "array", "items": person, "maxItems": min(sizes.invited, len(book.known))}
    properties = {
        "activity_name": {
            "type": "string",
            "minLength": 1,
            "maxLength": _SHORT_NAME_CHARS if short else MAX_NAME_CHARS,
        },
        "proposal": message,
        "invited_persons": {**people, "minItems": 1},
        "time": _one_of([str(slot) for slot in book.window]),
        "location": _one_of(book.places),
        "required_participants": people,
        "message": message,
    }
    if short:
        properties = {name: properties[name] for name in properties if name not in _FULL_ONLY}
    return (
        _action("propose_joint_activity", properties),
        _action("contact", {"to": person, "message": {**message, "minLength": 1}}),
    )


def _answers(invitations: Sequence[Invitation], sizes: Lengths) -> list[dict[str, Any]]:
    """An answer to an open invitation; one form for each, as long as they are few, so that names go together."""
    message = {"type": "string", "maxLength": sizes.message}
    pairs = [([one.activity], [one.proposer]) for one in invitations]
    if len(pairs) > _MOST_ANSWER_FORMS:
        pairs = [([one.activity for one in invitations], [one.proposer for one in invitations])] * _MOST_ANSWER_FORMS
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
