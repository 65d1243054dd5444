"""The four schedule rules: by hand, and as properties of any week."""

import random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.core.agent import Activity
from sim.core.resolution import Cancellation, Proposal, Response, Week, resolve_schedule
from tests.builders import a_joint, a_slot, an_event

PEOPLE = ("Ann", "Ben", "Cem", "Dot")


def proposal(activity="Chess", proposer="Ann", invited=("Ben",), in_round=1, day=1, week=1, **fields) -> Proposal:
    return Proposal(
        activity=activity,
        proposer=proposer,
        invited=tuple(invited),
        round=in_round,
        slot=a_slot(day=day, week=week),
        location="Courtyard",
        **fields,
    )


def answer(sender="Ben", activity="Chess", proposer="Ann", decision="yes", in_round=2, order=0) -> Response:
    return Response(activity=activity, proposer=proposer, sender=sender, decision=decision, round=in_round, order=order)


def a_week(*, calendars=None, **fields) -> Week:
    empty: dict[str, tuple[Activity, ...]] = dict.fromkeys(PEOPLE, ())
    return Week(calendars={**empty, **(calendars or {})}, **fields)


def causes(resolution) -> list[tuple[str, str, str]]:
    return [(change.agent, change.activity.name, change.cause) for change in resolution.changes]


def test_one_yes_makes_an_activity_of_those_who_come() -> None:
    result = resolve_schedule(
        a_week(
            proposals=(proposal(invited=("Ben", "Cem", "Dot"), description="A game."),),
            responses=(answer("Ben"), answer("Cem", decision="no")),
        )
    )
    expected = a_joint(participants=("Ann", "Ben"))
    assert result.joint == (expected,)
    assert result.calendars == {"Ann": (expected,), "Ben": (expected,), "Cem": (), "Dot": ()}
    assert result.changes == ()


def test_rule_1_a_cancelled_proposal_is_void() -> None:
    result = resolve_schedule(
        a_week(
            proposals=(proposal(),),
            responses=(answer(in_round=3),),
            cancellations=(Cancellation(activity="Chess", proposer="Ann", round=2),),
        )
    )
    assert result.joint == ()
    assert result.changes == ()


def test_rule_1_cancelling_leaves_another_proposers_activity_of_that_name_alone() -> None:
    result = resolve_schedule(
        a_week(
            proposals=(proposal(), proposal(proposer="Cem", invited=("Dot",))),
            responses=(answer(), answer("Dot", proposer="Cem")),
            cancellations=(Cancellation(activity="Chess", proposer="Ann", round=2),),
        )
    )
    assert [activity.proposer for activity in result.joint] == ["Cem"]


def test_rule_1_a_confirmed_activity_can_be_called_off_and_frees_the_day() -> None:
    planned = a_joint("Dinner", participants=("Ann", "Ben"))
    result = resolve_schedule(
        a_week(
            calendars={"Ann": (planned,), "Ben": (planned,)},
            cancellations=(Cancellation(activity="Dinner", proposer="Ann", round=1),),
            events=(an_event(participants=("Ben",)),),
        )
    )
    assert causes(result) == [("Ann", "Dinner", "cancelled"), ("Ben", "Dinner", "cancelled")]
    assert all(change.planned for change in result.changes)
    assert result.calendars["Ann"] == ()
    assert [activity.name for activity in result.calendars["Ben"]] == ["Market"]


@pytest.mark.parametrize(
    ("answers", "takes_place"),
    [
        ((answer(decision="yes", in_round=2), answer(decision="no", in_round=3)), False),
        ((answer(decision="no", in_round=2), answer(decision="yes", in_round=3)), True),
        ((answer(decision="no", in_round=2, order=0), answer(decision="yes", in_round=2, order=1)), True),
        ((answer(decision="yes", in_round=2, order=0), answer(decision="no", in_round=2, order=1)), False),
        ((answer("Dot", decision="yes"),), False),
        ((answer("Ann", decision="yes"),), False),
    ],
)
def test_rule_2_only_the_last_answer_of_an_invitee_counts(answers, takes_place: bool) -> None:
    for responses in (answers, tuple(reversed(answers))):
        result = resolve_schedule(a_week(proposals=(proposal(),), responses=responses))
        assert bool(result.joint) is takes_place


