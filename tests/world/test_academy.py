"""The academy is a whole society: its posts are filled, its smaller casts hold together, its people tell one story."""

import re
from collections import Counter
from pathlib import Path

import networkx as nx
import pytest

from sim.core.clock import Clock
from sim.world.loader import cast_of, initial_states, load_world

WORLD = load_world(Path(__file__).resolve().parents[2] / "configs" / "worlds" / "academy")
CAST = [character.name for character in WORLD.characters]
KNOWS = {character.name: character.knows for character in WORLD.characters}
CLOCK = Clock(n_year=10, n_week=10, n_day=5, n_contact=5, start_year=WORLD.start_year)


def test_places_prices_and_lists_have_the_specified_sizes() -> None:
    sizes = Counter(place.size for place in WORLD.locations)
    assert (len(WORLD.locations), sizes["small"]) == (30, 15)
    assert sizes["medium"] in (10, 11)
    for place in WORLD.locations:
        assert 4 <= len(re.findall(r"[.!?](?=\s|$)", place.description)) <= 6, place.name
        assert 5 <= len(place.objects) <= 6, place.name
    assert {price.price for price in WORLD.prices} >= {0, 15000}
    assert len(WORLD.names) >= 60
    assert all(100 <= len(story.text.split()) <= 200 for story in WORLD.stories)


def test_everybody_is_of_age_and_meets_what_the_post_asks_for() -> None:
    for state in initial_states(WORLD).values():
        age = CLOCK.age(state.profile.birthday, 1, 1)
        assert age >= 18, state.name
        if state.position is None:
            continue
        needs = state.position.requirements
        assert all(state.skills.get(skill, 0) >= level for skill, level in needs.skills.items()), state.name
        assert (needs.min_age or 0) <= age <= (needs.max_age or 200), state.name
        assert state.position.weekly_income + state.extra_weekly_income <= 500, state.name


def test_every_post_has_a_holder_and_several_have_free_places() -> None:
    held = Counter(character.position for character in WORLD.characters)
    assert all(held[position.key] for position in WORLD.positions)
    assert sum(position.capacity > held[position.key] for position in WORLD.positions) >= 5
    assert all(position.capacity <= len(CAST) // 3 for position in WORLD.positions)
    assert len(CAST) <= sum(position.capacity for position in WORLD.positions) <= 1.5 * len(CAST)


def test_the_provost_is_over_age_at_the_first_year_end() -> None:
    """Who follows her is what the first year is about."""
    provost = initial_states(WORLD)["Leontine Averay"]
    assert provost.position is not None
    assert provost.position.role == "Provost"
    most = provost.position.requirements.max_age
    assert most is not None
    assert CLOCK.age(provost.profile.birthday, 1, 10, 5) > most


def test_acquaintances_are_many_and_told_in_about_ninety_words() -> None:
    assert len(CAST) == 24
    for name, others in KNOWS.items():
        assert 8 <= len(others) <= 14, name
        for other, text in others.items():
            assert 60 <= len(text.split()) <= 110, (name, other)


@pytest.mark.parametrize("n", range(8, len(CAST) + 1))
def test_every_cast_from_eight_up_is_one_society(n: int) -> None:
    cast = cast_of(WORLD, n).characters
    assert all(len(character.knows) >= 3 for character in cast)
    assert nx.is_connected(nx.Graph({character.name: list(character.knows) for character in cast}))


def test_a_text_speaks_only_of_people_present_in_every_cast_that_holds_it() -> None:
    """Of the first eight, or of people no later in the cast than whoever it belongs to or is about."""
    for place, character in enumerate(WORLD.characters):
        own = " ".join(
            [character.details, character.conflicts, character.motivation, character.goals]
            + [thing.description for thing in character.possessions]
            + [character.home.description, *character.home.objects]
        )
        texts = [(own, place)]
        texts += [(text, max(place, CAST.index(other))) for other, text in character.knows.items()]
        for text, last in texts:
            later = [name for name in CAST[max(last, 7) + 1 :] if re.search(rf"\b{name.split()[0]}\b", text)]
            assert not later, (character.name, later)


@pytest.mark.parametrize(
    ("one", "other", "fact"),
    [
        ("Perrin Gault", "Jory Pellwether", "130"),
        ("Perrin Gault", "Godfrey Tench", "900"),
        ("Perrin Gault", "Wat Sluys", "800"),
        ("Perrin Gault", "Cordula Sallow", "3,000"),
        ("Perrin Gault", "Nan Tarrow", "12"),
        ("Ysolt Brandreth", "Cordula Sallow", "6,000"),
        ("Nan Tarrow", "Cordula Sallow", "260"),
        ("Lucan Sallow", "Kezia Dace", "40"),
        ("Kezia Dace", "Cordula Sallow", "200"),
        ("Godfrey Tench", "Bettris Loam", "61 to 40"),
        ("Iddo Farrant", "Emeric Ludd", "212 games"),
        ("Vesna Ilk", "Jory Pellwether", "15"),
        ("Runa Haldane", "Godfrey Tench", "400"),
        ("Jessamy Pruett", "Tibba Sluys", "15"),
        ("Colm Arkwright", "Jory Pellwether", "three hundred"),
        ("Vesna Ilk", "Iddo Farrant", "ruled too straight"),
    ],
)
def test_a_fact_is_told_alike_by_both_sides(one: str, other: str, fact: str) -> None:
    assert fact in KNOWS[one][other]
    assert fact in KNOWS[other][one]
