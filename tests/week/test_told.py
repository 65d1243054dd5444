"""What agents are told when something can't be done or does not take place: every case has words in every language."""

import re
from pathlib import Path
from typing import get_args

import pytest

import sim.core.deeds
import sim.core.invitations
import sim.core.open_words
import sim.mind.actions
from sim.context.render import Renderer, languages
from sim.core.invitations import Objection
from sim.core.resolution import Cause
from sim.mind.action_tags import Flaw, Found
from sim.mind.actions import explain
from tests.context.desks import a_desk, a_world

LANGUAGES = languages()
_CODE = re.compile(r'Objection\(code="(\w+)"|code = "(\w+)" if .* else "(\w+)"')
_MODULES = (sim.core.deeds, sim.core.invitations, sim.core.open_words, sim.mind.actions)
_SOURCES = [Path(str(module.__file__)).read_text(encoding="utf-8") for module in _MODULES]
_WRITTEN = {code for source in _SOURCES for found in _CODE.findall(source) for code in found}
CODES = sorted({*_WRITTEN, *get_args(Flaw)} - {""})
VALUES = {"given": "GIVEN", "to": "RECEIVER", "kind": "contact", "field": "FIELD", "limit": "7"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_objection_has_words_of_its_own(language: str) -> None:
    assert len(CODES) >= 28
    desk = a_desk(world=a_world(language=language))
    found = Found(original='{"action": "dance"}', fields=None)
    texts = {
        code: explain(desk, found, Objection(code=code, values=VALUES, nearest=("NEAR ONE", "NEAR TWO")))
        for code in [*CODES, "no such code"]
    }
    assert len(set(texts.values())) == len(texts)
    for text in texts.values():
        assert re.fullmatch(r'Action: \{"action": "dance"\}\nError: \S.*', text)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "code",
    ["unreadable", "unknown_kind", "unknown_person", "unknown_place", "others_home", "time_form", "time_window",
     "nobody_invited", "no_such_invitation", "no_such_plan", "not_owned", "not_present", "untagged"],
)  # fmt: skip
def test_an_objection_names_valid_values(language: str, code: str) -> None:
    desk = a_desk(world=a_world(language=language))
    objection = Objection(code=code, values=VALUES, nearest=("NEAR ONE", "NEAR TWO"))
    assert "NEAR ONE" in explain(desk, Found(original="x", fields=None), objection)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("mine", [True, False])
@pytest.mark.parametrize("cause", get_args(Cause))
def test_every_cause_has_a_notice(language: str, mine: bool, cause: str) -> None:
    values = {
        "cause": cause, "activity": "Chess", "slot": "Y1-W1-activity-D2", "proposer": "Ann", "mine": mine,
        "instead": "Tea", "missing": ["Ben"],
    }  # fmt: skip
    text = Renderer(language).render("parts/notice.j2", values)
    assert "Chess" in text
    assert "Y1-W1-activity-D2" in text
    assert ("Tea" in text) == (cause == "clash")
    assert ("Ben" in text) == (cause == "required_missing")
    assert "\n" not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_invitations_and_answers_say_what_was_left_out_or_said(language: str) -> None:
    render = Renderer(language).render
    values = {"slot": "Y1-W1-activity-D2", "location": "Roof", "description": "DO", "message": "MESSAGE"}
    full = render("parts/invitation.j2", values)
    bare = render("parts/invitation.j2", {**values, "description": "", "message": ""})
    assert all(text in full for text in values.values())
    assert len(bare) < len(full)
    yes, no = (render("parts/answer.j2", {"decision": decision, "message": "MESSAGE"}) for decision in ("yes", "no"))
    assert yes != no
    assert "MESSAGE" in yes
    assert "MESSAGE" in no