def test_rule_3_confirmed_earlier_beats_newly_proposed() -> None:
    planned = a_joint("Dinner", proposer="Dot", participants=("Ann", "Dot"))
    result = resolve_schedule(
        a_week(
            calendars={"Ann": (planned,), "Dot": (planned,)},
            proposals=(proposal(),),
            responses=(answer(),),
        )
    )
    assert result.joint == ()
    assert causes(result) == [("Ann", "Chess", "clash"), ("Ben", "Chess", "proposer_busy")]
    assert result.changes[0].instead == "Dinner"
    assert result.calendars["Ann"] == (planned,)


def test_rule_3_newly_proposed_beats_newly_accepted() -> None:
    result = resolve_schedule(
        a_week(
            proposals=(
                proposal("Chess", "Ann", ["Cem"], in_round=2),
                proposal("Abacus", "Ben", ["Ann", "Dot"], in_round=1),
            ),
            responses=(answer("Cem", "Chess"), answer("Ann", "Abacus", "Ben"), answer("Dot", "Abacus", "Ben")),
        )
    )
    assert [(a.name, a.participants) for a in result.joint] == [("Abacus", ("Ben", "Dot")), ("Chess", ("Ann", "Cem"))]
    assert causes(result) == [("Ann", "Abacus", "clash")]


def test_rule_3_newly_accepted_beats_public() -> None:
    result = resolve_schedule(
        a_week(proposals=(proposal(),), responses=(answer(),), events=(an_event(participants=("Ann", "Ben", "Cem")),))
    )
    assert [(a.name, a.participants) for a in (*result.joint, *result.public)] == [
        ("Chess", ("Ann", "Ben")),
        ("Market", ("Cem",)),
    ]
    assert causes(result) == [("Ann", "Market", "clash"), ("Ben", "Market", "clash")]


@pytest.mark.parametrize(("rounds", "kept"), [((2, 3), "Zither"), ((3, 2), "Abacus"), ((2, 2), "Abacus")])
def test_rule_3_among_equals_the_earlier_round_wins_then_the_name(rounds: tuple[int, int], kept: str) -> None:
    result = resolve_schedule(
        a_week(
            proposals=(proposal("Zither", "Ann", ["Cem"]), proposal("Abacus", "Ben", ["Cem"])),
            responses=(
                answer("Cem", "Zither", "Ann", in_round=rounds[0]),
                answer("Cem", "Abacus", "Ben", in_round=rounds[1]),
            ),
        )
    )
    assert [activity.name for activity in result.joint] == [kept]


def test_rule_3_two_events_of_one_day_go_by_name() -> None:
    result = resolve_schedule(a_week(events=(an_event("Zoo", ("Ann",)), an_event("Art", ("Ann", "Ben")))))
    assert [(event.name, event.participants) for event in result.public] == [("Art", ("Ann", "Ben"))]


def test_days_do_not_clash_with_other_days() -> None:
    result = resolve_schedule(
        a_week(
            proposals=(proposal("Chess", day=1), proposal("Chess again", day=2), proposal("Later", week=3)),
            responses=(answer(), answer(activity="Chess again"), answer(activity="Later")),
        )
    )
    assert [str(activity.slot) for activity in result.calendars["Ben"]] == [
        "Y1-W1-activity-D1",
        "Y1-W1-activity-D2",
        "Y1-W3-activity-D1",
    ]


@pytest.mark.parametrize(
    ("responses", "told"),
    [
        ((), [("Ann", "Chess", "no_yes")]),
        ((answer("Cem"),), [("Ann", "Chess", "required_missing"), ("Cem", "Chess", "required_missing")]),
        ((answer("Ben"),), []),
    ],
)
def test_rule_4_needs_a_yes_and_every_required_yes(responses, told) -> None:
    result = resolve_schedule(
        a_week(proposals=(proposal(invited=("Ben", "Cem"), required=("Ben",)),), responses=responses)
    )
    assert causes(result) == told
    assert bool(result.joint) is (not told)
    assert all(change.missing == ("Ben",) for change in result.changes if change.cause == "required_missing")


