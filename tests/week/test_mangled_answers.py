"""Ten thousand mangled answers: no exception, nothing to somebody who was not named, every refusal in words."""

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.week.odd import ANSWER_SCHEMA, CAST, KNOWN, ME, PRESENT, WAYS, Came
from tests.week.test_odd_answers import CAN_T, CORPUS, text_of

BATCH = 5
"""Answers of one example."""
FEW, MANY = 120, 500
"""Examples of each of the four ways in the default tier, and in the slow one: 4 · 500 · 5 = 10,000 answers."""
TITLES = ("mr", "mrs", "ms", "miss", "dr", "prof", "sir", "先生", "女士", "老师", "同学")
SNIPPETS = (
    "<role_action>", "</role_action>", "<private>", "</private>", '<visible_to="Ben Okri">', "</visible_to>", "<think>",
    "</think>", "```json", "```", "{", "}", "[", "]", '"', "'", "“", "”", ",", "，", "：", ":", "\\", "\n",
    "\x00", "\u200b", "\u202e", "\ud800", "\\u0000", "\\ud83d", "😊", "&lt;", "//", "null", "true", "<tool_call>",
    "</tool_call>", "../", "/", '"to": "Karl Benz", ', '"recipient": "Ben Adler", ', "Dr. ", "老师", "é", "9" * 400,
    " " * 250,
)  # fmt: skip
NAMES = (
    "Ben", "Okri", "Ben Adler", "Karl Benz", "Mara Voss", "Mrs. Ben Okri", "ＢＥＮ ＯＫＲＩ", "Ben Okri, Odile Roy",
    "林", "小雨", "B. Okri", "béñ ökrî", "everyone", "", "Ben Okrì Jr.", "林小雨老师", "Ida Wolf", "Dr. Wolf",
)  # fmt: skip
ACTIONS = (
    {"action": "contact", "to": "Ben Okri", "message": "Hi"},
    {"action": "propose_joint_activity", "activity_name": "Film", "proposal": "See it.", "message": "Come",
     "invited_persons": ["Ben Okri", "林小雨"], "time": "Y1-W2-activity-D3", "location": "Courtyard",
     "required_participants": ["Ben Okri"]},
    {"action": "respond_invitation", "activity_name": "Chess night", "to": "Ben Okri", "decision": "yes"},
    {"action": "cancel_joint_activity", "activity_name": "Dinner", "message": "Sorry"},
)  # fmt: skip
DEEDS = ({"action": "gift", "item": "blue teapot", "to": "Ben Okri"}, {"action": "exit_activity"})
WHISPER = "zqwhisper"
KINDS = ("delete", "insert", "duplicate", "widen", "rename", "cut", "case", "swap")
SINGLE = KINDS[:-1]
"""Changes of one place."""


def tagged(value: dict[str, Any]) -> str:
    return f"Well. <role_action>{json.dumps(value, ensure_ascii=False)}</role_action> So."


GOOD = {
    "contact": [tagged(value) for value in ACTIONS],
    "turn": [
        *(tagged(value) for value in DEEDS),
        f'All. <visible_to="Ben Okri">{WHISPER}</visible_to>',
        f"All. <private>{WHISPER}</private> {tagged(DEEDS[0])}",
    ],
    "json": [json.dumps({"plan": "Rest", "living_standard": "frugal", "hours": 3})],
    "tool": [
        f"<tool_call>{json.dumps({'name': 'update_file', 'arguments': {'path': path, 'text': 'Beans.'}})}</tool_call>"
        for path in ("others/garden.txt", "characters/Karl Benz.txt", "general.txt")
    ],
}
ODD = {
    way: [text_of(entry) for entry in CORPUS if entry.get("way", "contact") == way and "fill" not in entry]
    for way in WAYS
}


@st.composite
def damage(draw: st.DrawFn, kinds: tuple[str, ...] = KINDS) -> Callable[[str], str]:
    """One change of a text: something cut, put in, doubled, swapped, widened, renamed or cut off."""
    how = draw(st.sampled_from(kinds))
    at, length, other = draw(st.floats(0, 1)), draw(st.integers(1, 9)), draw(st.floats(0, 1))
    snippet = draw(st.sampled_from(SNIPPETS) | st.text(max_size=3))
    name = draw(st.sampled_from(NAMES))
    return partial(damaged, how=how, at=at, length=length, other=other, snippet=snippet, name=name)


def damaged(text: str, *, how: str, at: float, length: int, other: float, snippet: str, name: str) -> str:
    """The text after one change."""
    start, second = int(at * len(text)), int(other * len(text))
    before, piece, after = text[:start], text[start : start + length], text[start + length :]
    match how:
        case "delete":
            return before + after
        case "insert":
            return before + snippet + piece + after
        case "duplicate":
            return before + piece + piece + after
        case "swap":
            first, last = sorted((start, second))
            return text[:first] + text[last : last + length] + text[first:last] + text[last + length :]
        case "widen":
            return before + "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in piece) + after
        case "rename":
            return re.sub("Ben Okri|林小雨|Odile Roy|Karl Benz", lambda _: name, text, count=1)
        case "cut":
            return before
        case _:
            return before + piece.swapcase() + after


