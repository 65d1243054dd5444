"""What every question to a model has: ask with templated feedback, record each call's verdict, give an answer."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from sim.context.budget import clip
from sim.context.layers import FEEDBACK_TOKENS
from sim.core.facts import Verdict
from sim.llm.outcome import Outcome, Refusal
from sim.llm.protocol import Request
from sim.mind.answer import Answer
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay

T = TypeVar("T")
Parse = Callable[[Any], T | Refusal]

FALLBACK_MODEL = "fallback_model"
_DROPS = {"invalid": "invalid_action"}


def feedback_of(desk: Desk) -> Callable[[Refusal], str]:
    """What the model is told about an answer that was not accepted, in the world's language."""

    def told(refusal: Refusal) -> str:
        text = clip(refusal.text, FEEDBACK_TOKENS, desk.count)
        return desk.render.render(f"feedback/{refusal.kind}.j2", {"text": text})

    return told


async def put(desk: Desk, overlay: Overlay, request: Request, parse: Parse[T]) -> Outcome[T]:
    """Ask, and record what became of every call that it took."""
    outcome = await desk.model.ask(request, parse, feedback=feedback_of(desk))
    for rejected in outcome.rejected:
        drop = _DROPS.get(rejected.kind, rejected.kind)
        verdict = Verdict(key=rejected.key, agent=request.agent, duty=request.duty, status="failed", drop=drop)
        overlay.judge(verdict)
    overlay.judge(_last_verdict(outcome, request))
    return outcome


def _last_verdict(outcome: Outcome[Any], request: Request) -> Verdict:
    """The verdict on the last call: accepted, from another model, or replaced by a safe default."""
    status, drop = outcome.status, ""
    if outcome.status == "failed":
        kind = next((r.kind for r in reversed(outcome.rejected) if r.key == outcome.key), "malformed")
        status, drop = "fallback", _DROPS.get(kind, kind)
    elif outcome.reply.fallback:
        status, drop = "fallback", FALLBACK_MODEL
    return Verdict(
        key=outcome.key,
        agent=request.agent,
        duty=request.duty,
        status=status,
        drop=drop,
        tool_calls=len(outcome.tool_calls),
    )


def answered(outcome: Outcome[T], default: T | Callable[[], T]) -> Answer[T]:
    """The accepted value, or the default: a value, or a callable that makes it."""
    if outcome.status == "failed" or outcome.tool_calls:
        value = default() if callable(default) else default
        return Answer(value=cast(T, value), status="fallback", text="", key=outcome.key)
    return Answer(
        value=cast(T, outcome.value),
        status="fallback" if outcome.reply.fallback else outcome.status,
        text=outcome.reply.text,
        key=outcome.key,
        reasoning=outcome.reply.reasoning,
    )
