"""How far lives have come: each agent's place in its chain of units, and from it the share that is done. Pure.

Counting units would not do: how many days are shared is only known when they are lived, and pure units take no time.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from sim.core.clock import Clock, week_text
from sim.core.keys import UnitKey

_FOUNDING = ("birth", "judging")
_YEAR_END = ("profile_update", "wishes", "judging")
_DAYS = ("joint", "encounter", "public_act", "public_meet", "solo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Steps of one agent's life that take time: plan, sign-up, contact rounds, days, review; three at a year's end."""

    clock: Clock
    years_before: int = 0
    """Years that were lived before this simulation began."""

    @property
    def per_week(self) -> int:
        """Steps of a week."""
        return 3 + self.clock.n_contact + self.clock.n_day

    @property
    def per_year(self) -> int:
        """Steps of a year."""
        return self.per_week * self.clock.n_week + len(_YEAR_END)

    @property
    def length(self) -> int:
        """Steps of all years of this simulation, the founding included where there is one."""
        founding = 0 if self.years_before else len(_FOUNDING)
        return founding + self.per_year * (self.clock.n_year - self.years_before)

    def place(self, unit: UnitKey) -> int | None:
        """Steps that an agent has done once this unit of its own is finished; None of a unit that says nothing."""
        if unit.year == 0:
            return _FOUNDING.index(unit.stage) + 1 if unit.stage in _FOUNDING else None
        founding = 0 if self.years_before else len(_FOUNDING)
        before = founding + self.per_year * (unit.year - 1 - self.years_before)
        if unit.stage in _YEAR_END:
            return before + self.per_week * self.clock.n_week + _YEAR_END.index(unit.stage) + 1
        in_week = self._in_week(unit)
        return None if in_week is None else before + self.per_week * (unit.week - 1) + in_week

    def _in_week(self, unit: UnitKey) -> int | None:
        n_contact = self.clock.n_contact
        if unit.stage in _DAYS:
            return 2 + n_contact + unit.index
        by_stage = {"settle": 0, "plan": 1, "signup": 2, "contact": 2 + unit.index, "agenda": 2 + n_contact}
        by_stage |= {"review": self.per_week, "cleanup": self.per_week}
        return by_stage.get(unit.stage)


class LifeProgress:
    """Where all agents of the worlds that are lived side by side are now."""

    def __init__(self, chain: Chain, n_agents: Mapping[str, int]) -> None:
        """`n_agents` by world."""
        self._chain = chain
        self._n_agents = dict(n_agents)
        self._at: dict[tuple[str, str], tuple[int, UnitKey]] = {}
        self._steps = 0
        self._weeks: Counter[tuple[int, int]] = Counter()
        self._units: dict[str, tuple[int, int]] = {}
        self._stages: Counter[str] = Counter()

    def unit_done(self, world: str, unit: UnitKey, done: int, pending: int) -> None:
        """A unit is finished; the scheduler says how many are, and how many it knows of that are not."""
        self._units[world] = (done, pending)
        place = self._chain.place(unit) if unit.who else None
        if place is None:
            return
        before, old = self._at.get((world, unit.who), (0, None))
        if old is not None and place <= before:
            return
        if old is not None:
            self._leave(old)
        self._at[world, unit.who] = (place, unit)
        self._steps += place - before
        self._weeks[unit.year, unit.week] += 1
        self._stages[_stage_text(unit)] += 1

    def share(self) -> float:
        """The share of all steps of all agents that is done, from 0 to 1."""
        total = self._chain.length * sum(self._n_agents.values())
        return min(1.0, self._steps / total) if total else 0.0

    def weeks(self) -> tuple[str, str] | None:
        """The lowest and the highest week in which an agent is; None before the first unit."""
        return (week_text(*min(self._weeks)), week_text(*max(self._weeks))) if self._weeks else None

    def units(self) -> tuple[int, int]:
        """Finished units, and units that are known and not finished."""
        return sum(done for done, _ in self._units.values()), sum(pending for _, pending in self._units.values())

    def stages(self) -> dict[str, int]:
        """How many agents did what last, the most frequent first, then by name."""
        return dict(sorted(self._stages.items(), key=lambda item: (-item[1], item[0])))

    def _leave(self, unit: UnitKey) -> None:
        """The agent is no longer after this unit."""
        self._weeks[unit.year, unit.week] -= 1
        self._stages[_stage_text(unit)] -= 1
        self._weeks, self._stages = +self._weeks, +self._stages


def _stage_text(unit: UnitKey) -> str:
    """A stage as a progress line names it: with the number of its round or day."""
    return f"{unit.stage}.{unit.index}" if unit.index else unit.stage
