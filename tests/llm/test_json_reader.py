"""The lenient reader: what it repairs, what it refuses, and that it never changes content."""

import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.llm.json_reader import Reading, check, read_checked, read_object
from sim.llm.outcome import Refusal

plain_text = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
numbers = st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False)
values = st.recursive(
    st.none() | st.booleans() | numbers | plain_text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(plain_text, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(plain_text, values, max_size=5)


def value_of(text: str, **how: Any) -> tuple[dict[str, Any], bool]:
    reading = read_object(text, **how)
    assert isinstance(reading, Reading), reading
    return reading.value, reading.repaired


@settings(deadline=None)
@given(objects, st.sampled_from([None, 2]), st.booleans())
def test_plain_objects_are_read_exactly(value: dict[str, Any], indent: int | None, ascii_only: bool) -> None:
    assert value_of(json.dumps(value, indent=indent, ensure_ascii=ascii_only)) == (value, False)


@settings(deadline=None)
@given(
    objects.filter(bool), st.sampled_from(["Sure, here it is:\n{}\nThat is all.", "```json\n{}\n```", "\n```\n{}```"])
)
def test_text_and_fences_around_one_object(value: dict[str, Any], around: str) -> None:
    assert value_of(around.replace("{}", json.dumps(value, indent=1))) == (value, True)


@settings(deadline=None)
@given(objects, st.floats(0, 1, exclude_max=True))
def test_a_cut_off_object_is_never_completed(value: dict[str, Any], share: float) -> None:
    text = json.dumps(value)
    assert isinstance(read_object(text[: int(share * len(text))], complete=False), Refusal)


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_gives_a_reading_or_a_refusal(text: str) -> None:
    assert isinstance(read_object(text), Reading | Refusal)


@settings(deadline=None)
@given(st.text(st.sampled_from('{}[]",:“”，：｛｝ \\a1\n-`'), max_size=30))
def test_a_reading_holds_only_what_the_text_holds(text: str) -> None:
    reading = read_object(text)
    if isinstance(reading, Reading):
        written = set("".join(text.split()))
        assert {c for c in json.dumps(reading.value, ensure_ascii=False) if c in "a1“”"} <= written


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2,], }', {"a": [1, 2]}),
        ("{“a”: “b”}", {"a": "b"}),
        ("｛“名字”：“小雨”，“分数”：3｝", {"名字": "小雨", "分数": 3}),
        ('{"a": "他说“你好”，走了"，"b"：1}', {"a": "他说“你好”，走了", "b": 1}),
        ('{"a": "line one\nline two\tend"}', {"a": "line one\nline two\tend"}),
        ('{"a": {"b": 1}', {"a": {"b": 1}}),
        ('I feel {happy} today. {"a": 1}', {"a": 1}),
        ('{"a": 1}\n\n{"a": 1}', {"a": 1}),
        ("{'a': 'it\\'s \"so\"', 'b': True, 'c': None}", {"a": 'it\'s "so"', "b": True, "c": None}),
        ("{‘a’: ‘b’}", {"a": "b"}),
        ("{”a”: „b“, 「c」：「d」}", {"a": "b", "c": "d"}),
        ('{"a": 1, // why\n "b": "http://x", /* so */ # end\n}', {"a": 1, "b": "http://x"}),
        ('\ufeff```json\n{"a": "```x```",}\n```', {"a": "```x```"}),
    ],
)
def test_known_safe_repairs(text: str, value: dict[str, Any]) -> None:
    assert value_of(text) == (value, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I would rather stay at home.",
        "[1, 2]",
        '[{"a": 1}]',
        '[{"a": 1},]',
        "42",
        '{"a": 1} or rather {"a": 2}',
        '{"plan": oops, "inner": {"a": 1}}',
        '{"a": 1 2}',
        '{"a": 1,',
        '{"a": [1, 2}',
        '{"a": [1, 2',
        '{"a": "unfinished',
        "{",
        '{"a": 1,, "b": 2}',
        "{“a”: “he said “yes” to me”}",
        "{a: 1}",
        "{'a': 'it's'}",
        "{'a': b'x'}",
        "{'a': 1, 'a': 2}",
        '{"a": True}',
        '{"a": 1 /* no end}',
        '{"a": 1, "a": 2}',
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1e999}',
        '{"a": ' + "9" * 5000 + "}",
        '{"a": "\\ud800"}',
        '{"a": "\ud800"}',
        '{"a": ' * 100_000,
        '{"a": ' * 500 + "1" + "}" * 500,
        '{"a": ' + "[" * 200_000 + "]" * 200_000 + "}",
    ],
)
def test_what_would_need_a_guess_is_refused(text: str) -> None:
    refusal = read_object(text)
    assert isinstance(refusal, Refusal)
    assert refusal.kind == "malformed"
    assert 0 < len(refusal.text) <= 300


def test_large_numbers_within_range_are_kept() -> None:
    value, repaired = value_of('{"a": 123456789012345678901234567890, "b": 1e300, "c": -7.0}')
    assert value == {"a": 123456789012345678901234567890, "b": 1e300, "c": -7}
    assert isinstance(value["c"], int)
    assert math.isfinite(value["b"])
    assert not repaired


def test_a_surrogate_pair_is_one_character() -> None:
    assert value_of('{"a": "\\ud83d\\ude00"}') == ({"a": "😀"}, False)


def test_the_final_brace_is_added_only_where_nothing_was_cut_off() -> None:
    assert value_of('{"a": "b"') == ({"a": "b"}, True)
    assert isinstance(read_object('{"a": "b"', complete=False), Refusal)


SCHEMA = {
    "type": "object",
    "properties": {"standard": {"enum": ["frugal", "moderate"]}, "days": {"type": "integer", "maximum": 5}},
    "required": ["standard", "days"],
    "additionalProperties": False,
}


def test_the_schema_names_the_place_of_the_error() -> None:
    refusal = read_checked('{"standard": "royal", "days": 2}', SCHEMA)
    assert isinstance(refusal, Refusal)
    assert refusal.kind == "invalid"
    assert refusal.text.startswith("$.standard: 'royal' is not one of")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"standard": "royal", "days": 2}', "invalid"),
        ('{"standard": "frugal", "days": 9}', "invalid"),
        ('{"standard": "frugal", "days": "2"}', "malformed"),
        ('{"standard": "frugal"}', "malformed"),
        ('{"standard": "frugal", "days": 2, "more": 1}', "malformed"),
        ("frugal, two days", "malformed"),
    ],
)
def test_a_broken_form_is_malformed_and_a_choice_that_is_not_there_is_invalid(text: str, kind: str) -> None:
    refusal = read_checked(text, SCHEMA)
    assert isinstance(refusal, Refusal)
    assert refusal.kind == kind


def test_whole_numbers_written_with_a_fraction_are_whole() -> None:
    reading = read_checked('{"standard": "frugal", "days": 2.0}', SCHEMA)
    assert isinstance(reading, Reading)
    assert reading.value["days"] == 2
    assert not isinstance(reading.value["days"], float)


def test_among_alternatives_the_one_that_fits_best_is_explained() -> None:
    contact = {
        "properties": {"action": {"const": "contact"}, "to": {"enum": ["Ann"]}},
        "required": ["action", "to"],
    }
    cancel = {"properties": {"action": {"const": "cancel"}, "name": {"type": "string"}}, "required": ["action", "name"]}
    refusal = check({"action": "contact", "to": "Bob"}, {"anyOf": [contact, cancel]})
    assert refusal is not None
    assert "$.to: 'Bob'" in refusal.text
