"""The working copy inside one running unit: what happens at once is seen at once, and becomes facts at the end."""

from collections.abc import Mapping
from typing import Any

import msgspec

from sim.core.agent import AgentState
from sim.core.facts import AnyFact, UnitFacts, Verdict, apply_all
from sim.core.keys import UnitKey
from sim.engine.stage import Job


class Overlay:
    """States of a unit's agents as they change while it runs, the facts that changed them, and the calls' verdicts."""

    def __init__(self, job: Job) -> None:
        """Start from the job's frozen states."""
        self.unit: UnitKey = job.unit
        self._states: dict[str, AgentState] = dict(job.states)
        self._facts: dict[str, list[AnyFact]] = {name: [] for name in sorted(job.states)}
        self._verdicts: dict[str, Verdict] = {}

    def state(self, name: str) -> AgentState:
        """The agent as it is now; KeyError if it is none of the unit's."""
        return self._states[name]

    def cause(self, name: str, *facts: AnyFact) -> None:
        """Let facts become true of one of the unit's agents at once."""
        self._states[name] = apply_all(self._states[name], facts)
        self._facts[name].extend(facts)

    def judge(self, verdict: Verdict) -> None:
        """Record what became of a call; a later verdict on the same call replaces the earlier."""
        self._verdicts[verdict.key] = verdict

    def drop(self, key: str, reason: str) -> None:
        """Keep a call's answer out of training; the first reason stays."""
        verdict = self._verdicts[key]
        if not verdict.drop:
            self._verdicts[key] = msgspec.structs.replace(verdict, drop=reason)

    def finish(self, outputs: Mapping[str, Any] | None = None) -> UnitFacts:
        """The unit's durable result; verdicts in the order of their keys, so that concurrency leaves no trace."""
        return UnitFacts(
            unit=self.unit,
            by_agent={name: tuple(facts) for name, facts in self._facts.items()},
            outputs=outputs or {},
            verdicts=tuple(self._verdicts[key] for key in sorted(self._verdicts)),
        )
