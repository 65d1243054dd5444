"""What is corrected in an extended world before anybody lives in it: by rules where these suffice, else by the model.

Memories of newcomers are compared by the model; people who do not exist are told to have left by a fixed sentence.
"""

from collections.abc import Mapping, Sequence

import msgspec

from sim.context.render import Renderer
from sim.world.building.accounts import Correction, corrections_for, worth_asking
from sim.world.building.author import Author
from sim.world.building.spare_names import full_names_in, strangers_in
from sim.world.checking.findings import faults_in
from sim.world.checking.people import departed, texts_of, unknown_people
from sim.world.checking.views import kinship_unanswered
from sim.world.schema import Character, World


async def corrected_by_model(
    author: Author, world: World, newcomers: Sequence[str], most: int
) -> tuple[World, list[Correction]]:
    """The world with memories of and by newcomers that agree, as far as a bounded number of questions brings it."""
    new = set(newcomers)
    asked = [person for person in world.characters if person.name in new]
    made: list[Correction] = []
    for person in worth_asking(world, asked, most):
        found = await corrections_for(author, world, person)
        accepted = [item for item in found if _acceptable(world, item)]
        world = with_corrections(world, accepted)
        made += accepted
    return world, made


def _acceptable(world: World, item: Correction) -> bool:
    """Whether a correction brings in no stranger and no kinship that the other side does not know."""
    by_name = {character.name: character for character in world.characters}
    if strangers_in(item.text, [name.name for name in world.names if name.name not in by_name], by_name):
        return False
    back = by_name[item.of].knows.get(item.who, "")
    return kinship_unanswered(item.text, back, world.language) is None


def with_corrections(world: World, items: Sequence[Correction]) -> World:
    """The world with some memories written anew."""
    anew: dict[str, dict[str, str]] = {}
    for item in items:
        anew.setdefault(item.who, {})[item.of] = item.text
    if not anew:
        return world
    characters = tuple(_remembering(character, anew.get(character.name, {})) for character in world.characters)
    return msgspec.structs.replace(world, characters=characters)


def _remembering(character: Character, anew: Mapping[str, str]) -> Character:
    """The character with these memories in place of its own; the order stays."""
    return msgspec.structs.replace(character, knows={**character.knows, **anew}) if anew else character


def strangers_left(world: World) -> tuple[World, list[str]]:
    """The world in which whoever is spoken of and does not exist has left; and whose notes say so now.

    One fixed sentence stands at the end of the notes of whoever speaks of them; their names are spare no more.
    """
    spoken = {name for finding in faults_in(unknown_people(world)) for name in finding.about}
    render = Renderer(world.language)
    mended: list[str] = []
    characters: list[Character] = []
    for character in world.characters:
        texts = "\n".join(texts_of(character).values())
        there = full_names_in(texts, sorted(spoken))
        gone = [name for name in there if name not in departed(world.language, character, there)]
        sentences = [render.render("world/absent.j2", {"name": name}) for name in gone]
        goals = "\n".join([character.goals, *sentences])
        characters.append(msgspec.structs.replace(character, goals=goals) if gone else character)
        mended += [character.name] if gone else []
    names = tuple(name for name in world.names if name.name not in spoken)
    return msgspec.structs.replace(world, characters=tuple(characters), names=names), mended
