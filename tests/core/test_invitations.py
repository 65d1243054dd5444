"""Which contact action is legal, and that every refusal names what would be."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.invitations import (
    Book,
    Cancel,
    Contact,
    Invitation,
    Objection,
    OwnPlan,
    Propose,
    Respond,
    check_action,
    check_actions,
)
from sim.core.names import nearest_names
from tests.builders import a_clock, a_slot

INVITATION = Invitation(
    activity="Chess night",
    proposer="Ben Okri",
    slot=a_slot(),
    location="Courtyard",
    description="A game.",
    invited=("Mara Voss",),
)
BOOK = Book(
    me="Mara Voss",
    known=("Ben Okri", "Lin 林", "Odile Roy"),
    places=("Courtyard", "Reading room", "home/Mara Voss"),
    others_homes=("home/Ben Okri", "home/Odile Roy"),
    window=tuple(a_clock().slots_ahead(1, 2, 4)),
    invitations=(INVITATION,),
    own=(OwnPlan(activity="Dinner", invited=("Ben Okri",)), OwnPlan(activity="Old walk", invited=(), standing=False)),
)
PROPOSAL = Propose(
    activity="Film evening",
    proposal="Watch something old.",
    invited=("Ben Okri", "Odile Roy"),
    time="Y1-W2-activity-D2",
    location="Reading room",
    required=("Odile Roy",),
    message="Shall we?",
)


def changed(**fields) -> Propose:
    return msgspec.structs.replace(PROPOSAL, **fields)


@pytest.mark.parametrize(
    "action",
    [
        Contact(to="Ben Okri", message="Hello"),
        PROPOSAL,
        changed(location="home/Mara Voss"),
        changed(time="Y2-W3-activity-D2"),
        Respond(activity="Chess night", to="Ben Okri", decision="yes"),
        Respond(activity="Chess night", to="Ben Okri", decision="no", message="Not this time"),
        Cancel(activity="Dinner", message="Sorry"),
    ],
)
def test_legal_actions_stay_as_they_are(action) -> None:
    assert check_action(action, BOOK) == action


def test_names_come_back_in_their_exact_form() -> None:
    messy = changed(
        activity="  Film   evening ", invited=("ben okri", "ODILE ROY", "Ben  Okri", "mara voss"),
        location="reading ROOM", time="y1-w2-ACTIVITY-d2", required=("odile roy",),
    )  # fmt: skip
    assert check_action(messy, BOOK) == PROPOSAL
    assert check_action(Contact(to="lin 林", message="在吗"), BOOK) == Contact(to="Lin 林", message="在吗")


def test_who_is_required_is_invited() -> None:
    result = check_action(changed(invited=("Ben Okri",), required=("Odile Roy", "Ben Okri")), BOOK)
    assert (result.invited, result.required) == (("Ben Okri", "Odile Roy"), ("Odile Roy", "Ben Okri"))


@pytest.mark.parametrize(
    ("action", "code", "named"),
    [
        (Contact(to="Ben Okry", message="Hi"), "unknown_person", "Ben Okri"),
        (Contact(to="Mara Voss", message="Hi"), "oneself", None),
        (Contact(to="Ben Okri", message="  "), "empty_message", None),
        (changed(invited=("Nobody",)), "unknown_person", "Odile Roy"),
        (changed(invited=(), required=()), "nobody_invited", "Ben Okri"),
        (changed(invited=("Mara Voss",), required=()), "nobody_invited", "Ben Okri"),
        (changed(activity=" "), "no_activity_name", None),
        (changed(activity="x" * 81), "long_activity_name", None),
        (changed(activity="dinner"), "duplicate_name", None),
        (changed(activity="Old walk"), "duplicate_name", None),
        (changed(time="tomorrow"), "time_form", "Y1-W2-activity-D1"),
        (changed(time="Y1-W1-activity-D1"), "time_window", "Y1-W2-activity-D1"),
        (changed(time="Y1-W2-activity-D9"), "time_window", "Y2-W3-activity-D2"),
        (changed(time="Y3-W1-activity-D1"), "time_window", "Y2-W3-activity-D2"),
        (changed(location="home/Ben Okri"), "others_home", "home/Mara Voss"),
        (changed(location="Reeding room"), "unknown_place", "Reading room"),
        (changed(location="the moon"), "unknown_place", "Reading room"),
        (Respond(activity="Chess", to="Ben Okri", decision="yes"), "no_such_invitation", "Chess night (Ben Okri)"),
        (Respond(activity="Chess night", to="Odile Roy", decision="yes"), "no_such_invitation",
         "Chess night (Ben Okri)"),
        (Cancel(activity="Diner"), "no_such_plan", "Dinner"),
        (Cancel(activity="Old walk"), "no_such_plan", "Dinner"),
    ],
)  # fmt: skip
def test_illegal_actions_are_refused_with_a_valid_value(action, code: str, named: str | None) -> None:
    objection = check_action(action, BOOK)
    assert isinstance(objection, Objection)
    assert objection.code == code
    assert named is None or named in objection.nearest


def test_who_knows_nobody_and_has_nothing_open_is_told_so() -> None:
    book = msgspec.structs.replace(BOOK, known=(), invitations=(), own=())
    codes = [
        check_action(action, book).code
        for action in (
            Contact(to="Ben", message="Hi"),
            Respond(activity="Chess night", to="Ben Okri", decision="yes"),
            Cancel(activity="Dinner"),
        )
    ]
    assert codes == ["knows_nobody", "no_open_invitation", "no_own_plan"]


def test_actions_of_one_round_are_judged_one_after_the_other() -> None:
    results = check_actions(
        [PROPOSAL, PROPOSAL, Cancel(activity="Film evening"), Cancel(activity="Film evening")], BOOK, limit=10
    )
    assert [getattr(result, "code", "legal") for result in results] == [
        "legal", "duplicate_name", "legal", "no_such_plan",
    ]  # fmt: skip


def test_actions_beyond_the_limit_are_refused() -> None:
    results = check_actions([Contact(to="Ben Okri", message="Hi")] * 12, BOOK, limit=10)
    assert [isinstance(result, Objection) for result in results] == [False] * 10 + [True] * 2
    assert {result.code for result in results[10:]} == {"too_many_actions"}


def test_the_window_reaches_four_weeks_ahead_across_years() -> None:
    window = a_clock(n_year=3, n_week=3).slots_ahead(1, 2, 4)
    assert (str(window[0]), str(window[-1])) == ("Y1-W2-activity-D1", "Y2-W3-activity-D2")
    assert len(window) == 10


@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=10), unique=True, max_size=8))
def test_nearest_names_are_allowed_ones(given_text: str, allowed: list[str]) -> None:
    nearest = nearest_names(given_text, allowed)
    assert set(nearest) <= set(allowed)
    assert len(nearest) <= 3
    assert nearest or not allowed


@given(
    st.builds(
        Propose, activity=st.text(max_size=90), proposal=st.text(max_size=9), location=st.text(max_size=20),
        invited=st.lists(st.text(max_size=12), max_size=3).map(tuple), time=st.text(max_size=20),
        required=st.lists(st.text(max_size=12), max_size=2).map(tuple), message=st.text(max_size=9),
    )
)  # fmt: skip
def test_whatever_is_proposed_gets_an_answer(action: Propose) -> None:
    result = check_action(action, BOOK)
    assert isinstance(result, Objection) or set(result.invited) <= set(BOOK.known)
