"""Worlds are loaded whole or refused with file, key and remedy; smaller casts and first states follow from them."""

import re
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.core.agent import TALENTS, TRAITS
from sim.core.clock import Clock
from sim.core.facts import decode_state, encode
from sim.world.loader import cast_of, initial_states, load_world
from sim.world.soundness import name_fault

SHIPPED = Path(__file__).resolve().parents[2] / "configs" / "worlds" / "apartment"
WORLD = load_world(SHIPPED)
CAST = [character.name for character in WORLD.characters]
IMANI = "characters/imani_treadwell.yaml"
TOMASZ = "characters/tomasz_bielawa.yaml"


def words(text: str) -> int:
    """Number of words."""
    return len(text.split())


# --- the shipped world ---


def test_shipped_world_has_thirty_places_of_the_specified_sizes() -> None:
    sizes = Counter(place.size for place in WORLD.locations)
    assert len(WORLD.locations) == 30
    assert sizes["small"] == 15
    assert sizes["medium"] in (10, 11)
    assert sizes["large"] in (4, 5)


def test_shipped_places_are_described_in_four_to_six_sentences_with_five_or_six_objects() -> None:
    for place in WORLD.locations:
        assert 4 <= len(re.findall(r"[.!?](?=\s|$)", place.description)) <= 6, place.name
        assert 5 <= len(place.objects) <= 6, place.name


def test_shipped_positions_cover_the_cast_within_their_capacity_and_requirements() -> None:
    clock = Clock(n_year=10, n_week=10, n_day=5, n_contact=5, start_year=WORLD.start_year)
    n = len(CAST)
    assert n <= sum(position.capacity for position in WORLD.positions) <= 1.5 * n
    for state in initial_states(WORLD).values():
        age = clock.age(state.profile.birthday, 1, 1)
        assert age >= 18
        if state.position is None:
            continue
        needs = state.position.requirements
        assert all(state.skills.get(skill, 0) >= level for skill, level in needs.skills.items()), state.name
        assert (needs.min_age or 0) <= age <= (needs.max_age or 200), state.name
        assert 100 <= state.position.weekly_income + state.extra_weekly_income <= 500


