"""Sampled worlds: for any size and seed they load, have no faults, and everybody who is known knows back."""

import random
from pathlib import Path

import msgspec
import networkx as nx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.core.position_supply import shape_for
from sim.world.building.newcomers import (
    age_at_start,
    birthday_for,
    edges_shown,
    holders_of,
    scaled_positions,
    with_drafts,
)
from sim.world.building.sampling import one_draft, sampled_world
from sim.world.building.spare_names import names_left
from sim.world.check import check_world
from sim.world.checking.findings import faults_in
from sim.world.checking.likeness import word_count
from sim.world.loader import load_world, read_world
from sim.world.schema import SpareName, World
from tests.world.small_worlds import SHIPPED, a_world

APARTMENT = load_world(SHIPPED / "apartment")


def extended(world: World, n: int, seed: int) -> World:
    """The world with sampled characters and positions for n."""
    world = msgspec.structs.replace(world, positions=scaled_positions(world, n))
    world = sampled_world(world, n, seed)
    return msgspec.structs.replace(world, names=names_left(world, random.Random(seed)))


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, int], World]:
    """Small worlds in both languages, of nobody, one and four characters."""
    root = tmp_path_factory.mktemp("small")
    return {
        (language, n): read_world(a_world(root / f"{language}{n}", language=language, n=n, positions=max(2, n)))[0]
        for language in ("en", "zh")
        for n in (0, 2, 4)
    }


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    data=st.data(), seed=st.integers(0, 2**31), language=st.sampled_from(["en", "zh"]), first=st.sampled_from([0, 2, 4])
)
def test_any_size_and_seed_gives_a_world_without_faults(
    small: dict[tuple[str, int], World], data: st.DataObject, seed: int, language: str, first: int
) -> None:
    n = data.draw(st.integers(max(1, first), 60))
    world = extended(small[language, first], n, seed)
    assert len(world.characters) == n
    assert [str(finding) for finding in faults_in(check_world(world, [who.name for who in world.characters]))] == []
    knows = {who.name: who.knows for who in world.characters}
    assert all(name in knows[other] for name, others in knows.items() for other in others)
    assert world.characters[:first] == small[language, first].characters or n > first


@settings(max_examples=6)
@given(n=st.integers(len(APARTMENT.characters) + 6, 150), seed=st.integers(0, 2**31))
def test_positions_have_the_shape_of_the_cast_and_all_have_holders_who_can_do_the_work(n: int, seed: int) -> None:
    world = extended(APARTMENT, n, seed)
    shape, holders = shape_for(n), holders_of(world.characters)
    assert shape.min_places <= sum(position.capacity for position in world.positions) <= shape.max_places
    for position in world.positions:
        assert 1 <= holders[position.key] <= position.capacity
        assert position.type != "work" or position.capacity <= shape.max_per_work_position
    by_key = {position.key: position for position in world.positions}
    for who in world.characters[len(APARTMENT.characters) :]:
        needs = by_key[who.position].requirements if who.position else None
        assert needs is None or all(who.skills[skill] >= level for skill, level in needs.skills.items())


def test_everybody_is_reached_by_acquaintance_in_circles_that_overlap() -> None:
    world = extended(APARTMENT, 120, 3)
    graph = nx.Graph([(who.name, other) for who in world.characters for other in who.knows])
    assert nx.is_connected(graph)
    by_chance = 2 * graph.number_of_edges() / (len(graph) * (len(graph) - 1))
    assert nx.average_clustering(graph) > 2 * by_chance


@pytest.mark.parametrize("language", ["en", "zh"])
def test_views_are_of_the_wanted_length_and_tell_one_first_meeting(
    small: dict[tuple[str, int], World], language: str
) -> None:
    world = extended(small[language, 2], 30, 1)
    for who in world.characters[2:]:
        for other, text in who.knows.items():
            assert 40 <= word_count(text) <= 110, text
            back = next(person for person in world.characters if person.name == other).knows[who.name]
            assert {year for year in ("2021", "2022", "2023") if year in text} == {
                year for year in ("2021", "2022", "2023") if year in back
            }


def test_whom_the_author_wrote_looks_as_the_author_says(small: dict[tuple[str, int], World]) -> None:
    world = extended(small["en", 2], 20, 1)
    author_wrote = small["en", 2].characters[0]
    told = [who.knows[author_wrote.name] for who in world.characters[2:] if author_wrote.name in who.knows]
    assert told
    assert all("Mends nets for pay and reads shipwreck reports for pleasure." in text for text in told)


def test_a_seed_decides_everything_and_another_one_something_else() -> None:
    assert extended(APARTMENT, 40, 5) == extended(APARTMENT, 40, 5)
    assert extended(APARTMENT, 40, 5).characters[-1] != extended(APARTMENT, 40, 6).characters[-1]


@pytest.mark.slow
def test_a_thousand_characters_are_no_two_alike() -> None:
    world = extended(APARTMENT, 1000, 1)
    assert len({who.name for who in world.characters}) == 1000
    assert len({who.details for who in world.characters}) == 1000
    assert faults_in(check_world(world, [who.name for who in world.characters])) == []


def test_one_sampled_newcomer_knows_and_is_known(small: dict[tuple[str, int], World]) -> None:
    world = small["en", 4]
    draft = one_draft(world, SpareName(name="Nia Moss", gender="female"), left=1, seed=2)
    assert set(draft.character.knows) == set(draft.known_by) != set()
    grown = with_drafts(world, [draft])
    assert all("Nia Moss" in who.knows for who in grown.characters if who.name in draft.known_by)


def test_without_newcomers_positions_stay_as_they_are() -> None:
    assert scaled_positions(APARTMENT, len(APARTMENT.characters)) == APARTMENT.positions


@given(age=st.integers(0, 100), seed=st.integers(0, 2**31))
def test_a_birthday_gives_the_age_on_the_first_day(age: int, seed: int) -> None:
    someone = msgspec.structs.replace(
        APARTMENT.characters[0], birthday=birthday_for(APARTMENT, age, random.Random(seed))
    )
    assert age_at_start(APARTMENT, someone) == age


def test_a_small_cast_is_shown_whole_and_of_a_larger_one_six_edges(small: dict[tuple[str, int], World]) -> None:
    few, many = small["en", 4].characters, APARTMENT.characters
    assert len(edges_shown(few, random.Random(1))) == 12
    assert len(many) > 10
    shown = edges_shown(many, random.Random(1))
    assert len(shown) == 6
    by_name = {who.name: who for who in many}
    assert all(by_name[who].knows[whom] == text for who, whom, text in shown)


def test_the_source_is_read_whole(tmp_path: Path) -> None:
    """A world of nobody is no world to live in, but one to build on."""
    folder = a_world(tmp_path / "empty", n=0)
    assert read_world(folder)[0].characters == ()
    with pytest.raises(ValueError, match=r"nobody lives here.*\n.*python -m sim\.world\.build .*empty --to 24"):
        load_world(folder)
