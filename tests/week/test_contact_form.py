"""The form of a contact round's answer: only what is possible now, with closed lists, within the number of actions."""

import random

import msgspec
import pytest
from jsonschema import Draft202012Validator

from sim.core.invitations import Book, Invitation, Objection, OwnPlan, check_action
from sim.llm.protocol import OutputFormat
from sim.llm.scripted_values import Maker
from sim.llm.scripted_words import Words
from sim.mind.action_tags import Found
from sim.mind.actions import CONTACT_KINDS, read_action
from sim.settings import LimitSettings, PromptSettings, SimSettings
from sim.week.contact_form import contact_format
from tests.builders import a_clock, a_slot

FULL = SimSettings()
SHORT = SimSettings(prompts=PromptSettings(profile="short"))
BARE = Book(
    me="Mara Voss",
    known=("Ben", "Odile", "林"),
    places=("Courtyard", "home/Mara Voss"),
    others_homes=("home/Ben",),
    window=tuple(a_clock().slots_ahead(1, 1, 4)),
)


def an_invitation(number: int) -> Invitation:
    return Invitation(
        activity=f"Tea {number}",
        proposer="Ben",
        slot=a_slot(),
        location="Courtyard",
        description="",
        invited=("Mara Voss",),
    )


BUSY = msgspec.structs.replace(
    BARE,
    invitations=(an_invitation(1), an_invitation(2)),
    own=(OwnPlan(activity="Chess", invited=("Ben",)), OwnPlan(activity="Walk", invited=("Ben",), standing=False)),
)
CROWDED = msgspec.structs.replace(BARE, invitations=tuple(an_invitation(number) for number in range(30)))


def kinds(output: OutputFormat) -> list[str]:
    return [tag.schema["properties"]["action"]["enum"][0] for tag in output.tags]


def test_only_what_is_possible_can_be_written() -> None:
    assert kinds(contact_format(BARE, FULL)) == ["propose_joint_activity", "contact"]
    assert kinds(contact_format(BUSY, FULL)) == [
        "respond_invitation", "respond_invitation", "cancel_joint_activity", "propose_joint_activity", "contact",
    ]  # fmt: skip


def test_a_weak_model_answers_first_what_is_due() -> None:
    assert kinds(contact_format(BARE, SHORT)) == ["propose_joint_activity", "contact"]
    assert kinds(contact_format(BUSY, SHORT)) == ["respond_invitation", "contact"]
    due = contact_format(BUSY, SHORT, answered={("Ben", "Tea 1"): "yes"}).tags[0].schema["properties"]
    assert due["activity_name"]["enum"] == ["Tea 2"]
    done = {("Ben", "Tea 1"): "yes", ("Ben", "Tea 2"): "no"}
    assert kinds(contact_format(BUSY, SHORT, answered=done)) == ["propose_joint_activity", "contact"]
    assert [(tag.at_least, tag.at_most) for tag in contact_format(BUSY, SHORT).tags] == [(1, 1), (0, 1)]


@pytest.mark.parametrize("book", [BARE, BUSY])
@pytest.mark.parametrize("most", [1, 2, 10])
def test_the_form_allows_no_more_actions_than_the_rules(book: Book, most: int) -> None:
    settings = SimSettings(limits=LimitSettings(actions_per_round=most), prompts=SHORT.prompts)
    assert sum(tag.at_most for tag in contact_format(book, settings).tags) <= most
    if most == 10:
        assert sum(tag.at_most for tag in contact_format(book, FULL).tags) == most


def test_many_invitations_share_their_forms() -> None:
    answers = [tag.schema for tag in contact_format(CROWDED, FULL).tags if "decision" in tag.schema["properties"]]
    assert len(answers) == 12
    assert len(answers[0]["properties"]["activity_name"]["enum"]) == 30


@pytest.mark.parametrize("settings", [FULL, SHORT], ids=["full", "short"])
@pytest.mark.parametrize("book", [BARE, BUSY], ids=["bare", "busy"])
def test_whatever_has_the_form_is_legal(book: Book, settings: SimSettings) -> None:
    rng = random.Random(5)
    for tag in contact_format(book, settings).tags:
        Draft202012Validator.check_schema(tag.schema)
        for _ in range(40):
            value = Maker(rng, Words("en"), tag.schema).value(tag.schema)
            action = read_action(Found(original="", fields=value), CONTACT_KINDS)
            assert not isinstance(action, Objection), action
            assert not isinstance(check_action(action, book), Objection)