def mangled(way: str, most: int) -> st.SearchStrategy[str]:
    """A good or an odd answer after some changes, or any text at all."""
    bases = st.sampled_from(GOOD[way]) | st.sampled_from(GOOD[way]) | st.sampled_from(ODD[way])
    changed = st.builds(_after, bases, st.lists(damage(), min_size=1, max_size=most))
    return st.one_of(changed, changed, changed, changed, st.text(max_size=60))


def _after(text: str, changes: Sequence[Callable[[str], str]]) -> str:
    for change in changes:
        text = change(text)
    return text


def letters(text: str) -> str:
    """Only the letters of a name, without case, width and accents."""
    plain = unicodedata.normalize("NFKD", text).casefold()
    return "".join(char for char in plain if char.isalnum())


def names_the_person(written: str, name: str) -> bool:
    """Whether one of the written names is the person's but for titles."""
    return any(bare == letters(name) for part in written.split(" | ") for bare in without_titles(letters(part)))


def without_titles(form: str) -> list[str]:
    """A name's letters, and what is left when titles are taken off it."""
    forms = [form]
    for one in forms:
        rests = (rest for title in TITLES for rest in (one.removeprefix(title), one.removesuffix(title)))
        forms += [rest for rest in rests if rest not in forms]
    return forms


def sound(came: Came, language: str) -> None:
    """What holds of every answer, whatever was written."""
    assert len(came.told) == len(came.refused)
    for text in came.told:
        text.encode()
        assert CAN_T[language] not in text
        assert re.search(r"\nError: \S", text)
    assert bool(came.drop) == bool(came.refused)
    assert len({name for _, name in came.named} - {*KNOWN}) == 0
    for written, name in came.named:
        assert names_the_person(written, name)


def check_contact(text: str, language: str) -> None:
    came = WAYS["contact"](text, language)
    sound(came, language)
    reached = {name for _, name in came.named} | ({"Ben Okri"} if "cancel Dinner" in came.gives else set())
    assert set(came.heard) <= reached
    assert ME not in came.heard


def check_turn(text: str, language: str) -> None:
    came = WAYS["turn"](text, language)
    sound(came, language)
    assert {name for _, name in came.named} <= set(PRESENT)
    assert len(came.gives) + len(came.refused) == came.found


def check_json(text: str, language: str) -> None:
    came = WAYS["json"](text, language)
    assert bool(came.gives) != bool(came.refused)
    assert set(came.refused) <= {"malformed", "invalid", "empty"}
    assert all(told.strip() for told in came.told)
    if came.gives:
        value = dict(line.split(" ", 1) for line in came.gives)
        hours = {"hours": int(value["hours"])} if "hours" in value else {}
        assert Draft202012Validator(ANSWER_SCHEMA).is_valid({**value, **hours})


def check_tool(text: str, language: str) -> None:
    came = WAYS["tool"](text, language)
    assert bool(came.told) == bool(came.refused)
    for line in came.gives:
        path = line.removeprefix("write ")
        assert re.fullmatch(r"general\.txt|(characters|others)/[^/\\\x00-\x1f]+\.txt", path)
        assert ".." not in path
        assert not path.startswith("characters/") or path[11:-4] in CAST


CHECKS = {"contact": check_contact, "turn": check_turn, "json": check_json, "tool": check_tool}


def check_many(way: str, examples: int) -> None:
    """So many examples of one way, every second one in Chinese."""

    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(mangled(way, 4), min_size=BATCH, max_size=BATCH), st.sampled_from(("en", "zh")))
    def check(texts: list[str], language: str) -> None:
        for text in texts:
            CHECKS[way](text, language)

    check()


@pytest.mark.parametrize("way", sorted(CHECKS))
def test_mangled_answers(way: str) -> None:
    check_many(way, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("way", sorted(CHECKS))
def test_ten_thousand_mangled_answers(way: str) -> None:
    check_many(way, MANY)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(GOOD["contact"]), damage(SINGLE))
def test_one_damage_never_makes_an_action_vanish_without_a_word(text: str, change: Callable[[str], str]) -> None:
    came = WAYS["contact"](change(text), "en")
    assert came.gives or came.refused or len(change(text)) < len(text) // 2


@settings(max_examples=200, deadline=None)
@given(st.sampled_from([text for text in GOOD["turn"] if WHISPER in text]), damage(SINGLE))
def test_one_damage_never_makes_hidden_words_heard(text: str, change: Callable[[str], str]) -> None:
    changed = change(text)
    assume("林" not in changed)
    came = WAYS["turn"](changed, "zh")
    assert WHISPER not in came.heard["林小雨"]


def test_the_checks_notice_a_wrong_person() -> None:
    assert names_the_person("Dr. ben OKRI", "Ben Okri")
    assert names_the_person("林小雨老师", "林小雨")
    assert names_the_person("Odile Roy | béñ ökrî", "Ben Okri")
    assert not names_the_person("Ben", "Ben Okri")
    assert not names_the_person("Ben Okri Jr.", "Ben Okri")
    assert not names_the_person("Ben Okri, Odile Roy", "Ben Okri")
