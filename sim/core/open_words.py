"""What of a contact action its receivers may read: the tags of visibility hold in messages and around actions, too.

An action inside a tag that hides it from somebody whom it is for is refused, as is a message of which nothing is left.
"""

from collections.abc import Collection, Sequence

import msgspec

from sim.core.invitations import Book, Cancel, Contact, ContactAction, Objection, Propose, Respond
from sim.core.names import find_person
from sim.core.visibility import Segment, parse_segments

_HERE = "\ue000"
"""Stands for an action in the text around it."""


def words_for(text: str, readers: Collection[str], people: Sequence[str]) -> str:
    """What all of these readers may read of a text that is sent to `people`."""
    parts = [part.text.strip() for part in parse_segments(text, people) if _is_open(part, readers)]
    return " ".join(part for part in parts if part)


def open_words(action: ContactAction, book: Book, *, before: str, after: str) -> ContactAction | Objection:
    """The action with nothing in it that is hidden from those whom it is for, or why it can't be sent.

    A proposal's name and description are for everybody invited; a message is taken apart for each on its way.
    """
    people = _receivers(action, book)
    hidden = [name for name in people if not _reaches(name, people, before, after)]
    if hidden:
        return _hidden_from(hidden)
    if isinstance(action, Contact) and action.message.strip() and people:
        return action if words_for(action.message, people, people) else _hidden_from(people)
    if isinstance(action, Propose):
        # A name is told on to people who were not invited: to the environment and to who hears of the occasion.
        name = words_for(action.activity, [_HERE], [])
        if action.activity.strip() and not name:
            return _hidden_from(people)
        return msgspec.structs.replace(action, activity=name, proposal=words_for(action.proposal, [_HERE], []))
    return action


def _receivers(action: ContactAction, book: Book) -> list[str]:
    """The known people whom an action is for; names that nobody has are refused elsewhere."""
    match action:
        case Contact():
            named = [find_person(action.to, book.known)]
        case Respond():
            named = [find_person(action.to, sorted({one.proposer for one in book.invitations}))]
        case Propose():
            named = [find_person(text, book.known) for text in (*action.invited, *action.required)]
        case Cancel():
            named = list(book.known)
    return list(dict.fromkeys(name for name in named if name is not None))


def _reaches(name: str, people: Sequence[str], before: str, after: str) -> bool:
    """Whether somebody may read what stands between these two texts."""
    places = [part for part in parse_segments(f"{before}{_HERE}{after}", people) if _HERE in part.text]
    return bool(places) and all(_is_open(part, [name]) for part in places)


def _is_open(part: Segment, readers: Collection[str]) -> bool:
    return part.kind == "public" or (part.kind == "visible_to" and set(readers) <= set(part.to))


def _hidden_from(people: Sequence[str]) -> Objection:
    return Objection(code="hidden", values={"to": ", ".join(people)})