def test_every_shipped_position_has_a_holder_and_some_have_free_places() -> None:
    held = Counter(character.position for character in WORLD.characters)
    assert all(held[position.key] for position in WORLD.positions)
    assert sum(position.capacity > held[position.key] for position in WORLD.positions) >= 5
    assert {position.type for position in WORLD.positions} == {"work", "non-work"}
    assert all(position.capacity <= len(CAST) // 3 for position in WORLD.positions)


def test_shipped_manager_is_over_age_at_the_first_year_end() -> None:
    """The succession in the house is what the first year is about."""
    clock = Clock(n_year=10, n_week=10, n_day=5, n_contact=5, start_year=WORLD.start_year)
    manager = next(s for s in initial_states(WORLD).values() if s.position.role == "House Manager")
    assert clock.age(manager.profile.birthday, 1, 10, 5) > manager.position.requirements.max_age


def test_shipped_lists_are_long_enough() -> None:
    assert len(WORLD.characters) == 24
    assert len(WORLD.prices) >= 40
    assert len(WORLD.names) == 150
    assert len(WORLD.stories) == 10
    assert all(100 <= words(story.text) <= 200 for story in WORLD.stories)
    assert {price.price for price in WORLD.prices} >= {0, 15000}


def test_shipped_characters_are_of_the_specified_length() -> None:
    spans = {
        "appearance": (55, 90),
        "details": (120, 180),
        "conflicts": (35, 65),
        "motivation": (28, 50),
        "values": (18, 40),
        "preferences": (18, 40),
    }
    for character in WORLD.characters:
        for key, (low, high) in spans.items():
            assert low <= words(getattr(character, key)) <= high, (character.name, key)
        assert set(character.traits) == set(TRAITS)
        assert set(character.talents) == set(TALENTS)
        assert 4 <= len(character.skills) <= 7
        assert 2 <= len(character.possessions) <= 5
        assert 4 <= len(character.home.objects) <= 6
        assert 2 <= len(re.findall(r"[.!?](?=\s|$)", character.goals)) <= 4


def test_shipped_acquaintances_are_mutual_many_and_told_in_about_a_hundred_words() -> None:
    knows = {character.name: character.knows for character in WORLD.characters}
    for name, others in knows.items():
        assert 8 <= len(others) <= 14, name
        for other, text in others.items():
            assert name in knows[other], (name, other)
            assert 60 <= words(text) <= 110, (name, other)


def test_first_eight_are_tightly_knit() -> None:
    first = CAST[:8]
    for character in cast_of(WORLD, 8).characters:
        assert set(character.knows) <= set(first)
        assert len(character.knows) >= 4


def test_every_larger_cast_is_one_society() -> None:
    for n in range(8, len(CAST) + 1):
        cast = cast_of(WORLD, n).characters
        assert all(len(character.knows) >= 3 for character in cast), n
        assert nx.is_connected(nx.Graph({character.name: list(character.knows) for character in cast})), n


def test_a_text_speaks_only_of_people_present_in_every_cast_that_holds_it() -> None:
    """Of the first eight, or of people no later in the cast than whoever it belongs to or is about."""
    called = {name: "Jun Seo" if name == "Jun Seo Kang" else name.split()[0] for name in CAST}
    for place, character in enumerate(WORLD.characters):
        own = " ".join(
            [character.details, character.conflicts, character.motivation, character.goals]
            + [thing.description for thing in character.possessions]
            + [character.home.description, *character.home.objects]
        )
        texts = [(own, place)]
        texts += [(text, max(place, CAST.index(other))) for other, text in character.knows.items()]
        for text, last in texts:
            later = [name for name in CAST[max(last, 7) + 1 :] if re.search(rf"\b{called[name]}\b", text)]
            assert not later, (character.name, later)


def test_the_debts_are_told_alike_by_both_sides() -> None:
    knows = {character.name: character.knows for character in WORLD.characters}
    for one, other, amount in (
        ("Imani Treadwell", "Tomasz Bielawa", "2,400"),
        ("Imani Treadwell", "Odile Fontenot", "800"),
        ("Imani Treadwell", "Priya Raghunathan", "12,000"),
        ("Tomasz Bielawa", "Anselm Lindqvist", "8,000"),
        ("Theo Papadakis", "Priya Raghunathan", "300"),
        ("Theo Papadakis", "Odile Fontenot", "1,500"),
        ("Gideon Achterberg", "Anselm Lindqvist", "600"),
        ("Jun Seo Kang", "Gideon Achterberg", "360"),
        ("Jun Seo Kang", "Celeste Varga", "700"),
        ("Anselm Lindqvist", "Celeste Varga", "14,000"),
        ("Lorcan Twomey", "Celeste Varga", "500"),
        ("Suyin Tan", "Priya Raghunathan", "9,000"),
        ("Leland Prather", "Priya Raghunathan", "1,500"),
        ("Leland Prather", "Odile Fontenot", "240"),
        ("Leland Prather", "Hugo Shimabuku", "450"),
        ("Ottilie Brandvold", "Hugo Shimabuku", "1,900"),
        ("Tevita Fonua", "Theo Papadakis", "85"),
        ("Tevita Fonua", "Hugo Shimabuku", "60"),
        ("Nilufar Rashidova", "Marguerite Desir", "900"),
    ):
        assert amount in knows[one][other], (one, other)
        assert amount in knows[other][one], (other, one)


# --- smaller casts ---


def test_absent_people_leave_one_sentence_each_and_no_relation() -> None:
    whole = {character.name: character for character in WORLD.characters}
    for character in cast_of(WORLD, 3).characters:
        absent = [name for name in whole[character.name].knows if name not in CAST[:3]]
        added = character.goals.removeprefix(whole[character.name].goals).strip().splitlines()
        assert len(added) == len(absent)
        assert all(sum(name in sentence for sentence in added) == 1 for name in absent)
        assert not set(absent) & set(character.knows)


def test_the_whole_cast_is_the_world_itself() -> None:
    assert cast_of(WORLD, len(CAST)) == WORLD


def test_too_many_agents_are_refused_with_the_number_there_are_and_the_way_to_more() -> None:
    with pytest.raises(ValueError, match=r"(?s)25 are asked for.*sim\.world\.build here --to 25 "):
        cast_of(WORLD, 25, "here")


def test_no_agents_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        cast_of(WORLD, 0)


@settings(max_examples=12, deadline=None)
@given(n=st.integers(1, len(CAST)))
def test_every_cast_is_the_first_n_and_knows_only_itself(n: int) -> None:
    cast = cast_of(WORLD, n)
    assert [character.name for character in cast.characters] == CAST[:n]
    assert all(set(character.knows) <= set(CAST[:n]) for character in cast.characters)


# --- first states ---


def test_first_state_of_an_agent() -> None:
    state = initial_states(WORLD)["Imani Treadwell"]
    character = WORLD.characters[0]
    assert (state.vitality, state.mood, state.material, state.social, state.esteem) == (70, 50, 50, 50, 50)
    assert str(state.profile.birthday) == character.birthday
    assert state.home.name == "home/Imani Treadwell"
    assert state.position.key == "Ferry Landing Restaurant/Pastry Cook"
    assert state.deposit == state.deposit_at_year_start == 900
    assert state.files["general.txt"].text == character.goals
    assert state.files["characters/Tomasz Bielawa.txt"].text == character.knows["Tomasz Bielawa"]
    assert state.knows() == tuple(sorted(character.knows))
    assert max(state.met, key=lambda name: state.met[name]) == "Tomasz Bielawa"
    assert state.ticks >= max(*state.met.values(), *(file.touched for file in state.files.values()))


def test_first_states_survive_encoding_and_own_different_things() -> None:
    states = initial_states(WORLD)
    assert list(states) == CAST
    assert all(decode_state(encode(state)) == state for state in states.values())
    ids = [thing.id for state in states.values() for thing in state.possessions]
    assert len(set(ids)) == len(ids)


# --- broken worlds ---


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped world that a test may break."""
    return Path(shutil.copytree(SHIPPED, tmp_path / "world"))


def change(path: Path, edit: Callable[[Any], None]) -> None:
    """Edit a YAML file's content in place."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    edit(content)
    path.write_text(yaml.safe_dump(content, allow_unicode=True), encoding="utf-8")


def put(*keys: str | int, value: Any) -> Callable[[Any], None]:
    """An edit that sets a value at a path of keys."""

    def edit(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        content[keys[-1]] = value

    return edit


def drop(*keys: str | int) -> Callable[[Any], None]:
    """An edit that removes what is at a path of keys."""

    def edit(content: Any) -> None:
        for key in keys[:-1]:
            content = content[key]
        del content[keys[-1]]

    return edit


def again(key: str) -> Callable[[Any], None]:
    """An edit that repeats the first entry of a list."""
    return lambda content: content[key].append(content[key][0])


BROKEN = [
    ("world.yaml", put("langauge", value="en"), r"world.yaml: .*unknown field `langauge`; did you mean `language`"),
    ("world.yaml", drop("rules"), r"world.yaml: .*missing required field `rules`; add it"),
    ("world.yaml", put("worldview", value="  "), r"world.yaml: worldview: .*length >= 1"),
    ("world.yaml", put("cast", 1, value="imani_treadwell"), r"world.yaml: cast: 'imani_treadwell' stands twice"),
    ("world.yaml", put("cast", 0, value="imani_treadwel"), r"cast: no file .*did you mean 'imani_treadwell'"),
    ("world.yaml", put("cast", 0, value="../names"), r"cast: no file"),
    ("world.yaml", drop("cast", 11), r"cast: lacks gideon_achterberg; add"),
    ("locations.yaml", put("locations", 2, "size", value="huge"), r"locations\[2\]\.size: .*huge"),
    (
        "locations.yaml",
        put("locations", 2, "name", value="front  LOBBY"),
        r"locations.yaml: name: .* stands twice; rename",
    ),
    ("locations.yaml", put("locations", 2, "name", value="In/Out"), r'locations.yaml: name: .*"/"; remove'),
    ("locations.yaml", put("locations", 2, "objects", value=[]), r"locations\[2\]\.objects: "),
    ("locations.yaml", put("places", value=[]), r"locations.yaml: locations: the file must hold one list"),
    ("positions.yaml", put("positions", 0, "weekly_income", value=501), r"positions\[0\]\.weekly_income: .*<= 500"),
    (
        "positions.yaml",
        put("positions", 0, "weekly_skill_gain", "negotiation", value=6),
        r"positions\[0\]\.weekly_skill_gain\.negotiation: .*<= 5",
    ),
    ("positions.yaml", put("positions", 0, "capacity", value=0), r"positions\[0\]\.capacity: .*>= 1"),
    ("positions.yaml", put("positions", 0, "role", value="A/B"), r'positions.yaml: role: .*"/"; remove'),
    ("positions.yaml", put("positions", 0, "requirements", "min_age", value=70), r"min_age 70 is above max_age 67"),
    ("positions.yaml", again("positions"), r"positions.yaml: role: .* stands twice; merge"),
    ("prices.yaml", put("prices", 3, "price", value=15001), r"prices\[3\]\.price: .*<= 15000"),
    ("prices.yaml", put("prices", 3, "price", value="9 dollars"), r"prices\[3\]\.price: Expected `int`"),
    ("prices.yaml", again("prices"), r"prices.yaml: item: .* stands twice"),
    ("names.yaml", put("names", 3, "name", value="Imani Treadwell"), r"names.yaml: .* is a character's name; remove"),
    ("names.yaml", again("names"), r"names.yaml: .* stands twice"),
    ("stories.yaml", again("stories"), r"stories.yaml: title: .* stands twice"),
    (IMANI, put("name", value="Imani/Treadwell"), r'imani_treadwell.yaml: name: .*"/"; remove'),
    (IMANI, put("name", value="Imani\u0007Treadwell"), r"imani_treadwell.yaml: name: .*control character"),
    (IMANI, put("name", value="Tomasz Bielawa"), r"imani_treadwell.yaml and .*tomasz_bielawa.yaml: name: .*rename one"),
    (IMANI, put("name", value="Dr. Tomasz Bieláwa"), r"and .*tomasz_bielawa.yaml: name: .*rename one"),
    (IMANI, put("birthday", value="1995-04-02"), r"birthday: .*Y1996-W8-activity-D4"),
    (IMANI, put("birthday", value="Y2024-W1-activity-D1"), r"birthday: .* not before 2024"),
    (IMANI, put("traits", "patience", value=101), r"imani_treadwell.yaml: traits\.patience: .*<= 100"),
    (IMANI, put("traits", "patience", value=12.5), r"imani_treadwell.yaml: traits\.patience: Expected `int`"),
    (IMANI, put("traits", "pateince", value=50), r"traits.pateince: unknown; did you mean patience"),
    (IMANI, drop("talents", "beauty"), r"talents.beauty: missing; give a value"),
    (IMANI, put("skills", "baking", value=301), r"skills\.baking: .*<= 300"),
    (IMANI, put("position", value="Ferry Landing Restaurant/Pastry Cok"), r"position: .* choose one .*Pastry Cook"),
    (IMANI, put("position", value="Drummer House/House Manager"), r"House Manager: capacity 1, but 2 characters"),
    (IMANI, put("deposit", value=4401), r"deposit: 4401 is above 4400, 20 weeks of salary"),
    (IMANI, put("knows", "Nobody Atall", value="Who?"), r"knows.Nobody Atall: no such character; did you mean"),
    (IMANI, put("knows", "Imani Treadwell", value="Me."), r"knows.Imani Treadwell: is the character itself"),
    (IMANI, put("possessions", 0, "value", value=-1), r"imani_treadwell.yaml: possessions\[0\]\.value: .*>= 0"),
    (IMANI, put("secrets", value="many"), r"imani_treadwell.yaml: .*unknown field `secrets`; remove it"),
    (TOMASZ, drop("knows", "Imani Treadwell"), r"imani_treadwell.yaml: knows.Tomasz Bielawa: not mutual; add 'Imani"),
]


@pytest.mark.parametrize(("file", "edit", "message"), BROKEN)
def test_a_broken_world_is_refused(folder: Path, file: str, edit: Callable[[Any], None], message: str) -> None:
    change(folder / file, edit)
    with pytest.raises(ValueError, match=message):
        load_world(folder)


def test_a_deposit_at_the_limit_is_accepted(folder: Path) -> None:
    change(folder / IMANI, put("deposit", value=4400))
    assert load_world(folder).characters[0].deposit == 4400


def test_an_unemployed_character_may_save_twenty_weeks_of_support(folder: Path) -> None:
    change(folder / IMANI, drop("position"))
    change(folder / IMANI, put("deposit", value=20 * 140))
    assert initial_states(load_world(folder))["Imani Treadwell"].position is None
    change(folder / IMANI, put("deposit", value=20 * 140 + 1))
    with pytest.raises(ValueError, match="deposit: 2801 is above 2800"):
        load_world(folder)


def test_all_faults_are_listed_at_once(folder: Path) -> None:
    change(folder / IMANI, put("deposit", value=99999))
    change(folder / TOMASZ, drop("traits", "patience"))
    with pytest.raises(ValueError, match=r"(?s)deposit: 99999.*traits\.patience: missing"):
        load_world(folder)


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "prices.yaml").unlink()
    with pytest.raises(ValueError, match=r"prices.yaml: missing"):
        load_world(folder)


def test_a_folder_that_is_no_world_is_told_what_one_is(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no world.yaml; a world is a folder with"):
        load_world(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stories: [", r"stories.yaml: line \d+: .*correct the YAML there"),
        ("stories: []\nstories: []\n", r"stories.yaml: line 2: key 'stories' stands twice"),
        ("stories:\n  - {title: A, 3: b}\n", r"stories.yaml: line 2: key 3 is no text"),
        ("stories: \u0007", r"stories.yaml: .*correct the YAML"),
    ],
)
def test_bad_yaml_is_refused_with_its_line(folder: Path, text: str, message: str) -> None:
    (folder / "stories.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=f"(?s){message}"):
        load_world(folder)


def test_text_that_is_not_utf8_is_refused(folder: Path) -> None:
    (folder / IMANI).write_bytes("name: Quiñones".encode("latin-1"))
    with pytest.raises(ValueError, match=r"imani_treadwell.yaml: not UTF-8 at byte 9"):
        load_world(folder)


def test_a_decomposed_name_is_the_same_name(folder: Path) -> None:
    """`ñ` as n + tilde in one file and as one character in another is one person."""
    path = folder / "characters" / "rafael_quinones.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace("ñ", "n\u0303"), encoding="utf-8")
    assert load_world(folder).characters[3].name == "Rafael Quiñones"


# --- digest ---


def test_the_digest_depends_on_content_and_names_alone(folder: Path) -> None:
    assert load_world(folder).digest == WORLD.digest
    path = folder / "prices.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "# a remark\n", encoding="utf-8")
    assert load_world(folder).digest != WORLD.digest


@given(name=st.text(alphabet=st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=60))
def test_accepted_names_are_safe_in_paths_and_lists(name: str) -> None:
    if name_fault(name) is None:
        assert not set(name) & set('/\\,;"<>')
        assert name not in (".", "..")
