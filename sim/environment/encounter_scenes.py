"""The opening of an encounter: a place, and circumstances with a small tension, from what is public of the two.

The first of the places on offer holds where the model names none of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sim.context.names import resolve_name
from sim.context.view import place_view
from sim.core.agent import Location
from sim.environment.ask import ask_environment
from sim.environment.forms import chars_for, closed
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay

_FULL_CHARS, _SHORT_CHARS = 700, 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Where two people run into each other, and how."""

    place: Location
    text: str


async def scene_of(desk: Desk, overlay: Overlay, *, places: Sequence[Location], values: Mapping[str, Any]) -> Scene:
    """The scene in which two people run into each other; a plain one at the first place where the model gives none."""
    chars = chars_for(desk, full=_FULL_CHARS, short=_SHORT_CHARS)
    by_name = {place.name: place for place in places}
    choice = {"place": {"type": "string", "enum": list(by_name)}} if len(by_name) > 1 else {}

    def plain(place: Location) -> str:
        return desk.render.render("environment/plain_scene.j2", {**values, "place": place_view(place)})

    def parse(value: dict[str, Any]) -> Scene:
        named = resolve_name(value.get("place", places[0].name), list(by_name))
        place = by_name[named] if isinstance(named, str) else places[0]
        return Scene(place=place, text=" ".join(value["scene"].split())[:chars] or plain(place))

    answer = await ask_environment(
        desk,
        overlay,
        step="scene",
        duty="encounter_scene",
        template="environment/encounter_scene.j2",
        values={
            **values,
            "place": None if choice else place_view(places[0]),
            "places": [place_view(place) for place in places] if choice else [],
            "chars": chars,
        },
        schema=closed({**choice, "scene": {"type": "string", "minLength": 1, "maxLength": chars}}),
        parse=parse,
        default=lambda: Scene(place=places[0], text=plain(places[0])),
        length="short",
    )
    return answer.value
