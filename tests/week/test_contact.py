"""Contact rounds: who reads what when, what is refused, what stands open, and that no message reaches anybody else."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from sim.core.agent import AgentState
from sim.core.keys import UnitKey
from sim.llm.protocol import Request
from sim.settings import LimitSettings
from sim.week import contact
from tests.builders import a_board, a_clock, a_joint, a_slot, a_unit, an_agent
from tests.context.desks import a_desk, a_world
from tests.week.days import Model, some_settings
from tests.week.lived import Household, live_weeks

Said = Mapping[tuple[int, int, str], list[dict[str, Any]] | str]
"""What agents do: by week, round and agent."""

CAST = {"Ann": ("Ben",), "Ben": ("Ann", "Cleo"), "Cleo": ("Ben",), "Dora": ()}
PLAN = {"plan": "Rest.", "living_standard": "frugal"}


def invite(*people: str, name: str = "Chess", day: int = 1, week: int = 1, **fields: Any) -> dict[str, Any]:
    values = {"proposal": "A game.", "location": "Courtyard", "message": "Come!", "invited_persons": list(people)}
    action = {"action": "propose_joint_activity", "activity_name": name, "time": f"Y1-W{week}-activity-D{day}"}
    return {**action, **values, **fields}


def answer(decision: str, name: str = "Chess", to: str = "Ann") -> dict[str, Any]:
    return {"action": "respond_invitation", "activity_name": name, "to": to, "decision": decision, "message": ""}


def write(to: str, message: str = "Hello.") -> dict[str, Any]:
    return {"action": "contact", "to": to, "message": message}


def lived(said: Said, *, cast: Mapping[str, tuple[str, ...]] | None = None, n_week: int = 1, n_contact: int = 3,
          states: list[AgentState] | None = None, **fields: Any) -> tuple[Household, Model]:  # fmt: skip
    """Weeks in which only what is given is said."""

    def respond(request: Request) -> Any:
        if request.duty == "contact":
            unit = request.unit.split("/")
            week, number = int(unit[0].split("-W")[1]), int(unit[1].removeprefix("contact."))
            actions = said.get((week, number, request.agent), [])
            if isinstance(actions, str):
                return actions
            return "Hm. " + "".join(f"<role_action>{json.dumps(action)}</role_action>" for action in actions)
        return {"plan": PLAN, "public_events": {"events": []}}.get(request.duty)

    cast = cast or CAST
    model = Model(respond, language=fields.get("language", "en"))
    people = states or [an_agent(name, knows=cast[name]) for name in sorted(cast)]
    settings = some_settings(short=fields.get("short", False))
    settings = settings.model_copy(update={"limits": LimitSettings(turns_min=1, turns_max=1, actions_per_round=3)})
    clock = a_clock(n_year=1, n_week=n_week, n_day=2, n_contact=n_contact)
    world = a_world(language=fields.get("language", "en"))
    desk = a_desk(model, settings=settings, world=world, names=tuple(sorted(cast)), clock=clock)
    return live_weeks(desk, people), model


def state_after(house: Household, name: str) -> AgentState:
    return house.residents.state(name)


def activities(house: Household, week: int = 1) -> dict[str, list[str]]:
    """What everybody did with others on the week's days, encounters left out."""
    resolved = house.facts[a_unit("resolve", week=week)].outputs["for"]
    return {
        name: [a["name"] if a and a["kind"] != "encounter" else "" for a in resolved[name]["activities"]]
        for name in sorted(resolved)
    }


def contact_prompt(model: Model, agent: str, number: int, week: int = 1) -> str:
    unit = str(a_unit("contact", agent, index=number, week=week))
    return next(r.messages[1].text for r in model.asked if r.unit == unit and r.duty == "contact")


def test_an_accepted_invitation_becomes_a_joint_activity() -> None:
    house, model = lived({(1, 1, "Ann"): [invite("Ben", "Ben")], (1, 2, "Ben"): [answer("yes")]})
    assert activities(house) == {"Ann": ["Chess", ""], "Ben": ["Chess", ""], "Cleo": ["", ""], "Dora": ["", ""]}
    assert a_unit("joint", "Ann", index=1) in house.facts
    assert "Chess" in contact_prompt(model, "Ben", 2)
    assert "Your answer so far: yes" in contact_prompt(model, "Ben", 3)
    assert "Ben yes" in contact_prompt(model, "Ann", 3)


