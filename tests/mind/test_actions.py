"""Actions in free text: every form that leaves no doubt is read, everything else becomes an objection."""

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.deeds import ExitActivity, Gift
from sim.core.invitations import Cancel, Contact, Objection, Propose, Respond
from sim.mind.action_tags import read_actions
from sim.mind.actions import ACTIVITY_KINDS, CONTACT_KINDS, drop_reason, read_action

HELLO = Contact(to="Ben Okri", message="Hello, you!")
BODY = '{"action": "contact", "to": "Ben Okri", "message": "Hello, you!"}'


def contact_actions(text: str) -> list:
    return [read_action(found, CONTACT_KINDS) for found in read_actions(text).found]


@pytest.mark.parametrize(
    "text",
    [
        f"<role_action>{BODY}</role_action>",
        f"I will write.\n<role_action>\n{BODY}\n</role_action>\nDone.",
        f"＜role_action＞{BODY}＜／role_action＞",
        f"< Role_Action >{BODY}</ ROLE_ACTION >",
        f"<role action>{BODY}</role action>",
        f"<role_actions>{BODY}</role_actions>",
        f"<role_action>```json\n{BODY}\n```</role_action>",
        f"<role_action>{BODY}",
        f"<role_action>{BODY} and that is all.",
        '<role_action>{"type": "contact", "to": "Ben Okri", "message": "Hello, you!"}</role_action>',
        '<role_action>{"action": "contact", "to": "Ben Okri", "message": "Hello, you!",}</role_action>',
        "<role_action>{“action”: “contact”, “to”: “Ben Okri”, “message”: “Hello, you!”}</role_action>",
        '<role_action>｛"action"："contact"，"to"："Ben Okri"，"message"："Hello, you!"｝</role_action>',
        '<role_action>{"name": "contact", "arguments": {"to": "Ben Okri", "message": "Hello, you!"}}</role_action>',
        '<role_action>{"contact": {"to": "Ben Okri", "message": "Hello, you!"}}</role_action>',
        '<role_action>{"action": {"type": "contact", "to": "Ben Okri", "message": "Hello, you!"}}</role_action>',
        '<role_action>{"action": "Contact", "recipient": "Ben Okri", "content": "Hello, you!"}</role_action>',
        f'<role_action>{{"actions": [{BODY}]}}</role_action>',
        f"<role_action>[{BODY}]</role_action>",
    ],
)
def test_one_action_in_all_its_forms(text: str) -> None:
    assert contact_actions(text) == [HELLO]


@pytest.mark.parametrize(
    "text",
    [
        f"<role_action>{BODY}</role_action> and <role_action>{BODY}</role_action>",
        f"<role_action>{BODY}\n{BODY}</role_action>",
        f"<role_action>[{BODY}, {BODY}]</role_action>",
        f"<role_action>{BODY}<role_action>{BODY}",
        f'<role_action>{{"actions": [{BODY}, {BODY}]}}</role_action>',
    ],
)
def test_two_actions_are_two(text: str) -> None:
    assert contact_actions(text) == [HELLO, HELLO]


@pytest.mark.parametrize(
    ("text", "speech"),
    [
        (f"Good morning. <role_action>{BODY}</role_action> See you.", "Good morning. See you."),
        (f"Good morning.\n<role_action>{BODY}", "Good morning."),
        (f"<role_action>{BODY} See you.", "See you."),
        (f"Morning. <role_action>{BODY}</role_action></role_action> See you.", "Morning. See you."),
        ("No action here, {only} braces.", "No action here, {only} braces."),
        ("<role_action>not json</role_action> See you.", "See you."),
        ("", ""),
    ],
)
def test_speech_is_what_stands_outside_the_tags(text: str, speech: str) -> None:
    assert read_actions(text).speech == speech


def test_braces_and_quotes_inside_a_message_do_not_end_it() -> None:
    body = json.dumps({"action": "contact", "to": "Lin 林", "message": 'He said "{so}" \\ and left. </roll> 好'})
    (action,) = contact_actions(f"<role_action>{body}</role_action>")
    assert action.message == 'He said "{so}" \\ and left. </roll> 好'


