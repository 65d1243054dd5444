"""Cases between two rules: who leaves an activity, gifts to somebody who left, answers that come too late."""

import pytest

from sim.core.facts import Scheduled, Unscheduled
from sim.core.resolution import Proposal, Response, Week, resolve_schedule
from tests.builders import a_joint, a_slot, an_agent, an_item
from tests.week.days import EXIT, Model, a_day, after, gift, live
from tests.week.test_days_together import Script, together

TRIO = ("Ann", "Ben", "Cleo")


def proposed(activity: str, proposer: str, invited: str, *, week: int = 1, in_round: int = 1) -> Proposal:
    slot = a_slot(1, week, 1)
    return Proposal(
        activity=activity, proposer=proposer, slot=slot, location="Roof", invited=(invited,), round=in_round
    )


def agreed(activity: str, proposer: str, sender: str, *, in_round: int = 2) -> Response:
    return Response(activity=activity, proposer=proposer, sender=sender, decision="yes", round=in_round)


def test_who_leaves_keeps_its_calendar_and_its_day():
    chess, tea = together(*TRIO), a_joint("Tea", slot=a_slot(1, 2, 1), participants=("Ann", "Cleo"))
    states = [an_agent(name, schedule=(chess, tea) if name != "Ben" else (chess,)) for name in TRIO]
    job = a_day("joint", states, chess)
    facts = live(job, Model(Script(("Cleo", f"I must go. {EXIT}"), ("Ann", "Well."), ("Ben", "Well."))))
    assert facts.outputs["exited"] == ["Cleo"]
    assert not [f for things in facts.by_agent.values() for f in things if isinstance(f, Scheduled | Unscheduled)]
    states_after = after(job, facts)
    assert states_after["Cleo"].schedule == (chess, tea)
    assert states_after["Cleo"].records, "it was there, so the day has its record"


@pytest.mark.parametrize("later_week", [False, True])
def test_a_proposal_for_a_day_that_is_promised_is_declined_and_for_another_day_it_is_not(later_week):
    """That Cleo will leave early on the day is known to nobody when the week is resolved: the day counts as taken."""
    chess = together(*TRIO)
    week = Week(
        calendars=dict.fromkeys(TRIO, (chess,)) | {"Dora": ()},
        proposals=(proposed("Walk", "Dora", "Cleo", week=2 if later_week else 1),),
        responses=(agreed("Walk", "Dora", "Cleo"),),
    )
    result = resolve_schedule(week)
    assert [activity.name for activity in result.joint] == (["Walk"] if later_week else [])
    assert chess in result.calendars["Cleo"]
    assert {(c.agent, c.cause) for c in result.changes} == (
        set() if later_week else {("Cleo", "clash"), ("Dora", "no_yes")}
    )


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_gift_to_somebody_who_left_stays_with_its_owner_who_is_told_who_is_there(language):
    states = [an_agent(name, possessions=(an_item("a#1"),) if name == "Ann" else ()) for name in TRIO]
    job = a_day("joint", states, together(*TRIO))
    script = Script(("Cleo", EXIT), ("Ann", f"For you. {gift('teapot', 'Cleo')}"), ("Ben", "She left."), ("Ann", "So."))
    model = Model(script, language=language)
    facts = live(job, model, language=language)
    states_after = after(job, facts)
    assert [item.id for item in states_after["Ann"].possessions] == ["a#1"]
    assert states_after["Cleo"].possessions == ()
    dropped = {verdict.key.split("/")[-2]: verdict.drop for verdict in facts.verdicts}
    assert dropped["turn2"] == "invalid_action"
    told = model.prompts("Ann", "turn")[-1]
    error = next(line for line in told.split("\n") if line.startswith("Error: "))
    assert "Cleo" in error
    assert "Ben" in error


def test_an_invitation_of_the_last_round_finds_no_answer_and_is_void():
    late = proposed("Walk", "Dora", "Cleo", in_round=5)
    result = resolve_schedule(Week(calendars={"Cleo": (), "Dora": ()}, proposals=(late,)))
    assert result.joint == ()
    assert [(change.agent, change.cause) for change in result.changes] == [("Dora", "no_yes")]


def test_of_two_gifts_of_one_thing_in_a_turn_the_first_counts():
    states = [an_agent(name, possessions=(an_item("a#1"),) if name == "Ann" else ()) for name in TRIO]
    job = a_day("joint", states, together(*TRIO))
    words = f"For you. {gift('teapot', 'Ben')} And you. {gift('teapot', 'Cleo')}"
    facts = live(job, Model(Script(("Ann", words), ("Ben", "Thanks."), ("Cleo", "Oh."))))
    assert [[item.id for item in state.possessions] for state in after(job, facts).values()] == [[], ["a#1"], []]
    dropped = {verdict.key.split("/")[-2]: verdict.drop for verdict in facts.verdicts}
    assert dropped["turn1"] == "invalid_action"
