"""A world's positions at its founding and as it grows: limits hold whatever is proposed."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.core.agent import Position, Requirements
from sim.core.position_supply import (
    best_levels,
    found_positions,
    grow_positions,
    number_of_new,
    positions_wanted,
    shape_for,
    tidy,
)
from sim.core.vacancies import STAY_CURRENT, skill_level


def position(key, capacity=1, *, kind="work", income=300, gain=None, **requirements):
    """A position of that key."""
    organization, role = key.split("/")
    return Position(
        organization=organization,
        role=role,
        type=kind,
        weekly_income=income,
        weekly_skill_gain={"baking": 2} if gain is None else gain,
        capacity=capacity,
        requirements=Requirements(**requirements),
    )


def found(existing, proposed=(), holders=None, *, n_agents):
    """The founding with the usual highest income."""
    return found_positions(existing, proposed, holders or {}, ages=[30] * n_agents, max_income=500)


def grow(present, proposed=(), best=None, *, initial_count=10):
    """A year's growth with the usual incomes."""
    best = best or {}
    return grow_positions(
        present, proposed, best, named=best, initial_count=initial_count, base_income=100, max_income=500
    )


@pytest.mark.parametrize(
    ("n_agents", "positions", "places", "per_work"),
    [
        (100, (10, 33), (100, 150), 33),
        (30, (10, 10), (30, 45), 10),
        (29, (10, 43), (29, 43), 9),
        (12, (10, 18), (12, 18), 4),
        (8, (8, 12), (8, 12), 2),
        (3, (3, 4), (3, 4), 1),
        (2, (2, 3), (2, 3), 1),
        (1, (2, 2), (1, 2), 1),
    ],
)
def test_the_shape_of_a_world(n_agents, positions, places, per_work):
    shape = shape_for(n_agents)
    assert (shape.min_positions, shape.max_positions) == positions
    assert (shape.min_places, shape.max_places) == places
    assert shape.max_per_work_position == per_work


def test_a_world_that_fits_stays_as_it_is():
    existing = tuple(position(f"Org/Role {n}", 2) for n in range(4)) + tuple(position(f"B/r{n}") for n in range(4))
    assert positions_wanted(existing, {}, 8) == 0
    assert found(existing, n_agents=8) == existing


def test_missing_positions_come_from_the_proposals_in_order():
    existing = (position("A/x"),)
    proposed = [position("A/x"), position("a/X "), position("B/y", 9), position("C/z"), position("D/w")]
    assert positions_wanted(existing, {}, 3) == 2
    result = found(existing, proposed, n_agents=3)
    assert [p.key for p in result] == ["A/x", "B/y", "C/z"]
    # three agents: one place each at most, three in all
    assert [p.capacity for p in result] == [1, 1, 1]


def test_without_usable_proposals_the_world_repeats_its_own():
    result = found((position("A/x"),), [position(f"{STAY_CURRENT}/ "), position(" /y")], n_agents=4)
    assert [p.key for p in result] == ["A/x", "A/x II", "A/x III", "A/x IV"]
    assert sum(p.capacity for p in result) == 4


def test_surplus_goes_unheld_ones_last_to_first():
    existing = [position(f"Org/Role {n}") for n in range(6)]
    result = found(existing, holders={"Org/Role 5": 1}, n_agents=3)
    # four places in all, one of them held: three unheld positions fit
    assert [p.key for p in result] == ["Org/Role 0", "Org/Role 1", "Org/Role 2", "Org/Role 5"]


def test_holders_keep_their_places_even_beyond_the_share():
    result = found([position("Mill/Miller", 1), position("B/y", 7)], holders={"Mill/Miller": 5}, n_agents=6)
    assert {p.key: p.capacity for p in result}["Mill/Miller"] == 5
    assert sum(p.capacity for p in result) <= 9


def test_a_school_may_hold_everybody():
    pupils = position("School/Pupil", 12, kind="non-work")
    result = found([pupils], [position(f"Org/Role {n}") for n in range(9)], {"School/Pupil": 12}, n_agents=12)
    assert result[0].capacity == 12
    assert sum(p.capacity for p in result) <= 18


def test_growth_count():
    assert [number_of_new(count) for count in (0, 8, 20, 29, 30, 100)] == [2, 2, 2, 2, 3, 10]


def test_best_levels_join_spellings():
    assert best_levels([{"Cooking": 30.0, "chess": 5.0}, {"cooking ": 44.5}]) == {"Cooking": 44.5, "chess": 5.0}
    assert best_levels([]) == {}


def test_new_positions_ask_for_about_50_more_than_the_best():
    proposed = [
        position("A/low", 9, income=499, skills={"Cooking": 10}),
        position("A/high", 0, income=0, skills={"cooking": 900, "juggling": 3}),
    ]
    low, high = grow([position("B/y")], proposed, {"cooking": 120.5})
    # floor of 120.5 is 120: between 120 + 40 and 120 + 60; nobody juggles: between 40 and 60
    assert low.requirements.skills == {"cooking": 160}
    assert high.requirements.skills == {"cooking": 180, "juggling": 40}
    # income 100 + the hardest requirement
    assert (low.weekly_income, high.weekly_income) == (260, 280)
    assert (low.capacity, high.capacity) == (2, 1)


