"""Outputs of finished units while somebody may still need them, and the slices that a unit may see."""

from collections.abc import Iterable, Mapping
from typing import Any

from sim.core.clock import Clock
from sim.core.keys import UnitKey

YEARLY = frozenset({"birth", "openings", "directory", "judging", "profile_update", "wishes", "ranking", "take_up"})


class LiveBoard:
    """Finished units of the running week and of the last two year ends; earlier ones are done and forgotten."""

    def __init__(self, clock: Clock, names: Iterable[str]) -> None:
        """An empty board for a cast."""
        self._clock = clock
        self._names = tuple(sorted(names))
        self._outputs: dict[UnitKey, Mapping[str, Any]] = {}
        self._forgotten_before = 0

    @property
    def clock(self) -> Clock:
        """Lengths of years, weeks and stages."""
        return self._clock

    @property
    def names(self) -> tuple[str, ...]:
        """All agents of the world, sorted."""
        return self._names

    def put(self, unit: UnitKey, outputs: Mapping[str, Any]) -> None:
        """A unit is finished."""
        self._outputs[unit] = outputs

    def done(self, unit: UnitKey) -> bool:
        """Whether the unit is finished."""
        return unit in self._outputs or self._is_forgotten(unit)

    def outputs(self, unit: UnitKey) -> Mapping[str, Any]:
        """Outputs of a finished unit; KeyError if it is unfinished or forgotten."""
        return self._outputs[unit]

    def slice_for(self, unit: UnitKey, participants: tuple[str, ...]) -> Mapping[str, Any]:
        """What a unit of these participants may see of a finished unit: of `for`, only their own parts."""
        outputs = self.outputs(unit) if unit in self._outputs else {}
        if not participants or "for" not in outputs:
            return outputs
        mine = {name: outputs["for"][name] for name in participants if name in outputs["for"]}
        return {**outputs, "for": mine}

    def forget_before(self, week_number: int) -> None:
        """Drop outputs that nobody can ask for any more: weekly ones before a week, yearly ones of older years."""
        self._forgotten_before = max(self._forgotten_before, week_number)
        for unit in [unit for unit in self._outputs if self._is_forgotten(unit)]:
            del self._outputs[unit]

    def _is_forgotten(self, unit: UnitKey) -> bool:
        number = self._clock.week_number(unit.year, unit.week)
        if unit.stage in YEARLY:
            return number + 2 * self._clock.n_week < self._forgotten_before
        return number < self._forgotten_before
