"""Characters of a world: who is too much like another, who is spoken of and does not exist, names that are left."""

import re
from collections.abc import Iterator, Sequence

from sim.context.render import Renderer
from sim.core.keys import normal_form
from sim.world.building.spare_names import full_names_in, parts_of, strangers_in
from sim.world.checking.findings import Finding, fault, warning
from sim.world.checking.likeness import CHINESE, alike_pairs, plain_form
from sim.world.schema import Character, World

SAME, SIMILAR = 0.7, 0.45
"""Likeness from which two characters count as one told twice, and from which they are worth a look."""
_WORD = r"[^\W\d_][\w’'-]*"
_SHORTEST_CHINESE_NAME = 3
"""A Chinese name of two characters may as well be a word."""


def texts_of(character: Character) -> dict[str, str]:
    """Everything that is told of and by a character, by key, apart from its name."""
    return {
        **{key: getattr(character, key) for key in ("appearance", "details", "conflicts", "motivation")},
        **{key: getattr(character, key) for key in ("values", "preferences", "goals")},
        "home": character.home.description,
        **{f"possessions[{place}]": thing.description for place, thing in enumerate(character.possessions)},
        **{f"knows.{name}": text for name, text in character.knows.items()},
    }


def likeness_text(character: Character) -> str:
    """What two characters are compared by, without their names: what they look like and what they went through."""
    text = f"{character.appearance}\n{character.details}"
    given, family = parts_of(character.name)
    for name in filter(None, (character.name, given, family)):
        text = text.replace(name, "")
    return text


def duplicates(world: World) -> Iterator[Finding]:
    """Names that differ by accents or blanks alone; characters whose looks and past are told in the same words."""
    forms: dict[str, str] = {}
    for character in world.characters:
        form = plain_form(character.name)
        other = forms.setdefault(form, character.name)
        if other != character.name and normal_form(other) != normal_form(character.name):
            text = f"is named almost like {other}; rename one"
            yield fault("duplicate", f"characters: {character.name}", text, other, character.name)
    cast = world.characters
    for one, other, alike in alike_pairs([likeness_text(character) for character in cast], SIMILAR):
        make = fault if alike >= SAME else warning
        text = f"looks and past are {alike:.0%} like those of {cast[one].name}; merge the two, or write one anew"
        yield make("duplicate", f"characters: {cast[other].name}", text, cast[one].name, cast[other].name)


def unknown_people(world: World) -> Iterator[Finding]:
    """People who are spoken of and do not exist: spare names, and known first names with a wrong family name.

    Somebody of whom the same character says by the fixed sentence that they have left may be spoken of.
    """
    spare = [name.name for name in world.names]
    cast = [character.name for character in world.characters]
    known = {*cast, *spare}
    things = named_things(world)
    givens = _givens([*cast, *spare])
    for character in world.characters:
        texts = texts_of(character)
        gone = departed(world.language, character, spare)
        for key, text in texts.items():
            where = f"characters: {character.name}: {key}"
            for name in strangers_in(text, spare, cast):
                if name not in gone:
                    yield _unknown(where, name, world.language)
            for name in _misnamed(text, givens, known, things):
                yield warning("unknown_person", where, f"speaks of {name!r}, who is no character; correct it", name)
    for key in ("worldview", "rules"):
        for name in strangers_in(getattr(world, key), spare, cast):
            yield _unknown(f"world.yaml: {key}", name, world.language)


def _unknown(where: str, name: str, language: str) -> Finding:
    """A spare name in a text: a fault, unless it may be a word."""
    doubtful = language == "zh" and len(name) < _SHORTEST_CHINESE_NAME
    text = f"speaks of {name!r}, who is no character; write the character, rewrite this, or say that {name} has left"
    return (warning if doubtful else fault)("unknown_person", where, text, name)


def departed(language: str, character: Character, names: Sequence[str]) -> set[str]:
    """Who, of these, has left for good by the character's own notes."""
    render = Renderer(language)
    texts = "\n".join(texts_of(character).values())
    there = full_names_in(texts, names)
    return {name for name in there if render.render("world/absent.j2", {"name": name}) in texts}


def named_things(world: World) -> set[str]:
    """Names of places, organisations and things, which look like names of people."""
    named = [place.name for place in world.locations]
    named += [part for position in world.positions for part in (position.organization, position.role)]
    return {normal_form(name) for name in named}


def _givens(names: Sequence[str]) -> set[str]:
    """First names of alphabets; Chinese ones are not told apart from words."""
    givens = {parts_of(name)[0].split()[0] for name in names}
    return {given for given in givens if not re.search(f"[{CHINESE}]", given)}


def _misnamed(text: str, givens: set[str], known: set[str], things: set[str]) -> list[str]:
    """Known first names followed by a family name that they do not have: most likely a slip."""
    found = []
    for match in re.finditer(rf"\b({_WORD}) ({_WORD})", text):
        first, second = match.groups()
        if first not in givens or not second[0].isupper() or second.endswith(("’s", "'s")):
            continue
        name = f"{first} {second}"
        inside = any(name in other for other in known) or any(normal_form(name) in other for other in things)
        if not inside and second not in givens:
            found.append(name)
    return found


def names(world: World) -> Iterator[Finding]:
    """Whether names are left for characters who come later."""
    if not world.names:
        yield fault("names", "names.yaml", "no name is left for new characters; add some full names")
    elif len(world.names) < 10:
        yield warning("names", "names.yaml", f"only {len(world.names)} names are left for new characters; add some")


def people_findings(world: World) -> Sequence[Finding]:
    """All of the above."""
    return [*duplicates(world), *unknown_people(world), *names(world)]