def test_income_of_new_positions_ends_at_the_highest_salary():
    (only, _) = grow([position("B/y")], [position("A/x", skills={"magic": 1})], {"magic": 700.0})
    assert only.requirements.skills == {"magic": 740}
    assert only.weekly_income == 500


def test_missing_proposals_follow_the_best_paid():
    present = [position("A/x", income=100), position("B/y", income=400, gain={"law": 3})]
    first, second = grow(present, [], {"law": 20.0})
    assert (first.key, first.requirements.skills, first.weekly_income) == ("B/y II", {"law": 70 - 10}, 160)
    assert (second.key, second.requirements.skills) == ("A/x II", {"baking": 40})


def test_a_position_that_names_no_skill_asks_for_what_it_trains():
    first, second = grow([], [position("A/x", gain={"a": 1, "b": 4}), position("A/y", gain={})], {"z": 9.0})
    assert first.requirements.skills == {"b": 40}
    assert second.requirements.skills == {"z": 49}


def test_a_world_without_any_skill_or_position_does_not_grow():
    assert grow([], []) == ()
    assert grow([position("A/x", gain={})], []) == ()


def test_age_limits_that_nobody_meets_are_left_out():
    proposed = [position("A/x", max_age=9), position("A/y", max_age=31), position("A/z", min_age=18)]
    pupil, worker, _ = found_positions((), proposed, {}, ages=[30, 40, 50], max_income=500)
    assert pupil.requirements.max_age is None
    assert worker.requirements.max_age == 31
    (grown, _) = grow([position("B/y")], [position("A/x", skills={"law": 9}, min_age=60)], {"law": 0.0})
    assert grown.requirements == Requirements(skills={"law": 40})


def test_tidy_corrects_names_and_numbers():
    draft = position(
        "Org/Role",
        -3,
        income=9000,
        gain={" baking ": 50, "": 2, "law": -1},
        skills={"law": 0, "a": 5, "b": 6, "c": 7},
        min_age=40,
        max_age=20,
    )
    clean = tidy(msgspec.structs.replace(draft, role="  Head / of\nall "), max_income=500)
    assert clean.key == "Org/Head - of all"
    assert (clean.weekly_income, clean.capacity) == (500, 1)
    assert clean.weekly_skill_gain == {"baking": 5, "law": 1}
    assert clean.requirements == Requirements(skills={"a": 5, "b": 6}, min_age=None, max_age=20)


names = st.sampled_from(["Mill", "Mill ", "School", "", "a/b", "面包店"])
drafts = st.builds(
    Position,
    organization=names,
    role=st.sampled_from(["Head", "head", "Hand", "Helper", "", "工人"]),
    type=st.sampled_from(["work", "non-work"]),
    weekly_income=st.integers(-10, 9999),
    weekly_skill_gain=st.dictionaries(st.sampled_from(["law", "Law", "art"]), st.integers(-5, 50), max_size=3),
    capacity=st.integers(-2, 500),
    requirements=st.builds(
        Requirements, skills=st.dictionaries(st.sampled_from(["law", "art", " "]), st.integers(-9, 999), max_size=3)
    ),
)


@settings(deadline=None)
@given(st.integers(1, 60), st.lists(drafts, max_size=40), st.integers(1, 12), st.data())
def test_a_founding_keeps_within_its_limits(n_agents, proposed, n_own, data):
    own = [position(f"Own/Role {n}", data.draw(st.integers(1, 9))) for n in range(n_own)]
    holders: dict[str, int] = {}
    shape = shape_for(n_agents)
    for _ in range(data.draw(st.integers(0, n_agents))):
        key = data.draw(st.sampled_from(own)).key
        if holders.get(key, 0) < shape.max_per_work_position:
            holders[key] = holders.get(key, 0) + 1
    result = found(own, proposed, holders, n_agents=n_agents)
    places = sum(p.capacity for p in result)
    assert places <= shape.max_places
    assert len({p.key for p in result}) == len(result) <= max(shape.max_positions, len(holders))
    assert all(p.capacity >= max(1, holders.get(p.key, 0)) for p in result)
    assert all(p.type != "work" or p.capacity <= shape.max_per_work_position for p in result)
    if sum(holders.values()) + max(0, shape.min_positions - len(holders)) <= shape.max_places:
        assert len(result) >= shape.min_positions
        assert places >= shape.min_places


@given(st.lists(drafts, max_size=6), st.dictionaries(st.sampled_from(["law", "art", "tea"]), st.floats(0, 400)))
def test_growth_is_always_out_of_reach_and_scarce(proposed, best):
    result = grow([position("Own/Role")], proposed, best, initial_count=25)
    assert len(result) == 2
    assert len({p.key for p in result} | {"Own/Role"}) == 3
    for new in result:
        assert 1 <= new.capacity <= 2
        assert 0 <= new.weekly_income <= 500
        assert new.requirements.skills
        for skill, level in new.requirements.skills.items():
            assert skill_level(best, skill) < level <= skill_level(best, skill) + 60


@given(st.integers(0, 900), st.integers(0, 900))
def test_harder_positions_never_pay_less(one, other):
    first, second = grow(
        [],
        [position("A/x", skills={"law": one}), position("B/y", skills={"art": other})],
        {"law": float(one), "art": float(other)},
    )
    by_requirement = sorted([first, second], key=lambda p: max(p.requirements.skills.values()))
    assert by_requirement[0].weekly_income <= by_requirement[1].weekly_income
