"""A model as the author of a world: one question, one answer by schema, asked again with the error, within bounds."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sim.context.render import Renderer
from sim.core.keys import Scope, seed_of
from sim.llm.outcome import Refusal
from sim.llm.protocol import LLM, Message, OutputFormat, Request
from sim.llm.structured import Structured
from sim.world.schema import World

T = TypeVar("T")

ATTEMPTS = 5
ANSWER_TOKENS = 3000
_SHOWN = 400


class NoAnswer(Exception):
    """A question that no attempt brought a usable answer to; the text says which and why."""


class Author:
    """Asks one model for one world."""

    def __init__(self, model: LLM, world: World, *, seed: int, attempts: int = ATTEMPTS) -> None:
        """`seed` decides every call's seed, together with the call's own name."""
        self._ask = Structured(model, attempts=attempts, max_tokens_bound=2 * ANSWER_TOKENS)
        self._scope = Scope(run_seed=seed, round=1, world=world.name)
        self._render = Renderer(world.language)
        self._head = self._render.render(
            "world/build/head.j2",
            {"worldview": world.worldview, "rules": world.rules, "content_policy": world.content_policy},
        )
        self.attempts = attempts
        self.calls = 0
        """Questions so far."""

    async def ask(
        self,
        step: str,
        duty: str,
        *,
        values: Mapping[str, Any],
        schema: Mapping[str, Any],
        parse: Callable[[dict[str, Any]], T | Refusal],
        max_tokens: int = ANSWER_TOKENS,
    ) -> T:
        """The accepted answer to the duty's prompt; `step` is unique among all questions for this world."""
        self.calls += 1
        key = f"build/{step}/1"
        request = Request(
            key=key,
            unit=f"build/{step}",
            agent="",
            duty=duty,
            role="environment",
            messages=(
                Message(role="system", parts=(self._head,)),
                Message(role="user", parts=(self._render.render(f"world/build/{duty}.j2", values),)),
            ),
            output=OutputFormat(kind="json", schema=schema),
            seed=seed_of(self._scope, key),
            max_tokens=max_tokens,
            temperature=1.0,
            affinity=duty,
        )
        outcome = await self._ask.ask(request, parse, feedback=self._feedback)
        if outcome.value is None:
            last = outcome.rejected[-1] if outcome.rejected else None
            why = f"{last.kind}: {last.text}" if last else "no answer"
            raise NoAnswer(f"{step}: no usable answer in {len(outcome.rejected)} attempts; the last was {why[:_SHOWN]}")
        return outcome.value

    def _feedback(self, refusal: Refusal) -> str:
        told = {"text": refusal.text[:_SHOWN], "code": refusal.code, "detail": refusal.detail[:_SHOWN]}
        return self._render.render(f"feedback/{refusal.kind}.j2", told)


def closed(properties: Mapping[str, Any]) -> dict[str, Any]:
    """An object schema in which all properties are required and no other is allowed."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def text_form(shortest: int, longest: int) -> dict[str, Any]:
    """A text of so many characters."""
    return {"type": "string", "minLength": shortest, "maxLength": longest}


def one_of(options: Sequence[str]) -> dict[str, Any]:
    """One of these texts."""
    return {"type": "string", "enum": list(options)}
