"""Which contact action is legal: known people, existing places, the window of weeks, unique names, open invitations.

A refused action is a typed objection with the nearest valid values; its words for the agent are in the prompts
(SPEC section 5, Contact).
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from sim.core.agent import Value
from sim.core.clock import Slot
from sim.core.names import find_name, find_person, nearest_names, plain_form
from sim.core.written_days import read_day

MAX_NAME_CHARS = 80
"""Longest name of an activity."""


class Contact(Value, frozen=True, kw_only=True, tag=True):
    """Send a message to somebody."""

    to: str
    message: str


class Propose(Value, frozen=True, kw_only=True, tag=True):
    """Propose a joint activity; `time` is the slot's text form."""

    activity: str
    proposal: str
    invited: tuple[str, ...]
    time: str
    location: str
    required: tuple[str, ...] = ()
    message: str = ""


class Respond(Value, frozen=True, kw_only=True, tag=True):
    """Answer an invitation; `to` is its proposer."""

    activity: str
    to: str
    decision: Literal["yes", "no"]
    message: str = ""


class Cancel(Value, frozen=True, kw_only=True, tag=True):
    """Call off one's own proposal or planned joint activity."""

    activity: str
    message: str = ""


ContactAction = Contact | Propose | Respond | Cancel


class Objection(Value, frozen=True, kw_only=True):
    """Why an action is not carried out: a code, what was given, and the nearest valid values."""

    code: str
    values: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    nearest: tuple[str, ...] = ()


class Invitation(Value, frozen=True, kw_only=True):
    """An open invitation as an invited agent sees it."""

    activity: str
    proposer: str
    slot: Slot
    location: str
    description: str
    invited: tuple[str, ...]
    required: tuple[str, ...] = ()


class OwnPlan(Value, frozen=True, kw_only=True):
    """A joint activity that the agent itself proposed; `standing` until it is called off."""

    activity: str
    invited: tuple[str, ...]
    standing: bool = True


class Book(Value, frozen=True, kw_only=True):
    """All that the legality of one agent's actions depends on."""

    me: str
    known: tuple[str, ...]
    """People the agent may write to and invite."""
    places: tuple[str, ...]
    """Public places and the agent's own home."""
    others_homes: tuple[str, ...]
    window: tuple[Slot, ...]
    """Days on which an activity may be proposed."""
    invitations: tuple[Invitation, ...] = ()
    own: tuple[OwnPlan, ...] = ()


def check_action(action: ContactAction, book: Book) -> ContactAction | Objection:
    """The action with its names in their exact form, or what is wrong with it."""
    match action:
        case Contact():
            return _check_contact(action, book)
        case Propose():
            return _check_propose(action, book)
        case Respond():
            return _check_respond(action, book)
        case Cancel():
            return _check_cancel(action, book)


def book_after(book: Book, action: ContactAction) -> Book:
    """The book once a legal action was taken: a second action of the same round is judged by it."""
    match action:
        case Propose():
            plan = OwnPlan(activity=action.activity, invited=action.invited)
            return msgspec.structs.replace(book, own=(*book.own, plan))
        case Cancel():
            own = tuple(
                msgspec.structs.replace(plan, standing=False) if plan.activity == action.activity else plan
                for plan in book.own
            )
            return msgspec.structs.replace(book, own=own)
        case _:
            return book


def check_actions(
    actions: Sequence[ContactAction | Objection], book: Book, *, limit: int
) -> tuple[ContactAction | Objection, ...]:
    """One round's actions in the order written; those beyond the limit are refused, unreadable ones stay objections."""
    results: list[ContactAction | Objection] = []
    for number, action in enumerate(actions):
        if number >= limit:
            results.append(Objection(code="too_many_actions", values={"limit": str(limit)}))
            continue
        result = action if isinstance(action, Objection) else check_action(action, book)
        if not isinstance(result, Objection):
            book = book_after(book, result)
        results.append(result)
    return tuple(results)


def _person(given: str, book: Book) -> str | Objection:
    """The known person that a text means."""
    name = find_person(given, (*book.known, book.me))
    if name == book.me:
        return Objection(code="oneself")
    if name is not None:
        return name
    if not book.known:
        return Objection(code="knows_nobody", values={"given": given})
    return Objection(code="unknown_person", values={"given": given}, nearest=nearest_names(given, book.known))


