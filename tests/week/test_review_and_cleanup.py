"""The week's end: diary, memory files, folding, what is discarded, and the numbers that are taken."""

import json
from typing import Any

import pytest

from sim.core.agent import AgentState, Note
from sim.core.facts import apply
from sim.core.keys import UnitKey
from sim.llm.protocol import Request
from sim.settings import LimitSettings, PromptSettings, SimSettings
from sim.week import cleanup, review
from tests.builders import a_board, a_job, a_unit, an_agent, an_item
from tests.context.desks import a_desk, a_world
from tests.week.days import Model, some_settings
from tests.week.lived import run_alone


def reviewed(state: AgentState, answer: Any, *, settings: SimSettings | None = None, language: str = "en"):
    """An agent after its review, the unit's facts, the model."""
    model = Model(answer if callable(answer) else lambda request: answer, language=language)
    desk = a_desk(model, settings=settings or some_settings(), world=a_world(language=language))
    facts = run_alone(review.STAGE, a_job(a_unit("review", state.name), [state]), desk)
    return apply(state, facts), facts, model


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("short", [True, False])
def test_the_diary_is_kept(language: str, short: bool) -> None:
    state = an_agent("Ann", records=(Note(year=1, week=1, day=1, kind="record", text="Won at chess."),))
    after, _, model = reviewed(state, {"diary": "A good week."}, settings=some_settings(short=short), language=language)
    assert [(note.year, note.week, note.kind, note.text) for note in after.diaries] == [(1, 1, "diary", "A good week.")]
    (prompt,) = model.prompts("Ann")
    assert "Won at chess." in prompt


def test_memory_is_tended_before_the_diary_is_written() -> None:
    def answer(request: Request) -> Any:
        if request.output.tools and len(request.messages) == 2:
            call = {
                "name": "update_file",
                "arguments": {"path": "general.txt", "text": "Practise chess.", "summary": "chess"},
            }
            return f"<tool_call>{json.dumps(call)}</tool_call>"
        return {"diary": "Done."}

    settings = SimSettings(prompts=PromptSettings(tools="review"))
    after, facts, _ = reviewed(an_agent("Ann"), answer, settings=settings)
    assert after.files["general.txt"].text == "Practise chess."
    assert after.diaries[-1].text == "Done."
    assert sorted(verdict.tool_calls for verdict in facts.verdicts) == [0, 1]


def test_old_diaries_fold_into_the_agents_own_words() -> None:
    old = tuple(Note(year=1, week=week, kind="diary", text=f"Week {week}.") for week in range(1, 6))

    def answer(request: Request) -> Any:
        return "The year so far." if request.duty == "fold" else {"diary": "Week 6."}

    after, _, _ = reviewed(an_agent("Ann", diaries=old), answer)
    assert [(note.kind, note.text) for note in after.diaries][:2] == [
        ("year_summary", "The year so far."), ("diary", "Week 2."),
    ]  # fmt: skip
    assert after.diaries[-1].text == "Week 6."


def test_without_a_usable_answer_there_is_no_entry() -> None:
    after, facts, _ = reviewed(an_agent("Ann"), "nothing")
    assert after.diaries == ()
    assert all(verdict.drop == "malformed" for verdict in facts.verdicts)


@pytest.mark.parametrize(
    ("last", "waits_for"),
    [
        ("Y1-W1/solo.2/Ann", "Y1-W1/solo.2/Ann"),
        ("Y1-W1/joint.2/Aaron", "Y1-W1/joint.2/Aaron"),
        ("Y1-W1/public_act.2/Ann", "Y1-W1/public_meet.2/Ann"),
    ],
)
def test_the_review_waits_for_the_last_day_alone(last: str, waits_for: str) -> None:
    board = a_board(("Ann",), {a_unit("resolve"): {"for": {"Ann": {"days": ["Y1-W1/solo.1/Ann", last]}}}})
    assert {str(unit) for unit in review.needs(a_unit("review", "Ann"), board)} == {waits_for}


def cleaned(state: AgentState, answer: Any, *, language: str = "en", short: bool = False):
    """An agent after clean-up with room for three things, the unit's facts, the model."""
    model = Model(lambda request: answer, language=language)
    settings = some_settings(short=short).model_copy(update={"limits": LimitSettings(possessions=3)})
    desk = a_desk(model, settings=settings, world=a_world(language=language))
    facts = run_alone(cleanup.STAGE, a_job(a_unit("cleanup", state.name, week=2), [state]), desk)
    return apply(state, facts), facts, model


def an_owner(n_things: int) -> AgentState:
    items = tuple(
        an_item(f"id{n}", name=f"thing {n}", value=value) for n, value in enumerate((30, 5, 90, 5, 60)[:n_things])
    )
    return an_agent("Ann", possessions=items)


def test_who_owns_little_is_asked_nothing() -> None:
    after, _, model = cleaned(an_owner(3), None)
    assert len(after.possessions) == 3
    assert model.asked == []


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("short", [True, False])
def test_the_agent_chooses_what_goes(language: str, short: bool) -> None:
    after, _, model = cleaned(an_owner(5), {"discard": [3, 1]}, language=language, short=short)
    assert [item.id for item in after.possessions] == ["id1", "id3", "id4"]
    (prompt,) = model.prompts("Ann")
    assert all(f"thing {number}" in prompt for number in range(5))


@pytest.mark.parametrize("answer", ["none of it", {"discard": [1, 1]}, {"discard": [1]}, {"discard": [0, 9]}])
def test_without_a_usable_choice_the_cheapest_go_older_ones_first(answer: Any) -> None:
    after, facts, model = cleaned(an_owner(5), answer)
    assert [item.id for item in after.possessions] == ["id0", "id2", "id4"]
    assert len(model.asked) == 3
    assert all(verdict.drop for verdict in facts.verdicts)


def test_the_weeks_numbers_are_taken_at_its_end() -> None:
    state = an_agent("Ann", vitality=61.0, mood=40.0, material=55.5, social=3.0, esteem=99.0, deposit=17,
                     skills={"baking": 30.0, "sums": 4.5})  # fmt: skip
    after, facts, _ = cleaned(state, None)
    (snapshot,) = after.snapshots
    assert (snapshot.year, snapshot.week, snapshot.vitality, snapshot.mood) == (1, 2, 61.0, 40.0)
    assert (snapshot.material, snapshot.social, snapshot.esteem) == (55.5, 3.0, 99.0)
    assert (snapshot.deposit, snapshot.total_skills) == (17, 34.5)
    assert facts.outputs["snapshot"]["deposit"] == 17
    assert facts.outputs["skills"] == {"baking": 30.0, "sums": 4.5}


def test_after_the_last_week_the_year_ends() -> None:
    board = a_board(("Ann",), n_week=2)
    assert cleanup.successors(a_unit("cleanup", "Ann", week=1), board) == (a_unit("settle", "Ann", week=2),)
    assert cleanup.successors(a_unit("cleanup", "Ann", week=2), board) == (
        a_unit("profile_update", "Ann", week=2), UnitKey(year=1, week=2, stage="openings"),
    )  # fmt: skip
