"""A whole year's end with the scripted model: complete, inside its limits, the same in any order, in both languages."""

import msgspec
import pytest

from sim.core.agent import Position
from sim.core.vacancies import meets
from sim.llm.scripted import Scripted
from sim.llm.scripted_faults import Faults
from sim.settings import AnswerSettings, BudgetSettings, PromptSettings, SimSettings
from tests.builders import a_position
from tests.week.days import Model
from tests.year.years import NAMES, end_year, some_agents

SHORT = SimSettings(
    prompts=PromptSettings(profile="short", tools="none"),
    answers=AnswerSettings(long=160, medium=120, short=80, text_chars=160),
    budgets=BudgetSettings(
        context=2048, head=450, profile=250, memory=160, memory_people=8, diaries=120, stage=600, history=260
    ),
)
POSITIONS = [
    *(a_position("House", f"Role {number}", capacity=2) for number in range(6)),
    a_position("Bakery", "Baker", capacity=1, weekly_income=400),
    a_position("Bakery", "Helper", capacity=1, weekly_income=150),
]


@pytest.mark.parametrize("settings", [SimSettings(), SHORT], ids=["full", "short"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_everybody_gets_a_position_a_judging_and_a_reward(settings, language):
    states = some_agents()
    lived = end_year(None, states, settings=settings, language=language, positions=POSITIONS)
    rewards = lived.outputs("life_reward")
    assert sorted(rewards["rewards"]) == sorted(rewards["baseline"]) == sorted(NAMES)
    assert sum(reward["reward"] for reward in rewards["rewards"].values()) == pytest.approx(0, abs=1e-9)
    directory = lived.outputs("directory")
    for name, state in lived.states.items():
        assert directory["cards"][name]["position"] == (state.position.key if state.position else "")
        assert state.snapshots == ()
        assert state.deposit_at_year_start == state.deposit == states[name].deposit


def test_capacity_and_requirements_hold_after_the_matching():
    lived = end_year(None, some_agents(), positions=POSITIONS)
    positions = msgspec.convert(lived.outputs("openings")["positions"], list[Position])
    held = [state.position.key for state in lived.states.values() if state.position]
    assert all(held.count(position.key) <= position.capacity for position in positions)
    for name, state in lived.states.items():
        wished = lived.outputs("wishes", name)
        if state.position and state.position.key != wished["position"]:
            assert state.position.key in wished["wishes"]
            assert meets(state.position, age=wished["age"], skills=wished["skills"])


def test_the_order_of_starting_never_matters():
    states = some_agents()
    free = end_year(None, states, positions=POSITIONS)
    one_by_one = end_year(None, states, positions=POSITIONS, max_in_flight=1)
    with_barriers = end_year(None, states, positions=POSITIONS, barriers=True)
    assert free.facts == one_by_one.facts == with_barriers.facts
    assert free.states == one_by_one.states == with_barriers.states


def test_bad_answers_never_stop_the_year():
    faulty = Scripted(faults=Faults(malformed=0.5, empty=0.15, truncated=0.15))
    lived = end_year(faulty, some_agents(), positions=POSITIONS)
    assert sorted(lived.outputs("life_reward")["rewards"]) == sorted(NAMES)
    verdicts = [verdict for facts in lived.facts.values() for verdict in facts.verdicts]
    assert {verdict.drop for verdict in verdicts} >= {"malformed", "empty", "truncated", ""}


def test_a_model_that_says_nothing_leaves_everything_as_it_was():
    states = some_agents()
    lived = end_year(Model(lambda request: ""), states, positions=POSITIONS)
    for name, state in lived.states.items():
        assert state.profile == states[name].profile
        assert state.position == states[name].position
        assert set(lived.outputs("judging", name)["scores"]) == set(states[name].knows())
        assert all(
            pair == {"affection": None, "respect": None} for pair in lived.outputs("judging", name)["scores"].values()
        )
    rewards = lived.outputs("life_reward")["rewards"].values()
    assert all(reward["social"] == reward["z_social"] == 0 for reward in rewards)


@pytest.mark.parametrize("names", [("Ann",), ("Ann", "Ben")])
def test_the_smallest_worlds_have_a_year_end(names):
    lived = end_year(None, some_agents(names))
    rewards = lived.outputs("life_reward")["rewards"]
    assert sorted(rewards) == sorted(names)
    if len(names) == 1:
        assert (rewards["Ann"]["social"], rewards["Ann"]["reward"]) == (0, 0)
