"""What an agent sees of itself, of people, places and messages."""

import msgspec
import pytest

from sim.context import recall
from sim.context.view import (
    contact_history,
    hints,
    low_level,
    memory_of,
    people_lines,
    place_of,
    place_view,
    self_view,
    share_of,
    vitality_level,
)
from sim.core.agent import MemoryFile, Message, Note
from sim.core.keys import UnitKey
from sim.settings import WindowSettings
from tests.builders import a_clock, a_home, a_joint, a_place, a_slot, an_agent, an_item
from tests.context.desks import a_desk, a_full_agent, a_world, rough_count

PLAN = UnitKey(year=1, week=2, stage="plan", who="Ann")


@pytest.mark.parametrize(
    ("vitality", "level"),
    [
        (100, "rested"),
        (90, "rested"),
        (89.9, "good"),
        (70, "good"),
        (69.9, "tired"),
        (50, "tired"),
        (49.9, "exhausted"),
        (30, "exhausted"),
        (29.9, "depleted"),
        (0, "depleted"),
    ],
)
def test_vitality_has_five_bands(vitality, level):
    assert vitality_level(vitality) == level


@pytest.mark.parametrize(("value", "level"), [(30, ""), (29.9, "low"), (10, "low"), (9.9, "very_low"), (0, "very_low")])
def test_hints_begin_below_thirty_and_below_ten(value, level):
    assert low_level(value) == level


def test_hints_name_what_is_low():
    state = an_agent(vitality=29.0, mood=30.0, social=9.0)
    assert hints(state) == [{"name": "vitality", "level": "low"}, {"name": "social", "level": "very_low"}]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_hint_and_band_is_a_sentence_of_its_own(language):
    desk = a_desk(world=a_world(language=language))
    texts = set()
    for name in ("vitality", "mood", "material", "social", "esteem"):
        for value in (20.0, 5.0):
            view = self_view(desk, an_agent(**{name: value}), PLAN)
            texts.add(desk.render.render("parts/hints.j2", {"me": view}))
    assert len(texts) == 10
    assert "" not in texts
    assert len({self_view(desk, an_agent(vitality=v), PLAN)["vitality_words"] for v in (95, 80, 60, 40, 20)}) == 5


def test_a_self_view_by_hand():
    desk = a_desk()
    state = an_agent(
        "Ann",
        vitality=69.6,
        extra_weekly_income=50,
        skills={"baking": 30.0, "chess": 120.4},
        possessions=(an_item(),),
        schedule=(a_joint(slot=a_slot(1, 1)), a_joint(slot=a_slot(1, 2, 2))),
        week_outputs=(Note(year=1, week=2, kind="plan", text="Rest a lot."),),
        records=(Note(year=1, week=1, day=2, kind="record", text="Played chess."),),
        refusals=("Action: x",),
        files={"general.txt": MemoryFile(text="Win the cup.")},
    )
    view = self_view(desk, state, PLAN)
    assert view["time"] == "Y1-W2"
    assert view["age"] == 30  # born Y1994-W2-activity-D1, Y1 is 2024
    assert (view["vitality"], view["vitality_words"]) == (70, "tired and less efficient")
    assert view["weekly_income"] == 350
    assert view["skills"] == ["chess 120", "baking 30"]
    assert view["possessions"] == ["teapot (20)"]
    assert view["schedule"] == ["Y1-W2-activity-D2: Chess, agreed, at Courtyard, with Ann, Ben"]
    assert view["outputs"] == ["(plan) Rest a lot."]
    assert view["records"] == ["Y1-W1-activity-D2: Played chess."]
    assert view["refusals"] == ["Action: x"]
    assert view["goals"] == "Win the cup."
    assert view["fulfilments"] == {"mood": 50, "material": 50, "social": 50, "esteem": 50}


def test_without_a_position_the_income_is_the_unemployed_one():
    assert self_view(a_desk(), an_agent(position=None), PLAN)["weekly_income"] == 100


def test_a_day_unit_has_a_slot_for_its_time():
    unit = UnitKey(year=1, week=2, stage="solo", index=2, who="Ann")
    assert self_view(a_desk(), an_agent("Ann"), unit)["time"] == "Y1-W2-activity-D2"


def test_a_days_calendar_begins_with_the_day():
    days = [a_joint(f"Chess {day}", slot=a_slot(1, 2, day)) for day in (1, 2)]
    state = an_agent("Ann", schedule=tuple(days))
    today = UnitKey(year=1, week=2, stage="joint", index=2, who="Ann")
    review = UnitKey(year=1, week=2, stage="review", who="Ann")
    assert [("Chess 1" in line) for line in self_view(a_desk(), state, today)["schedule"]] == [False]
    assert len(self_view(a_desk(), state, review)["schedule"]) == 2


