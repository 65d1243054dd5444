"""What facts do to a state: ranges whatever is said, the same unit never twice, encoding that loses nothing."""

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.agent import FULFILMENTS, AgentState, Message, Note, clamp
from sim.core.facts import (
    CameToKnow,
    Changed,
    Folded,
    Got,
    Heard,
    Lost,
    Met,
    Noted,
    ReadFile,
    Refused,
    Scheduled,
    UnitFacts,
    Unscheduled,
    WeekBegan,
    WeekEnded,
    WroteFile,
    YearBegan,
    apply,
    apply_all,
    decode_facts,
    decode_state,
    encode,
)
from tests.builders import a_joint, a_profile, a_slot, a_unit, an_agent, an_item

ME = "Mara Voss"
NUMBERS = ("vitality", *FULFILMENTS)

wild = st.floats(allow_nan=True, allow_infinity=True)
changes = st.builds(
    Changed,
    reason=st.just("storm"),
    skills=st.dictionaries(st.sampled_from(("baking", "law", "歌")), wild, max_size=3),
    money=st.integers(-(10**12), 10**12),
    **dict.fromkeys(NUMBERS, wild),
)
people = st.sampled_from(("Ann", "Ben", ME))
facts = st.one_of(
    changes,
    st.builds(Got, item=st.builds(an_item, st.sampled_from(("a#1", "b#1"))), source=st.just("gift")),
    st.builds(Lost, item_id=st.sampled_from(("a#1", "b#1")), reason=st.just("gift")),
    st.builds(WroteFile, path=st.just("general.txt"), text=st.text(), summary=st.text()),
    st.builds(ReadFile, path=st.sampled_from(("general.txt", "others/none.txt"))),
    st.builds(CameToKnow, name=people, first_entry=st.just("Met at the well.")),
    st.builds(Met, name=people),
    st.builds(Noted, note=st.builds(Note, year=st.just(1), week=st.just(1), kind=st.just("diary"), text=st.text())),
    st.builds(Scheduled, activity=st.builds(a_joint, st.sampled_from(("Chess", "Tea")), slot=st.builds(a_slot))),
    st.builds(Unscheduled, activity_key=st.just("joint:Ann:Chess"), reason=st.just("off")),
    st.builds(Refused, text=st.text()),
    st.just(YearBegan()),
)


def is_sound(state: AgentState) -> bool:
    """Every number in its range, every possession once, nobody in two places, nobody acquainted with itself."""
    ids = [item.id for item in state.possessions]
    return (
        all(0 <= getattr(state, name) <= 100 for name in NUMBERS)
        and all(level >= 0 and math.isfinite(level) for level in state.skills.values())
        and state.deposit >= 0
        and len(ids) == len(set(ids))
        and state.name not in state.knows()
        and state.name not in state.met
    )


@given(st.lists(facts, max_size=12))
def test_every_state_stays_in_range_whatever_is_said(things):
    assert is_sound(apply_all(an_agent(ME), tuple(things)))


@given(st.lists(facts, max_size=8))
def test_a_unit_that_is_in_a_state_changes_it_no_more(things):
    unit = UnitFacts(unit=a_unit("plan", ME), by_agent={ME: tuple(things)})
    once = apply(an_agent(ME), unit)
    assert apply(once, unit) == once


@given(st.lists(facts, max_size=8))
def test_facts_and_states_survive_their_bytes(things):
    finite = tuple(thing for thing in things if not isinstance(thing, Changed))
    unit = UnitFacts(unit=a_unit("plan", ME), by_agent={ME: finite}, outputs={"a": [1, {"b": None}]})
    assert decode_facts(encode(unit)) == unit
    state = apply(an_agent(ME), unit)
    assert decode_state(encode(state)) == state
    assert encode(decode_state(encode(state))) == encode(state)


def test_a_fact_about_somebody_else_changes_nothing_but_that_the_unit_is_known():
    unit = UnitFacts(unit=a_unit("plan", "Ann"), by_agent={"Ann": (Changed(reason="gift", money=5),)})
    before = an_agent(ME)
    assert apply(before, unit) == msgspec.structs.replace(before, applied=(str(unit.unit),))


@pytest.mark.parametrize(
    ("value", "inside"), [(-1.0, 0.0), (101.0, 100.0), (50.1234567, 50.123457), (math.inf, 100.0), (math.nan, 0.0)]
)
def test_clamp_by_hand(value, inside):
    assert clamp(value) == inside


def test_money_adds_up_and_ends_at_nothing():
    state = apply_all(an_agent(ME, deposit=30), (Changed(reason="work", money=50), Changed(reason="rent", money=-60)))
    assert state.deposit == 20
    assert apply_all(state, (Changed(reason="rent", money=-60),)).deposit == 0


def test_a_possession_comes_once_and_goes():
    state = apply_all(an_agent(ME), (Got(item=an_item("a#1"), source="bought"), Got(item=an_item("a#1"), source="x")))
    assert [item.id for item in state.possessions] == ["a#1"]
    assert apply_all(state, (Lost(item_id="a#1", reason="gift"),)).possessions == ()


def test_who_is_known_keeps_its_file():
    state = apply_all(an_agent(ME, knows=("Ann",)), (CameToKnow(name="Ann", first_entry="New."),))
    assert state.files["characters/Ann.txt"].text == "Knows Ann."
    assert apply_all(state, (CameToKnow(name="Ben", first_entry="New."),)).knows() == ("Ann", "Ben")


def test_a_folded_stretch_is_one_summary():
    notes = tuple(Note(year=1, week=week, kind="diary", text=str(week)) for week in (1, 2, 3))
    summary = Note(year=1, week=2, kind="year_summary", text="1 and 2")
    state = apply_all(an_agent(ME, diaries=notes), (Folded(n_replaced=2, summary=summary),))
    assert [note.text for note in state.diaries] == ["1 and 2", "3"]


def test_a_week_begins_with_what_is_still_in_its_windows():
    heard = tuple(
        Heard(message=Message(year=1, week=week, round=1, sender="Ann", to=ME, text=str(week))) for week in (1, 2, 3)
    )
    state = apply_all(an_agent(ME), heard)
    began = WeekBegan(year=1, week=3, first_record_week=2, first_message_week=2, weeks_per_year=3)
    after = apply_all(state, (Refused(text="no"), began))
    assert [message.text for message in after.messages] == ["2", "3"]
    assert (after.refusals, after.applied) == ((), ())
    assert after.remembered is not None


def test_a_year_begins_with_its_first_deposit_and_no_snapshots():
    from tests.year.years import a_snapshot

    state = apply_all(an_agent(ME, deposit=70), (WeekEnded(snapshot=a_snapshot(1)), YearBegan()))
    assert (state.snapshots, state.deposit_at_year_start) == ((), 70)


def test_a_new_agent_begins_in_the_middle():
    state = AgentState(profile=a_profile(ME), home=an_agent(ME).home, position=None)
    assert [getattr(state, name) for name in NUMBERS] == [70.0, 50.0, 50.0, 50.0, 50.0]
    assert (state.deposit, state.possessions, dict(state.skills)) == (0, (), {})