def _people(given: Sequence[str], book: Book) -> tuple[str, ...] | Objection:
    """The known people that texts mean, each once and without the agent itself, in the order written."""
    people: dict[str, None] = {}
    for text in given:
        person = _person(text, book)
        if isinstance(person, str):
            people[person] = None
        elif person.code != "oneself":
            return person
    return tuple(people)


def _check_contact(action: Contact, book: Book) -> Contact | Objection:
    person = _person(action.to, book)
    if isinstance(person, Objection):
        return person
    if not action.message.strip():
        return Objection(code="empty_message", values={"to": person})
    return msgspec.structs.replace(action, to=person)


def _check_propose(action: Propose, book: Book) -> Propose | Objection:
    """A legal proposal; who is required is invited, whether named among the invited or not."""
    name = " ".join(action.activity.split())
    invited = _people(action.invited, book)
    required = _people(action.required, book)
    slot = _slot(action.time, book)
    place = _place(action.location, book)
    problem = _name_problem(name, book)
    for part in (problem, invited, required, slot, place):
        if isinstance(part, Objection):
            return part
    assert isinstance(invited, tuple)
    assert isinstance(required, tuple)
    invited = tuple(dict.fromkeys((*invited, *required)))
    if not invited:
        return Objection(code="nobody_invited", nearest=book.known[:3])
    return msgspec.structs.replace(
        action, activity=name, invited=invited, required=required, time=str(slot), location=str(place)
    )


def _name_problem(name: str, book: Book) -> Objection | None:
    """What is wrong with the name of a new activity."""
    if not plain_form(name):
        return Objection(code="no_activity_name")
    if len(name) > MAX_NAME_CHARS:
        return Objection(code="long_activity_name", values={"limit": str(MAX_NAME_CHARS)})
    if any(plain_form(plan.activity) == plain_form(name) for plan in book.own):
        return Objection(code="duplicate_name", values={"given": name})
    return None


def _slot(given: str, book: Book) -> Slot | Objection:
    """The day that a text means, inside the window."""
    slot = read_day(given, book.window)
    ends = (str(book.window[0]), str(book.window[-1]))
    if slot is None:
        return Objection(code="time_form", values={"given": given}, nearest=ends)
    if slot not in book.window:
        return Objection(code="time_window", values={"given": given}, nearest=ends)
    return slot


def _place(given: str, book: Book) -> str | Objection:
    """The place that a text means: a public one or the agent's own home."""
    place = find_name(given, book.places)
    if place is not None:
        return place
    home = find_name(given, book.others_homes)
    if home is not None:
        own = tuple(name for name in book.places if name.startswith("home/"))
        return Objection(code="others_home", values={"given": home}, nearest=own or book.places[:3])
    return Objection(code="unknown_place", values={"given": given}, nearest=nearest_names(given, book.places))


def _check_respond(action: Respond, book: Book) -> Respond | Objection:
    if not book.invitations:
        return Objection(code="no_open_invitation", values={"given": action.activity})
    proposer = find_person(action.to, sorted({invitation.proposer for invitation in book.invitations}))
    names = [invitation.activity for invitation in book.invitations if invitation.proposer == proposer]
    name = find_name(action.activity, names)
    if proposer is None or name is None:
        open_ones = [f"{invitation.activity} ({invitation.proposer})" for invitation in book.invitations]
        given = {"given": action.activity, "to": action.to}
        nearest = nearest_names(f"{action.activity} ({action.to})", open_ones, 5)
        return Objection(code="no_such_invitation", values=given, nearest=nearest)
    return msgspec.structs.replace(action, activity=name, to=proposer)


def _check_cancel(action: Cancel, book: Book) -> Cancel | Objection:
    standing = [plan.activity for plan in book.own if plan.standing]
    name = find_name(action.activity, standing)
    if name is None:
        code = "no_such_plan" if standing else "no_own_plan"
        return Objection(code=code, values={"given": action.activity}, nearest=nearest_names(action.activity, standing))
    return msgspec.structs.replace(action, activity=name)