def test_each_piece_of_a_full_life_keeps_to_its_share():
    desk, state = a_desk(), a_full_agent()
    view = self_view(desk, state, PLAN)
    for piece in ("schedule", "possessions", "outputs", "records", "refusals"):
        assert view[piece]
        assert sum(rough_count(line) for line in view[piece]) <= share_of(desk, piece)
    assert rough_count(view["goals"]) <= share_of(desk, "goals")
    history = contact_history(desk, state, PLAN)
    assert history
    assert sum(rough_count(line) for line in history) <= share_of(desk, "contacts")


CARDS = {
    name: {"name": name, "gender": "man", "age": 40, "appearance": f"{name} is tall.", "position": "Bakery/Baker"}
    for name in ("Ben", "Carl")
}


def test_people_are_told_by_their_public_side_and_own_memory():
    state = an_agent("Ann", knows=("Ben",))
    assert people_lines(a_desk(), state, CARDS, ["Ben", "Carl", "Nobody"]) == [
        "Ben (man, 40, Bakery/Baker): Ben is tall. You remember: Knows Ben.",
        "Carl (man, 40, Bakery/Baker): Carl is tall.",
        "Nobody",
    ]


def test_a_memory_told_in_full_elsewhere_is_not_told_twice():
    state = an_agent("Ann", knows=("Ben",))
    assert people_lines(a_desk(), state, CARDS, ["Ben"], remembered=False) == [
        "Ben (man, 40, Bakery/Baker): Ben is tall."
    ]


def test_many_people_fit_their_share():
    desk, state = a_desk(), a_full_agent()
    names = list(state.knows())
    cards = {name: {**CARDS["Ben"], "name": name, "appearance": "tall " * 300} for name in names}
    lines = people_lines(desk, state, cards, names)
    assert len(lines) >= 40
    assert sum(rough_count(line) for line in lines) <= share_of(desk, "people")


def test_memory_of_somebody_is_the_own_file_only():
    state = an_agent("Ann", knows=("Ben",))
    assert memory_of(a_desk(), state, "Ben") == "Knows Ben."
    assert memory_of(a_desk(), state, "Carl") == ""


def test_places_are_found_by_name_also_homes_in_plain_form():
    homes = {"Ben": msgspec.to_builtins(a_home("Ben"))}
    assert place_of(a_desk(), "Roof", homes) == a_place("Roof")
    assert place_of(a_desk(), "home/Ben", homes) == a_home("Ben")
    assert place_of(a_desk(), "home/Carl", homes) is None
    assert place_view(a_place())["objects"] == ["bench", "lamp"]


def message(week: int, text: str, *, round_: int = 1, **fields) -> Message:
    values = {"year": 1, "week": week, "round": round_, "sender": "Ben", "to": "Ann", "text": text}
    return Message(**{**values, **fields})


def contact(week: int) -> UnitKey:
    return UnitKey(year=1, week=week, stage="contact", index=1, who="Ann")


def test_contact_history_is_in_order_and_inside_its_window():
    desk = a_desk(clock=a_clock(n_week=10))
    late, early = message(6, "late", round_=2), message(6, "early")
    state = an_agent("Ann", messages=(message(3, "gone"), late, early, message(4, "first")))
    assert contact_history(desk, state, contact(6)) == [
        "Y1-W4, round 1, Ben to Ann: first",
        "Y1-W6, round 1, Ben to Ann: early",
        "Y1-W6, round 2, Ben to Ann: late",
    ]


@pytest.mark.parametrize(("now", "told"), [(3, ["1", "2", "3"]), (5, ["3"]), (6, [])])
def test_contact_history_counts_back_from_now_however_old_the_newest_message_is(now, told):
    desk = a_desk(clock=a_clock(n_week=10))
    state = an_agent("Ann", messages=tuple(message(week, str(week)) for week in (1, 2, 3)))
    assert [line[-1] for line in contact_history(desk, state, contact(now))] == told


def test_kinds_of_messages_are_told_apart():
    messages = tuple(
        message(1, "t", kind=kind, activity="Chess")
        for kind in ("message", "invitation", "response", "cancellation", "notice")
    )
    assert len(set(contact_history(a_desk(), an_agent("Ann", messages=messages), contact(1)))) == 5


def test_records_stay_two_weeks():
    state = an_agent(records=tuple(Note(year=1, week=week, kind="record", text=str(week)) for week in (1, 2, 3)))
    unit = UnitKey(year=1, week=3, stage="plan", who="Ann")
    assert [note.text for note in recall.records(state, a_clock(), unit, WindowSettings())] == ["2", "3"]


def test_windows_reach_over_a_years_end():
    state = an_agent(records=(Note(year=1, week=3, kind="record", text="old"),))
    unit = UnitKey(year=2, week=1, stage="plan", who="Ann")
    assert len(recall.records(state, a_clock(), unit, WindowSettings())) == 1


def test_most_recently_related_first():
    state = an_agent("Ann", knows=("Ben", "Carl", "Dora"), met={"Carl": 9, "Ben": 3, "Stranger": 20})
    assert recall.recently_related(state, 2) == ["Carl", "Ben"]
    assert recall.recently_related(state, 9) == ["Carl", "Ben", "Dora"]
