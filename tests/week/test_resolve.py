"""The resolved week: every agent has one unit a day, the units agree, the idle are paired, the agenda takes it in."""

from typing import Any

import msgspec
import pytest

from sim.core.agent import Activity, Message
from sim.core.facts import UnitFacts, apply
from sim.core.keys import UnitKey, parse_unit
from sim.environment.public_events import Event
from sim.settings import EconomySettings
from sim.week import acquaintance, agenda, resolve
from tests.builders import a_board, a_clock, a_job, a_slot, a_unit, an_agent
from tests.context.desks import a_desk, a_world
from tests.week.lived import run_alone

NAMES = ("Ann", "Ben", "Cleo", "Dora", "Eli", "Fay")
CLOCK = a_clock(n_year=1, n_week=2, n_day=2, n_contact=1)
CHESS = {
    "activity": "Chess", "proposer": "Ben", "slot": {"year": 1, "week": 1, "day": 1}, "location": "Courtyard",
    "description": "A game.", "invited": ["Ann", "Cleo"], "required": [], "round": 1,
}  # fmt: skip
FAIR = Event(name="Fair", description="x", day=2, start=1, weeks=1, eligible="all", location="Roof")


def contact_of(**fields: Any) -> dict[str, Any]:
    empty = {"for": {}, "wrote_to": [], "proposals": [], "responses": [], "cancellations": [], "schedule": []}
    return {**empty, **fields}


def yes(name: str, activity: str = "Chess", proposer: str = "Ben") -> dict[str, Any]:
    return {"activity": activity, "proposer": proposer, "from": name, "decision": "yes", "round": 1}


def resolved(
    contacts: dict[str, dict[str, Any]] | None = None, signups: dict[str, list[str]] | None = None,
    recent: dict[str, list[str]] | None = None, *, language: str = "en", share: int = 5,
) -> UnitFacts:  # fmt: skip
    """A resolution in which only what is given was said."""
    needed: dict[UnitKey, dict[str, Any]] = {
        a_unit("acquaintance"): {"for": {}},
        a_unit("public_events"): {"events": msgspec.to_builtins([FAIR])},
    }
    for name in NAMES:
        needed[a_unit("settle", name)] = {"knows": [], "recent": (recent or {}).get(name, [])}
        needed[a_unit("signup", name)] = {"events": (signups or {}).get(name, [])}
        needed[a_unit("contact", name, index=1)] = contact_of(**(contacts or {}).get(name, {}))
    desk = a_desk(world=a_world(language=language), names=NAMES, clock=CLOCK)
    settings = desk.settings.model_copy(update={"economy": EconomySettings(encounter_share=share)})
    desk = a_desk(world=a_world(language=language), names=NAMES, clock=CLOCK, settings=settings)
    return run_alone(resolve.STAGE, a_job(a_unit("resolve"), needed=needed), desk)


def test_every_agent_has_one_unit_a_day_and_all_units_agree() -> None:
    contacts = {"Ben": {"proposals": [CHESS]}, "Ann": {"responses": [yes("Ann")]}}
    outputs = resolved(contacts, {"Dora": ["Fair"], "Eli": ["Fair"]}).outputs
    units = outputs["units"]
    for name in NAMES:
        mine = outputs["for"][name]
        assert len(mine["days"]) == len(mine["activities"]) == CLOCK.n_day
        for day, (key, activity) in enumerate(zip(mine["days"], mine["activities"], strict=True), start=1):
            assert parse_unit(key).index == day
            assert name in units[key]["participants"]
            assert units[key]["activity"] == activity
    joint = [key for key in units if parse_unit(key).stage == "joint"]
    assert joint == ["Y1-W1/joint.1/Ann"]
    assert units[joint[0]]["participants"] == ["Ann", "Ben"]
    public = sorted(key for key in units if parse_unit(key).stage.startswith("public"))
    assert public == [f"Y1-W1/public_{half}.2/{name}" for half in ("act", "meet") for name in ("Dora", "Eli")]
    assert units["Y1-W1/public_act.2/Dora"]["activity"]["participants"] == ["Dora", "Eli"]


def test_only_the_idle_meet_by_chance_at_a_public_place_and_each_pair_once_a_week() -> None:
    contacts = {"Ben": {"proposals": [CHESS]}, "Ann": {"responses": [yes("Ann")]}}
    outputs = resolved(contacts, recent={name: list(NAMES) for name in NAMES}, share=2).outputs
    encounters = [entry for key, entry in outputs["units"].items() if parse_unit(key).stage == "encounter"]
    first_day = [entry for entry in encounters if entry["activity"]["slot"]["day"] == 1]
    assert len(first_day) == 2
    assert not {"Ann", "Ben"} & {name for entry in first_day for name in entry["participants"]}
    pairs = [tuple(entry["participants"]) for entry in encounters]
    assert all(len(pair) == 2 for pair in pairs)
    assert len(set(pairs)) == len(pairs)
    assert {entry["activity"]["location"] for entry in encounters} <= {"Courtyard", "Roof"}


