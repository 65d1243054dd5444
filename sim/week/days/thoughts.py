"""Reasoning behind earlier answers made short while others act; only the agent's own next call waits for it."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from sim.mind.answer import Answer
from sim.mind.compaction import compact
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.week.days.transcript import Transcript


@dataclass(frozen=True, slots=True, kw_only=True)
class Thoughts:
    """What is being made short beside a day's other calls."""

    desk: Desk
    overlay: Overlay
    transcript: Transcript
    beside: asyncio.TaskGroup
    at_work: dict[str, list[asyncio.Task[None]]] = field(default_factory=dict[str, list[asyncio.Task[None]]])

    def keep(self, name: str, answer: Answer[Any], step: str) -> None:
        """Make the reasoning behind the transcript's newest event short; `step` names the call that gave it."""
        if answer.reasoning:
            place = len(self.transcript.events) - 1
            task = self.beside.create_task(self._shorten(name, answer, step, place))
            self.at_work.setdefault(name, []).append(task)

    async def ready(self, name: str) -> None:
        """Wait until an agent's thoughts are in its history."""
        for task in self.at_work.pop(name, []):
            await task

    async def _shorten(self, name: str, answer: Answer[Any], step: str, place: int) -> None:
        self.transcript.thoughts[place] = await compact(self.desk, self.overlay, name, answer, step=step)
