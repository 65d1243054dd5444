"""Which model calls may be learned from, and why the others may not (SPEC section 9). Every drop has one reason."""

from enum import StrEnum

from sim.core.facts import Verdict


class DropReason(StrEnum):
    """Why a call is kept out of training; the value is what reports print."""

    MALFORMED = "malformed"
    """Its form: no JSON, fields missing or of the wrong kind, an action that can't be read."""
    INVALID_ACTION = "invalid_action"
    """Its content: readable, and against the rules of the world."""
    PRINCIPLE = "principle"
    FALLBACK = "fallback"
    OTHER_MODEL = "other_model"
    """Of an agent whom another model plays than the one that is trained."""
    TRUNCATED = "truncated"
    EMPTY = "empty"
    UNANSWERED = "unanswered"
    UNUSED = "unused"
    """No verdict: the unit that asked never finished with this answer."""
    OTHER = "other"


_BY_WORD = {reason.value: reason for reason in DropReason} | {
    "fallback_model": DropReason.FALLBACK,
    "invalid": DropReason.INVALID_ACTION,
    "malformed_action": DropReason.MALFORMED,
}
_KEPT_STATUS = frozenset({"ok", "repaired"})


def drop_reason(
    verdict: Verdict | None, *, finish: str, text: str, fallback: bool, other_model: bool = False
) -> DropReason | None:
    """Why this call is not trained on, or None if it may be.

    What is told of the reply decides first, since it holds whatever was made of the answer.
    """
    if other_model:
        return DropReason.OTHER_MODEL
    if finish == "unanswered":
        return DropReason.UNANSWERED
    if finish == "length":
        return DropReason.TRUNCATED
    if not text.strip():
        return DropReason.EMPTY
    if fallback:
        return DropReason.FALLBACK
    if verdict is None:
        return DropReason.UNUSED
    if verdict.drop:
        return _BY_WORD.get(verdict.drop.split(":", 1)[0], DropReason.OTHER)
    if verdict.status in _KEPT_STATUS:
        return None
    return DropReason.FALLBACK if verdict.status == "fallback" else DropReason.MALFORMED


def drop_label(reason: DropReason, verdict: Verdict | None) -> str:
    """The reason as a report counts it: a violated principle keeps its name."""
    if reason in (DropReason.PRINCIPLE, DropReason.OTHER) and verdict is not None and verdict.drop:
        return verdict.drop
    return reason.value
