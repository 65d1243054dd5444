"""The yearly measures of a small year written out by hand, and that order and strangers never matter."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.core.agent import Possession, WeekSnapshot
from sim.core.counts import AgentYear, CallTokens, agent_years, standings
from sim.core.facts import Got, UnitFacts, Verdict, WeekEnded
from sim.core.keys import UnitKey


def unit(stage, who="", *, week=1, index=0, year=1, agents=(), facts=None, outputs=None, tool_calls=()):
    """A finished unit of these agents."""
    return UnitFacts(
        unit=UnitKey(year=year, week=week, stage=stage, index=index, who=who),
        by_agent={name: tuple((facts or {}).get(name, ())) for name in agents or ([who] if who else [])},
        outputs=outputs or {},
        verdicts=tuple(
            Verdict(key=f"{stage}/{n}", agent=who, duty=stage, status="ok", tool_calls=calls)
            for n, calls in enumerate(tool_calls)
        ),
    )


def snapshot(week, mood, *, deposit=100, year=1):
    """A week's closing numbers that differ in mood alone."""
    return WeekSnapshot(
        year=year,
        week=week,
        vitality=50.0,
        mood=mood,
        material=51.0,
        social=52.0,
        esteem=53.0,
        deposit=deposit,
        total_skills=30.5 + week,
    )


def message(kind="message"):
    """A message as contact outputs hold it."""
    return {"kind": kind, "text": "Hello."}


def chess(proposer):
    """An activity as resolve outputs hold it."""
    return {"activity": {"kind": "joint", "name": "Chess", "proposer": proposer}, "participants": ["Ann", "Ben"]}


def pair(affection, respect):
    """One person's scores of another."""
    return {"affection": affection, "respect": respect}


LAMP = Got(item=Possession(id="x#1", name="Lamp", description="", value=40), source="bought")
YEAR = [
    unit("plan", "Ann", tool_calls=(2, 1)),
    unit(
        "contact",
        "Ann",
        index=1,
        outputs={"for": {"Ben": [message(), message("invitation"), message()], "Cy": [message("response")]}},
    ),
    # Ben proposes twice in one round and once more later; only one of the three takes place
    unit("contact", "Ben", index=1, outputs={"for": {}, "proposals": [{"activity": "Chess"}, {"activity": "Tea"}]}),
    unit("contact", "Ben", index=2, outputs={"for": {"Ann": [message()]}, "proposals": [{"activity": "Walk"}]}),
    unit("resolve", outputs={"units": {"Y1-W1/joint.1/Ann": chess("Ben"), "Y1-W1/encounter.2/Ann": chess("")}}),
    # day 1: Ann and Ben play chess, Ben learns; Cy works and earns
    unit("joint", "Ann", index=1, agents=("Ann", "Ben"), outputs={"skills_up": {"Ann": False, "Ben": True}}),
    unit("solo", "Cy", index=1, outputs={"earned": {"Cy": 80}, "skills_up": {"Cy": True}}),
    # day 2: Ann meets Ben by chance; Cy visits an event in two halves and learns in both
    unit("encounter", "Ann", index=2, agents=("Ann", "Ben"), outputs={"skills_up": {"Ann": True, "Ben": False}}),
    unit("public_act", "Cy", index=2, outputs={"skills_up": {"Cy": True}}),
    unit("public_meet", "Cy", index=2, outputs={"skills_up": {"Cy": True}}),
    # day 3: Ann buys a lamp and a meal, Ben works for nothing, Cy rests
    unit(
        "solo",
        "Ann",
        index=3,
        facts={"Ann": [LAMP]},
        outputs={"purchases": {"Ann": [{"name": "Lamp", "price": 40}, {"name": "Meal", "price": 15}]}},
    ),
    unit("solo", "Ben", index=3, outputs={"earned": {"Ben": 0}}),
    unit("solo", "Cy", index=3),
    unit("cleanup", "Ann", facts={"Ann": [WeekEnded(snapshot=snapshot(1, 10.0))]}),
    unit("cleanup", "Ben", facts={"Ben": [WeekEnded(snapshot=snapshot(1, 50.0))]}),
    unit("cleanup", "Cy", facts={"Cy": [WeekEnded(snapshot=snapshot(1, 50.0))]}),
    unit("cleanup", "Ann", week=2, facts={"Ann": [WeekEnded(snapshot=snapshot(2, 60.0, deposit=175))]}),
    unit("cleanup", "Ben", week=2, facts={"Ben": [WeekEnded(snapshot=snapshot(2, 60.0))]}),
    unit("cleanup", "Cy", week=2, facts={"Cy": [WeekEnded(snapshot=snapshot(2, 60.0))]}),
    unit("judging", "Ann", week=2, outputs={"scores": {"Ben": pair(60, 59), "Cy": pair(95, 70)}}),
    unit(
        "judging", "Ben", week=2, outputs={"scores": {"Ann": pair(80, 60), "Ben": pair(99, 99), "Ghost": pair(99, 99)}}
    ),
    unit("judging", "Cy", week=2, outputs={"scores": {"Ann": pair(None, 75), "Ben": pair(60, None)}}),
    unit("judging", "Ann", year=0, week=0, outputs={"scores": {"Ben": pair(100, 100)}}),
]
CALLS = [
    CallTokens(unit="Y1-W1/plan.0/Ann", agent="Ann", input_tokens=900, output_tokens=50),
    CallTokens(unit="Y1-W2/judging.0/Ann", agent="Ann", input_tokens=100, output_tokens=7),
    CallTokens(unit="Y1-W1/joint.1/Ann", agent="", input_tokens=5000, output_tokens=500),
    CallTokens(unit="Y0-W0/judging.0/Ann", agent="Ann", input_tokens=5000, output_tokens=500),
]
NAMES = ("Ann", "Ben", "Cy")


