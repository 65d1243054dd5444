"""One question to the environment model: shared head, the duty's prompt, an answer by schema or the safe default."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from sim.context.layers import conversation, environment_head
from sim.context.view import time_of
from sim.core.keys import call_key, seed_of
from sim.llm.protocol import Message, OutputFormat, Request
from sim.mind.answer import Answer
from sim.mind.calls import Parse, answered, put
from sim.mind.desk import Desk
from sim.mind.invoke import Length
from sim.mind.overlay import Overlay

T = TypeVar("T")


async def ask_environment(
    desk: Desk,
    overlay: Overlay,
    *,
    step: str,
    duty: str,
    template: str,
    values: Mapping[str, Any],
    schema: Mapping[str, Any],
    parse: Parse[T],
    default: T | Callable[[], T],
    length: Length,
    affinity: str = "",
) -> Answer[T]:
    """The environment's answer as an object of `schema`, or the default. `short` and `time` are added to `values`."""
    settings = desk.settings
    common = {"short": settings.prompts.profile == "short", "time": time_of(overlay.unit)}
    text = desk.render.render(template, {**values, **common})
    key = call_key(overlay.unit, "", step, 1)
    max_tokens: int = getattr(settings.answers, length) + settings.answers.reasoning_room
    request = Request(
        key=key,
        unit=str(overlay.unit),
        agent="",
        duty=duty,
        role="environment",
        messages=conversation(
            desk,
            Message(role="system", parts=(environment_head(desk),)),
            text,
            (),
            max_tokens=max_tokens,
            stage_budget=settings.budgets.stage + settings.budgets.history,
        ),
        output=OutputFormat(kind="json", schema=schema),
        seed=seed_of(desk.scope, key),
        max_tokens=max_tokens,
        temperature=settings.answers.environment_temperature,
        top_p=settings.answers.top_p,
        affinity=affinity or duty,
    )
    return answered(overlay, request, await put(desk, overlay, request, parse), default)
