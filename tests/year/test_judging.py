"""The private judging: who is asked about, in how many calls, and what becomes of answers that fail."""

import asyncio
import json

import msgspec
import pytest

from sim.core.facts import YearBegan, apply
from sim.llm.protocol import Request
from sim.settings import AnswerSettings, BudgetSettings, LimitSettings, PromptSettings, SimSettings
from sim.year import judging
from tests.builders import a_job, a_unit, an_agent
from tests.week.days import Model, card
from tests.year.years import a_snapshot, a_year_desk

CROWD = [f"Neighbour {number:02}" for number in range(30)]
PLAIN = SimSettings(prompts=PromptSettings(tools="none"))


def judge(model, *, knows, cast=(), settings=PLAIN, year=1, **fields):
    """One agent's judging: its facts."""
    state = an_agent("Ann", knows=knows, **fields)
    names = sorted({"Ann", *cast})
    desk = a_year_desk(model, states={name: an_agent(name) for name in names}, settings=settings)
    week = 2 if year else 0
    directory = {"cards": {name: card(name) for name in names}, "homes": {}, "positions": []}
    unit = a_unit("judging", "Ann", year=year, week=week)
    needed = {a_unit("directory", year=year, week=week): directory}
    return asyncio.run(judging.run(a_job(unit, [state], needed), desk)), state


def asked_names(request: Request) -> list[str]:
    """Whom a judging call asks about."""
    return list(request.output.schema["properties"])


def test_the_most_recently_related_are_asked_about_and_nobody_outside_the_cast():
    model = Model()
    facts, _ = judge(model, knows=[*CROWD, "A ghost"], cast=CROWD)
    # Met grows with the order of `knows`: the last twenty of the cast
    assert sorted(facts.outputs["scores"]) == CROWD[-20:]
    assert [name for request in model.asked for name in asked_names(request)] == CROWD[-20:][::-1]
    assert [len(asked_names(request)) for request in model.asked] == [8, 8, 4]


def test_short_answers_mean_more_calls_with_fewer_people():
    model = Model()
    settings = SimSettings(answers=AnswerSettings(medium=80), limits=LimitSettings(rated_people=7))
    judge(model, knows=CROWD, cast=CROWD, settings=settings)
    assert [len(asked_names(request)) for request in model.asked] == [3, 3, 1]


def test_nobody_is_asked_about_without_being_shown():
    model = Model()
    settings = SimSettings(prompts=PromptSettings(tools="none", profile="short"), budgets=BudgetSettings(stage=440))
    crowd = [f"{number:02} of a family with a very long and winding name" for number in range(12)]
    judge(model, knows=crowd, cast=crowd, settings=settings)
    for request in model.asked:
        shown = request.messages[1].text.split("The people:")[1].split("Answer with one")[0]
        assert all(f"- {name} (" in shown for name in asked_names(request))
    assert sorted(name for request in model.asked for name in asked_names(request)) == crowd
    assert len(model.asked) > 2


def test_scores_are_taken_as_given():
    answer = {"Ben": {"affection": 0, "respect": 100}, "Cy": {"affection": 55, "respect": 7}}
    facts, _ = judge(Model(lambda request: answer), knows=["Cy", "Ben"], cast=["Ben", "Cy"])
    assert facts.outputs["scores"] == answer


@pytest.mark.parametrize(
    "answer",
    [
        "I like them all.",
        {"Ben": {"affection": 101, "respect": 5}, "Cy": {"affection": 5, "respect": 5}},
        {"Ben": {"affection": True, "respect": 5}, "Cy": {"affection": 5, "respect": 5}},
        {"Ben": {"affection": 50, "respect": 5}},
        {"Ben": {"affection": 50, "respect": 5}, "Cy": {"affection": 1, "respect": 2}, "Zoe": {"affection": 1}},
    ],
    ids=["prose", "out of range", "no number", "somebody missing", "a stranger"],
)
def test_an_invalid_answer_is_missing_and_never_zero(answer):
    model = Model(lambda request: answer)
    facts, _ = judge(model, knows=["Cy", "Ben"], cast=["Ben", "Cy"])
    missing = {"affection": None, "respect": None}
    assert facts.outputs["scores"] == {"Ben": missing, "Cy": missing}
    assert len(model.asked) == 3
    assert {verdict.status for verdict in facts.verdicts} == {"failed", "fallback"}


def test_one_failed_call_costs_only_its_own_people():
    def answer(request):
        return "no" if "Neighbour 29" in asked_names(request) else None

    facts, _ = judge(Model(answer), knows=CROWD, cast=CROWD)
    missing = [name for name, pair in facts.outputs["scores"].items() if pair["affection"] is None]
    assert missing == CROWD[-8:]


def test_the_year_is_handed_over_and_a_new_one_begins():
    snapshots = (a_snapshot(1, mood=40.0), a_snapshot(2, mood=45.0))
    facts, state = judge(None, knows=["Ben"], cast=["Ben"], snapshots=snapshots, deposit=700, deposit_at_year_start=450)
    assert msgspec.convert(facts.outputs["snapshots"], list[type(snapshots[0])]) == list(snapshots)
    assert (facts.outputs["deposit_start"], facts.outputs["deposit_end"]) == (450, 700)
    assert facts.by_agent["Ann"][-1] == YearBegan()
    after = apply(state, facts)
    assert (after.snapshots, after.deposit_at_year_start) == ((), 700)


def test_the_prompt_names_the_anchors_and_promises_secrecy():
    model = Model()
    judge(model, knows=["Ben"], cast=["Ben"])
    (prompt,) = model.prompts("Ann", "judging")
    for anchor in ("10 extreme dislike", "30 dislike", "50 neutral", "70 like", "90 deep", "40 and 60"):
        assert anchor in prompt
    assert "Nobody will ever see" in prompt
    assert "Ben has a red scarf" in prompt
    assert "Knows Ben" in prompt


def test_every_attempt_has_a_key_of_its_own():
    model = Model(lambda request: "no")
    facts, _ = judge(model, knows=CROWD, cast=CROWD)
    keys = [request.key for request in model.asked]
    assert len(set(keys)) == len(keys) == 9
    assert sorted(verdict.key for verdict in facts.verdicts) == sorted(keys)
    assert json.dumps(facts.outputs)