def test_a_year_by_hand():
    ann, ben, cy = agent_years(YEAR, CALLS, names=NAMES, n_years=1)
    assert ann == AgentYear(
        year=1,
        agent="Ann",
        fulfillment_mood=60.0,
        fulfillment_material=51.0,
        fulfillment_social=52.0,
        fulfillment_esteem=53.0,
        total_skills=32.5,
        deposit=175,
        n_liked_by=1,  # Ben 80; Cy gave no score
        n_likes=2,  # Ben 60, Cy 95
        n_respected_by=2,  # Ben 60, Cy 75
        n_respects=1,  # Cy 70; Ben has 59
        n_mutual_like=1,  # Ben
        n_mutual_respect=1,  # Cy
        fulfillment_penalties=1,  # week 1: moods 10, 50, 50, threshold 30
        joint_proposed=0,
        joint_participated=1,
        public_participated=0,
        solo_count=2,  # three days less chess; the encounter was not scheduled
        activity_consumption_count=2,
        total_spending_amount=40,  # the lamp is owned, the meal is not
        active_contacts=2,
        passive_contacts=1,
        extra_earning_count=0,
        skill_improvement_count=1,
        input_tokens=1000,
        output_tokens=57,
        function_call_count=3,
    )
    assert (ben.joint_proposed, ben.joint_participated, ben.solo_count) == (3, 1, 2)
    assert (ben.active_contacts, ben.passive_contacts) == (1, 2)
    assert (ben.extra_earning_count, ben.skill_improvement_count, ben.fulfillment_penalties) == (0, 1, 0)
    assert (cy.public_participated, cy.solo_count, cy.extra_earning_count) == (1, 2, 1)
    # the two halves of the event are one activity
    assert cy.skill_improvement_count == 2
    assert (cy.n_liked_by, cy.n_likes, cy.n_respects, cy.n_mutual_like, cy.n_mutual_respect) == (1, 1, 1, 0, 1)
    assert (ben.n_liked_by, ben.n_likes, ben.n_mutual_like) == (2, 1, 1)


def test_standing_needs_60_and_drops_oneself_and_strangers():
    result = standings({"Ann": {"Ben": pair(60, 59), "Ann": pair(99, 99), "Ghost": pair(99, 99)}, "Ben": {}})
    assert (result["Ann"].n_likes, result["Ann"].n_respects, result["Ann"].n_mutual_like) == (1, 0, 0)
    assert (result["Ben"].n_liked_by, result["Ben"].n_respected_by) == (1, 0)
    assert set(result) == {"Ann", "Ben"}


@settings(deadline=None)
@given(st.permutations(YEAR), st.permutations(CALLS))
def test_the_order_of_units_never_matters(units, calls):
    assert agent_years(units, calls, names=NAMES, n_years=1) == agent_years(YEAR, CALLS, names=NAMES, n_years=1)


def test_years_are_apart_and_an_empty_year_is_all_zero():
    rows = agent_years(YEAR, CALLS, names=NAMES, n_years=2)
    assert [(row.year, row.agent) for row in rows] == [(y, name) for y in (1, 2) for name in NAMES]
    second = rows[3]
    assert (second.input_tokens, second.joint_participated, second.deposit, second.n_liked_by) == (0, 0, 0, 0)


@pytest.mark.parametrize("names", [("Ann",), ("Ann", "Ben", "Cy", "Dee")])
def test_only_the_cast_has_rows(names):
    assert [row.agent for row in agent_years(YEAR, CALLS, names=names, n_years=1)] == list(names)
