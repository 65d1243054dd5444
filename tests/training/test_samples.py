"""Journaled calls become samples, or drops with a reason; nothing depends on the order of the calls."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.facts import Verdict
from training.samples import Call, DropCounter, cap_samples, collect_samples, draw_environment, sample_id

ADVANTAGES = {("apartment", "Mara Voss", 1): 0.8, ("apartment", "李明", 2): 0.3}


def a_call(key="Y1-W2/plan.0/Mara Voss/Mara Voss/plan/0", **fields):
    unit, agent = "/".join(key.split("/")[:3]), key.split("/")[3]
    values = {
        "world": "apartment",
        "unit": unit,
        "agent": agent,
        "duty": "plan",
        "finish": "stop",
        "answer": "I will visit Ana.",
        "prompt_tokens": 900,
        "output_tokens": 7,
        "prompt_digest": "d" * 32,
        "model": "policy@base",
    }
    return Call(key=key, **{**values, **fields})


def verdicts_of(*calls, status="ok", drop=""):
    return {
        (call.world, call.key): Verdict(key=call.key, agent=call.agent, duty=call.duty, status=status, drop=drop)
        for call in calls
    }


def words(text):
    return len(text.split())


def test_a_sample_carries_time_stage_and_advantage():
    call = a_call("Y2-W10/contact.3/李明/李明/contact/0", duty="contact")
    collected = collect_samples([call], verdicts_of(call, status="repaired"), ADVANTAGES, count=words)
    (sample,) = collected.samples
    assert (sample.year, sample.week, sample.stage, sample.duty) == (2, 10, "contact", "contact")
    assert (sample.agent, sample.advantage, sample.source, sample.status) == ("李明", 0.3, "roleplay", "repaired")
    assert (sample.prompt_tokens, sample.output_tokens, sample.prompt_digest) == (900, 7, "d" * 32)
    assert collected.drops == ()


@pytest.mark.parametrize(
    ("fields", "status", "drop", "reason"),
    [
        ({"finish": "length"}, "ok", "", "truncated"),
        ({"finish": "unanswered", "answer": ""}, "fallback", "", "unanswered"),
        ({"answer": "  \n"}, "ok", "", "empty"),
        ({"fallback": True}, "ok", "", "fallback"),
        ({}, "fallback", "", "fallback"),
        ({}, "failed", "malformed", "malformed"),
        ({}, "failed", "", "malformed"),
        ({}, "ok", "invalid_action", "invalid_action"),
        ({}, "ok", "principle:no_parroting", "principle:no_parroting"),
    ],
)
def test_what_must_not_be_learnt_is_dropped_with_its_reason(fields, status, drop, reason):
    call = a_call(**fields)
    collected = collect_samples([call], verdicts_of(call, status=status, drop=drop), ADVANTAGES, count=words)
    assert collected.samples == ()
    assert [(d.source, d.reason, d.stage, d.calls) for d in collected.drops] == [("roleplay", reason, "plan", 1)]


def test_a_call_of_a_unit_that_never_finished_is_unused():
    collected = collect_samples([a_call()], {}, ADVANTAGES, count=words)
    assert [drop.reason for drop in collected.drops] == ["unused"]


def test_who_was_not_selected_and_year_zero_are_neither_samples_nor_drops():
    others = [
        a_call("Y2-W1/plan.0/Mara Voss/Mara Voss/plan/0"),
        a_call("Y1-W1/plan.0/Ben Ode/Ben Ode/plan/0"),
        a_call("Y0-W0/judging.0/Mara Voss/Mara Voss/judging/0", finish="length"),
        a_call(world="academy"),
    ]
    advantages = {**ADVANTAGES, ("apartment", "Mara Voss", 0): 1.0}
    collected = collect_samples(others, verdicts_of(*others), advantages, count=words)
    assert (collected.samples, collected.drops) == ((), ())


def test_environment_calls_are_samples_only_in_the_years_asked_for():
    call = a_call("Y1-W2/public_events.0///public_events/0", duty="public_events")
    assert call.agent == ""
    without = collect_samples([call], verdicts_of(call), ADVANTAGES, count=words)
    within = collect_samples([call], verdicts_of(call), ADVANTAGES, count=words, environment_years=frozenset({1}))
    assert without.samples == ()
    assert [(s.source, s.advantage) for s in within.samples] == [("environment", 0.0)]


@pytest.mark.parametrize("fields", [{"prompt_digest": ""}, {"model": "big-world-model@base"}])
def test_tokens_of_another_tokenizer_are_counted_anew(fields):
    call = a_call(**fields)
    (sample,) = collect_samples([call], verdicts_of(call), ADVANTAGES, count=words, model="policy").samples
    assert (sample.output_tokens, sample.prompt_tokens, sample.prompt_digest) == (5, 0, "")


@given(st.permutations(range(6)))
def test_the_order_of_calls_does_not_matter(order):
    calls = [a_call(f"Y1-W{week}/plan.0/Mara Voss/Mara Voss/plan/0") for week in range(1, 6)]
    calls.append(a_call("Y1-W9/plan.0/Mara Voss/Mara Voss/plan/0", finish="length"))
    expected = collect_samples(calls, verdicts_of(*calls), ADVANTAGES, count=words)
    assert collect_samples([calls[i] for i in order], verdicts_of(*calls), ADVANTAGES, count=words) == expected


def samples(number, source="roleplay", duties=("plan",), tokens=10):
    call = a_call()
    (one,) = collect_samples([call], verdicts_of(call), ADVANTAGES, count=words).samples
    return tuple(
        msgspec.structs.replace(
            one, key=f"{one.key}{n:04d}", source=source, duty=duties[n % len(duties)], output_tokens=tokens
        )
        for n in range(number)
    )


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 5))
def test_a_cap_keeps_so_many_and_counts_the_rest(number, most, seed):
    drops = DropCounter()
    kept = cap_samples(samples(number), most, seed, drops)
    assert len(kept) == (min(number, most) if most else number)
    assert list(kept) == sorted(kept)
    assert sum(drop.calls for drop in drops.report()) == number - len(kept)


def test_a_cap_draws_other_samples_by_another_seed():
    drawn = {tuple(map(sample_id, cap_samples(samples(30), 5, seed, DropCounter()))) for seed in range(5)}
    assert len(drawn) == 5


def test_frequent_environment_duties_are_drawn_no_more_than_rare_ones():
    frequent, rare = samples(90, "environment", ("next_speaker",)), samples(100, "environment", ("feedback",))[90:]
    drops = DropCounter()
    drawn = draw_environment(frequent + rare, roleplay_tokens=1000, share=0.2, seed=1, drops=drops)
    assert sum(sample.output_tokens for sample in drawn) == 200
    assert sum(sample.duty == "feedback" for sample in drawn) == 10
    assert [(drop.reason, drop.calls) for drop in drops.report()] == [("not_drawn", 80)]


def test_samples_of_two_worlds_have_different_names():
    one = samples(1)[0]
    assert sample_id(one) != sample_id(msgspec.structs.replace(one, world="campus"))


def test_drops_of_two_counters_add_up():
    one, total = DropCounter(), DropCounter()
    one.add("general", "refused", "distil", 3)
    total.add("general", "refused", "distil")
    total.take_in(one.report())
    assert [(drop.reason, drop.calls) for drop in total.report()] == [("refused", 4)]
