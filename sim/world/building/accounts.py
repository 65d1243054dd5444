"""A model compares what several people remember of one, and writes anew what can't be true beside the rest."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from sim.context.names import resolve_name
from sim.llm.outcome import Refusal
from sim.world.building.author import Author, NoAnswer, closed, one_of, text_form
from sim.world.building.casting import VIEW_CHARS, summary
from sim.world.building.endpoint import Chosen, opened
from sim.world.checking.findings import Finding, warning
from sim.world.schema import Character, World

MOST_ACCOUNTS = 12
"""Memories of one person that are compared at once; the first in cast order."""
_ANSWER_TOKENS = 2500


class Correction(msgspec.Struct, frozen=True, kw_only=True):
    """One memory written anew: `who` remembers `of`."""

    who: str
    of: str
    why: str
    text: str


async def corrections_for(author: Author, world: World, person: Character) -> list[Correction]:
    """What the model corrects in the memories of one person; nothing where it gives no usable answer."""
    speakers = [other for other in world.characters if person.name in other.knows][:MOST_ACCOUNTS]
    names = [other.name for other in speakers]
    shortest, longest = VIEW_CHARS.get(world.language, VIEW_CHARS["en"])
    item = closed({"who": one_of(names), "why": text_form(1, 200), "text": text_form(shortest, longest)})

    def parse(value: dict[str, Any]) -> list[Correction] | Refusal:
        found: dict[str, Correction] = {}
        for entry in value["corrections"]:
            who = resolve_name(entry["who"], names)
            if isinstance(who, Refusal):
                return who
            text, why = " ".join(entry["text"].split()), " ".join(entry["why"].split())
            found.setdefault(who, Correction(who=who, of=person.name, why=why, text=text))
        return list(found.values())

    try:
        return await author.ask(
            f"accounts/{person.name}",
            "accounts",
            values={
                "person": {**summary(world, person), "details": person.details},
                "own": [{"name": name, "text": person.knows[name]} for name in names if name in person.knows],
                "accounts": [{"name": other.name, "text": other.knows[person.name]} for other in speakers],
            },
            schema=closed({"corrections": {"type": "array", "items": item, "minItems": 0, "maxItems": len(names)}}),
            parse=parse,
            max_tokens=_ANSWER_TOKENS,
        )
    except NoAnswer:
        return []


def worth_asking(world: World, people: Sequence[Character], most: int) -> list[Character]:
    """The first so many of these people whom anybody remembers."""
    known = {name for character in world.characters for name in character.knows}
    return [person for person in people if person.name in known][:most]


def findings_by_model(world: World, chosen: Chosen, *, seed: int, most: int) -> list[Finding]:
    """Memories that a model holds to be at odds, as warnings; at most so many questions."""
    return asyncio.run(_findings(world, chosen, seed, most))


async def _findings(world: World, chosen: Chosen, seed: int, most: int) -> list[Finding]:
    async with opened(chosen, world.language) as model:
        author = Author(model, world, seed=seed)
        found = [await corrections_for(author, world, who) for who in worth_asking(world, world.characters, most)]
    return [
        warning("account", f"characters: {item.who}: knows.{item.of}", f"{item.why}; {item.text}", item.who, item.of)
        for items in found
        for item in items
    ]
