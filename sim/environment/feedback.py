"""What an activity did to one participant: a few sentences and proposed changes, from that participant's view only.

The proposal is only read here; `sim.core.limits` decides what becomes of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sim.context.budget import fit_lines
from sim.core.limits import ActivityKind
from sim.environment.ask import ask_environment
from sim.environment.forms import change_properties, chars_for, closed, limit_values, proposed_changes, subject
from sim.mind.answer import Answer
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay

_FULL_CHARS, _SHORT_CHARS = 700, 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Feedback:
    """What the participant is told, and the changes as the model proposed them."""

    text: str
    proposed: Mapping[str, Any] = field(default_factory=dict)


async def activity_feedback(
    desk: Desk,
    overlay: Overlay,
    *,
    name: str,
    kind: ActivityKind,
    lines: list[str],
    values: Mapping[str, Any],
) -> Answer[Feedback]:
    """Feedback on a joint activity or an encounter; `lines` are what this participant could see of it."""
    return await _ask(
        desk, overlay, name=name, kind=kind, template="environment/feedback.j2", values=values, lines=lines
    )


async def public_feedback(
    desk: Desk, overlay: Overlay, *, name: str, lines: list[str], values: Mapping[str, Any]
) -> Answer[Feedback]:
    """Feedback on what one attendee did at a public event; `lines` are what it saw there."""
    return await _ask(
        desk, overlay, name=name, kind="public", template="environment/public_feedback.j2", values=values, lines=lines
    )


async def _ask(
    desk: Desk,
    overlay: Overlay,
    *,
    name: str,
    kind: ActivityKind,
    template: str,
    values: Mapping[str, Any],
    lines: list[str],
) -> Answer[Feedback]:
    short = desk.settings.prompts.profile == "short"
    chars = text_chars(desk)

    def parse(value: dict[str, Any]) -> Feedback:
        text = " ".join(value["feedback"].split())[:chars]
        return Feedback(text=text or plain_feedback(desk, name).text, proposed=proposed_changes(value))

    return await ask_environment(
        desk,
        overlay,
        step=f"feedback.{name}",
        duty="feedback" if kind != "public" else "public_feedback",
        template=template,
        values={
            **values,
            **limit_values(kind),
            **subject(desk, overlay, name),
            "lines": fit_lines(lines, desk.settings.budgets.history, desk.count, keep="last"),
            "chars": chars,
        },
        schema=closed(
            {
                "feedback": {"type": "string", "maxLength": chars},
                **change_properties(kind, overlay.state(name).skills, short=short),
            }
        ),
        parse=parse,
        default=lambda: plain_feedback(desk, name),
        length="medium",
    )


def text_chars(desk: Desk) -> int:
    """Longest text of a feedback."""
    return chars_for(desk, full=_FULL_CHARS, short=_SHORT_CHARS, length="medium")


def plain_feedback(desk: Desk, name: str) -> Feedback:
    """What is told where the model gave nothing usable: nothing remarkable, and no change."""
    return Feedback(text=desk.render.render("environment/plain_feedback.j2", {"name": name}))
