"""Weeks, profiles and ratings of a small life written out by hand, and that the order of its units never matters."""

from hypothesis import given
from hypothesis import strategies as st

from sim.core.agent import WeekSnapshot
from sim.core.chronicle import AgentWeek, ProfileYear, Rating, chronicle
from sim.core.facts import UnitFacts, WeekEnded
from sim.core.keys import UnitKey


def unit(stage, who="", *, year=1, week=1, index=0, agents=(), outputs=None):
    """A finished unit of these agents."""
    key = UnitKey(year=year, week=week, stage=stage, index=index, who=who)
    return UnitFacts(unit=key, by_agent=dict.fromkeys(agents or ([who] if who else []), ()), outputs=outputs or {})


def week_end(who, week, mood, *, year=1):
    """A clean-up that took these numbers."""
    numbers = {"vitality": 50.0, "material": 51.0, "social": 52.0, "esteem": 53.0}
    snapshot = WeekSnapshot(year=year, week=week, mood=mood, deposit=90, total_skills=7.5, **numbers)
    key = UnitKey(year=year, week=week, stage="cleanup", who=who)
    return UnitFacts(unit=key, by_agent={who: (WeekEnded(snapshot=snapshot),)})


def scores(**of):
    """A judging's outputs with an end-of-year deposit of 90."""
    return {"scores": {name: {"affection": a, "respect": r} for name, (a, r) in of.items()}, "deposit_end": 90}


LIFE = [
    unit("birth", "Ann", year=0, week=0, outputs={"traits": {"patience": 40}, "talents": {"health": 60}}),
    unit("directory", year=0, week=0, outputs={"cards": {"Ann": {"age": 29, "position": "Cafe/Cook"}}}),
    unit("judging", "Ann", year=0, week=0, outputs=scores(苏雨=(70, None))),
    unit("joint", "Ann", index=1, agents=("Ann", "苏雨")),
    unit("public_act", "Ann", index=2),
    unit("public_meet", "Ann", index=2),
    unit("encounter", "Ann", index=3, agents=("Ann", "苏雨")),
    unit("solo", "Ann", index=4),
    unit("solo", "Ann", index=5),
    week_end("Ann", 1, 30.0),
    unit("profile_update", "Ann", outputs={"traits": {"patience": 43}, "talents": {"health": 60}}),
    unit("directory", outputs={"cards": {"Ann": {"age": 30, "position": ""}}}),
    unit("judging", "Ann", outputs=scores(苏雨=(55, 80), Ben=(None, None))),
]


def test_a_life_by_hand():
    found = chronicle(LIFE)
    numbers = {"vitality": 50.0, "mood": 30.0, "material": 51.0, "social": 52.0, "esteem": 53.0}
    # the public event is one day, though lived in two units
    days = {"joint": 1, "public": 1, "encounter": 1, "solo": 2}
    assert found.weeks == (AgentWeek(year=1, week=1, agent="Ann", deposit=90, total_skills=7.5, **numbers, **days),)
    health = {"talents": {"health": 60}, "agent": "Ann", "deposit": 90}
    assert found.profiles == (
        ProfileYear(year=0, age=29, position="Cafe/Cook", traits={"patience": 40}, **health),
        ProfileYear(year=1, age=30, position="", traits={"patience": 43}, **health),
    )
    assert found.ratings == (
        Rating(year=0, rater="Ann", rated="苏雨", affection=70, respect=None),
        Rating(year=1, rater="Ann", rated="Ben", affection=None, respect=None),
        Rating(year=1, rater="Ann", rated="苏雨", affection=55, respect=80),
    )


@given(st.permutations(LIFE))
def test_the_order_of_units_never_matters(units):
    assert chronicle(units) == chronicle(LIFE)


def test_what_an_unfinished_life_lacks_is_left_out_or_unknown():
    assert chronicle([unit("joint", "Ann", agents=("Ann", "Ben"))]).weeks == ()
    (profile,) = chronicle([unit("judging", "Ann", outputs=scores())]).profiles
    assert (profile.age, profile.position, profile.traits) == (None, "", {})
