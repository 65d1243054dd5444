"""A corpus of odd answers: what takes effect, what is refused, and that every refusal has words in every language."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from sim.context.render import languages
from tests.week.odd import WAYS, Came

CORPUS = yaml.safe_load((Path(__file__).parent / "odd_answers.yaml").read_text(encoding="utf-8"))
MALFORMED = {"unreadable", "untagged", "only_thought", "no_kind", "missing_field", "bad_decision"}
CAN_T = {"en": "this can't be done here", "zh": "这里不能这样做"}


def text_of(entry: dict[str, Any]) -> str:
    mark, times = entry.get("fill", ["", 0])
    return entry["text"].replace("@@", mark * times)


def came_of(entry: dict[str, Any], language: str) -> Came:
    return WAYS[entry.get("way", "contact")](text_of(entry), language)


@pytest.mark.parametrize("entry", CORPUS, ids=[entry["id"] for entry in CORPUS])
def test_what_comes_of_an_odd_answer(entry: dict[str, Any]) -> None:
    for language in languages():
        came = came_of(entry, language)
        assert came.gives == entry.get("gives", [])
        assert came.refused == entry.get("refused", [])
        assert {name: came.heard[name] for name in entry.get("heard", {})} == entry.get("heard", {})


@pytest.mark.parametrize("entry", [entry for entry in CORPUS if "refused" in entry], ids=lambda entry: entry["id"])
def test_every_refusal_is_told_in_words_and_not_trained_on(entry: dict[str, Any]) -> None:
    for language in languages():
        came = came_of(entry, language)
        acts = entry.get("way", "contact") in ("contact", "turn")
        assert len(came.told) == (len(entry["refused"]) if acts else 1)
        for text in came.told:
            text.encode()
            assert len(text) < 1200
            assert CAN_T[language] not in text
            assert not acts or text.split("\nError: ", 1)[1].strip()
        if acts:
            drop = "malformed_action" if entry["refused"][0] in MALFORMED else "invalid_action"
            assert came.drop == drop


def test_who_was_probably_meant_is_named_first() -> None:
    for wrong, right in [
        ("Odile", "Odile Roy"),
        ("小雨", "林小雨"),
        ("Dr. Wolf", "Ida Wolf"),
        ("Benny Okri", "Ben Okri"),
    ]:
        (told,) = WAYS["contact"](
            f'<role_action>{{"action": "contact", "to": "{wrong}", "message": "Hi"}}</role_action>', "en"
        ).told
        assert f"in full: {right}" in told


def test_the_corpus_is_large_and_of_both_languages() -> None:
    assert len(CORPUS) >= 70
    assert len({entry["id"] for entry in CORPUS}) == len(CORPUS)
    assert sum(not entry["text"].isascii() for entry in CORPUS) >= 20
    assert {entry.get("way", "contact") for entry in CORPUS} == set(WAYS)
