"""Names in a structured answer: the name that is meant, or the refusal that is sent back (sim.core.names decides)."""

from collections.abc import Iterable

from sim.core.names import find_name, find_person, nearest_names
from sim.llm.outcome import Refusal

_NEAREST = 5
_SHOWN_CHARS = 80


def nearest(text: str, allowed: Iterable[str]) -> list[str]:
    """Valid names that look most like a text; the first few in order if none does."""
    return list(nearest_names(text, sorted(set(allowed)), _NEAREST))


def resolve_name(text: str, allowed: Iterable[str]) -> str | Refusal:
    """The allowed name of a place, event or position that a text means, or a refusal.

    Its form is `"Mara Vos" → ? ("Mara Voss", …)`; the feedback template explains it in the world's language.
    """
    names = sorted(set(allowed))
    found = find_name(text, names)
    return _refusal(text, names) if found is None else found


def resolve_person(text: str, allowed: Iterable[str]) -> str | Refusal:
    """The allowed person that a text means, with or without a title, or the same refusal."""
    names = sorted(set(allowed))
    found = find_person(text, names)
    return _refusal(text, names) if found is None else found


def _refusal(text: str, names: list[str]) -> Refusal:
    choices = ", ".join(f'"{name}"' for name in nearest(text, names))
    shown = " ".join(text.encode("utf-8", "replace").decode().split())[:_SHOWN_CHARS]
    return Refusal(kind="invalid", text=f'"{shown}" → ? ({choices})')