def test_rule_4_a_required_yes_lost_to_a_clash_voids_the_proposal_and_is_not_revived() -> None:
    """Ben's yes to Abacus is lost to his own Chess; Chess then fails as its only invitee Cem is taken: one pass."""
    planned = a_joint("Dinner", proposer="Dot", participants=("Cem", "Dot"))
    result = resolve_schedule(
        a_week(
            calendars={"Cem": (planned,), "Dot": (planned,)},
            proposals=(proposal("Chess", "Ben", ["Cem"]), proposal("Abacus", "Ann", ["Ben"], required=("Ben",))),
            responses=(answer("Cem", "Chess", "Ben"), answer("Ben", "Abacus", "Ann")),
        )
    )
    assert result.joint == ()
    assert result.calendars["Ben"] == ()
    assert causes(result) == [
        ("Ann", "Abacus", "no_yes"),
        ("Ben", "Abacus", "clash"),
        ("Ben", "Chess", "no_yes"),
        ("Cem", "Chess", "clash"),
    ]


def test_proposals_without_a_yes_do_not_block_their_proposers_day() -> None:
    """Void before rule 3: Ann's unanswered Chess does not cost her the accepted Abacus."""
    result = resolve_schedule(
        a_week(
            proposals=(proposal("Chess", "Ann", ["Cem"]), proposal("Abacus", "Ben", ["Ann"])),
            responses=(answer("Ann", "Abacus", "Ben"),),
        )
    )
    assert [(a.name, a.participants) for a in result.joint] == [("Abacus", ("Ann", "Ben"))]
    assert causes(result) == [("Ann", "Chess", "no_yes")]


names = st.sampled_from(PEOPLE)
titles = st.sampled_from(("Chess", "Walk", "Tea"))
slots = st.builds(a_slot, week=st.integers(1, 2), day=st.integers(1, 2))
proposals = st.builds(
    Proposal,
    activity=titles,
    proposer=names,
    slot=slots,
    location=st.just("Courtyard"),
    round=st.integers(1, 3),
    invited=st.lists(names, min_size=1, max_size=3, unique=True).map(tuple),
    required=st.lists(names, max_size=1).map(tuple),
).map(
    lambda p: msgspec.structs.replace(
        p,
        invited=tuple(n for n in p.invited if n != p.proposer),
        required=tuple(n for n in p.required if n in p.invited and n != p.proposer),
    )
)
responses = st.builds(
    Response,
    activity=titles,
    proposer=names,
    sender=names,
    decision=st.sampled_from(("yes", "yes", "no")),
    round=st.integers(1, 3),
    order=st.integers(0, 3),
)
cancellations = st.builds(Cancellation, activity=titles, proposer=names, round=st.integers(1, 3))
events = st.lists(
    st.builds(an_event, st.sampled_from(("Fair", "Talk")), st.lists(names, unique=True).map(tuple), slot=slots),
    max_size=3,
    unique_by=lambda event: event.name,
)


@st.composite
def weeks(draw) -> Week:
    """A week whose calendars are what an earlier resolution left."""
    before = resolve_schedule(
        a_week(
            proposals=tuple(draw(st.lists(proposals, max_size=3))),
            responses=tuple(draw(st.lists(responses, max_size=8))),
        )
    )
    calendars = {
        name: tuple(msgspec.structs.replace(activity, name=f"{activity.name} of old") for activity in calendar)
        for name, calendar in before.calendars.items()
    }
    return Week(
        calendars=calendars,
        proposals=tuple(draw(st.lists(proposals, max_size=5))),
        responses=tuple(draw(st.lists(responses, max_size=14))),
        cancellations=tuple(
            draw(
                st.lists(
                    cancellations
                    | cancellations.map(lambda c: msgspec.structs.replace(c, activity=f"{c.activity} of old")),
                    max_size=2,
                )
            )
        ),
        events=tuple(draw(events)),
    )


