"""Days as agents write them: the exact form, and other forms that can mean one day only."""

import re
from collections.abc import Sequence

from sim.core.clock import Slot, parse_slot
from sim.core.names import plain_form

_GAP = r"[\s,;/_.-]*"
_WORDS = re.compile(
    rf"(?:y(?:ear)?\s*(\d{{1,4}}){_GAP})?w(?:eek)?\s*(\d{{1,3}}){_GAP}(?:activity{_GAP})?d(?:ay)?{_GAP}(\d{{1,3}})"
)
_NUMBER = r"(\d{1,4}|[一二三四五六七八九十]{1,3})"
_CHINESE = re.compile(rf"(?:第{_NUMBER}年[\s,、的]*)?第{_NUMBER}(?:周|个?星期)[\s,、的]*(?:活动)?第{_NUMBER}[天日]")
_DIGITS = "一二三四五六七八九"


def read_day(text: str, window: Sequence[Slot]) -> Slot | None:
    """The day that a text means, in the window or not; None if it has no such form or leaves a doubt.

    `Y1-W2-activity-D3`, `y1 w2 d3`, `Year 1, Week 2, Day 3`, `第1年第二周第3天`. Without a year it is the only such day
    of the window.
    """
    plain = plain_form(text)
    exact = parse_slot(plain)
    if exact is not None:
        return exact
    match = _WORDS.fullmatch(plain) or _CHINESE.fullmatch(plain)
    if match is None:
        return None
    year, week, day = (None if part is None else _number(part) for part in match.groups())
    if week is None or day is None:
        return None
    if match[1] is not None:
        return None if year is None else Slot(year=year, week=week, day=day)
    meant = [slot for slot in window if (slot.week, slot.day) == (week, day)]
    return meant[0] if len(meant) == 1 else None


def _number(text: str) -> int | None:
    """A number in digits, or in Chinese up to 99; None if it is none."""
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return _DIGITS.index(ones) + 1 if len(ones) == 1 else None
    if len(tens) > 1 or len(ones) > 1 or "十" in tens:
        return None
    return 10 * (_DIGITS.index(tens) + 1 if tens else 1) + (_DIGITS.index(ones) + 1 if ones else 0)