def test_messages_are_read_in_the_next_round_and_the_last_ones_before_the_days() -> None:
    house, model = lived({(1, 1, "Ann"): [write("Ben", "First word")], (1, 3, "Ben"): [write("Ann", "Last word")]})
    assert "First word" not in contact_prompt(model, "Ben", 1)
    assert "First word" in contact_prompt(model, "Ben", 2)
    heard = [(message.sender, message.to, message.text) for message in state_after(house, "Ann").messages]
    assert ("Ann", "Ben", "First word") in heard
    assert ("Ben", "Ann", "Last word") in heard


def test_a_message_reaches_only_its_receiver() -> None:
    secret = "marmalade-under-the-floor"
    _, model = lived({(1, 1, "Ann"): [write("Ben", secret)]})
    seen_by = {request.agent for request in model.asked if any(secret in m.text for m in request.messages)}
    assert seen_by == {"Ann", "Ben"}


def test_writing_to_somebody_makes_one_known_and_answers_possible() -> None:
    cast = {"Ann": ("Zoe",), "Zoe": (), "Ben": ()}
    house, model = lived({(1, 1, "Ann"): [write("Zoe")], (1, 2, "Zoe"): [write("Ann", "Who are you?")]}, cast=cast)
    assert "Ann" in state_after(house, "Zoe").knows()
    assert "Got to know Ann in Y1-W1" in state_after(house, "Zoe").files["characters/Ann.txt"].text
    assert "Who are you?" in contact_prompt(model, "Ann", 3)
    assert state_after(house, "Ben").knows() == ()


def test_who_knows_nobody_is_asked_nothing() -> None:
    _, model = lived({}, cast={"Ann": (), "Ben": ()})
    assert not [request for request in model.asked if request.duty == "contact"]


@pytest.mark.parametrize(
    ("action", "named", "reason"),
    [
        (write("Benn"), '"Benn"', "invalid_action"),
        (write("Dora"), '"Dora"', "invalid_action"),
        (invite("Ben", location="home/Ben"), "home/Ann", "invalid_action"),
        (invite("Ben", location="Cellar"), "Courtyard", "invalid_action"),
        (invite("Ben", week=9), "Y1-W1-activity-D1 to Y1-W1-activity-D2", "invalid_action"),
        (answer("yes", name="Tea", to="Ben"), "no open invitation", "invalid_action"),
        ({"action": "cancel_joint_activity", "activity_name": "Tea"}, "nothing that could be called off",
         "invalid_action"),
        ({"action": "contact", "to": "Ben"}, '"message"', "malformed_action"),
        ({"to": "Ben", "message": "Hi"}, "contact", "malformed_action"),
    ],
)  # fmt: skip
def test_what_is_refused_is_told_next_time_and_not_delivered(action, named, reason) -> None:
    house, model = lived({(1, 1, "Ann"): [action, write("Ben", "All the same")]})
    prompt = contact_prompt(model, "Ann", 2)
    assert "Action: {" in prompt
    assert named in prompt
    assert "Error: " not in contact_prompt(model, "Ann", 3)
    first = house.facts[a_unit("contact", "Ann", index=1)]
    assert [verdict.drop for verdict in first.verdicts] == [reason]
    assert first.outputs["wrote_to"] == ["Ben"]
    assert [message["text"] for message in first.outputs["for"]["Ben"]] == ["All the same"]


def test_actions_beyond_the_limit_are_dropped_with_an_error() -> None:
    house, model = lived({(1, 1, "Ann"): [write("Ben", f"number {n}") for n in range(5)]})
    first = house.facts[a_unit("contact", "Ann", index=1)]
    assert len(first.outputs["for"]["Ben"]) == 3
    assert contact_prompt(model, "Ann", 2).count("at most 3 actions in one answer") == 2


def test_an_unreadable_answer_does_not_stop_the_week() -> None:
    house, model = lived({(1, 1, "Ann"): "<role_action>oh</role_action>", (1, 2, "Ann"): "   "})
    assert "oh" in contact_prompt(model, "Ann", 2)
    assert len(house.of("cleanup")) == 4


def test_a_cancelled_proposal_is_told_and_void() -> None:
    cancel = {"action": "cancel_joint_activity", "activity_name": "Chess", "message": "I am ill"}
    house, model = lived({(1, 1, "Ann"): [invite("Ben")], (1, 2, "Ben"): [answer("yes")], (1, 2, "Ann"): [cancel]})
    assert activities(house)["Ben"] == ["", ""]
    assert "I am ill" in contact_prompt(model, "Ben", 3)
    assert "Open invitations" not in contact_prompt(model, "Ben", 3)


