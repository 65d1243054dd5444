"""From wishes to take-up: what may be wished for, who is ranked, and what the outcome changes."""

import asyncio

import msgspec
import pytest

from sim.core.agent import Position, Requirements
from sim.core.facts import CameToKnow, Noted, TookPosition, apply
from sim.core.vacancies import STAY_CURRENT
from sim.settings import PromptSettings, SimSettings
from sim.year import ranking, take_up, wishes
from tests.builders import a_board, a_job, a_position, a_unit, an_agent
from tests.week.days import Model, card
from tests.year.years import a_year_desk, end_year, some_agents

BAKER, CLERK = a_position("Bakery", "Baker"), a_position("Bank", "Clerk", weekly_income=450)
PUPIL = a_position("School", "Pupil", requirements=Requirements(max_age=18))
JUDGE = a_position("Court", "Judge", requirements=Requirements(skills={"law": 80}))
PLAIN = SimSettings(prompts=PromptSettings(tools="none"))


def openings(*positions, rounds=3):
    """Outputs of the openings."""
    return {"positions": msgspec.to_builtins(positions), "initial_count": len(positions), "rounds": rounds}


def wish(answer, *positions, settings=PLAIN, **fields):
    """One agent's wishes: outputs, and the model that was asked."""
    state = an_agent("Ann", **fields)
    model = Model(None if answer is None else lambda request: answer)
    desk = a_year_desk(model, states={"Ann": state}, settings=settings)
    needed = {
        a_unit("openings", week=2): openings(*positions),
        a_unit("directory", year=0, week=0): {
            "cards": {"Ann": card("Ann"), "Ben": {**card("Ben"), "position": "Bank/Clerk"}}
        },
    }
    facts = asyncio.run(wishes.run(a_job(a_unit("wishes", "Ann", week=2), [state], needed), desk))
    return facts, model


def options(model):
    """What the form allows to be wished for."""
    return model.asked[0].output.schema["properties"]["wishes"]["items"]["enum"]


def test_only_what_is_open_to_the_agent_can_be_wished_for():
    facts, model = wish(None, BAKER, CLERK, PUPIL, JUDGE)
    assert options(model) == [STAY_CURRENT, "Bank/Clerk"]
    (prompt,) = model.prompts("Ann", "wishes")
    assert "Court/Judge" in prompt
    assert "you lack law" in prompt
    assert "Bank/Clerk: 450 a week, work, trains baking +2, 0 of 1 free" in prompt
    assert facts.outputs["position"] == "Bakery/Baker"
    assert facts.outputs["age"] == 30


def test_wishes_keep_their_order_and_count_once():
    answer = {"reason": "More money.", "wishes": ["Bank/Clerk", "Bank/Clerk", STAY_CURRENT]}
    facts, _ = wish(answer, BAKER, CLERK, a_position("Mill", "Hand"))
    assert facts.outputs["wishes"] == ["Bank/Clerk", STAY_CURRENT]


def test_nothing_is_asked_where_nothing_is_open():
    facts, model = wish(None, BAKER, JUDGE)
    assert model.asked == []
    assert facts.outputs["wishes"] == [STAY_CURRENT]


def test_who_is_over_age_cannot_stay():
    facts, model = wish(None, PUPIL, CLERK, position=PUPIL)
    assert options(model) == ["Bank/Clerk"]
    assert facts.outputs["max_age"] == 18
    assert "age limit" in model.prompts("Ann")[0]
    nothing_open, _ = wish(None, PUPIL, position=PUPIL)
    assert nothing_open.outputs["wishes"] == []


@pytest.mark.parametrize("answer", ["", {"reason": "", "wishes": ["Court/Judge"]}])
def test_an_unusable_answer_means_to_stay(answer):
    facts, _ = wish(answer, BAKER, CLERK, JUDGE)
    assert facts.outputs["wishes"] == [STAY_CURRENT]


def test_the_list_stays_within_the_budget():
    many = [
        a_position("Org", f"Role {number} of a very long name indeed", weekly_income=number) for number in range(400)
    ]
    facts, model = wish(None, BAKER, *many)
    assert 10 < len(options(model)) < 200
    assert set(facts.outputs["wishes"]) <= set(options(model))


def applicant(*wished, age=30, position=None, max_age=None, **skills):
    """Outputs of somebody's wishes."""
    return {"wishes": list(wished), "age": age, "skills": skills, "position": position, "max_age": max_age}


def rank(model, people, *positions, index=1, before=None, rounds=3):
    """One ranking round: its facts."""
    desk = a_year_desk(model, states={name: an_agent(name) for name in people}, settings=PLAIN)
    needed = {a_unit("wishes", name, week=2): outputs for name, outputs in people.items()}
    needed[a_unit("openings", week=2)] = openings(*positions, rounds=rounds)
    if before is not None:
        needed[a_unit("ranking", week=2, index=index - 1)] = before
    return asyncio.run(ranking.run(a_job(a_unit("ranking", week=2, index=index), [], needed), desk))


def test_the_environment_ranks_only_where_places_are_short():
    model = Model(lambda request: {"ranking": ["Cy", "Ann", "Ben"]} if request.duty == "ranking" else None)
    people = {name: applicant("Bank/Clerk") for name in ("Ann", "Ben", "Cy")} | {"Dee": applicant("Bakery/Baker")}
    facts = rank(model, people, BAKER, CLERK)
    assert len(model.asked) == 1
    assert facts.outputs["holders"] == {"Ann": None, "Ben": None, "Cy": "Bank/Clerk", "Dee": "Bakery/Baker"}
    assert facts.outputs["granted"] == {"Cy": "Bank/Clerk", "Dee": "Bakery/Baker"}


