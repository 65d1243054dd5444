"""The 16 checks of a spoken response. A violation keeps it out of training; the simulation goes on with it."""

from collections.abc import Mapping, Sequence
from typing import Any

from sim.context.budget import clip_all, fit_lines
from sim.context.view import possession_lines
from sim.core.agent import AgentState
from sim.environment.ask import ask_environment
from sim.environment.forms import closed, subject
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay

PRINCIPLES = (
    "scope_of_control",
    "no_hallucination",
    "character_consistency",
    "cognitive_boundaries",
    "motivation_consistency",
    "state_consistency",
    "emotional_continuity",
    "natural_progression",
    "no_parroting",
    "no_assistant_behaviour",
    "substantive_dialogue",
    "selective_disclosure",
    "independent_self",
    "colloquial_speech",
    "directness",
    "first_person",
)
"""SPEC section 5, Response filtering; each has its sentence in environment/principles.j2."""
CONTENT_POLICY = "content_policy"
"""Checked as well where a world states one."""
NONE = "none"
_REASON_CHARS = 160
_PERSONA = ("details", "conflicts", "motivation", "values")
_PERSONA_SHARE = 0.5
"""Part of the profile's budget that the persona may take in a check."""
_BELONGINGS = 12


def choices(desk: Desk) -> tuple[str, ...]:
    """What the check may answer: no violation, a principle, or the world's content policy."""
    return (NONE, *PRINCIPLES, *((CONTENT_POLICY,) if desk.world.content_policy else ()))


async def check_response(
    desk: Desk,
    overlay: Overlay,
    *,
    key: str,
    step: str,
    name: str,
    response: str,
    lines: Sequence[str],
    values: Mapping[str, Any],
) -> None:
    """Mark the call of this key if its response violates a principle; an unanswered check marks nothing.

    `lines` are what the speaker had seen; the verdict is the only thing that leaves this check.
    """
    short = desk.settings.prompts.profile == "short"
    violated = {"violated": {"type": "string", "enum": list(choices(desk))}}
    reason = {} if short else {"reason": {"type": "string", "maxLength": _REASON_CHARS}}
    answer = await ask_environment(
        desk,
        overlay,
        step=step,
        duty="principles",
        template="environment/principles.j2",
        values={
            **values,
            **subject(desk, overlay, name),
            **_character(desk, overlay.state(name)),
            "response": response,
            "lines": fit_lines(lines, desk.settings.budgets.history // 2, desk.count, keep="last"),
            "content_policy": desk.world.content_policy,
            "reason_chars": _REASON_CHARS,
        },
        schema=closed({**reason, **violated}),
        parse=lambda value: str(value["violated"]),
        default=NONE,
        length="short",
    )
    if answer.value != NONE:
        overlay.drop(key, f"principle:{answer.value}")


def _character(desk: Desk, state: AgentState) -> dict[str, Any]:
    """What consistency is measured by, beside the person's condition: persona, money and newest belongings."""
    budget = int(_PERSONA_SHARE * desk.settings.budgets.profile)
    persona = clip_all([getattr(state.profile, name) for name in _PERSONA], budget, desk.count)
    return {
        "persona": dict(zip(_PERSONA, persona, strict=True)),
        "traits": dict(state.profile.traits),
        "deposit": state.deposit,
        "currency": desk.world.currency,
        "possessions": possession_lines(desk, state)[-_BELONGINGS:],
    }
