"""What people come together for, as the resolved week has it, and what each of them and the environment is told."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from sim.context.budget import clip_all
from sim.context.view import memory_of, people_lines, place_of, place_view, share_of
from sim.core.agent import Activity, Location
from sim.engine.stage import Job
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay


@dataclass(frozen=True, slots=True, kw_only=True)
class Occasion:
    """What people come together for, as all of them know it."""

    kind: Literal["joint", "encounter"]
    activity: Activity
    participants: tuple[str, ...]
    place: Mapping[str, Any] | None
    cards: Mapping[str, Mapping[str, Any]]

    @property
    def title(self) -> str:
        """What it is called; an encounter has no name."""
        return self.activity.name if self.kind == "joint" else ""


def occasion_of(job: Job, desk: Desk, kind: Literal["joint", "encounter"]) -> Occasion:
    """The activity that the resolved week gave to the unit's participants, its place, and what is public of them."""
    participants = tuple(sorted(job.states))
    resolved = job.outputs_of("resolve")[""]["for"][participants[0]]
    activity = msgspec.convert(resolved["activities"][job.unit.index - 1], Activity)
    directory = job.outputs_of("directory")[""]
    place = place_of(desk, activity.location, directory["homes"])
    return Occasion(
        kind=kind,
        activity=activity,
        participants=participants,
        place=place_view(place) if place else None,
        cards=directory["cards"],
    )


def moved(occasion: Occasion, place: Location) -> Occasion:
    """The same occasion at another public place."""
    activity = msgspec.structs.replace(occasion.activity, location=place.name)
    return replace(occasion, activity=activity, place=place_view(place))


def together_values(desk: Desk, overlay: Overlay, occasion: Occasion, name: str) -> dict[str, Any]:
    """One participant's stage values: the occasion, the place, and the others as this participant knows them."""
    state, count = overlay.state(name), desk.count
    others = [other for other in occasion.participants if other != name]
    in_full = desk.settings.prompts.profile == "full"
    memories = [memory_of(desk, state, other) for other in others]
    told = clip_all(memories, share_of(desk, "people"), count) if in_full else []
    return {
        "kind": occasion.kind,
        "activity": {"name": occasion.title, "description": occasion.activity.description},
        "proposer": occasion.activity.proposer,
        "place": occasion.place,
        "others": others,
        "people": people_lines(desk, state, occasion.cards, others, remembered=not in_full),
        "memories": [{"name": other, "text": text} for other, text in zip(others, told, strict=False) if text],
    }


def open_values(occasion: Occasion) -> dict[str, Any]:
    """The occasion as the environment is told it: what all participants know."""
    people = [(name, occasion.cards.get(name) or {}) for name in occasion.participants]
    return {
        "kind": occasion.kind,
        "activity": {"name": occasion.title, "description": occasion.activity.description},
        "place": occasion.place,
        "participants": [
            {"name": name, "position": card.get("position", ""), "age": card.get("age", "")} for name, card in people
        ],
    }
