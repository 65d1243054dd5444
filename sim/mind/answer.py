"""What a stage gets back from a model: a value that is always there, and how it came about."""

from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[T]):
    """One question's end: the accepted value, or the stage's safe default."""

    value: T
    status: str
    """ok | repaired | fallback (a safe default took its place, or the fallback endpoint answered)."""
    text: str
    """What the model wrote; "" for a default."""
    key: str
    """Key of the call that gave it, for `overlay.drop`."""
    reasoning: str = ""
    """The model's reasoning, if it gives any; `sim.mind.compaction.compact` makes it short for later turns."""
