"""Three rounds of application: worked cases, and what holds for any wishes and any ranking."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.core.agent import Position, Requirements
from sim.core.vacancies import (
    STAY_CURRENT,
    Applicant,
    begin,
    close_round,
    complete_ranking,
    fitness,
    free_places,
    meets,
    missing_skills,
    new_colleagues,
    open_round,
)


def position(key, capacity=1, *, skills=None, min_age=None, max_age=None, gain=None):
    """A position of that key."""
    organization, role = key.split("/")
    return Position(
        organization=organization,
        role=role,
        type="work",
        weekly_income=300,
        weekly_skill_gain=gain or {},
        capacity=capacity,
        requirements=Requirements(skills=skills or {}, min_age=min_age, max_age=max_age),
    )


def applicant(name, *wishes, held=None, age=30, max_age=None, **skills):
    """Somebody with these wishes."""
    return Applicant(name=name, wishes=wishes, age=age, skills=skills, position=held, max_age=max_age)


def match(applicants, positions, rank=sorted, rounds=3):
    """The matching after all rounds, with `rank` ordering the candidates of every position."""
    matching = begin(applicants)
    for number in range(1, rounds + 1):
        opened = open_round(number, applicants, positions, matching)
        matching = close_round(opened, {key: rank(names) for key, names in opened.candidates.items()}, matching)
    return matching


def test_requirements_are_minimum_skills_and_both_ages():
    post = position("Clinic/Nurse", skills={"care": 50, "Bandaging": 10}, min_age=18, max_age=60)
    fit = {"care": 50.0, "bandaging": 10.0}
    assert meets(post, age=18, skills=fit)
    assert meets(post, age=60, skills=fit)
    assert not meets(post, age=17, skills=fit)
    assert not meets(post, age=61, skills=fit)
    assert not meets(post, age=30, skills={"care": 49.9, "bandaging": 10.0})
    assert missing_skills(post, {"care": 49.9}) == {"care": 50, "Bandaging": 10}
    assert meets(position("Park/Idler"), age=0, skills={})


def test_places_are_counted_down_along_the_ranking():
    people = [applicant(name, "A/x") for name in ("p", "q", "r")]
    result = match(people, [position("A/x", 2)], rank=lambda names: sorted(names, reverse=True))
    assert result.holders == {"p": None, "q": "A/x", "r": "A/x"}
    assert result.granted == {"q": "A/x", "r": "A/x"}


def test_a_holder_occupies_its_place_while_it_competes_for_another():
    # h holds the only place of A/x, wishes B/y and fails; p's wish for A/x must not push it out
    people = [applicant("h", "B/y", held="A/x"), applicant("p", "A/x"), applicant("a", "B/y")]
    result = match(people, [position("A/x"), position("B/y")])
    assert result.holders == {"a": "B/y", "h": "A/x", "p": None}


def test_a_place_left_is_free_from_the_next_round_on():
    moving = applicant("m", "B/y", held="A/x")
    in_round_one, in_round_two = applicant("p", "A/x"), applicant("q", "C/z", "A/x")
    result = match([moving, in_round_one, in_round_two], [position("A/x"), position("B/y")])
    assert result.holders == {"m": "B/y", "p": None, "q": "A/x"}


def test_stay_current_is_granted_and_ends_the_search():
    people = [applicant("h", STAY_CURRENT, "B/y", held="A/x")]
    result = match(people, [position("A/x"), position("B/y")])
    assert result.holders == {"h": "A/x"}
    assert result.granted == {"h": "A/x"}
    # naming one's own position says the same; without a position it means to stay without
    assert match([applicant("h", "A/x", "B/y", held="A/x")], [position("A/x"), position("B/y")]) == result
    assert match([applicant("u", STAY_CURRENT, "A/x")], [position("A/x")]).holders == {"u": None}


def test_who_is_over_age_is_refused_to_stay_and_ends_up_unemployed():
    pupil = applicant("h", STAY_CURRENT, held="School/Pupil", age=19, max_age=18)
    assert match([pupil], [position("School/Pupil", 5, max_age=18)]).holders == {"h": None}


def test_who_is_over_age_may_win_another_place_and_frees_its_own_at_once():
    people = [applicant("h", "A/x", held="School/Pupil", age=19, max_age=18), applicant("k", "School/Pupil", age=12)]
    result = match(people, [position("School/Pupil", max_age=18), position("A/x")])
    assert result.holders == {"h": "A/x", "k": "School/Pupil"}


def test_the_second_wish_counts_only_in_round_two():
    # a wishes B/y second; b wishes it first and takes the only place in round 1 although ranked lower
    people = [applicant("a", "A/x", "B/y"), applicant("b", "B/y"), applicant("c", "A/x")]
    result = match(people, [position("A/x"), position("B/y")], rank=lambda n: sorted(n, key="cab".index))
    assert result.holders == {"a": None, "b": "B/y", "c": "A/x"}


def test_nobody_is_ranked_for_what_it_may_not_have():
    people = [applicant("a", "A/x", cooking=10.0), applicant("b", "A/x", cooking=90.0), applicant("c", "No/where")]
    opened = open_round(1, people, [position("A/x", 2, skills={"cooking": 50})], begin(people))
    assert opened.candidates == {"A/x": ("b",)}
    assert opened.free == {"A/x": 2}


def test_a_full_position_has_no_candidates():
    people = [applicant("h", STAY_CURRENT, held="A/x"), applicant("p", "A/x")]
    assert open_round(1, people, [position("A/x")], begin(people)).candidates == {}


def test_a_ranking_is_completed_by_fitness_then_name():
    post = position("A/x", skills={"cooking": 1}, gain={"tasting": 2})
    skills = {"a": {"cooking": 5.0}, "b": {"cooking": 5.0}, "c": {"Tasting": 9.0, "chess": 99.0}, "d": {"cooking": 1.0}}
    assert fitness(post, skills["c"]) == 9.0
    assert complete_ranking(post, [], "abcd", skills) == ("c", "a", "b", "d")
    assert complete_ranking(post, ["d", "ghost", "d"], "abcd", skills) == ("d", "c", "a", "b")


def test_new_colleagues_know_each_other_same_position_first():
    before = {"new": None, "old": "Cafe/Cook", "peer": "Cafe/Waiter", "far": "Bank/Clerk"}
    after = {**before, "new": "Cafe/Waiter"}
    assert new_colleagues(before, after, at_most=10) == {
        "far": (),
        "new": ("old", "peer"),
        "old": ("new",),
        "peer": ("new",),
    }
    assert new_colleagues(before, after, at_most=1) == {"far": (), "new": ("peer",), "old": (), "peer": ("new",)}
    assert new_colleagues(before, before, at_most=10) == dict.fromkeys(sorted(before), ())


@st.composite
def markets(draw):
    """Positions with holders inside their capacity, and wishes of any kind."""
    keys = [f"Org{n % 3}/Role{n}" for n in range(draw(st.integers(1, 5)))]
    positions = [
        position(key, draw(st.integers(1, 3)), skills={"craft": draw(st.integers(0, 60))}, max_age=draw(ages))
        for key in keys
    ]
    room = {p.key: p.capacity for p in positions}
    limits = {p.key: p.requirements.max_age for p in positions}
    people = []
    for number in range(draw(st.integers(1, 9))):
        held = draw(st.sampled_from([None, *keys]))
        if held is not None and room[held] == 0:
            held = None
        if held is not None:
            room[held] -= 1
        wishes = tuple(draw(st.lists(st.sampled_from([*keys, STAY_CURRENT, "Else/Where"]), max_size=3)))
        person = applicant(f"agent {number}", *wishes, held=held, age=draw(st.integers(15, 25)), craft=draw(levels))
        people.append(msgspec.structs.replace(person, max_age=limits.get(held)) if held else person)
    return people, positions


ages = st.one_of(st.none(), st.integers(16, 24))
levels = st.integers(0, 80).map(float)


@settings(deadline=None)
@given(markets(), st.randoms())
def test_capacity_is_never_exceeded_whatever_the_ranking(market, random):
    people, positions = market
    result = match(people, positions, rank=lambda names: random.sample(sorted(names), len(names)))
    held = [key for key in result.holders.values() if key is not None]
    assert all(held.count(p.key) <= p.capacity for p in positions)
    assert sorted(result.holders) == sorted(person.name for person in people)
    assert all(free >= 0 for free in free_places(positions, result).values())


@settings(deadline=None)
@given(markets())
def test_whoever_moves_wished_it_and_meets_the_requirements(market):
    people, positions = market
    by_key = {p.key: p for p in positions}
    result = match(people, positions)
    for person in people:
        now = result.holders[person.name]
        if now is not None and now != person.position:
            assert now in person.wishes
            assert meets(by_key[now], age=person.age, skills=person.skills)
        elif now is None and person.position is not None:
            assert person.over_age()
        else:
            assert now is None or not person.over_age()


@settings(deadline=None)
@given(markets(), st.randoms())
def test_the_order_of_people_and_positions_never_matters(market, random):
    people, positions = market
    shuffled = match(random.sample(people, len(people)), random.sample(positions, len(positions)))
    assert shuffled == match(people, positions)


@given(markets(), st.integers(1, 3))
def test_colleagues_are_mutual_and_few(market, at_most):
    people, positions = market
    before = {person.name: person.position for person in people}
    pairs = new_colleagues(before, match(people, positions).holders, at_most=at_most)
    for name, others in pairs.items():
        assert len(others) <= at_most
        assert all(name in pairs[other] for other in others)
        assert name not in others


def test_wishes_beyond_the_last_round_are_not_looked_at():
    people = [applicant("a", "No/where", "No/where", "No/where", "A/x")]
    assert match(people, [position("A/x")]).holders == {"a": None}
