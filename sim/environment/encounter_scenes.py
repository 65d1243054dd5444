"""The opening of an encounter: objective circumstances with a small tension, from what is public about the two."""

from collections.abc import Mapping
from typing import Any

from sim.environment.ask import ask_environment
from sim.environment.forms import chars_for, closed
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay

_FULL_CHARS, _SHORT_CHARS = 700, 160


async def scene_of(desk: Desk, overlay: Overlay, *, values: Mapping[str, Any]) -> str:
    """The scene in which two people run into each other; a plain one where the model gives none."""
    chars = chars_for(desk, full=_FULL_CHARS, short=_SHORT_CHARS)

    def plain() -> str:
        return desk.render.render("environment/plain_scene.j2", values)

    def parse(value: dict[str, Any]) -> str:
        return " ".join(value["scene"].split())[:chars] or plain()

    answer = await ask_environment(
        desk,
        overlay,
        step="scene",
        duty="encounter_scene",
        template="environment/encounter_scene.j2",
        values={**values, "chars": chars},
        schema=closed({"scene": {"type": "string", "minLength": 1, "maxLength": chars}}),
        parse=parse,
        default=plain,
        length="short",
    )
    return answer.value
