"""Names for newcomers: those of the list first, then combinations; names found in texts."""

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.core.keys import normal_form
from sim.world.building.spare_names import (
    combined,
    full_names_in,
    joined,
    names_for,
    names_left,
    parts_of,
    strangers_in,
    unused_names,
)
from sim.world.loader import load_world
from sim.world.schema import SpareName
from sim.world.soundness import name_fault
from tests.world.small_worlds import SHIPPED, a_world

WORLD = load_world(SHIPPED / "apartment")


@pytest.mark.parametrize(
    ("name", "given_name", "family"),
    [
        ("Jun Seo Kang", "Jun Seo", "Kang"),
        ("Plato", "Plato", ""),
        ("林晓雨", "晓雨", "林"),
        ("欧阳若溪", "若溪", "欧阳"),
        ("欧阳", "阳", "欧"),
        ("Zoë d'Arcy", "Zoë", "d'Arcy"),
    ],
)
def test_names_are_taken_apart_and_put_together_again(name: str, given_name: str, family: str) -> None:
    assert parts_of(name) == (given_name, family)
    assert joined(given_name, family) == name


@settings(max_examples=25)
@given(n=st.integers(0, 1500), seed=st.integers(0, 2**31))
def test_names_are_unused_unlike_each_other_and_usable(n: int, seed: int) -> None:
    names = names_for(WORLD, n, random.Random(seed))
    forms = {normal_form(name.name) for name in names}
    assert len(names) == len(forms) == n
    assert not forms & {normal_form(character.name) for character in WORLD.characters}
    assert all(name_fault(name.name) is None for name in names)


def test_the_list_is_used_before_anything_is_combined() -> None:
    listed = {name.name for name in WORLD.names}
    names = names_for(WORLD, len(listed) + 5, random.Random(1))
    assert {name.name for name in names[: len(listed)]} == listed
    assert not {name.name for name in names[len(listed) :]} & listed


def test_a_combined_name_has_the_gender_of_its_given_name(tmp_path) -> None:
    world = load_world(a_world(tmp_path / "w"))
    names = (SpareName(name="Ida Moor", gender="female"), SpareName(name="Otto Nash", gender="male"))
    world = msgspec.structs.replace(world, names=names, characters=())
    assert {(name.name, name.gender) for name in combined(world, 2, random.Random(1))} == {
        ("Ida Nash", "female"),
        ("Otto Moor", "male"),
    }


def test_a_list_that_is_too_short_for_all_is_refused_with_its_numbers(tmp_path) -> None:
    world = load_world(a_world(tmp_path / "w", n=1, names=1))
    with pytest.raises(ValueError, match=r"names.yaml: .* 100000 are needed; add names"):
        names_for(world, 100_000, random.Random(1))


def test_some_names_are_left_for_others(tmp_path) -> None:
    assert names_left(WORLD, random.Random(1)) == tuple(unused_names(WORLD)) == WORLD.names
    few = load_world(a_world(tmp_path / "w", n=2, names=6))
    assert len(names_left(few, random.Random(1))) == 20


def test_full_names_are_found_as_whole_words() -> None:
    names = ["Ida Moor", "Ann Lee", "林晓", "高山"]
    assert full_names_in("Ida Moor's boat; Joann Lee; Ann Leeds", names) == ["Ida Moor"]
    assert full_names_in("昨天林晓雨来过", names) == ["林晓"]


def test_a_name_inside_a_characters_name_is_no_stranger() -> None:
    assert strangers_in("昨天林晓雨来过", ["林晓"], ["林晓雨"]) == []
    assert strangers_in("昨天林晓雨和林晓来过", ["林晓"], ["林晓雨"]) == ["林晓"]
    assert strangers_in("Ann Lee Wong and Ann Lee.", ["Ann Lee"], ["Ann Lee Wong"]) == ["Ann Lee"]
