"""Lengths of texts in both scripts, likeness by hand, and how much of a text is copied."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.world.checking.likeness import (
    alike_pairs,
    likeness,
    longest_copy,
    plain_form,
    sentence_count,
    shingles,
    units,
    word_count,
)

STORY = "A ferryman borrows the price of an engine from his oldest friend, a beekeeper, for one season."


def test_words_are_words_and_chinese_characters_are_units() -> None:
    assert units("Don't panic, 12 Ärzte!") == ["don", "t", "panic", "12", "ärzte"]
    assert units("我在A栋") == ["我", "在", "a", "栋"]


def test_a_hundred_and_sixty_characters_are_about_a_hundred_words() -> None:
    assert word_count("word " * 100) == 100
    assert word_count("字" * 160) == 100
    assert word_count("字" * 16 + " two words") == 12


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("One. Two! Three?", 3),
        ("No end", 0),
        ("At 3.5 miles.", 1),
        ("一句。两句！三句？", 3),
        ('He said "no." She left.', 2),
    ],
)
def test_sentences_are_counted_by_their_ends(text: str, n: int) -> None:
    assert sentence_count(text) == n


def test_likeness_by_hand() -> None:
    """Texts `a b c d` and `a b c e` share one of two runs. N = 2: the shared run weighs ln(3/3) + 1 = 1, the others
    ln(3/2) + 1 = 1.405. Cosine = 1 / (1 + 1.405²) = 0.336."""
    own = math.log(3 / 2) + 1
    found = likeness(["a b c d", "a b c e"])
    assert found[0, 1] == pytest.approx(1 / (1 + own**2), abs=1e-4)
    assert found[0, 0] == pytest.approx(1)


def test_the_same_text_is_fully_alike_and_an_empty_one_like_nothing() -> None:
    found = likeness([STORY, STORY.upper(), ""])
    assert found[0, 1] == pytest.approx(1)
    assert found[0, 2] == 0
    assert [(one, other) for one, other, _ in alike_pairs([STORY, STORY.upper(), "x"], 0.9)] == [(0, 1)]


@given(st.lists(st.text(max_size=60), max_size=6))
def test_likeness_is_mutual_and_between_nothing_and_all(texts: list[str]) -> None:
    found = likeness(texts)
    assert found.shape == (len(texts), len(texts))
    assert abs(found - found.T).max(initial=0) < 1e-5
    assert found.min(initial=0) >= 0
    assert found.max(initial=0) <= 1.0001


def test_the_longest_copied_run_is_found() -> None:
    assert longest_copy("She borrows the price of an engine and leaves.", [STORY]) == 6
    assert longest_copy("Nothing of this is in there at all.", [STORY]) == 0
    assert longest_copy(STORY, ["Something else entirely, with other words.", STORY]) == len(units(STORY))


def test_short_texts_are_one_run() -> None:
    assert shingles("one two") == ["one two"]
    assert shingles("") == []


def test_names_of_one_plain_form_are_easily_confused() -> None:
    assert plain_form("Rafael Quiñones") == plain_form("rafael  QUINONES")
    assert plain_form("林 晓雨") == plain_form("林晓雨")
    assert plain_form("Mara Voss") != plain_form("Mara Boss")
