"""Time of a life: years, weeks, days, their text form, and arithmetic on them (SPEC section 1).

A week is counted through the whole run, so that "four weeks ahead" works across years.
"""

import re

import msgspec

_SLOT = re.compile(r"^\s*Y(\d{1,4})-W(\d{1,3})-activity-D(\d{1,3})\s*$", re.IGNORECASE)


class Slot(msgspec.Struct, frozen=True, kw_only=True, order=True):
    """One day of one week of one year, counted from 1."""

    year: int
    week: int
    day: int

    def __str__(self) -> str:
        """The form that agents see and write: `Y3-W7-activity-D2`."""
        return f"Y{self.year}-W{self.week}-activity-D{self.day}"


def week_text(year: int, week: int) -> str:
    """The text form of a week: `Y3-W7`."""
    return f"Y{year}-W{week}"


def parse_slot(text: str) -> Slot | None:
    """The slot that a text names, or None if it is not of the form `Y3-W7-activity-D2`."""
    match = _SLOT.match(text)
    if match is None:
        return None
    year, week, day = (int(group) for group in match.groups())
    return Slot(year=year, week=week, day=day)


class Clock(msgspec.Struct, frozen=True, kw_only=True):
    """The lengths of a run's years, weeks and contact stages, and the calendar year that Y1 is."""

    n_year: int
    n_week: int
    n_day: int
    n_contact: int
    start_year: int = 2024

    def week_number(self, year: int, week: int) -> int:
        """The week counted from 1 through the whole run; week 0 of year 0 is 0."""
        return 0 if year == 0 else (year - 1) * self.n_week + week

    def week_at(self, number: int) -> tuple[int, int]:
        """Year and week of a running week number (1 is Y1-W1)."""
        return (number - 1) // self.n_week + 1, (number - 1) % self.n_week + 1

    def next_week(self, year: int, week: int) -> tuple[int, int] | None:
        """The week after this one, or None after the run's last."""
        number = self.week_number(year, week) + 1
        return None if number > self.n_year * self.n_week else self.week_at(number)

    def contains(self, slot: Slot) -> bool:
        """Whether the run has such a slot."""
        return 1 <= slot.year <= self.n_year and 1 <= slot.week <= self.n_week and 1 <= slot.day <= self.n_day

    def slots_ahead(self, year: int, week: int, weeks: int) -> list[Slot]:
        """All slots from this week (included) to `weeks` weeks later, none beyond the run's last week."""
        first = self.week_number(year, week)
        last = min(first + weeks, self.n_year * self.n_week)
        return [
            Slot(year=y, week=w, day=day)
            for y, w in (self.week_at(number) for number in range(first, last + 1))
            for day in range(1, self.n_day + 1)
        ]

    def age(self, birthday: Slot, year: int, week: int, day: int = 1) -> int:
        """Age in whole years; the birthday's year is a calendar year, Y1 is `start_year`."""
        now = self.start_year + year - 1
        had_birthday = (week, day) >= (birthday.week, birthday.day)
        return max(0, now - birthday.year - (0 if had_birthday else 1))
