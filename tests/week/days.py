"""Days for tests: agents, what the resolved week gave them, and a model that answers some calls as a test wants it."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from sim.core.agent import Activity, AgentState
from sim.core.facts import UnitFacts, apply
from sim.core.keys import UnitKey
from sim.engine.stage import Job
from sim.llm.protocol import Reply, Request
from sim.llm.scripted import Scripted
from sim.mind.desk import Desk
from sim.settings import LimitSettings, PromptSettings, SimSettings
from sim.week.days import encounter, joint, public, solo
from tests.builders import a_unit, an_agent
from tests.context.desks import a_desk

RUNS = {
    "joint": joint.run,
    "encounter": encounter.run,
    "solo": solo.run,
    "public_act": public.act,
    "public_meet": public.meet,
}


class Model:
    """Gives a test's answer where it has one, else the scripted model's; keeps what it was asked."""

    def __init__(
        self,
        answer: Callable[[Request], Any] | None = None,
        *,
        language: str = "en",
        slowness: int = 0,
        reason: Callable[[Request], str] = lambda request: "",
    ) -> None:
        """`answer` gives a text, a value to be sent as JSON, or None for the scripted model's own.

        `slowness` lets answers come in another order (no time passes).
        """
        self._slowness = slowness
        self._reason = reason
        self._answer = answer or (lambda request: None)
        self._scripted = Scripted(language=language)
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        for _ in range(request.seed * self._slowness % 7):
            await asyncio.sleep(0)
        value = self._answer(request)
        if value is None:
            reply = await self._scripted.complete(request)
            return msgspec.structs.replace(reply, reasoning=self._reason(request))
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return Reply(text=text, finish="stop", model="test@1", reasoning=self._reason(request))

    def prompts(self, agent: str, duty: str = "") -> list[str]:
        """What an agent ("" is the environment) was asked, whole prompts."""
        return [
            "\n".join(message.text for message in request.messages)
            for request in self.asked
            if request.agent == agent and (not duty or request.duty == duty)
        ]


def some_settings(*, short: bool = False, check: bool = False, turns: tuple[int, int] = (2, 4)) -> SimSettings:
    """Few turns, no memory functions unless a test wants them."""
    return SimSettings(
        limits=LimitSettings(turns_min=turns[0], turns_max=turns[1]),
        prompts=PromptSettings(profile="short" if short else "full", tools="none", check_principles=check),
    )


def card(name: str) -> dict[str, Any]:
    """Somebody's public side."""
    return {"name": name, "gender": "woman", "age": 30, "appearance": f"{name} has a red scarf.", "position": ""}


def a_day(
    stage: str,
    states: Iterable[AgentState],
    activity: Activity | None = None,
    *,
    who: str = "",
    more: Mapping[UnitKey, Mapping[str, Any]] | None = None,
    places: tuple[str, ...] = (),
) -> Job:
    """A unit of the first day for these agents; `places` are those where an encounter may be."""
    people = {state.name: state for state in states}
    who = who or min(people)
    unit = a_unit(stage, who, index=1)
    offered = list(places) or ([activity.location] if activity else [])
    mine = {"activities": [msgspec.to_builtins(activity)], "days": [str(unit)], "places": [offered]}
    cast = sorted({*people, *(activity.participants if activity else ())})
    directory = {
        "cards": {name: card(name) for name in cast},
        "homes": {state.name: msgspec.to_builtins(state.home) for state in people.values()},
        "positions": [],
    }
    needed = {
        a_unit("resolve"): {"for": dict.fromkeys(people, mine), "units": {}},
        UnitKey(year=0, week=0, stage="directory"): directory,
        **(more or {}),
    }
    return Job(unit=unit, states=people, needed=needed)


def live(
    job: Job, model: Model, *, settings: SimSettings | None = None, desk: Desk | None = None, **world: Any
) -> UnitFacts:
    """Run a day's unit to its end."""
    from tests.context.desks import a_world

    desk = desk or a_desk(
        model, settings=settings or some_settings(), world=a_world(**world), names=("Ann", "Ben", "Cleo", "Dora")
    )
    return asyncio.run(asyncio.wait_for(RUNS[job.unit.stage](job, desk), timeout=60))


def after(job: Job, facts: UnitFacts) -> dict[str, AgentState]:
    """Everybody's state after the unit."""
    return {name: apply(state, facts) for name, state in job.states.items()}


def people(*names: str, **fields: Any) -> list[AgentState]:
    """Agents of these names."""
    return [an_agent(name, **fields) for name in names]


def gift(item: str, to: str) -> str:
    """A gift as an agent writes it."""
    return f"<role_action>{json.dumps({'action': 'gift', 'item': item, 'to': to})}</role_action>"


EXIT = '<role_action>{"action": "exit_activity"}</role_action>'
