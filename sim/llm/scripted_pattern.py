"""Texts that match a simple regular expression: literals, classes, groups, alternatives and repetition."""

import random
import re
from collections.abc import Callable

_DIGITS = "0123456789"
_LOWER = "abcdefghijklmnopqrstuvwxyz"
_CLASSES = {"d": _DIGITS, "w": _LOWER + _LOWER.upper() + _DIGITS + "_", "s": " "}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r"}
_ANY = _LOWER + _DIGITS + " "
_UNBOUNDED = 8
_COUNT = re.compile(r"\{(\d+)(?:(,)(\d*))?\}")

_Make = Callable[[random.Random], str]


def text_like(pattern: str, rng: random.Random) -> str:
    """A text that the pattern matches; ValueError for look-around, back-references and the like."""
    parser = _Parser(pattern.removeprefix("^"))
    make = parser.alternatives()
    if parser.rest not in ("", "$"):
        raise ValueError(
            f"pattern {pattern!r}: the scripted model does not know {parser.rest!r}; use a simpler pattern"
        )
    return make(rng)


class _Parser:
    """Reads a pattern from left to right into a maker of texts."""

    def __init__(self, pattern: str) -> None:
        self.rest = pattern

    def alternatives(self) -> _Make:
        """What stands between bars, any of it."""
        options = [self._sequence()]
        while self.rest.startswith("|"):
            self.rest = self.rest[1:]
            options.append(self._sequence())
        return lambda rng: rng.choice(options)(rng)

    def _sequence(self) -> _Make:
        makers: list[_Make] = []
        while self.rest and self.rest[0] not in "|)" and self.rest != "$":
            makers.append(self._repeated(self._atom()))
        return lambda rng: "".join(make(rng) for make in makers)

    def _take(self) -> str:
        mark, self.rest = self.rest[0], self.rest[1:]
        return mark

    def _atom(self) -> _Make:
        mark = self._take()
        if mark == "(":
            return self._group()
        if mark == "[":
            return _one_of(self._class())
        if mark == "\\" and self.rest:
            return _one_of(self._escaped())
        if mark in "*+?{^$\\":
            raise ValueError(f"the scripted model does not know {mark!r} at {mark + self.rest!r} of a pattern")
        return _one_of(_ANY if mark == "." else mark)

    def _group(self) -> _Make:
        if self.rest.startswith("?:"):
            self.rest = self.rest[2:]
        elif self.rest.startswith("?"):
            raise ValueError(f"the scripted model does not know '({self.rest[:3]}' of a pattern")
        make = self.alternatives()
        if not self.rest.startswith(")"):
            raise ValueError("a group of a pattern does not end")
        self.rest = self.rest[1:]
        return make

    def _escaped(self) -> str:
        mark = self._take()
        if mark in _CLASSES:
            return _CLASSES[mark]
        if mark in _CONTROLS:
            return _CONTROLS[mark]
        if mark.isalnum():
            raise ValueError(f"the scripted model does not know '\\{mark}' of a pattern")
        return mark

    def _class(self) -> str:
        """The characters of a class; of a negated one, those of a small alphabet that are left."""
        negated = self.rest.startswith("^")
        if negated:
            self._take()
        marks: list[str] = []
        while self.rest and (self.rest[0] != "]" or not marks):
            mark = self._take()
            chars = self._escaped() if mark == "\\" else mark
            if self.rest.startswith("-") and len(self.rest) > 1 and self.rest[1] != "]" and len(chars) == 1:
                self._take()
                chars = "".join(map(chr, range(ord(chars), ord(self._take()) + 1)))
            marks.append(chars)
        self.rest = self.rest[1:]
        chars = "".join(marks)
        return "".join(c for c in _ANY + _LOWER.upper() if c not in chars) if negated else chars

    def _repeated(self, make: _Make) -> _Make:
        low, high = self._count()
        if (low, high) == (1, 1):
            return make
        return lambda rng: "".join(make(rng) for _ in range(rng.randint(low, high)))

    def _count(self) -> tuple[int, int]:
        bounds = {"*": (0, _UNBOUNDED), "+": (1, _UNBOUNDED), "?": (0, 1)}.get(self.rest[:1])
        if bounds is not None:
            self.rest = self.rest[1:]
        elif (match := _COUNT.match(self.rest)) is not None:
            self.rest = self.rest[match.end() :]
            low = int(match.group(1))
            high = low if match.group(2) is None else int(match.group(3) or low + _UNBOUNDED)
            bounds = (low, high)
        if self.rest.startswith("?") and bounds is not None:
            self.rest = self.rest[1:]
        return bounds or (1, 1)


def _one_of(chars: str) -> _Make:
    if not chars:
        raise ValueError("a class of a pattern is empty")
    return lambda rng: rng.choice(chars)
