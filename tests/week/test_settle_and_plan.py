"""Settlement and plan: the week's numbers by the specification, memory's windows, and what a standard does."""

import pytest

from sim.core.agent import AgentState, Message, Note
from sim.core.facts import UnitFacts, apply
from sim.core.keys import UnitKey
from sim.week import plan, settle
from tests.builders import a_board, a_clock, a_job, a_joint, a_position, a_slot, a_unit, an_agent
from tests.context.desks import a_desk, a_world
from tests.week.days import Model, some_settings
from tests.week.lived import run_alone

NAMES = ("Ann", "Ben", "Mara Voss")


def settled(state: AgentState, *, year: int = 1, week: int = 2) -> tuple[AgentState, UnitFacts]:
    """An agent after its settlement."""
    unit = a_unit("settle", state.name, year=year, week=week)
    facts = run_alone(settle.STAGE, a_job(unit, [state]), a_desk(clock=a_clock(n_year=3, n_week=4)))
    return apply(state, facts), facts


def planned(state: AgentState, answer, *, short: bool = False, language: str = "en"):
    """An agent after its plan, the unit's facts, and the model that was asked."""
    model = Model(lambda request: answer if request.duty == "plan" else None, language=language)
    desk = a_desk(model, settings=some_settings(short=short), world=a_world(language=language))
    facts = run_alone(plan.STAGE, a_job(a_unit("plan", state.name), [state]), desk)
    return apply(state, facts), facts, model


def test_a_settled_week_by_hand() -> None:
    state = an_agent(
        mood=80.0, material=60.0, social=40.0, esteem=20.0, deposit=100, extra_weekly_income=30,
        position=a_position(weekly_income=250, weekly_skill_gain={"baking": 3}), skills={"baking": 30.0, "sums": 5.0},
    )  # fmt: skip
    after, _ = settled(state)
    assert (after.mood, after.material, after.social, after.esteem) == (68.0, 60.0, 34.0, 17.0)
    assert after.deposit == 100 + 250 + 30
    assert after.skills == {"baking": 33.0, "sums": 5.0}
    assert after.vitality == state.vitality


def test_the_unemployed_get_their_income_and_learn_nothing() -> None:
    after, _ = settled(an_agent(position=None, deposit=0, skills={"baking": 30.0}))
    assert after.deposit == 100
    assert after.skills == {"baking": 30.0}


def test_a_new_week_clears_the_old_ones_short_memory() -> None:
    notes = [Note(year=1, week=week, kind="record", text=f"week {week}") for week in (1, 2, 3, 4)]
    messages = [Message(year=1, week=w, round=1, sender="Ben", to="Mara Voss", text=f"week {w}") for w in (1, 2, 3, 4)]
    state = an_agent(
        records=tuple(notes), messages=tuple(messages), refusals=("no",), applied=("x",),
        week_outputs=(Note(year=1, week=4, kind="plan", text="old"),),
        schedule=(a_joint("Past", slot=a_slot(1, 4, 2)), a_joint("Ahead", slot=a_slot(2, 1, 1))),
    )  # fmt: skip
    after, facts = settled(state, year=2, week=1)
    assert [note.text for note in after.records] == ["week 4"]
    assert [message.text for message in after.messages] == ["week 3", "week 4"]
    assert [activity.name for activity in after.schedule] == ["Ahead"]
    assert (after.refusals, after.week_outputs, after.applied) == ((), (), (str(facts.unit),))


def test_settlement_tells_whom_of_the_cast_the_agent_knows() -> None:
    _, facts = settled(an_agent("Mara Voss", knows=["Ben", "Stranger", "Ann"]))
    assert facts.outputs["knows"] == ["Ann", "Ben"]
    assert facts.outputs["recent"] == ["Ann", "Ben"]


def test_settlement_waits_for_the_agents_last_unit_only() -> None:
    board = a_board(NAMES)
    in_year = settle.needs(a_unit("settle", "Ann", week=2), board)
    assert in_year == {a_unit("cleanup", "Ann", week=1)}
    first = settle.needs(a_unit("settle", "Ann", week=1), board)
    assert first == {UnitKey(year=0, week=0, stage="judging", who="Ann")}
    second_year = settle.needs(a_unit("settle", "Ann", year=2, week=1), board)
    assert second_year == {UnitKey(year=1, week=3, stage="judging", who="Ann")}


@pytest.mark.parametrize(
    ("chosen", "deposit", "holds", "left", "material"),
    [
        ("luxurious", 900, "luxurious", 400, 60.0),
        ("comfortable", 300, "comfortable", 0, 55.0),
        ("luxurious", 310, "comfortable", 10, 55.0),
        ("frugal", 310, "frugal", 210, 45.0),
        ("moderate", 40, "frugal", 0, 45.0),
    ],
)
def test_a_standard_is_paid_at_once(chosen, deposit, holds, left, material) -> None:
    after, facts, _ = planned(an_agent("Ann", deposit=deposit), {"plan": "Rest.", "living_standard": chosen})
    assert (after.living_standard, after.deposit, after.material) == (holds, left, material)
    assert facts.outputs == {"standard": holds}
    assert [(note.kind, note.text) for note in after.week_outputs] == [("plan", "Rest.")]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_standard_beyond_ones_means_is_told_and_not_trained_on(language) -> None:
    answer = {"plan": "Feast.", "living_standard": "luxurious"}
    after, facts, _ = planned(an_agent("Ann", deposit=310), answer, language=language)
    (refusal,) = after.refusals
    assert refusal.startswith("Action: living_standard luxurious\nError: ")
    assert "comfortable" in refusal
    assert [verdict.drop for verdict in facts.verdicts] == ["invalid_action"]


def test_who_can_pay_nothing_is_told_but_did_nothing_wrong() -> None:
    after, facts, _ = planned(an_agent("Ann", deposit=40), {"plan": "Save.", "living_standard": "frugal"})
    assert len(after.refusals) == 1
    assert [verdict.drop for verdict in facts.verdicts] == [""]


def test_without_a_usable_answer_life_goes_on_as_before() -> None:
    after, facts, model = planned(an_agent("Ann", deposit=900, living_standard="comfortable"), "no json")
    assert (after.living_standard, after.deposit) == ("comfortable", 600)
    assert after.week_outputs == ()
    assert len(model.asked) == 3
    assert {verdict.drop for verdict in facts.verdicts} == {"malformed"}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("short", [True, False])
def test_the_prompt_names_the_standards_and_their_price(language, short) -> None:
    _, _, model = planned(an_agent("Ann"), {"plan": "x", "living_standard": "frugal"}, short=short, language=language)
    (prompt,) = model.prompts("Ann")
    assert all(word in prompt for word in ("frugal", "moderate", "comfortable", "luxurious", "300", "500", "Y1-W1"))