def shuffled(week: Week, seed: int) -> Week:
    """The same week, told in another order and with everything said twice."""
    rng = random.Random(seed)

    def mix(items):
        doubled = [*items, *items]
        rng.shuffle(doubled)
        return tuple(doubled)

    return Week(
        calendars=dict(reversed(week.calendars.items())),
        proposals=mix(week.proposals),
        responses=mix(week.responses),
        cancellations=mix(week.cancellations),
        events=tuple(rng.sample(week.events, len(week.events))),
    )


@given(week=weeks(), seed=st.integers(0, 9))
@settings(max_examples=200)
def test_the_order_of_arrival_and_repetition_are_nothing(week: Week, seed: int) -> None:
    assert resolve_schedule(shuffled(week, seed)) == resolve_schedule(week)


@given(week=weeks())
@settings(max_examples=200)
def test_nobody_is_in_two_places_and_calendars_agree(week: Week) -> None:
    result = resolve_schedule(week)
    for name, calendar in result.calendars.items():
        assert len({activity.slot for activity in calendar}) == len(calendar)
        assert all(name in activity.participants for activity in calendar)
    for activity in (*result.joint, *result.public):
        assert all(activity in result.calendars[name] for name in activity.participants)
    for activity in result.joint:
        assert len(activity.participants) >= 2


@pytest.mark.parametrize(
    ("holders", "comers", "told"),
    [
        (("Ann", "Ben", "Cem"), ("Ann", "Ben", "Cem"), []),
        (("Ann", "Ben"), ("Ann", "Ben"), []),
        (("Ben", "Cem"), ("Ben", "Cem"), []),
        (("Ann",), (), [("Ann", "Dinner", "too_few")]),
        (("Cem",), (), [("Cem", "Dinner", "too_few")]),
        ((), (), []),
    ],
)
def test_an_agreed_activity_goes_on_with_two_who_still_have_it_and_not_with_one(holders, comers, told) -> None:
    dinner = a_joint("Dinner", participants=("Ann", "Ben", "Cem"))
    result = resolve_schedule(a_week(calendars=dict.fromkeys(holders, (dinner,))))
    assert [name for name, calendar in result.calendars.items() if calendar] == list(comers)
    assert all(calendar[0].participants == comers for calendar in result.calendars.values() if calendar)
    assert causes(result) == told
    assert all(change.planned for change in result.changes)


@given(week=weeks(), data=st.data())
@settings(max_examples=200)
def test_nobody_waits_for_somebody_elsewhere_even_where_calendars_disagree(week: Week, data) -> None:
    torn = {
        name: tuple(a for a in calendar if data.draw(st.booleans(), label=f"{name} keeps {a.name}"))
        for name, calendar in week.calendars.items()
    }
    calendars = resolve_schedule(msgspec.structs.replace(week, calendars=torn)).calendars
    for calendar in calendars.values():
        for activity in calendar:
            assert all(activity in calendars[name] for name in activity.participants)
            assert activity.kind != "joint" or len(activity.participants) >= 2


@given(week=weeks())
@settings(max_examples=200)
def test_confirmed_activities_stand_unless_their_proposer_calls_them_off(week: Week) -> None:
    result = resolve_schedule(week)
    called_off = {(c.proposer, c.activity) for c in week.cancellations}
    for name, calendar in week.calendars.items():
        for activity in calendar:
            assert (activity in result.calendars[name]) is ((activity.proposer, activity.name) not in called_off)


@given(week=weeks())
@settings(max_examples=200)
def test_resolving_again_with_nothing_new_changes_nothing(week: Week) -> None:
    joint = {
        name: tuple(a for a in calendar if a.kind == "joint")
        for name, calendar in resolve_schedule(week).calendars.items()
    }
    again = resolve_schedule(Week(calendars=joint))
    assert again.calendars == joint
    assert again.changes == ()
    assert again.joint == ()
