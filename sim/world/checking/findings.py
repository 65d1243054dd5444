"""What a check of a world finds: faults, which a life would suffer from, and warnings, for its author to weigh."""

from collections.abc import Iterable
from typing import Literal

import msgspec

Kind = Literal[
    "file",
    "money",
    "soundness",
    "duplicate",
    "contradiction",
    "unknown_person",
    "unreachable",
    "unheld_position",
    "age",
    "skill",
    "supply",
    "place",
    "length",
    "names",
    "account",
]


class Finding(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One thing found: where, what, and what to do about it."""

    severity: Literal["fault", "warning"]
    kind: Kind
    where: str
    text: str
    about: tuple[str, ...] = ()
    """Names that it is about, of characters, positions or places."""

    def __str__(self) -> str:
        """One line for people."""
        return f"{self.where}: {self.text}"


def fault(kind: Kind, where: str, text: str, *about: str) -> Finding:
    """Something that must be mended."""
    return Finding(severity="fault", kind=kind, where=where, text=text, about=about)


def warning(kind: Kind, where: str, text: str, *about: str) -> Finding:
    """Something to look at."""
    return Finding(severity="warning", kind=kind, where=where, text=text, about=about)


def faults_in(findings: Iterable[Finding]) -> list[Finding]:
    """The faults among findings."""
    return [finding for finding in findings if finding.severity == "fault"]


def report(findings: Iterable[Finding]) -> str:
    """A page for people: faults first, each kind together."""
    lines: list[str] = []
    ordered = list(findings)
    for severity, title in (("fault", "faults"), ("warning", "warnings")):
        found = [finding for finding in ordered if finding.severity == severity]
        lines.append(f"{title}: {len(found)}")
        lines += [f"  [{finding.kind}] {finding}" for finding in sorted(found, key=lambda item: item.kind)]
    return "\n".join(lines)
