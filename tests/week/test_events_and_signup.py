"""Public events: what the environment may make, what goes on, who is shown what and who goes."""

import json
from typing import Any

import msgspec
import pytest

from sim.core.facts import apply
from sim.core.keys import UnitKey
from sim.environment.public_events import Event, n_events_wanted
from sim.settings import LimitSettings
from sim.week import events, signup
from tests.builders import a_board, a_clock, a_job, a_unit, an_agent
from tests.context.desks import a_desk, a_world
from tests.week.days import Model, card, some_settings
from tests.week.lived import run_alone

NAMES = ("Ann", "Ben", "Mara Voss")
DIRECTORY = UnitKey(year=0, week=0, stage="directory")


def an_item(name: str = "Fair", **fields: Any) -> dict[str, Any]:
    """An event as the environment writes it."""
    values = {"description": "Games.", "day": 1, "weeks": 1, "location": "Courtyard", "only_for": []}
    return {"name": name, **values, **fields}


def a_public_event(name: str = "Fair", **fields: Any) -> Event:
    values: dict[str, Any] = {
        "description": "Games.", "day": 1, "start": 1, "weeks": 1, "eligible": "all", "location": "Courtyard",
    }  # fmt: skip
    return Event(name=name, **{**values, **fields})


def made(items: Any, *, week: int = 1, past: list[Event] = (), units: dict | None = None, **desk: Any):
    """This week's events, the environment's prompts and the verdicts."""
    model = Model(lambda request: items if isinstance(items, str) else {"events": items})
    needed = {DIRECTORY: {"cards": {name: card(name) for name in NAMES}, "homes": {}, "positions": []}}
    if week > 1:
        needed[a_unit("public_events", week=week - 1)] = {"events": msgspec.to_builtins(list(past))}
        needed[a_unit("resolve", week=week - 1)] = {"for": {}, "units": units or {}}
    job = a_job(a_unit("public_events", week=week), needed=needed)
    facts = run_alone(events.STAGE, job, a_desk(model, **{"settings": some_settings(), **desk}))
    return msgspec.convert(facts.outputs["events"], list[Event]), model, facts


def test_events_are_taken_as_the_environment_made_them() -> None:
    items = [an_item(), an_item("Lecture", day=2, weeks=3, location="Roof", only_for=["Ben", "Ann"])]
    found, _, _ = made(items, week=2)
    assert found == [
        a_public_event(start=2),
        a_public_event("Lecture", day=2, start=2, weeks=3, location="Roof", eligible=("Ann", "Ben")),
    ]


def test_no_more_events_than_allowed() -> None:
    found, _, _ = made([an_item(f"Fair {number}") for number in range(2)])
    assert len(found) == 2
    found, model, _ = made([], settings=some_settings().model_copy(update={"limits": LimitSettings(events_per_week=0)}))
    assert found == []
    assert model.asked == []


@pytest.mark.parametrize(("n_agents", "n_going_on", "wanted"), [(3, 0, 2), (12, 0, 3), (12, 3, 0), (100, 4, 6)])
def test_a_small_cast_gets_few_events_and_what_goes_on_counts(n_agents: int, n_going_on: int, wanted: int) -> None:
    desk = a_desk(names=tuple(f"agent {number}" for number in range(n_agents)))
    assert n_events_wanted(desk, n_going_on) == wanted


def test_an_event_that_repeats_goes_on_and_is_not_made_anew() -> None:
    past = [a_public_event("Choir", weeks=2), a_public_event("Fair", weeks=1)]
    units = {"Y1-W1/public_act.1/Ann": {"activity": {"name": "Choir"}, "participants": ["Ann"]}}
    found, model, _ = made([an_item("CHOIR")], week=2, past=past, units=units)
    assert [(event.name, event.start) for event in found] == [("Choir", 1)]
    (prompt,) = model.prompts("")
    assert "Choir (1 came)" in prompt
    assert "Fair (0 came)" in prompt


def test_what_cannot_take_place_is_left_out() -> None:
    found, _, _ = made([an_item("  "), an_item("Fair")])
    assert [event.name for event in found] == ["Fair"]
    found, _, _ = made([an_item("Fair"), an_item(" fair ")])
    assert [event.name for event in found] == ["Fair"]


@pytest.mark.parametrize("text", ["no json", json.dumps({"events": [an_item(day=99)]}), json.dumps({"events": "x"})])
def test_unusable_answers_mean_no_events(text: str) -> None:
    found, model, facts = made(text)
    assert found == []
    assert len(model.asked) == 3
    assert all(verdict.drop for verdict in facts.verdicts)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("short", [True, False])
def test_the_prompts_in_each_language_and_profile(language: str, short: bool) -> None:
    desk = {"settings": some_settings(short=short), "world": a_world(language=language)}
    item = an_item()
    if short:
        del item["only_for"]
    _, model, _ = made([item], week=2, past=[a_public_event("Choir", weeks=2)], **desk)
    (prompt,) = model.prompts("")
    assert "Choir" in prompt
    assert "Y1-W2" in prompt


def test_the_first_week_waits_for_the_directory_alone_and_later_ones_for_the_week_before() -> None:
    board = a_board(NAMES)
    assert events.needs(a_unit("public_events"), board) == {DIRECTORY}
    assert events.needs(a_unit("public_events", week=2), board) == {
        DIRECTORY, a_unit("public_events"), a_unit("resolve"),
    }  # fmt: skip


def test_a_life_that_goes_on_from_an_earlier_one_has_no_week_before() -> None:
    unit = a_unit("public_events", year=2, week=1)
    last = UnitKey(year=1, week=3, stage="directory")
    assert events.needs(unit, a_board(NAMES)) == {last}
    past = {a_unit("resolve", week=3): {"units": {}}, a_unit("public_events", week=3): {"events": []}}
    assert events.needs(unit, a_board(NAMES, past)) == {last, *past}


def signed_up(open_events: list[Event], answer: Any, *, language: str = "en", short: bool = False):
    """Ann after her choice, the unit's facts, the model."""
    model = Model(lambda request: answer, language=language)
    state = an_agent("Ann")
    needed = {a_unit("public_events"): {"events": msgspec.to_builtins(open_events)}}
    desk = a_desk(model, settings=some_settings(short=short), world=a_world(language=language), clock=a_clock())
    facts = run_alone(signup.STAGE, a_job(a_unit("signup", "Ann"), [state], needed), desk)
    return apply(state, facts), facts, model


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("short", [True, False])
def test_an_agent_is_shown_what_is_open_to_it_and_chooses(language: str, short: bool) -> None:
    shown = [
        a_public_event(),
        a_public_event("Lecture", eligible=("Ann",), weeks=3),
        a_public_event("Ball", eligible=("Ben",)),
    ]
    after, facts, model = signed_up(shown, {"events": ["Lecture"]}, language=language, short=short)
    (prompt,) = model.prompts("Ann")
    assert "Fair" in prompt
    assert "Lecture" in prompt
    assert "Ball" not in prompt
    assert facts.outputs == {"events": ["Lecture"]}
    assert [(note.kind, note.text) for note in after.week_outputs] == [("signup", "Lecture")]


def test_nothing_is_asked_where_nothing_is_open() -> None:
    _, facts, model = signed_up([a_public_event(eligible=("Ben",))], {"events": []})
    assert facts.outputs == {"events": []}
    assert model.asked == []


def test_whoever_does_not_answer_goes_nowhere() -> None:
    after, facts, _ = signed_up([a_public_event()], "hm")
    assert facts.outputs == {"events": []}
    assert after.week_outputs == ()
