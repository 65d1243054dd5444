"""Which reasons for keeping a call out of training are failures of the answer, and what they are called for people."""

FAILURES = {
    "malformed": "malformed",
    "malformed_action": "malformed",
    "empty": "empty",
    "truncated": "truncated",
    "unanswered": "unanswered",
    "invalid_action": "invalid",
}
COUNTED_BY_JOURNAL = frozenset({"truncated", "unanswered"})
"""Kinds that a call's record shows by itself, before anybody has read the answer."""
