"""One role-player's question: system, stage prompt, up to `tool_rounds` rounds of memory functions, then the answer."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import msgspec

from sim.context.layers import conversation, system_message
from sim.context.render import shows
from sim.context.view import self_view, time_of
from sim.core.facts import RefusalsShown
from sim.core.keys import call_key, seed_of
from sim.llm.outcome import Outcome
from sim.llm.protocol import Message, OutputFormat, Request
from sim.mind.answer import Answer
from sim.mind.calls import Parse, answered, put
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.mind.tools import MemoryTools, schemas

T = TypeVar("T")
Length = Literal["long", "medium", "short"]

_TOOL_CALL_MARGIN = 80
"""Tokens of a function call around the text of the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """What stays the same over the rounds of one invocation."""

    agent: str
    step: str
    duty: str
    system: Message
    stage: str
    output: OutputFormat
    max_tokens: int
    history: tuple[Message, ...] = field(default=())


async def ask_agent(
    desk: Desk,
    overlay: Overlay,
    agent: str,
    *,
    step: str,
    template: str,
    values: Mapping[str, Any],
    output: OutputFormat,
    parse: Parse[T],
    default: T | Callable[[], T],
    length: Length,
    tools: bool = False,
    create_people: bool = True,
    history: tuple[Message, ...] = (),
    duty: str | None = None,
) -> Answer[T]:
    """The agent's answer to a stage prompt, or the default.

    `step` is unique for the agent within the unit. `parse` gets the decoded object of a json answer or the raw text,
    and returns a value or a Refusal, which is sent back to the model. `me`, `short`, `time` and `tools` (are on offer)
    are added to `values`.
    """
    rounds = desk.settings.limits.tool_rounds if tools and offers_tools(desk, overlay) else 1
    stage = _stage_text(desk, overlay, agent, template, values, tools=rounds > 1)
    offer = [_offer(desk, rounds - 1)] if rounds > 1 else []
    question = _Question(
        agent=agent,
        step=step,
        duty=duty or step,
        system=system_message(desk, overlay.state(agent)),
        stage=stage if history else "\n\n".join((stage, *offer)),
        output=output,
        max_tokens=_max_tokens(desk, length, tools=rounds > 1),
        history=(*history, *(Message(role="user", parts=(text,)) for text in offer)) if history else (),
    )
    memory = MemoryTools(desk, overlay, agent, create_people=create_people)
    exchange: list[Message] = []
    number = 1
    while True:
        request = _request(desk, overlay, question, exchange, number=number, rounds=rounds)
        outcome = await put(desk, overlay, request, parse)
        if number == rounds or not (outcome.tool_calls or _failed_on_functions(outcome)):
            return answered(overlay, request, outcome, default)
        if outcome.tool_calls:
            exchange.append(Message(role="assistant", parts=(outcome.reply.text,)))
            exchange.append(Message(role="user", parts=(memory.run(outcome.tool_calls),)))
        number = number + 1 if outcome.tool_calls else rounds


def _failed_on_functions(outcome: Outcome[Any]) -> bool:
    """Whether no readable answer came although one was written: then the last round, without functions, is tried."""
    return outcome.status == "failed" and outcome.reply.finish != "unanswered"


def offers_tools(desk: Desk, overlay: Overlay) -> bool:
    """Whether memory functions are on offer in this stage, by the settings."""
    where = desk.settings.prompts.tools
    return where == "all" or (where == "review" and overlay.unit.stage == "review")


def _stage_text(
    desk: Desk, overlay: Overlay, agent: str, template: str, values: Mapping[str, Any], *, tools: bool
) -> str:
    """The stage prompt; refusals that it shows are cleared."""
    state = overlay.state(agent)
    common = {
        "me": self_view(desk, state, overlay.unit),
        "short": desk.settings.prompts.profile == "short",
        "time": time_of(overlay.unit),
        "tools": tools,
    }
    text = desk.render.render(template, {**values, **common})
    if any(shows(text, refusal) for refusal in common["me"]["refusals"]):
        overlay.cause(agent, RefusalsShown())
    return text


def _offer(desk: Desk, rounds: int) -> str:
    """The offer of memory functions; it stands after what the answer is asked for."""
    return desk.render.render("tools/offer.j2", {"rounds": rounds, "short": desk.settings.prompts.profile == "short"})


def _max_tokens(desk: Desk, length: Length, *, tools: bool) -> int:
    """Longest answer, with the reasoning before it; where files may be written, a whole file must fit."""
    answers = desk.settings.answers
    tokens: int = getattr(answers, length)
    if tools:
        tokens = max(tokens, min(answers.long, desk.settings.budgets.file + _TOOL_CALL_MARGIN))
    return tokens + answers.reasoning_room


def _request(
    desk: Desk, overlay: Overlay, question: _Question, exchange: list[Message], *, number: int, rounds: int
) -> Request:
    """The call of one round; functions are on offer in all but the last."""
    offered = number < rounds
    step = question.step if number == 1 else f"{question.step}.{number}"
    key = call_key(overlay.unit, question.agent, step, 1)
    closing = desk.render.render("tools/answer_now.j2", {}) if rounds > 1 and not offered else ""
    functions = schemas(desk, overlay.state(question.agent)) if offered else ()
    return Request(
        key=key,
        unit=str(overlay.unit),
        agent=question.agent,
        duty=question.duty,
        role="policy",
        messages=conversation(
            desk,
            question.system,
            question.stage,
            (*question.history, *exchange),
            max_tokens=question.max_tokens,
            closing=closing,
        ),
        output=msgspec.structs.replace(question.output, tools=functions),
        seed=seed_of(desk.scope, key),
        max_tokens=question.max_tokens,
        temperature=desk.settings.answers.temperature,
        top_p=desk.settings.answers.top_p,
        affinity=question.agent,
    )
