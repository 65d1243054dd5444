"""Names that a model wrote → names that exist: equal but for case, width, quotes and titles; never a guess."""

import difflib
from collections.abc import Iterable, Mapping

from sim.core.keys import normal_form
from sim.llm.outcome import Refusal

_TITLES = (
    "mr",
    "mrs",
    "ms",
    "miss",
    "mx",
    "dr",
    "prof",
    "professor",
    "sir",
    "madam",
    "lady",
    "lord",
    "master",
    "coach",
)
_SUFFIXES = ("先生", "女士", "小姐", "老师", "同学", "教授", "医生", "校长", "主任")
_QUOTES = "\"'`“”‘’「」『』《》<>[]()*_.,;:!?。，；：！？@#"
_NEAREST = 5


def _bare(name: str) -> str:
    """A normalised name without quotes, closing marks and titles."""
    words = normal_form(name).strip(_QUOTES).split()
    while len(words) > 1 and words[0].strip(".") in _TITLES:
        words = words[1:]
    bare = " ".join(words)
    for suffix in _SUFFIXES:
        if bare.endswith(suffix) and len(bare) > len(suffix) + 1:
            return bare[: -len(suffix)]
    return bare


def nearest(text: str, allowed: Iterable[str]) -> list[str]:
    """Valid names that look most like a text; the first few in order if none does."""
    names = sorted(allowed)
    by_form = {normal_form(name): name for name in reversed(names)}
    close = difflib.get_close_matches(normal_form(text), sorted(by_form), n=_NEAREST, cutoff=0.5)
    parts = [name for name in names if _bare(text) and _bare(text) in normal_form(name)]
    found = list(dict.fromkeys([by_form[form] for form in close] + parts))
    return (found or names)[:_NEAREST]


def resolve_name(text: str, allowed: Iterable[str]) -> str | Refusal:
    """The allowed name that a text means, or a refusal of the form `"Mara Vos" → ? ("Mara Voss", …)`.

    The refusal carries no sentence: the feedback template explains its form in the world's language.
    """
    names = sorted(set(allowed))
    if text in names:
        return text
    for form in (normal_form, _bare):
        wanted = form(text)
        matches = [name for name in names if form(name) == wanted]
        if len(matches) == 1 and wanted:
            return matches[0]
    choices = ", ".join(f'"{name}"' for name in nearest(text, names))
    shown = " ".join(text.encode("utf-8", "replace").decode().split())[:80]
    return Refusal(kind="invalid", text=f'"{shown}" → ? ({choices})')


def resolve_key(text: str, values: Mapping[str, object]) -> str | Refusal:
    """The key of a mapping that a text means, or the refusal."""
    return resolve_name(text, values.keys())
