"""The scripted model's offences: each is refused, together they provoke every refusal that an action can meet."""

import asyncio
from collections.abc import Iterable

import msgspec
import pytest

from sim.core.deeds import check_deeds
from sim.core.invitations import Book, ContactAction, Invitation, Objection, OwnPlan, check_actions
from sim.environment.forms import closed
from sim.llm.protocol import OutputFormat, Tag
from sim.llm.scripted import Scripted
from sim.llm.scripted_faults import Faults
from sim.mind.action_tags import TAG, read_actions
from sim.mind.actions import ACTIVITY_KINDS, read_action
from sim.settings import PromptSettings, SimSettings
from sim.week.contact import readable
from sim.week.contact_form import contact_format
from tests.builders import a_clock, a_slot
from tests.llm.replay import a_request

POOR = Book(
    me="Mara Voss",
    known=("Ben", "林"),
    places=("Courtyard", "home/Mara Voss"),
    others_homes=("home/Ben", "home/林"),
    window=tuple(a_clock().slots_ahead(1, 1, 4)),
)
RICH = msgspec.structs.replace(
    POOR,
    own=(OwnPlan(activity="Dinner", invited=("Ben",)),),
    invitations=(
        Invitation(
            activity="Tea", proposer="Ben", slot=a_slot(), location="Courtyard", description="", invited=("Mara Voss",)
        ),
    ),
)
IN_CONTACT = {
    "unreadable", "no_kind", "unknown_kind", "missing_field", "bad_decision", "too_many_actions", "oneself",
    "unknown_person", "nobody_invited", "long_activity_name", "duplicate_name", "time_form", "time_window",
    "others_home", "unknown_place", "no_open_invitation", "no_such_invitation", "no_own_plan", "no_such_plan",
    "untagged", "only_thought", "hidden",
}  # fmt: skip
IN_AN_ACTIVITY = {
    "unreadable", "unknown_kind", "missing_field", "untagged", "only_thought", "too_many_actions", "oneself",
    "has_left",
}  # fmt: skip


def offences(output: OutputFormat, many: int) -> Iterable[str]:
    model = Scripted(faults=Faults(illegal=1.0))
    for number in range(many):
        request = a_request(output=output, seed=number * 7919, key=f"k/{number}", agent="Mara Voss")
        yield asyncio.run(model.complete(request)).text


def turn_format(items: list[str]) -> OutputFormat:
    """The form of a turn of an activity with two others."""
    leave = closed({"action": {"type": "string", "enum": ["exit_activity"]}})
    one_of = {"type": "string", "enum": items}
    gift = closed(
        {
            "action": {"type": "string", "enum": ["gift"]},
            "item": one_of,
            "to": {"type": "string", "enum": ["Ben", "林"]},
        }
    )
    schema = {"anyOf": [gift, leave]} if items else leave
    return OutputFormat(kind="tagged", tags=(Tag(name=TAG, schema=schema, at_most=2),), spans=("private", "visible_to"))


def refused(text: str, book: Book) -> set[str]:
    settings = SimSettings()
    actions: list[ContactAction | Objection] = [readable(one, book) for one in read_actions(text).found]
    results = check_actions(actions, book, limit=settings.limits.actions_per_round)
    return {result.code for result in results if isinstance(result, Objection)}


@pytest.mark.parametrize("profile", ["full", "short"])
def test_every_offence_in_contact_is_refused_and_all_refusals_are_met(profile):
    settings = SimSettings(prompts=PromptSettings(profile=profile))
    met: set[str] = set()
    for book in (POOR, RICH):
        for text in offences(contact_format(book, settings), 150):
            codes = refused(text, book)
            assert codes, text
            met |= codes
    assert met == IN_CONTACT


@pytest.mark.parametrize(("items", "more"), [([], {"owns_nothing"}), (["lamp"], {"not_owned", "not_present"})])
def test_every_offence_in_an_activity_is_refused_and_all_refusals_are_met(items, more):
    met: set[str] = set()
    for text in offences(turn_format(items), 120):
        deeds = [read_action(one, ACTIVITY_KINDS) for one in read_actions(text).found]
        results = check_deeds(deeds, me="Mara Voss", owned=items, others=["Ben", "林"], limit=2)
        codes = {result.code for result in results if isinstance(result, Objection)}
        assert codes, text
        met |= codes
    assert met == IN_AN_ACTIVITY | more


def test_where_no_action_is_possible_the_answer_is_a_good_one():
    output = OutputFormat(kind="json", schema={"type": "object", "properties": {"a": {"type": "boolean"}}})
    assert next(iter(offences(output, 1))).startswith("{")
