"""Prompts and sentences of the days that a smooth day never shows, in both languages."""

from typing import Any

import pytest

from sim.context.render import Renderer

PEOPLE = [{"name": "Ann", "age": 30, "position": ""}, {"name": "Ben", "age": 40, "position": "Bakery/Baker"}]
PLACE = {"name": "Roof", "size": "small", "description": "High up.", "objects": ["chair"]}
SENTENCES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("days/silence.j2", {}, []),
    ("days/plain_act.j2", {}, []),
    ("days/plain_intention.j2", {}, []),
    ("days/bought.j2", {"time": "Y1-W1-activity-D1"}, ["Y1-W1-activity-D1"]),
    ("days/scene.j2", {"text": "Rain."}, ["Rain."]),
    ("days/notice.j2", {"code": "gift", "name": "Ann", "item": "teapot", "to": "Ben"}, ["Ann", "teapot", "Ben"]),
    ("days/notice.j2", {"code": "left", "name": "Ann", "item": "", "to": ""}, ["Ann"]),
    (
        "days/choose.j2",
        {"note": "It is Sunday.", "offers": ["lamp: 60 dollars"]},
        ["It is Sunday.", "lamp: 60 dollars"],
    ),
    (
        "days/opening.j2",
        {"participants": PEOPLE, "place": PLACE, "activity": {"name": "Chess"}},
        ["Ann", "Roof", "Chess"],
    ),
    ("days/opening.j2", {"participants": PEOPLE, "place": None, "activity": {"name": ""}}, ["Ann", "Ben"]),
    ("environment/plain_feedback.j2", {"name": "Ann"}, ["Ann"]),
    ("environment/plain_scene.j2", {"participants": PEOPLE, "place": PLACE}, ["Ann", "Ben", "Roof"]),
    ("environment/plain_scene.j2", {"participants": PEOPLE, "place": None}, ["Ann", "Ben"]),
]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("template", "values", "words"), SENTENCES)
def test_sentences(language: str, template: str, values: dict[str, Any], words: list[str]):
    text = Renderer(language).render(template, values)
    assert text
    assert all(word in text for word in words)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("kind", ["joint", "encounter", "public", "solo"])
def test_records_tell_with_whom_what_was_earned_and_bought(language: str, kind: str):
    bought = {"name": "lamp", "price": 60}
    values = {"kind": kind, "activity": "Chess", "location": "Roof", "others": ["Ben", "Cleo"]}
    text = Renderer(language).render(
        "days/record.j2", {**values, "bought": bought, "income": 80, "texts": ["One.", "Two."]}
    )
    assert all(word in text for word in ("Roof", "80", "lamp", "60", "One.", "Two."))
    assert kind == "solo" or "Ben" in text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_speech_as_it_is_read(language: str):
    def line(*parts: dict[str, Any]) -> str:
        return Renderer(language).render("days/speech.j2", {"speaker": "Ann", "parts": list(parts)})

    assert "Hello." in line({"kind": "public", "text": "Hello.", "to": []})
    withheld = line({"kind": "visible_to", "text": "", "to": ["Ben"]})
    assert "Ann" in withheld
    assert "Ben" in withheld
    shared = line({"kind": "visible_to", "text": "Later.", "to": ["Ben"]})
    assert "Later." in shared
    assert shared != withheld
    assert line() not in (withheld, shared)
