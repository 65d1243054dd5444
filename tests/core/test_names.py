"""Names are equal but for their dress, or they are other names; and the nearest ones are told first."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.keys import normal_form
from sim.core.names import find_name, find_person, nearest_names, person_form, plain_form

CAST = (
    "Mara Voss",
    "Marta Voss",
    "José Ñíguez",
    "林小雨",
    "林雨",
    "Seán O'Neil",
    "Anne-Marie Roy",
    "哈利·波特",
    "Dr. Who",
)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("jose niguez", "José Ñíguez"),
        ("JOSÉ NIGUEZ", "José Ñíguez"),
        ("Sean O’Neil", "Seán O'Neil"),
        ("Anne‑Marie Roy", "Anne-Marie Roy"),
        ("哈利•波特", "哈利·波特"),
        ("哈利・波特", "哈利·波特"),
        ("Mara\u200b Voss\u200f", "Mara Voss"),
        ("\u202eMara Voss", "Mara Voss"),
        ("《林小雨》", "林小雨"),
        ("Dr. Mara Voss", "Mara Voss"),
        ("Dr.Mara Voss", "Mara Voss"),
        ("Prof. Dr. Mara Voss", "Mara Voss"),
        ("林小雨老师", "林小雨"),
        ("林小雨 同学", "林小雨"),
        ("Dr Who", "Dr. Who"),
    ],
)
def test_a_person_is_found_in_spite_of_dress_and_title(text: str, name: str) -> None:
    assert find_person(text, CAST) == name


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "...",
        "Mara",
        "M. Voss",
        "Voss",
        "Mrs. Voss",
        "林老师",
        "小雨",
        "林",
        "Маra Voss",
        "Mara Voss 😊",
        "Mara Voss, Marta Voss",
        "Mara\x00Voss",
        "Mr. Who",
        "Dr.",
        "老师",
        "\ud800",
        "\u20d0",
        "\u0301",
    ],
)
def test_nobody_is_guessed(text: str) -> None:
    assert find_person(text, CAST) is None


def test_two_people_of_one_form_are_told_apart_by_their_exact_names_only() -> None:
    assert find_person("Zoe", ("Zoé", "Zoë")) is None
    assert find_person("Zoë", ("Zoé", "Zoë")) == "Zoë"
    assert find_person("Voss", ("Dr. Voss", "Mr. Voss")) is None
    assert find_person("mr voss", ("Dr. Voss", "Mr. Voss")) == "Mr. Voss"
    assert find_person("Mrs. Voss", ("Mr. Voss",)) is None


def test_other_scripts_keep_their_marks() -> None:
    assert find_person("カト", ("ガト",)) is None
    assert find_person("Андреи", ("Андрей",)) is None


def test_titles_are_part_of_all_names_but_those_of_people() -> None:
    assert find_name("Coach house", ("House",)) is None
    assert find_name("coach HOUSE.", ("House", "Coach house")) == "Coach house"
    assert find_name("Café Élan", ("Cafe Elan",)) == "Cafe Elan"


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("Mara Vos", "Mara Voss"),
        ("小雨", "林小雨"),
        ("Roy", "Anne-Marie Roy"),
        ("Who", "Dr. Who"),
        ("Seen Oneil", "Seán O'Neil"),
        ("Anne", "Anne-Marie Roy"),
        ("Martha", "Marta Voss"),
    ],
)
def test_the_name_that_was_probably_meant_comes_first(text: str, first: str) -> None:
    assert nearest_names(text, CAST)[0] == first


def test_without_any_likeness_the_first_names_are_told() -> None:
    assert nearest_names("###", ("Ben", "Ann", "Cleo", "Dora")) == ("Ben", "Ann", "Cleo")
    assert nearest_names("x" * 100_000, CAST) == CAST[:3]


@given(st.text(max_size=20), st.lists(st.text(max_size=12), max_size=5))
def test_what_is_found_has_the_same_form_and_is_found_by_its_own_name(text: str, allowed: list[str]) -> None:
    found = find_person(text, allowed)
    if found is not None:
        assert person_form(found) == person_form(text) or normal_form(found) == normal_form(text) or found == text
    assert all(find_person(name, allowed) == find_name(name, allowed) == name for name in allowed)
    assert set(nearest_names(text, allowed)) <= set(allowed)


@given(st.text(max_size=30))
def test_a_plain_form_is_one_line_of_visible_text(text: str) -> None:
    form = plain_form(text)
    assert form == " ".join(form.split())