def test_encounters_stand_in_no_calendar() -> None:
    outputs = resolved(share=2).outputs
    assert [activity for name in NAMES for activity in outputs["for"][name]["activities"] if activity]
    assert not [activity for name in NAMES for activity in outputs["for"][name]["scheduled"]]


def test_the_order_of_the_cast_and_of_the_needed_units_is_nothing() -> None:
    contacts = {"Ben": {"proposals": [CHESS]}, "Ann": {"responses": [yes("Ann")]}}
    assert resolved(contacts) == resolved(dict(reversed(contacts.items())))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_agenda_takes_in_messages_notices_and_the_calendar(language: str) -> None:
    planned = Activity(
        kind="joint", name="Dinner", slot=a_slot(1, 1, 2), location="Roof", participants=("Ann", "Cleo"), proposer="Ann"
    )
    last_word = Message(year=1, week=1, round=1, sender="Fay", to="Cleo", text="Last word")
    contacts = {
        "Ann": {
            "schedule": msgspec.to_builtins([planned]),
            "cancellations": [{"activity": "Dinner", "proposer": "Ann", "round": 1}],
        },
        "Ben": {"proposals": [CHESS]},
        "Cleo": {"responses": [yes("Cleo")], "schedule": msgspec.to_builtins([planned])},
        "Dora": {"proposals": [{**CHESS, "activity": "Tea", "proposer": "Dora", "invited": ["Cleo"]}]},
        "Fay": {"for": {"Cleo": [msgspec.to_builtins(last_word)]}},
    }
    contacts["Cleo"]["responses"].append(yes("Cleo", "Tea", "Dora"))
    facts = resolved(contacts, {"Cleo": ["Fair"]}, language=language)
    state = an_agent("Cleo", knows=["Ann"], schedule=(planned,))
    unit = a_unit("agenda", "Cleo")
    needed = {a_unit("resolve"): facts.outputs, a_unit("contact", "Cleo", index=1): contact_of()}
    desk = a_desk(world=a_world(language=language), names=NAMES, clock=CLOCK)
    after = apply(state, run_alone(agenda.STAGE, a_job(unit, [state], needed), desk))
    assert [(activity.kind, activity.name) for activity in after.schedule] == [("joint", "Chess"), ("public", "Fair")]
    assert [(message.kind, message.sender) for message in after.messages] == [("message", "Fay"), ("notice", "")]
    assert "Tea" in after.messages[1].text
    assert "Chess" in after.messages[1].text
    assert after.knows() == ("Ann", "Fay")
    assert after.met["Fay"] > after.met["Ann"]


def test_what_the_resolution_waits_for() -> None:
    board = a_board(NAMES, n_contact=3)
    needs = resolve.needs(a_unit("resolve"), board)
    assert {a_unit("contact", name, index=number) for name in NAMES for number in (1, 2, 3)} <= needs
    assert {a_unit("signup", name) for name in NAMES} <= needs
    assert {a_unit("acquaintance"), a_unit("public_events")} <= needs


@pytest.mark.parametrize(("week", "follows"), [(1, True), (2, False)])
def test_what_the_resolution_brings_into_being(week: int, follows: bool) -> None:
    unit = a_unit("resolve", week=week)
    days = {f"Y1-W{week}/solo.1/Ann": {}, f"Y1-W{week}/public_act.1/Ben": {}, f"Y1-W{week}/public_meet.1/Ben": {}}
    board = a_board(NAMES, {unit: {"units": days}}, n_week=2)
    units = resolve.successors(unit, board)
    assert {a_unit("agenda", name, week=week) for name in NAMES} <= set(units)
    assert {parse_unit(key) for key in days} <= set(units)
    assert (a_unit("resolve", week=week + 1) in units) is follows
    assert (a_unit("public_events", week=week + 1) in units) is follows


def test_acquaintance_turns_knowing_round() -> None:
    knows = {"Ann": ["Ben", "Cleo"], "Ben": ["Cleo"], "Cleo": [], "Dora": [], "Eli": [], "Fay": ["Ann"]}
    needed = {a_unit("settle", name): {"knows": knows[name], "recent": []} for name in NAMES}
    desk = a_desk(names=NAMES, clock=CLOCK)
    outputs = run_alone(acquaintance.STAGE, a_job(a_unit("acquaintance"), needed=needed), desk).outputs
    assert outputs["for"] == {
        "Ann": ["Fay"], "Ben": ["Ann"], "Cleo": ["Ann", "Ben"], "Dora": [], "Eli": [], "Fay": [],
    }  # fmt: skip
