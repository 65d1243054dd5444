"""Names that a model wrote → names that exist: equal but for case, width, accents, quotes and titles; never a guess.

Every name of a person, place, thing, activity or position is looked up here; skills are an open dictionary, where a new
name is no error (core.limits). `find_person` also looks past titles; for all else a title is part of the name (a coach
house is no house). Two names of one form are ambiguous: no match.
"""

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

from sim.core.keys import normal_form

_TITLE = re.compile(
    r"(?:mr|mrs|ms|miss|mx|dr|prof|professor|sir|madam|lady|lord|master|coach|doctor|teacher)(?:\.\s*|\s+)(?=\S)"
)
_SUFFIXES = ("先生", "女士", "小姐", "老师", "同学", "教授", "医生", "校长", "主任", "学长", "学姐")
_SHORTEST_BARE = 2
"""Characters that must be left of a name without its title: `林老师` is a title and a family name, no name."""
_DRESS = "\"'“”‘’「」『』《》〈〉<>[](){}【】*_.,;:!?。，、；：！？@#"
"""Marks around a name that are no part of it."""
_ALIKE = str.maketrans(dict.fromkeys("‘’`´ʼ′", "'") | dict.fromkeys("‐‑‒–—―−", "-") | dict.fromkeys("•・‧∙", "·"))
_LONGEST = 400
"""Characters of the longest text that can be a name."""
_COMPARED_CHARS = 120
"""Longest part of a text that is compared for likeness."""
_ALIKENESS = 0.4
_SHARED_WORD = 0.5
"""What a common word, such as a first name, adds to the likeness of two names."""


def plain_form(name: str) -> str:
    """The normal form without invisible characters, accents on Latin letters, and marks around the name."""
    letters: list[str] = []
    base = " "
    for char in unicodedata.normalize("NFKD", name):
        if unicodedata.category(char) == "Cf":
            continue
        if not unicodedata.combining(char):
            base = char
        elif unicodedata.name(base, "").startswith("LATIN"):
            continue
        letters.append(char)
    form = normal_form("".join(letters)).translate(_ALIKE)
    return " ".join(form.strip(_DRESS + " ").split())


def person_form(name: str) -> str:
    """The plain form of a person's name without titles."""
    return _parted(name)[1]


def find_name(text: str, allowed: Iterable[str]) -> str | None:
    """The one allowed name of a place, thing, activity or position that a text is, or None."""
    return _only(_matches(text, sorted(set(allowed))))


def find_person(text: str, allowed: Iterable[str]) -> str | None:
    """The one allowed person that a text names, with or without a title, or None; different titles are two people."""
    names = sorted(set(allowed))
    matches = _matches(text, names)
    if not matches and len(text) <= _LONGEST:
        title, bare = _parted(text)
        for name in names:
            other_title, other = _parted(name)
            if bare and bare == other and (title == other_title or not title or not other_title):
                matches.append(name)
    return _only(matches)


def nearest_names(given: str, allowed: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """Up to `count` allowed names, those most like a text or sharing a word with it first; else the first ones."""
    wanted = plain_form(given[:_COMPARED_CHARS])
    names = list(dict.fromkeys(allowed))
    likeness = {name: _likeness(wanted, plain_form(name[:_COMPARED_CHARS])) for name in names}
    close = sorted((name for name in names if likeness[name] >= _ALIKENESS), key=lambda name: -likeness[name])
    return tuple((close or names)[:count])


def _matches(text: str, names: Sequence[str]) -> list[str]:
    """The names equal to a text by the strictest comparison that finds any."""
    if text in names:
        return [text]
    if len(text) > _LONGEST:
        return []
    forms: tuple[Callable[[str], str], ...] = (normal_form, plain_form)
    for form in forms:
        wanted = form(text)
        found = [name for name in names if wanted and form(name) == wanted]
        if found:
            return found
    return []


def _only(matches: Sequence[str]) -> str | None:
    return matches[0] if len(matches) == 1 else None


def _parted(name: str) -> tuple[str, str]:
    """A person's titles and the plain form of the name without them."""
    bare, titles = plain_form(name), ""
    while match := _TITLE.match(bare):
        titles += match.group().strip(". ") + " "
        bare = bare[match.end() :].strip(_DRESS + " ")
    for suffix in _SUFFIXES:
        rest = bare.removesuffix(suffix).strip()
        if rest != bare and len(rest) >= _SHORTEST_BARE:
            return titles + suffix, rest
    return titles, bare


def _likeness(wanted: str, form: str) -> float:
    """How alike two plain forms are, 0..1, and more if they share a word or one holds the other."""
    if not wanted or not form:
        return 0.0
    shares = any(word in form.split() for word in wanted.split()) or wanted in form or form in wanted
    return difflib.SequenceMatcher(a=form, b=wanted).ratio() + (_SHARED_WORD if shares else 0.0)
