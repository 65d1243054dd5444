"""The table of allowed changes holds for whatever a model proposes."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.limits import LIMITS, MAX_SKILL_NAMES, MAX_SKILLS_PER_ACTIVITY, clamped, limited, skill_gains, skill_name

QUANTITIES = ("vitality", "mood", "social", "esteem")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=60),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=6,
)
SKILL_ITEMS = st.lists(st.fixed_dictionaries({"name": ANYTHING, "gain": ANYTHING}) | ANYTHING, max_size=8)


def test_table_of_the_specification() -> None:
    rows = {
        "solo": ((-5, 5), (-5, 5), (0, 0), (-1, 1), (0, 10), (0, 200)),
        "rest": ((5, 10), (-5, 5), (0, 0), (-1, 1), (0, 10), (0, 0)),
        "joint": ((-5, 5), (-5, 5), (-5, 5), (-3, 3), (0, 0), (0, 0)),
        "encounter": ((-5, 5), (-5, 5), (-5, 5), (-3, 3), (0, 0), (0, 0)),
        "public": ((-5, 5), (-5, 5), (-3, 3), (-2, 2), (0, 0), (0, 0)),
    }
    for kind, row in rows.items():
        limits = LIMITS[kind]
        assert row == (limits.vitality, limits.mood, limits.social, limits.esteem, limits.material, limits.money)


@pytest.mark.parametrize(
    ("value", "bounds", "expected"),
    [
        (3, (-5, 5), 3),
        (99, (-5, 5), 5),
        (-(10**400), (-5, 5), -5),
        (2.5, (-5, 5), 2.5),
        (math.nan, (-5, 5), 0),
        (math.inf, (-5, 5), 0),
        ("5", (-5, 5), 0),
        (True, (-5, 5), 0),
        (None, (5, 10), 5),
        (-3, (5, 10), 5),
    ],
)
def test_clamped(value: object, bounds: tuple[float, float], expected: float) -> None:
    assert clamped(value, bounds) == expected


@given(
    kind=st.sampled_from(sorted(LIMITS)),
    proposed=st.fixed_dictionaries({}, optional=dict.fromkeys((*QUANTITIES, "material", "money"), ANYTHING)),
    skills=SKILL_ITEMS | ANYTHING,
    money=st.integers(),
)
def test_nothing_leaves_the_table(kind: str, proposed: dict[str, object], skills: object, money: int) -> None:
    change = limited(kind, {**proposed, "skills": skills}, {"Cooking": 12.0}, reason="test", money=money)
    limits = LIMITS[kind]
    for name in (*QUANTITIES, "material", "money"):
        low, high = getattr(limits, name)
        assert low <= getattr(change, name) <= high
    assert len(change.skills) <= MAX_SKILLS_PER_ACTIVITY
    assert all(0 < gain <= 3 for gain in change.skills.values())


def test_material_and_money_are_never_taken_from_the_proposal() -> None:
    change = limited("solo", {"material": 9, "money": 150, "earned": 200}, {}, reason="test")
    assert (change.material, change.money) == (0, 0)


def test_a_known_skill_keeps_its_spelling() -> None:
    assert skill_gains([{"name": " cooking ", "gain": 2}], {"Cooking": 4.0}) == {"Cooking": 2}
    assert skill_gains({"ＣＯＯＫＩＮＧ": 2}, {"Cooking": 4.0}) == {"Cooking": 2}


def test_new_skills_while_there_is_room() -> None:
    assert skill_gains([{"name": "书法", "gain": 9}], {}) == {"书法": 3}
    full = {f"skill {n}": 1.0 for n in range(MAX_SKILL_NAMES)}
    assert skill_gains([{"name": "one more", "gain": 1}, {"name": "skill 3", "gain": 1}], full) == {"skill 3": 1}


def test_a_skill_named_twice_counts_once() -> None:
    proposed = [{"name": "Chess", "gain": 1}, {"name": "chess", "gain": 3}]
    assert skill_gains(proposed, {}) == {"Chess": 1}


@pytest.mark.parametrize("text", ["", "  ", "x" * 41, "a<b", 'say "x"', "line\x00", None, 7])
def test_names_that_are_no_skill(text: object) -> None:
    assert skill_name(text, []) is None