def test_without_a_ranking_the_fitter_and_then_the_name_decides():
    people = {"Ann": applicant("Bank/Clerk", baking=3.0), "Ben": applicant("Bank/Clerk", baking=9.0)}
    assert rank(Model(lambda request: "?"), people, CLERK).outputs["holders"] == {"Ann": None, "Ben": "Bank/Clerk"}
    alike = {"Ben": applicant("Bank/Clerk"), "Ann": applicant("Bank/Clerk")}
    assert rank(Model(lambda request: "?"), alike, CLERK).outputs["holders"]["Ann"] == "Bank/Clerk"


def test_a_later_round_goes_on_from_the_earlier():
    people = {
        "Ann": applicant("Bank/Clerk", position="Bakery/Baker"),
        "Ben": applicant("Bank/Clerk", "Bakery/Baker"),
    }
    first = rank(Model(lambda request: {"ranking": ["Ann", "Ben"]}), people, BAKER, CLERK)
    assert first.outputs["holders"] == {"Ann": "Bank/Clerk", "Ben": None}
    assert "for" not in first.outputs
    last = rank(Model(), people, BAKER, CLERK, index=2, before=first.outputs, rounds=2)
    assert last.outputs["holders"] == {"Ann": "Bank/Clerk", "Ben": "Bakery/Baker"}
    assert msgspec.convert(last.outputs["for"]["Ben"]["position"], Position) == BAKER


def test_candidates_are_not_always_shown_in_the_same_order():
    people = {f"Agent {number:02}": applicant("Bank/Clerk", "Bakery/Baker") for number in range(12)}
    model = Model()
    first = rank(model, people, BAKER, CLERK)
    rank(model, people, BAKER, CLERK, index=2, before=first.outputs)
    orders = [request.output.schema["properties"]["ranking"]["items"]["enum"] for request in model.asked]
    assert len(orders) == 2
    assert all(order != sorted(order) for order in orders)


def take(result, *, wished=(), settings=PLAIN, **fields):
    """One agent's take-up: state after it and facts."""
    state = an_agent("Ann", **fields)
    desk = a_year_desk(None, states={"Ann": state}, settings=settings)
    needed = {
        a_unit("wishes", "Ann", week=2): applicant(*wished),
        a_unit("openings", week=2): openings(),
        a_unit("ranking", week=2, index=3): {"for": {"Ann": result}},
    }
    facts = asyncio.run(take_up.run(a_job(a_unit("take_up", "Ann", week=2), [state], needed), desk))
    return apply(state, facts), facts


def test_a_new_position_is_held_told_and_brings_colleagues():
    result = {"position": msgspec.to_builtins(CLERK), "colleagues": ["Ben", "Cy"]}
    after, facts = take(result, wished=("Bank/Clerk",), knows=["Ben"])
    assert after.position == CLERK
    assert after.knows() == ("Ben", "Cy")
    # whom one knows already keeps the file one has
    assert after.files["characters/Ben.txt"].text == "Knows Ben."
    assert "Bank/Clerk" in after.files["characters/Cy.txt"].text
    assert "Bank/Clerk" in after.records[-1].text
    assert [type(fact) for fact in facts.by_agent["Ann"]] == [TookPosition, Noted, CameToKnow, CameToKnow]


def test_who_stays_by_choice_is_told_nothing():
    after, facts = take({"position": msgspec.to_builtins(BAKER), "colleagues": []}, wished=(STAY_CURRENT,))
    assert facts.by_agent["Ann"] == ()
    assert after.position == BAKER


def test_who_applied_in_vain_and_who_lost_a_position_are_told():
    after, _ = take({"position": msgspec.to_builtins(BAKER), "colleagues": []}, wished=("Bank/Clerk",))
    assert "without success" in after.records[-1].text
    after, _ = take({"position": None, "colleagues": []}, position=PUPIL)
    assert after.position is None
    assert "School/Pupil" in after.records[-1].text


def test_the_last_round_is_known_once_the_openings_are():
    unit = a_unit("take_up", "Ann", week=2)
    clock = {"n_week": 2}
    openings_unit, wishes_unit = a_unit("openings", week=2), a_unit("wishes", "Ann", week=2)
    assert take_up.needs(unit, a_board(["Ann"], **clock)) == {openings_unit, wishes_unit}
    board = a_board(["Ann"], {openings_unit: openings(rounds=2)}, **clock)
    assert take_up.needs(unit, board) == {openings_unit, wishes_unit, a_unit("ranking", week=2, index=2)}
    announced = wishes.successors(wishes_unit, board)
    assert [u.index for u in announced if u.stage == "ranking"] == [1, 2]


def test_newcomers_and_the_others_of_their_organisation_get_to_know_each_other():
    states = {
        name: msgspec.structs.replace(state, files={}, met={})
        for name, state in some_agents(("Ann", "Ben", "Cy"), position=None).items()
    }
    cook = a_position("House", "Cook", type="non-work", capacity=2)
    wanted = {"Ann": ["House/Cook"], "Ben": ["House/Cook"], "Cy": [STAY_CURRENT]}
    lived = end_year(
        Model(lambda r: {"reason": "", "wishes": wanted[r.agent]} if r.duty == "wishes" else None),
        states,
        positions=[cook, a_position("Mill", "Hand"), a_position("Mill", "Miller")],
    )
    assert {name: state.knows() for name, state in lived.states.items()} == {"Ann": ("Ben",), "Ben": ("Ann",), "Cy": ()}
    # who became a colleague is scored the same year
    assert list(lived.outputs("judging", "Ann")["scores"]) == ["Ben"]
