"""What a day waits for and what follows it, read from the resolved week."""

from typing import Any

import msgspec

from sim.core.agent import Activity
from sim.core.keys import UnitKey
from sim.engine.board import LiveBoard
from sim.week.days.encounter import STAGE as ENCOUNTER
from sim.week.days.joint import STAGE as JOINT
from sim.week.days.public import ACT, MEET
from sim.week.days.solo import STAGE as SOLO
from tests.builders import a_board, a_joint, a_slot, a_unit, an_event

DIRECTORY = UnitKey(year=0, week=0, stage="directory")
RESOLVE = a_unit("resolve")


def entry(activity: Activity | None, *names: str) -> dict[str, Any]:
    return {"activity": msgspec.to_builtins(activity), "participants": list(names)}


def a_week() -> LiveBoard:
    """Day 1: Ann and Ben attend an event, Cleo is alone. Day 2: Ann and Cleo play chess, Ben is alone."""
    market, chess = an_event("Market", ("Ann", "Ben")), a_joint(slot=a_slot(day=2), participants=("Ann", "Cleo"))
    days = {
        "Ann": [(a_unit("public_act", "Ann", index=1), market), (a_unit("joint", "Ann", index=2), chess)],
        "Ben": [(a_unit("public_act", "Ben", index=1), market), (a_unit("solo", "Ben", index=2), None)],
        "Cleo": [(a_unit("solo", "Cleo", index=1), None), (a_unit("joint", "Ann", index=2), chess)],
    }
    outputs = {
        "for": {
            name: {
                "days": [str(unit) for unit, _ in own],
                "activities": [msgspec.to_builtins(activity) for _, activity in own],
            }
            for name, own in days.items()
        },
        "units": {
            str(a_unit("joint", "Ann", index=2)): entry(chess, "Ann", "Cleo"),
            str(a_unit("public_act", "Ann", index=1)): entry(market, "Ann"),
        },
    }
    return a_board(("Ann", "Ben", "Cleo"), {RESOLVE: outputs})


def test_participants():
    board = a_week()
    assert JOINT.participants(a_unit("joint", "Ann", index=2), board) == ("Ann", "Cleo")
    assert ACT.participants(a_unit("public_act", "Ben", index=1), board) == ("Ben",)
    assert SOLO.participants(a_unit("solo", "Cleo", index=1), board) == ("Cleo",)


def test_the_first_day_waits_for_the_agenda_only():
    board = a_week()
    assert SOLO.needs(a_unit("solo", "Cleo", index=1), board) == {RESOLVE, a_unit("agenda", "Cleo")}
    events = a_unit("public_events")
    assert ACT.needs(a_unit("public_act", "Ann", index=1), board) == {
        RESOLVE,
        DIRECTORY,
        events,
        a_unit("agenda", "Ann"),
    }


def test_a_meeting_waits_for_all_attendees():
    assert MEET.needs(a_unit("public_meet", "Ben", index=1), a_week()) == {
        RESOLVE,
        DIRECTORY,
        a_unit("public_act", "Ann", index=1),
        a_unit("public_act", "Ben", index=1),
    }


def test_a_later_day_waits_for_its_own_participants_days_and_nobody_elses():
    board = a_week()
    assert JOINT.needs(a_unit("joint", "Ann", index=2), board) == {
        RESOLVE,
        DIRECTORY,
        a_unit("public_meet", "Ann", index=1),
        a_unit("solo", "Cleo", index=1),
    }
    assert SOLO.needs(a_unit("solo", "Ben", index=2), board) == {RESOLVE, a_unit("public_meet", "Ben", index=1)}


def test_the_directory_of_a_later_year_is_that_of_the_year_before():
    board = a_week()
    year_2 = UnitKey(year=2, week=1, stage="resolve")
    board.put(year_2, board.outputs(RESOLVE))
    needs = ACT.needs(a_unit("public_act", "Ann", index=1, year=2), board)
    assert UnitKey(year=1, week=3, stage="directory") in needs


def test_reviews_follow_the_last_day_only():
    board = a_week()
    assert SOLO.successors(a_unit("solo", "Cleo", index=1), board) == ()
    assert MEET.successors(a_unit("public_meet", "Ann", index=1), board) == ()
    assert ACT.successors(a_unit("public_act", "Ann", index=1), board) == ()
    assert SOLO.successors(a_unit("solo", "Ben", index=2), board) == (a_unit("review", "Ben"),)
    assert JOINT.successors(a_unit("joint", "Ann", index=2), board) == (
        a_unit("review", "Ann"),
        a_unit("review", "Cleo"),
    )


def test_days_share_a_place_in_the_week_and_meetings_come_after_acts():
    stages = (JOINT, ENCOUNTER, ACT, MEET, SOLO)
    assert len({stage.position for stage in stages}) == 1
    assert [stage.sub for stage in stages] == [0, 0, 0, 1, 0]
    assert not any(stage.pure for stage in stages)
