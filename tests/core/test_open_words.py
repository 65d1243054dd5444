"""What of messages and proposals reaches whom, wherever and however badly the tags are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.invitations import Book, Cancel, Contact, Invitation, Objection, Propose, Respond
from sim.core.open_words import open_words, words_for
from tests.builders import a_slot

BOOK = Book(
    me="Ann",
    known=("Ben", "Cleo"),
    places=("Courtyard",),
    others_homes=(),
    window=(a_slot(1),),
    invitations=(
        Invitation(
            activity="Chess", proposer="Ben", slot=a_slot(1), location="Courtyard", description="", invited=("Ann",)
        ),
    ),
)


def opened(action, before="", after=""):
    return open_words(action, BOOK, before=before, after=after)


def proposal(**fields):
    values = {"activity": "Tea", "proposal": "We talk.", "invited": ("Ben", "Cleo"), "time": "x", "location": "y"}
    return Propose(**{**values, **fields})


@pytest.mark.parametrize(
    ("text", "reader", "words"),
    [
        ("Come at six.", "Ben", "Come at six."),
        ("Come. <private>MARKED</private> Bye.", "Ben", "Come. Bye."),
        ("Come. <private>MARKED", "Ben", "Come."),
        ("MARKED</private> Come.", "Ben", "Come."),
        ('Come. <visible_to="Ben">MARKED</visible_to>', "Ben", "Come. MARKED"),
        ('Come. <visible_to="Ben">MARKED</visible_to>', "Cleo", "Come."),
        ('Come. <visible_to="Ban">MARKED</visible_to>', "Ben", "Come."),
    ],
)
def test_a_message_is_what_its_receiver_may_read(text, reader, words):
    assert words_for(text, [reader], ["Ben", "Cleo"]) == words


ACTIONS = [
    Contact(to="Ben", message="Hello."),
    Respond(activity="Chess", to="Ben", decision="yes"),
    proposal(),
    Cancel(activity="Tea"),
]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: type(action).__name__)
@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<private>", "</private>"),
        ("I think <private>so ", ""),
        ("", "no</private>"),
        ('<visible_to="Cleo">', "</visible_to>"),
        ("<private ", ">"),
        ("<think>", "</think>"),
    ],
)
def test_an_action_inside_a_tag_that_hides_it_is_refused(action, before, after):
    result = opened(action, before, after)
    assert isinstance(result, Objection)
    assert result.code == "hidden"
    assert "Ben" in result.values["to"]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: type(action).__name__)
@pytest.mark.parametrize(
    ("before", "after"), [("Hm.", "Bye."), ("<private>a</private>", "<private>b</private>"), ("a</private>", "")]
)
def test_an_action_beside_tags_is_as_it_was(action, before, after):
    assert opened(action, before, after) == action


def test_an_action_inside_a_tag_for_its_receiver_is_sent():
    action = Contact(to="Ben", message="Hello.")
    assert opened(action, '<visible_to="Ben">', "</visible_to>") == action


def test_a_message_of_which_nothing_is_open_is_refused():
    for text in ("<private>MARKED</private>", '<visible_to="Cleo">MARKED</visible_to>'):
        result = opened(Contact(to="Ben", message=text))
        assert isinstance(result, Objection)
        assert result.values == {"to": "Ben"}
    # One that was empty from the start, and one to somebody unknown, are refused for that.
    for action in (Contact(to="Ben", message=" "), Contact(to="Zoe", message="<private>MARKED</private>")):
        assert opened(action) == action


def test_a_proposal_tells_nobody_what_is_not_for_all():
    hidden = '<private>MARKED</private><visible_to="Ben">MARKED</visible_to>'
    assert opened(proposal(activity=f"Tea {hidden}", proposal=f"We talk. {hidden}")) == proposal()
    assert isinstance(opened(proposal(activity=hidden)), Objection)


@given(
    st.lists(
        st.sampled_from(
            ("<private>", "</private>", "<private", '<visible_to="Ben">', "</visible_to>", "hi ", "＜private＞")
        )
    ),
    st.lists(st.sampled_from(("</private>", "</visible_to>", "bye ", "<private>", ">"))),
)
def test_what_is_sent_is_open_in_the_whole_text_too(before, after):
    start, end = "".join(before), "".join(after)
    if not isinstance(opened(Contact(to="Cleo", message="MARKED"), start, end), Objection):
        assert "MARKED" in words_for(f"{start}MARKED{end}", ["Cleo"], ["Cleo"])
