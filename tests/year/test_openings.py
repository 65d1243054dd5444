"""Yearly growth: how many positions come, and that calls stay within the length of an answer."""

import msgspec

from sim.core.agent import Position
from sim.settings import AnswerSettings, PromptSettings, SimSettings
from tests.builders import a_position
from tests.week.days import Model
from tests.year.years import a_year_desk, end_year, found, some_agents


def positions_of(lived, year=1):
    """The positions of a year as values."""
    return msgspec.convert(lived.outputs("openings", year=year)["positions"], list[Position])


def test_each_year_adds_positions_beyond_what_anybody_can_do():
    states = some_agents()
    founding = found(None, states)
    lived = end_year(None, states, founding=founding)
    before, after = positions_of(founding, year=0), positions_of(lived)
    assert after[: len(before)] == before
    new = after[len(before) :]
    assert len(new) == 2
    best = {"baking": 35, "law": 5}
    for position in new:
        assert 1 <= position.capacity <= 2
        assert all(level >= best.get(skill, 0) + 40 for skill, level in position.requirements.skills.items())
    assert lived.outputs("openings")["initial_count"] == len(before)


def test_growth_survives_an_environment_that_says_nothing():
    lived = end_year(Model(lambda request: "" if request.duty == "openings" else None), some_agents())
    new = positions_of(lived)[6:]
    assert [position.key for position in new] == ["House/Role 0 II", "House/Role 1 II"]


def test_many_positions_are_asked_for_in_several_calls():
    model = Model()
    settings = SimSettings(answers=AnswerSettings(long=330))
    found(model, some_agents(position=None), positions=[], settings=settings)
    asked = [
        request.output.schema["properties"]["positions"]["maxItems"] for request in model.asked if not request.agent
    ]
    assert asked == [3, 3]
    # the second call is told what the first brought
    first, second = model.prompts("", "openings")
    assert "- nothing" in first
    assert "- nothing" not in second


def test_weak_models_name_a_position_and_a_skill():
    model = Model()
    settings = SimSettings(prompts=PromptSettings(profile="short"))
    lived = found(model, some_agents(position=None), positions=[], settings=settings)
    item = model.asked[0].output.schema["properties"]["positions"]["items"]
    assert list(item["properties"]) == ["organization", "role", "skill"]
    assert item["properties"]["skill"]["enum"] == ["baking", "law"]
    assert {position.weekly_income for position in positions_of(lived, year=0)} == {300}


def test_a_world_that_has_positions_is_taken_as_it_is():
    own = [a_position("House", f"Role {number}") for number in range(6)]
    desk = a_year_desk(positions=own)
    assert desk.world.positions == tuple(own)
    assert [p.key for p in positions_of(found(None, some_agents(position=None), positions=own), year=0)] == [
        p.key for p in own
    ]


def test_a_skill_that_only_one_persons_feedback_named_is_told_to_nobody():
    states = some_agents()
    founding = found(None, states)
    best = {name: (msgspec.structs.replace(state, skills={**state.skills, "forging passports": 300.0}))
            for name, state in states.items()}  # fmt: skip
    model = Model(lambda request: "" if request.duty == "openings" else None)
    lived = end_year(model, best, founding=founding, world_of=states)
    prompts = [*model.prompts("", "openings"), *model.prompts("", "ranking")]
    assert any("baking" in prompt for prompt in prompts)
    assert not any("passports" in prompt for prompt in prompts)
    assert not any("passports" in skill for one in positions_of(lived) for skill in one.requirements.skills)
