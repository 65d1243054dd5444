"""Long-term memory: logical files of one agent, never a path on disk (SPEC section 2).

`list_files`, `read_file` and `update_file` are pure: they say what happened and which facts follow. An update needs
that the same invocation has read the file; a new file needs no read. Names of people are names of the cast.
"""

import re
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from sim.context.budget import Count, clip
from sim.context.names import nearest, resolve_person
from sim.core.agent import AgentState
from sim.core.facts import AnyFact, ReadFile, WroteFile

GENERAL = "general.txt"
PEOPLE = "characters/"
OTHERS = "others/"
SUFFIX = ".txt"
_LONGEST_NAME = 60
_MOST_FILES_LISTED = 120
_MOST_OTHERS = 60
_FIRST_SENTENCES = re.compile(r"[.!?…。！？]+['\"”’」』]*\s*")

Code = Literal[
    "listed",
    "read",
    "written",
    "bad_path",
    "bad_text",
    "no_file",
    "not_read",
    "too_long",
    "unknown_person",
    "self",
    "no_new_people",
    "too_many",
    "bad_call",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResult:
    """What a memory function did. `code` names the sentence that tells the agent, the rest fills it."""

    code: Code
    path: str = ""
    text: str = ""
    paths: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    size: int = 0
    limit: int = 0
    facts: tuple[AnyFact, ...] = ()

    @property
    def refused(self) -> bool:
        """Whether nothing was done."""
        return self.code not in ("listed", "read", "written")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRules:
    """What one invocation may do with its memory."""

    cast: tuple[str, ...]
    file_tokens: int
    summary_tokens: int
    count: Count
    create_people: bool = True


def person_path(name: str) -> str:
    """The file about a person."""
    return f"{PEOPLE}{name}{SUFFIX}"


def summary_of(text: str, tokens: int, count: Count) -> str:
    """One line that stands for a text: its first sentences, as many as fit."""
    line = " ".join(text.split())
    summary = ""
    for match in _FIRST_SENTENCES.finditer(line):
        if count(line[: match.end()]) > tokens:
            break
        summary = line[: match.end()].strip()
    return summary or clip(line, tokens, count)


def _is_clean(text: str) -> bool:
    """Free of lone surrogates and control characters (line breaks and tabs are welcome)."""
    return all(char in "\n\t\r" or unicodedata.category(char) not in ("Cs", "Cc") for char in text)


def _guarded(path: str) -> str | None:
    """The NFC logical path, or None if it is none of the three places."""
    if not _is_clean(path):
        return None
    path = unicodedata.normalize("NFC", path.strip())
    if path == GENERAL:
        return path
    for folder in (PEOPLE, OTHERS):
        name = path.removeprefix(folder).removesuffix(SUFFIX)
        if path == f"{folder}{name}{SUFFIX}" and _is_name(name):
            return path
    return None


def _is_name(name: str) -> bool:
    return (
        0 < len(name) <= _LONGEST_NAME
        and name == name.strip(" .")
        and ".." not in name
        and not any(char in "/\\\n\t\r" for char in name)
    )


def located(state: AgentState, path: str, cast: Collection[str]) -> FileResult | str:
    """The logical path that the model means, or why there is none. Names of people become names of the cast."""
    logical = path if path in state.files else _guarded(path)
    if logical is None:
        return FileResult(code="bad_path", path=_shown(path))
    if not logical.startswith(PEOPLE) or logical in state.files:
        return logical
    who = logical.removeprefix(PEOPLE).removesuffix(SUFFIX)
    known = state.knows()
    name = resolve_person(who, [*known, *cast])
    if not isinstance(name, str):
        return FileResult(code="unknown_person", path=logical, names=tuple(nearest(who, known)))
    if name == state.name:
        return FileResult(code="self", path=logical)
    return person_path(name)


def _shown(path: str) -> str:
    """A refused path as it may be repeated to the model."""
    return "".join(char if char.isprintable() else "?" for char in path)[:80]


def list_files(state: AgentState) -> FileResult:
    """All files, most recently accessed first."""
    paths = sorted(state.files, key=lambda path: (-state.files[path].touched, path))
    return FileResult(code="listed", paths=tuple(paths[:_MOST_FILES_LISTED]))


def read_file(state: AgentState, path: str, rules: FileRules) -> FileResult:
    """A file's text; reading counts as access."""
    found = located(state, path, rules.cast)
    if isinstance(found, FileResult):
        return found
    file = state.files.get(found)
    if file is None:
        return FileResult(code="no_file", path=found, names=tuple(nearest(found, state.files)))
    text = clip(file.text, rules.file_tokens, rules.count)
    return FileResult(code="read", path=found, text=text, facts=(ReadFile(path=found),))


def update_file(
    state: AgentState, path: str, text: str, summary: str, *, read: Collection[str], rules: FileRules
) -> FileResult:
    """Replace a file's text, or make a new file. `read` are the files that this invocation has seen."""
    found = located(state, path, rules.cast)
    if isinstance(found, FileResult):
        return found
    if not text.strip() or not _is_clean(text) or not _is_clean(summary):
        return FileResult(code="bad_text", path=found)
    if found in state.files and found not in read:
        return FileResult(code="not_read", path=found)
    if found not in state.files:
        refused = _not_creatable(state, found, rules)
        if refused is not None:
            return refused
    text = unicodedata.normalize("NFC", text.strip())
    size = rules.count(text)
    if size > rules.file_tokens:
        return FileResult(code="too_long", path=found, size=size, limit=rules.file_tokens)
    line = clip(" ".join(unicodedata.normalize("NFC", summary).split()), rules.summary_tokens, rules.count)
    line = line or summary_of(text, rules.summary_tokens, rules.count)
    return FileResult(code="written", path=found, facts=(WroteFile(path=found, text=text, summary=line),))


def _not_creatable(state: AgentState, path: str, rules: FileRules) -> FileResult | None:
    """Why a new file may not be made, or None."""
    if path.startswith(PEOPLE) and not rules.create_people:
        return FileResult(code="no_new_people", path=path)
    if path.startswith(OTHERS) and sum(name.startswith(OTHERS) for name in state.files) >= _MOST_OTHERS:
        return FileResult(code="too_many", path=path, limit=_MOST_OTHERS)
    return None
