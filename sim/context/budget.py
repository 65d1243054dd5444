"""Fitting text into token budgets: what is clipped, drops or folds. Pure; a given function counts tokens."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sim.core.agent import AgentState, Note
from sim.settings import SimSettings

Count = Callable[[str], int]

MESSAGE_MARGIN = 12
"""Tokens added per chat message for the template's own marks and for joins between blocks."""
PROMPT_MARGIN = 24
"""Tokens kept free per prompt for the opening of the answer and for counting block by block."""
YEAR_SUMMARIES = 1
"""Yearly summaries that stay beside the life summary; more would make later years' prompts longer than the second's."""

_SENTENCE_END = re.compile(r"[.!?…。！？]['\"”’」』)]*(?=\s|$)|[。！？]|\n")


def _longest(text: str, budget: int, count: Count) -> int:
    """Length of the longest beginning of a text that fits its budget (tokens grow with length, nearly always)."""
    low, high = 0, min(len(text), 4 * max(budget, 1))
    while high < len(text) and count(text[:high]) <= budget:
        low, high = high, min(len(text), 2 * high)
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[:middle]) <= budget:
            low = middle
        else:
            high = middle - 1
    while low and count(text[:low]) > budget:
        low -= 1
    return low


def clip(text: str, budget: int, count: Count) -> str:
    """The beginning of a text within a budget: whole sentences if they keep half of it, else cut words with `…`."""
    if count(text) <= budget:
        return text
    kept = text[: _longest(text, budget - count("…"), count)]
    ends = [match.end() for match in _SENTENCE_END.finditer(kept)]
    if ends and ends[-1] * 2 >= len(kept):
        return kept[: ends[-1]].rstrip()
    blank = kept.rfind(" ")
    if blank * 2 >= len(kept):
        kept = kept[:blank]
    return f"{kept.rstrip()}…" if kept.strip() and count("…") <= budget else ""


def clip_middle(text: str, budget: int, count: Count) -> str:
    """A text within a budget without its middle: instructions stand first and the answer's form last."""
    if count(text) <= budget:
        return text
    mark = "\n[…]\n"
    room = budget - count(mark)
    if room < 2:
        return text[: _longest(text, max(0, budget), count)]
    head = text[: _longest(text, room // 2, count)]
    backwards = text[::-1]
    tail = backwards[: _longest(backwards, room - room // 2, lambda part: count(part[::-1]))][::-1]
    return f"{head}{mark}{tail}"


def share(sizes: Sequence[int], total: int) -> list[int]:
    """Budgets for texts of these sizes: each gets what it needs up to an equal share of what the small ones leave."""
    budgets = [0] * len(sizes)
    left = max(0, total)
    open_places = sorted(range(len(sizes)), key=lambda place: (sizes[place], place))
    while open_places:
        place = open_places[0]
        budgets[place] = min(sizes[place], left // len(open_places))
        left -= budgets[place]
        open_places.pop(0)
    return budgets


def clip_all(texts: Sequence[str], total: int, count: Count) -> list[str]:
    """Texts clipped to a common budget, shared evenly."""
    budgets = share([count(text) for text in texts], total)
    return [clip(text, budget, count) for text, budget in zip(texts, budgets, strict=True)]


def fit_lines(
    lines: Sequence[str], budget: int, count: Count, *, keep: Literal["first", "last"] = "first"
) -> list[str]:
    """As many whole lines from one end as fit; the line next to that end is clipped rather than lost."""
    ordered = list(lines) if keep == "first" else list(reversed(lines))
    kept: list[str] = []
    left = budget
    for line in ordered:
        size = count(line) + 1
        if size > left:
            if not kept:
                clipped = clip(line, max(0, budget - 1), count)
                kept = [clipped] if clipped else []
            break
        kept.append(line)
        left -= size
    return kept if keep == "first" else kept[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Diary entries to be replaced by one summary: `count` of them from place `first` on."""

    first: int
    count: int
    kind: Literal["year_summary", "life_summary"]


def fold_plan(state: AgentState, settings: SimSettings, count: Count) -> Fold | None:
    """What to fold next, or None (SPEC sections 2, 3).

    Diaries stand as: life summary, year summaries, weekly entries, each from old to new. Weekly entries beyond the
    window, or beyond half the budget, go into their year's summary; year summaries beyond one into the life summary.
    """
    notes = state.diaries
    years = [place for place, note in enumerate(notes) if note.kind == "year_summary"]
    if len(years) > YEAR_SUMMARIES:
        n_years = len(years) - YEAR_SUMMARIES
        has_life = notes[0].kind == "life_summary"
        return Fold(first=0, count=n_years + (1 if has_life else 0), kind="life_summary")
    weekly = [place for place, note in enumerate(notes) if note.kind == "diary"]
    surplus = _surplus([notes[place] for place in weekly], settings, count)
    if surplus == 0:
        return None
    year = notes[weekly[0]].year
    same_year = [place for place in weekly[:surplus] if notes[place].year == year]
    begun = [place for place in years if notes[place].year == year]
    return Fold(
        first=begun[0] if begun else weekly[0],
        count=len(same_year) + (1 if begun else 0),
        kind="year_summary",
    )


def _surplus(weekly: Sequence[Note], settings: SimSettings, count: Count) -> int:
    """Number of the oldest weekly entries that are too many; the newest always stays."""
    surplus = max(0, len(weekly) - settings.windows.diary_weeks)
    sizes = [count(note.text) for note in weekly]
    while surplus < len(weekly) - 1 and sum(sizes[surplus:]) > settings.budgets.diaries // 2:
        surplus += 1
    return surplus


def fit_diaries(notes: Sequence[Note], budget: int, count: Count) -> list[Note]:
    """Diaries and summaries within a budget, in order: summaries get at most half, the newest entries come first."""
    summaries = [note for note in notes if note.kind != "diary"]
    weekly = [note for note in notes if note.kind == "diary"]
    told = clip_all([note.text for note in summaries], budget // 2 - MESSAGE_MARGIN * len(summaries), count)
    left = budget - sum(count(text) + MESSAGE_MARGIN for text in told)
    kept = [_with_text(note, text) for note, text in zip(summaries, told, strict=True) if text]
    texts = clip_all([note.text for note in weekly], left - MESSAGE_MARGIN * len(weekly), count)
    return kept + [_with_text(note, text) for note, text in zip(weekly, texts, strict=True) if text]


def _with_text(note: Note, text: str) -> Note:
    return Note(year=note.year, week=note.week, day=note.day, kind=note.kind, text=text)


def fit_memory(full: Sequence[str], short: Sequence[str], budget: int, count: Count) -> list[str]:
    """Memory lines, most recently used first, within a budget: the least recent drop to their short form, then out."""
    left = budget - sum(count(line) + 1 for line in short)
    kept: list[str] = []
    for long_line, short_line in zip(full, short, strict=True):
        extra = count(long_line) - count(short_line)
        if extra > left:
            break
        left -= extra
        kept.append(long_line)
    return fit_lines([*kept, *short[len(kept) :]], budget, count)
