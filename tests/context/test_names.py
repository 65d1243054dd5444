"""Names that a model wrote are found where they are meant, and never guessed."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.context.names import nearest, resolve_name, resolve_person
from sim.llm.outcome import Refusal

CAST = ("Mara Voss", "Marta Voss", "Jürgen Ölçer", "林小雨", "O'Neil Byrne", "Dr. Who")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Mara Voss", "Mara Voss"),
        ("mara voss", "Mara Voss"),
        ("  Mara   VOSS ", "Mara Voss"),
        ("Ｍａｒａ Ｖｏｓｓ", "Mara Voss"),
        ("Ms. Mara Voss", "Mara Voss"),
        ("“Mara Voss”.", "Mara Voss"),
        ("@Mara Voss", "Mara Voss"),
        ("who", "Dr. Who"),
        (unicodedata.normalize("NFD", "Jürgen Ölçer"), "Jürgen Ölçer"),
        ("林小雨同学", "林小雨"),
        ("o'neil byrne", "O'Neil Byrne"),
    ],
)
def test_a_name_is_found_in_spite_of_its_dress(text, name):
    assert resolve_person(text, CAST) == name


@pytest.mark.parametrize("text", ["", "Mara", "Voss", "Mara Vos", "M. Voss", "小雨", "Mara Voss and Ben", "\ud800"])
def test_what_is_only_similar_is_refused(text):
    refusal = resolve_person(text, CAST)
    assert isinstance(refusal, Refusal)
    assert refusal.kind == "invalid"
    refusal.text.encode()


def test_the_refusal_lists_the_nearest_names_first():
    refusal = resolve_name("Mara Vos", CAST)
    assert isinstance(refusal, Refusal)
    assert refusal.text.startswith('"Mara Vos" → ? ("Mara Voss", "Marta Voss"')


def test_two_names_of_one_form_are_ambiguous():
    assert isinstance(resolve_name("ANNA", ("Anna", "anna")), Refusal)
    assert resolve_name("anna", ("Anna", "anna")) == "anna"


def test_nearest_falls_back_to_the_first_names():
    assert nearest("zzz", ("b", "a")) == ["a", "b"]


@given(st.text(max_size=30), st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=15), max_size=6))
def test_the_answer_is_an_allowed_name_or_a_refusal(text, allowed):
    for resolve in (resolve_name, resolve_person):
        found = resolve(text, allowed)
        assert isinstance(found, Refusal) or found in allowed