def test_an_activity_of_a_coming_week_stands_until_its_proposer_calls_it_off() -> None:
    cancel = {"action": "cancel_joint_activity", "activity_name": "Chess", "message": "Sorry"}
    said = {(1, 1, "Ann"): [invite("Ben", week=2)], (1, 2, "Ben"): [answer("yes")]}
    house, _ = lived(said, n_week=2)
    assert activities(house, 1)["Ben"] == ["", ""]
    assert activities(house, 2)["Ben"] == activities(house, 2)["Ann"] == ["Chess", ""]
    house, _ = lived({**said, (2, 3, "Ann"): [cancel]}, n_week=2)
    assert activities(house, 2)["Ben"] == activities(house, 2)["Ann"] == ["", ""]
    assert "Sorry" in [message.text for message in state_after(house, "Ben").messages]
    assert not [a for a in state_after(house, "Ben").schedule if a.name == "Chess"]


def test_the_calendar_tells_why_something_does_not_take_place() -> None:
    said = {
        (1, 1, "Ann"): [invite("Ben")],
        (1, 1, "Cleo"): [invite("Ben", name="Tea")],
        (1, 2, "Ben"): [answer("yes"), answer("yes", name="Tea", to="Cleo")],
    }
    house, _ = lived(said)
    notices = {
        name: [m.text for m in state_after(house, name).messages if m.kind == "notice"]
        for name in ("Ann", "Ben", "Cleo")
    }
    assert activities(house)["Ben"] == ["Chess", ""]
    assert notices["Ann"] == []
    assert "Chess comes first" in notices["Ben"][0]
    assert "nobody who was invited comes" in notices["Cleo"][0]


def test_confirmed_activities_lead_to_the_last_rounds_calendar() -> None:
    planned = a_joint("Dinner", slot=a_slot(1, 1, 2), participants=("Ann", "Ben"), proposer="Ben")
    states = [an_agent(name, knows=CAST[name]) for name in sorted(CAST)]
    states = [
        an_agent(s.name, knows=CAST[s.name], schedule=(planned,)) if s.name in ("Ann", "Ben") else s for s in states
    ]
    house, _ = lived({}, states=states)
    last = house.facts[a_unit("contact", "Ann", index=3)].outputs
    assert [activity["name"] for activity in last["schedule"]] == ["Dinner"]
    assert "schedule" not in house.facts[a_unit("contact", "Ann", index=2)].outputs
    assert activities(house)["Ann"] == activities(house)["Ben"] == ["", "Dinner"]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("short", [True, False])
def test_the_prompt_in_each_language_and_profile(language: str, short: bool) -> None:
    _, model = lived({(1, 1, "Ann"): [invite("Ben"), write("Ben", "By the way")]}, language=language, short=short)
    prompt = contact_prompt(model, "Ben", 2)
    assert all(word in prompt for word in ("By the way", "Chess", "Cleo", "Courtyard", "home/Ben", "<role_action>"))
    assert "\n\n\n" not in prompt


def test_a_round_waits_for_those_who_could_have_written_and_nobody_else() -> None:
    names = ("Ann", "Ben", "Cleo", "Dora")
    directory = UnitKey(year=0, week=0, stage="directory")
    unit = a_unit("contact", "Ann", index=2)
    own, acquaintance = a_unit("contact", "Ann", index=1), a_unit("acquaintance")
    board = a_board(names, {directory: {}})
    assert contact.needs(unit, board) == {own, acquaintance, directory}
    board.put(own, {"wrote_to": ["Cleo"], "for": {"Cleo": []}})
    board.put(acquaintance, {"for": {"Ann": ["Ben"], "Dora": ["Ann"]}})
    assert contact.needs(unit, board) == {
        own, acquaintance, directory, a_unit("contact", "Ben", index=1), a_unit("contact", "Cleo", index=1),
    }  # fmt: skip


def test_a_later_round_also_gets_what_was_written_to_it_earlier() -> None:
    names = ("Ann", "Ben", "Cleo")
    done: dict[UnitKey, dict[str, Any]] = {
        UnitKey(year=0, week=0, stage="directory"): {},
        a_unit("acquaintance"): {"for": {"Ann": ["Ben", "Cleo"]}},
        a_unit("contact", "Ann", index=1): {"wrote_to": [], "for": {}},
        a_unit("contact", "Ann", index=2): {"wrote_to": [], "for": {}},
        a_unit("contact", "Ben", index=1): {"wrote_to": ["Ann"], "for": {"Ann": [{}]}},
        a_unit("contact", "Cleo", index=1): {"wrote_to": ["Ben"], "for": {"Ben": [{}]}},
    }
    needs = contact.needs(a_unit("contact", "Ann", index=3), a_board(names, done))
    rounds = sorted((key.index, key.who) for key in needs if key.stage == "contact")
    assert rounds == [(1, "Ann"), (1, "Ben"), (2, "Ann"), (2, "Ben"), (2, "Cleo")]
