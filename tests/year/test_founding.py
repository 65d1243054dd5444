"""The founding: who enters the directory, which positions there are, and the judging before anything has happened."""

import msgspec

from sim.core.agent import Location
from sim.core.position_supply import shape_for
from tests.builders import a_position
from tests.week.days import Model
from tests.year.years import NAMES, found, some_agents


def test_the_directory_shows_the_public_side_of_everybody():
    lived = found(None, some_agents())
    directory = lived.outputs("directory", year=0)
    assert sorted(directory["cards"]) == sorted(NAMES) == sorted(directory["homes"])
    # born Y1994-W2-D1, and it is Y2024-W1: 29
    assert directory["cards"]["Ann"] == {
        "name": "Ann",
        "gender": "woman",
        "age": 29,
        "appearance": "Ann wears a green coat.",
        "position": "House/Role 0",
    }
    assert directory["homes"]["丁"]["name"] == "home/丁"
    assert directory["positions"] == lived.outputs("openings", year=0)["positions"]


def test_a_world_with_enough_positions_asks_nobody_for_more():
    model = Model()
    openings = found(model, some_agents()).outputs("openings", year=0)
    assert not model.prompts("", "openings")
    assert (openings["initial_count"], openings["rounds"]) == (6, 3)
    assert sum(position["capacity"] for position in openings["positions"]) <= shape_for(6).max_places


def test_missing_positions_are_asked_for_and_corrected():
    model = Model()
    states = some_agents(position=None)
    for name in ("Ann", "Ben"):
        states[name] = msgspec.structs.replace(states[name], position=a_position("House", "Keeper"))
    openings = found(model, states).outputs("openings", year=0)
    shape = shape_for(6)
    assert len(model.prompts("", "openings")) == 1
    assert shape.min_positions <= len(openings["positions"]) <= shape.max_positions
    assert shape.min_places <= sum(position["capacity"] for position in openings["positions"]) <= shape.max_places
    assert openings["positions"][0]["capacity"] == 2
    assert openings["initial_count"] == len(openings["positions"])
    assert all(0 <= position["weekly_income"] <= 500 for position in openings["positions"])


def test_without_a_usable_proposal_the_founding_completes():
    states = some_agents(position=a_position("House", "Keeper"))
    openings = found(Model(lambda request: "no" if request.duty == "openings" else None), states).outputs(
        "openings", year=0
    )
    keys = [f"{position['organization']}/{position['role']}" for position in openings["positions"]]
    # all six hold the one position: of nine places three are left for others
    assert keys == ["House/Keeper", "House/Keeper II", "House/Keeper III", "House/Keeper IV"]


def test_first_judging_asks_for_those_whom_one_knows():
    model = Model()
    lived = found(model, some_agents(("Ann", "Ben", "Cy")))
    assert sorted(lived.outputs("judging", "Ann", year=0)["scores"]) == ["Ben", "Cy"]
    (prompt,) = model.prompts("Ann", "judging")
    assert "The year is over" not in prompt
    assert "Nobody will ever see" in prompt


def test_who_knows_nobody_is_asked_nothing():
    model = Model()
    states = some_agents(("Ann",))
    lived = found(model, states)
    assert lived.outputs("judging", "Ann", year=0)["scores"] == {}
    assert model.prompts("Ann") == []


def test_an_agent_without_a_home_gets_one():
    nowhere = Location(name="home/Ann", size="home", description="", objects=())
    states = some_agents(("Ann", "Ben"))
    states["Ann"] = msgspec.structs.replace(states["Ann"], home=nowhere)
    lived = found(None, states)
    home = lived.outputs("directory", year=0)["homes"]["Ann"]
    assert home["name"] == "home/Ann"
    assert 4 <= len(home["objects"]) <= 6
    assert lived.states["Ann"].home == msgspec.convert(home, Location)
    # the other one's home is not touched
    assert lived.states["Ben"].home == states["Ben"].home


def test_where_no_home_can_be_made_a_plain_one_is_there():
    nowhere = Location(name="home/Ann", size="home", description="", objects=())
    states = some_agents(("Ann", "Ben"))
    states["Ann"] = msgspec.structs.replace(states["Ann"], home=nowhere)
    lived = found(Model(lambda request: "" if request.duty == "home" else None), states)
    assert "bed" in lived.states["Ann"].home.objects
