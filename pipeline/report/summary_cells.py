"""One round's column in the summary: each cell's text from the round's tables and reports. Pure."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.report.call_counts import CallGroup, failures, share_by_itself, total_calls
from pipeline.report.screen_text import short
from training.prepare import Prepared

Lines = list[dict[str, Any]]
NONE = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundFacts:
    """All that one round's column is made of."""

    number: int
    calls: list[CallGroup]
    years: Lines
    rewards: Lines
    selection: Lines
    drops: Lines
    prepared: Prepared | None
    metrics: Mapping[str, Any] | None
    redeployed: Mapping[str, Any] | None

    @property
    def chosen(self) -> Lines:
        """Selected agents' years, by world, year and rank."""
        return [line for line in self.selection if line["selected"]]


Cell = Callable[[RoundFacts], str]


def _share(role: str) -> Cell:
    def cell(one: RoundFacts) -> str:
        good, known = share_by_itself(one.calls, role)
        return f"{100 * good / known:.1f} % of {known}" if known else NONE

    return cell


def _failed(kind: str) -> Cell:
    return lambda one: str(failures(one.calls)[kind])


def _against_principles(one: RoundFacts) -> str:
    return str(total_calls(one.calls, lambda group: group.drop.startswith("principle:")))


def _mean(column: str, digits: int) -> Cell:
    def cell(one: RoundFacts) -> str:
        values = [line[column] for line in one.rewards if line[column] is not None]
        return f"{math.fsum(values) / len(values):.{digits}f}" if values else NONE

    return cell


def _agents(one: RoundFacts) -> str:
    return str(len({(line["world"], line["agent"]) for line in one.years}) or NONE)


def _complete_years(one: RoundFacts) -> str:
    return str(len({line["year"] for line in one.years}))


def _tokens(one: RoundFacts) -> str:
    return f"{short(sum(g.prompt_tokens for g in one.calls))} / {short(sum(g.output_tokens for g in one.calls))}"


def _per_call(one: RoundFacts) -> str:
    """Prompt tokens of a role-play call in the first and the last year: bounded contexts show as equal numbers."""
    sums: dict[int, tuple[int, int]] = {}
    for group in one.calls:
        if group.role == "policy" and group.year:
            tokens, calls = sums.get(group.year, (0, 0))
            sums[group.year] = (tokens + group.prompt_tokens, calls + group.calls)
    means = [sums[year][0] / sums[year][1] for year in sorted(sums)]
    return f"{means[0]:.0f} > {means[-1]:.0f}" if means else NONE


def _selected(one: RoundFacts) -> str:
    used = sum(line["used"] for line in one.selection)
    return f"{len(one.chosen)} of {len(one.selection)}, {used} used" if one.selection else NONE


def _rows(source: str) -> Cell:
    def cell(one: RoundFacts) -> str:
        part = next((p for p in one.prepared.parts if p.source == source), None) if one.prepared else None
        return f"{part.rows} ({short(part.output_tokens)} tok)" if part else NONE

    return cell


def _mixture(one: RoundFacts) -> str:
    """Share of general output tokens, and by how much it misses its goal."""
    if one.prepared is None or not one.prepared.enough:
        return NONE if one.prepared is None else "too few rows"
    total = sum(part.output_tokens for part in one.prepared.parts)
    general = sum(part.output_tokens for part in one.prepared.parts if part.source == "general")
    return f"{100 * general / total:.1f} % (off {one.prepared.gap_tokens:.0f} tok)" if total else NONE


def _metric(text: Callable[[Mapping[str, Any]], str]) -> Cell:
    return lambda one: text(one.metrics) if one.metrics else NONE


def _changed(metrics: Mapping[str, Any]) -> str:
    share = metrics.get("changed_share")
    return NONE if share is None else f"{100 * share:.1f} %"


def _version(one: RoundFacts) -> str:
    if one.redeployed is None:
        return NONE
    version = str(one.redeployed.get("version", NONE))
    return version if one.redeployed.get("redeployed") else f"{version} (kept)"


CELLS: Sequence[tuple[str, Cell]] = (
    ("agents", _agents),
    ("complete years", _complete_years),
    ("model calls", lambda one: str(total_calls(one.calls))),
    ("tokens read / written", _tokens),
    ("prompt of a role-play call, year 1 > last", _per_call),
    ("answered by the model: role-play", _share("policy")),
    ("answered by the model: environment", _share("environment")),
    ("failed: malformed", _failed("malformed")),
    ("failed: empty", _failed("empty")),
    ("failed: truncated", _failed("truncated")),
    ("failed: unanswered", _failed("unanswered")),
    ("failed: invalid action", _failed("invalid")),
    ("against a principle", _against_principles),
    ("answered by the fallback endpoint", lambda one: str(total_calls(one.calls, lambda group: group.fallback))),
    ("mean subjective reward", _mean("subjective", 2)),
    ("mean economic reward", _mean("economic", 1)),
    ("mean social reward", _mean("social", 4)),
    ("mean social reward minus t=0", _mean("adjusted_social", 4)),
    ("selected agent-years", _selected),
    ("trained rows: role-play", _rows("roleplay")),
    ("trained rows: environment", _rows("environment")),
    ("trained rows: general", _rows("general")),
    ("general share of output tokens", _mixture),
    ("optimizer steps", _metric(lambda metrics: str(metrics["steps"]))),
    ("loss, first > last step", _metric(lambda metrics: f"{metrics['first_loss']:.3f} > {metrics['last_loss']:.3f}")),
    ("weights that changed", _metric(_changed)),
    ("version served afterwards", _version),
)
"""Rows of the summary in their order; one that no round has anything for is left out."""
