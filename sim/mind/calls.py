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


def feedback_of(desk: Desk) -> Callable[[Refusal], str]:
    """What the model is told about an answer that was not accepted, in the world's language."""

    def told(refusal: Refusal) -> str:
        text, detail = (clip(part, FEEDBACK_TOKENS, desk.count) for part in (refusal.text, refusal.detail))
        values = {"text": text, "code": refusal.code, "detail": detail}
        return desk.render.render(f"feedback/{refusal.kind}.j2", values)

    return told


async def put(desk: Desk, overlay: Overlay, request: Request, parse: Parse[T]) -> Outcome[T]:
    """Ask, and record what became of every call that it took."""
    outcome = await desk.model.ask(request, parse, feedback=feedback_of(desk))
    for rejected in outcome.rejected:
        overlay.judge(_verdict(request, rejected.key, "failed", _drop_of(rejected.kind)))
    if outcome.status != "failed":
        foreign = outcome.reply.fallback
        status, drop = ("fallback", FALLBACK_MODEL) if foreign else (outcome.status, "")
        overlay.judge(_verdict(request, outcome.key, status, drop, tool_calls=len(outcome.tool_calls)))
    return outcome


def _drop_of(kind: str) -> str:
    """Why a refused answer is not trained on."""
    return "invalid_action" if kind == "invalid" else kind


def _verdict(request: Request, key: str, status: str, drop: str, *, tool_calls: int = 0) -> Verdict:
    return Verdict(key=key, agent=request.agent, duty=request.duty, status=status, drop=drop, tool_calls=tool_calls)


def answered(overlay: Overlay, request: Request, outcome: Outcome[T], default: T | Callable[[], T]) -> Answer[T]:
    """The accepted value, or the default: a value, or a callable that makes it. The last call is then marked."""
    if outcome.status == "failed":
        kind = outcome.rejected[-1].kind if outcome.rejected else "malformed"
        overlay.judge(_verdict(request, outcome.key, "fallback", _drop_of(kind)))
        value = default() if callable(default) else default
        return Answer(value=cast(T, value), status="fallback", text="", key=outcome.key)
    return Answer(
        value=cast(T, outcome.value),
        status="fallback" if outcome.reply.fallback else outcome.status,
        text=outcome.reply.text,
        key=outcome.key,
        reasoning=outcome.reply.reasoning,
    )
