"""One reason per call, the reply's own faults first, and only clean answers kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.core.facts import Verdict
from training.filters import DropReason, drop_label, drop_reason


def verdict(status="ok", drop=""):
    """A verdict on a call of an agent."""
    return Verdict(key="Y1-W1/plan.0/Ada/Ada/plan/1", agent="Ada", duty="plan", status=status, drop=drop)


@pytest.mark.parametrize(
    ("given_verdict", "reply", "reason"),
    [
        (verdict(), {}, None),
        (verdict("repaired"), {}, None),
        (verdict("failed", "malformed"), {}, DropReason.MALFORMED),
        (verdict("failed"), {}, DropReason.MALFORMED),
        (verdict("failed", "invalid_action"), {}, DropReason.INVALID_ACTION),
        (verdict("ok", "invalid_action"), {}, DropReason.INVALID_ACTION),
        (verdict("ok", "malformed_action"), {}, DropReason.MALFORMED),
        (verdict("ok", "principle:no_parroting"), {}, DropReason.PRINCIPLE),
        (verdict("fallback", "fallback_model"), {}, DropReason.FALLBACK),
        (verdict("fallback"), {}, DropReason.FALLBACK),
        (verdict("ok", "something new"), {}, DropReason.OTHER),
        (None, {}, DropReason.UNUSED),
        (verdict(), {"finish": "length"}, DropReason.TRUNCATED),
        (verdict("fallback", "unanswered"), {"finish": "unanswered", "text": ""}, DropReason.UNANSWERED),
        (verdict("fallback", "empty"), {"text": " \n"}, DropReason.EMPTY),
        (verdict(), {"fallback": True}, DropReason.FALLBACK),
    ],
)
def test_every_call_has_one_fate(given_verdict, reply, reason):
    assert drop_reason(given_verdict, **{"finish": "stop", "text": "Hello.", "fallback": False, **reply}) is reason


@given(
    st.sampled_from(["ok", "repaired", "failed", "fallback"]),
    st.sampled_from(["", "malformed", "principle:directness", "unheard of"]),
    st.sampled_from(["stop", "length", "unanswered"]),
    st.sampled_from(["", " ", "Hello."]),
    st.booleans(),
)
def test_only_a_clean_answer_of_the_model_itself_is_kept(status, drop, finish, text, fallback):
    kept = drop_reason(verdict(status, drop), finish=finish, text=text, fallback=fallback) is None
    assert kept == (
        status in ("ok", "repaired") and not drop and finish == "stop" and text == "Hello." and not fallback
    )


def test_labels_keep_the_principle():
    assert drop_label(DropReason.PRINCIPLE, verdict("ok", "principle:directness")) == "principle:directness"
    assert drop_label(DropReason.OTHER, verdict("ok", "something new")) == "something new"
    assert drop_label(DropReason.TRUNCATED, verdict("fallback", "malformed")) == "truncated"
    assert drop_label(DropReason.UNUSED, None) == "unused"
