"""One short call before each turn of a conversation: what happens around, who acts next, whether it ends.

The environment sees only what all present may see, so its description can't carry a secret on.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim.context.budget import fit_lines
from sim.context.names import resolve_person
from sim.environment.ask import ask_environment
from sim.environment.forms import chars_for, closed
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay

_FULL_CHARS, _SHORT_CHARS = 500, 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Direction:
    """The circumstances of one turn and its speaker; `ended`: nobody acts any more."""

    description: str
    next_speaker: str
    ended: bool


def schema(present: Sequence[str], *, may_end: bool, chars: int) -> dict[str, Any]:
    """The form of a direction: a name of somebody present; an end only where one is allowed."""
    return closed(
        {
            "description": {"type": "string", "maxLength": chars},
            "next_speaker": {"type": "string", "enum": list(present)},
            **({"ended": {"type": "boolean"}} if may_end else {}),
        }
    )


async def direct(
    desk: Desk,
    overlay: Overlay,
    *,
    turn: int,
    present: Sequence[str],
    in_turn: str,
    may_end: bool,
    lines: Sequence[str],
    values: Mapping[str, Any],
) -> Direction:
    """The direction of a turn; without a usable one, nothing happens around and `in_turn` acts next."""
    chars = chars_for(desk, full=_FULL_CHARS, short=_SHORT_CHARS)

    def parse(value: dict[str, Any]) -> Direction:
        name = resolve_person(value["next_speaker"], present)
        return Direction(
            description=" ".join(value["description"].split())[:chars],
            next_speaker=name if isinstance(name, str) else in_turn,
            ended=may_end and bool(value.get("ended", False)),
        )

    answer = await ask_environment(
        desk,
        overlay,
        step=f"direct{turn}",
        duty="direction",
        template="environment/direction.j2",
        values={
            **values,
            "present": list(present),
            "may_end": may_end,
            "chars": chars,
            "lines": fit_lines(lines, desk.settings.budgets.history, desk.count, keep="last"),
        },
        schema=schema(present, may_end=may_end, chars=chars),
        parse=parse,
        default=Direction(description="", next_speaker=in_turn, ended=False),
        length="short",
    )
    return answer.value