def test_all_contact_actions_with_their_parameters() -> None:
    bodies = [
        {
            "action": "propose_joint_activity", "activity_name": "Chess", "proposal": "A game.",
            "invited_persons": ["Ben Okri", "Odile Roy"], "location": "Courtyard", "required_participants": "Ben Okri",
            "message": "Come!", "time": "Y1-W1-activity-D2",
        },
        {"action": "respond_invitation", "activity_name": "Tea", "to": "Odile Roy", "decision": "YES", "message": "Ah"},
        {"action": "respond-invitation", "activity_name": "Tea", "to": "Odile Roy", "decision": False},
        {"action": "cancel joint activity", "activity_name": "Chess"},
    ]  # fmt: skip
    text = "".join(f"<role_action>{json.dumps(body)}</role_action>" for body in bodies)
    assert contact_actions(text) == [
        Propose(
            activity="Chess",
            proposal="A game.",
            invited=("Ben Okri", "Odile Roy"),
            time="Y1-W1-activity-D2",
            location="Courtyard",
            required=("Ben Okri",),
            message="Come!",
        ),
        Respond(activity="Tea", to="Odile Roy", decision="yes", message="Ah"),
        Respond(activity="Tea", to="Odile Roy", decision="no"),
        Cancel(activity="Chess"),
    ]


def test_names_in_one_string_are_parted() -> None:
    body = {"action": "propose_joint_activity", "activity_name": "Tea", "time": "x", "location": "y"}
    for people in ("Ben Okri, Odile Roy", "Ben Okri，Odile Roy", "Ben Okri、Odile Roy;", ["Ben Okri", " Odile Roy "]):
        (action,) = contact_actions(f"<role_action>{json.dumps({**body, 'invited_persons': people})}</role_action>")
        assert action.invited == ("Ben Okri", "Odile Roy")


def test_actions_of_an_activity() -> None:
    text = """Take it. <role_action>{"action": "gift", "to": "Ben", "item": "teapot"}</role_action>
    <role_action>{"action": "exit_activity", "reason": "I must go."}</role_action>"""
    found = read_actions(text).found
    assert [read_action(one, ACTIVITY_KINDS) for one in found] == [
        Gift(to="Ben", item="teapot"),
        ExitActivity(message="I must go."),
    ]
    assert all(read_action(one, CONTACT_KINDS).code == "unknown_kind" for one in found)


@pytest.mark.parametrize(
    ("body", "code", "reason"),
    [
        ("contact Ben", "unreadable", "malformed_action"),
        ("", "unreadable", "malformed_action"),
        ('{"action": "contact", "to": "Ben', "unreadable", "malformed_action"),
        ('{"to": "Ben", "message": "Hi"}', "no_kind", "malformed_action"),
        ('{"action": 7}', "no_kind", "malformed_action"),
        ('{"action": "telephone", "to": "Ben"}', "unknown_kind", "invalid_action"),
        ('{"action": "contact", "to": "Ben"}', "missing_field", "malformed_action"),
        ('{"action": "contact", "to": {"name": "Ben"}, "message": "Hi"}', "missing_field", "malformed_action"),
        ('{"action": "contact", "to": "Ben", "message": "<private>Hi</private>"}', "nothing_open", "malformed_action"),
        ('{"action": "respond_invitation", "activity_name": "Tea", "to": "Ben", "decision": "maybe"}', "bad_decision",
         "malformed_action"),
        ('{"action": "propose_joint_activity", "activity_name": "Tea", "invited_persons": [], "time": "x", '
         '"location": "y"}', "missing_field", "malformed_action"),
    ],
)  # fmt: skip
def test_bad_actions_become_objections(body: str, code: str, reason: str) -> None:
    (objection,) = contact_actions(f"<role_action>{body}</role_action>")
    assert isinstance(objection, Objection)
    assert objection.code == code
    assert drop_reason(objection) == reason


def test_a_bad_action_does_not_hide_a_good_one() -> None:
    text = f"<role_action>oops</role_action><role_action>{BODY}</role_action>"
    assert [type(action) for action in contact_actions(text)] == [Objection, Contact]


def test_the_original_is_kept_short() -> None:
    (found,) = read_actions(f"<role_action>{'x' * 5000}</role_action>").found
    assert len(found.original) == 300


@given(st.text(st.sampled_from('<>/{}[]",:“”｛｝ \\abrole_action'), max_size=60) | st.text(max_size=60))
def test_any_text_is_read(text: str) -> None:
    reading = read_actions(text + "<role_action>" + text)
    assert reading.found
    for found in reading.found:
        read_action(found, CONTACT_KINDS)


SHOWN = st.characters(exclude_categories=("Cc", "Cf", "Cs"))


@given(to=st.text(SHOWN, min_size=1, max_size=20), message=st.text(SHOWN, min_size=1, max_size=80))
def test_what_is_written_as_json_is_what_is_read(to: str, message: str) -> None:
    text = f"Well. <role_action>{json.dumps({'action': 'contact', 'to': to, 'message': message})}</role_action> So."
    (action,) = contact_actions(text)
    if to.strip() and message.strip() and not set("<[&({") & set(unicodedata.normalize("NFKC", message)):
        assert action == Contact(to=to.strip(), message=message.strip())
