"""One new character by a model (SPEC section 11): who it is, then what it and some others know of each other.

Asked with the worldview, the people so far, some of their relations and one reference story to adapt. The model names
levels in words; numbers, money and dates are made of them by code.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sim.core.agent import TALENTS, TRAITS, Position
from sim.core.keys import normal_form
from sim.llm.outcome import Refusal
from sim.settings import EconomySettings
from sim.world.building import levels
from sim.world.building.author import Author, closed, one_of, text_form
from sim.world.building.newcomers import (
    Draft,
    age_at_start,
    ages_for,
    birthday_for,
    edges_shown,
    most_deposit,
    open_positions,
    suits_age,
    with_required,
)
from sim.world.building.spare_names import names_for, strangers_in, unused_names
from sim.world.checking.likeness import longest_copy, most_alike
from sim.world.checking.people import SAME, likeness_text, texts_of
from sim.world.checking.views import VIEW_WORDS, kinship_unanswered
from sim.world.schema import Belonging, Character, Home, SpareName, Story, World

TIES = 5
NAMES_OFFERED = 12
MOST_SUMMARIES = 100
UNEMPLOYED = "none"
LONGEST_COPY = 12
"""So many words in a row taken from a reference story are a retelling."""
_MAX_SKILLS = 6
_PROSE = {
    "appearance": (40, 700),
    "details": (80, 1400),
    "conflicts": (20, 500),
    "motivation": (20, 400),
    "values": (10, 300),
    "preferences": (10, 300),
}
VIEW_CHARS = {"en": (120, 900), "zh": (50, 350)}
_SUMMARY_CHARS = 220
_MAX_VALUE = 15000


async def cast_one(author: Author, world: World, *, number: int, left: int, seed: int) -> Draft:
    """The next character of the world's cast; `number` counts the cast from 1, `left` are still to come with it."""
    rng = random.Random(f"{seed}\x1fcast\x1f{number}")
    names = _names_offered(world, rng)
    options = open_positions(world, left)
    must_work = bool(options) and all(not _held(world, position) for position in options)
    story = rng.choice(world.stories) if world.stories else None
    n_ties = min(TIES, len(world.characters))

    def parse(value: dict[str, Any]) -> tuple[Character, dict[str, str]] | Refusal:
        # Numbers are drawn anew from the same seed for each attempt, so that only the accepted answer counts.
        return _read(value, world, {name.name: name for name in names}, story, random.Random(f"{seed}\x1f{number}"))

    character, ties = await author.ask(
        f"{number}/character",
        "character",
        values=_values(world, names, options, story, rng, n_ties),
        schema=_form(world, names, options, n_ties, unemployed=not must_work),
        parse=parse,
    )
    known: dict[str, str] = {}
    known_by: dict[str, str] = {}
    for other in (person for person in world.characters if person.name in ties):
        known[other.name], known_by[other.name] = await _views(author, world, character, other, ties, number)
    ordered = {name: known[name] for name in ties}
    return Draft(character=msgspec.structs.replace(character, knows=ordered), known_by=known_by, source="model")


def _held(world: World, position: Position) -> bool:
    return any(character.position == position.key for character in world.characters)


def _names_offered(world: World, rng: random.Random) -> list[SpareName]:
    """Some names to choose from; combinations where the list is used up."""
    unused = unused_names(world)
    return rng.sample(unused, NAMES_OFFERED) if len(unused) >= NAMES_OFFERED else names_for(world, NAMES_OFFERED, rng)


def _values(
    world: World,
    names: Sequence[SpareName],
    options: Sequence[Position],
    story: Story | None,
    rng: random.Random,
    n_ties: int,
) -> dict[str, Any]:
    """What the prompt prints."""
    shown = list(world.characters)
    if len(shown) > MOST_SUMMARIES:
        shown = [shown[place] for place in sorted(rng.sample(range(len(shown)), MOST_SUMMARIES))]
    low, high = ages_for(world, None)
    return {
        "people": [summary(world, character) for character in shown],
        "n_people": len(world.characters),
        "edges": [
            {"who": who, "whom": whom, "as": _beginning(text, 120)}
            for who, whom, text in edges_shown(world.characters, rng)
        ],
        "names": [msgspec.to_builtins(name) for name in names],
        "positions": [_position_view(position) for position in options],
        "unemployed": UNEMPLOYED,
        "story": story,
        "youngest": low,
        "oldest": high,
        "currency": world.currency,
        "n_ties": n_ties,
        "score_levels": list(levels.SCORE_LEVELS),
        "skill_levels": list(levels.SKILL_LEVELS),
        "places": [place.name for place in world.locations],
    }


def summary(world: World, character: Character) -> dict[str, Any]:
    """A character in a line."""
    return {
        "name": character.name,
        "gender": character.gender,
        "age": age_at_start(world, character),
        "position": character.position or "",
        "details": _beginning(character.details, _SUMMARY_CHARS),
    }


def _beginning(text: str, most: int) -> str:
    """A text on one line, cut off with an ellipsis where it is longer."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most].rstrip()}…"


def _position_view(position: Position) -> dict[str, Any]:
    needs = position.requirements
    return {
        "key": position.key,
        "income": position.weekly_income,
        "skills": ", ".join(f"{skill} {level}" for skill, level in needs.skills.items()),
        "min_age": needs.min_age or 0,
        "max_age": needs.max_age or 0,
    }


def _form(
    world: World, names: Sequence[SpareName], options: Sequence[Position], n_ties: int, *, unemployed: bool
) -> dict[str, Any]:
    """The form of the answer."""
    low, high = ages_for(world, None)
    thing = text_form(1, 60)
    score = one_of(list(levels.SCORE_LEVELS))
    skill = closed({"skill": text_form(1, 40), "level": one_of(list(levels.SKILL_LEVELS))})
    belonging = closed(
        {
            "name": thing,
            "description": text_form(1, 200),
            "value": {"type": "integer", "minimum": 0, "maximum": _MAX_VALUE},
        }
    )
    known = [character.name for character in world.characters] or [UNEMPLOYED]
    tie = closed({"name": one_of(known), "tie": text_form(10, 300)})
    positions = [position.key for position in options] + ([UNEMPLOYED] if unemployed or not options else [])
    return closed(
        {
            "name": one_of([name.name for name in names]),
            "age": {"type": "integer", "minimum": min(low, 120), "maximum": min(high, 120)},
            "position": one_of(positions),
            **{key: text_form(*chars) for key, chars in _PROSE.items()},
            "traits": closed(dict.fromkeys(TRAITS, score)),
            "talents": closed(dict.fromkeys(TALENTS, score)),
            "skills": {"type": "array", "items": skill, "minItems": 2, "maxItems": _MAX_SKILLS},
            "deposit": {"type": "integer", "minimum": 0, "maximum": _MAX_VALUE},
            "extra_weekly_income": {"type": "integer", "minimum": 0, "maximum": 100},
            "possessions": {"type": "array", "items": belonging, "minItems": 1, "maxItems": 4},
            "home": closed(
                {
                    "description": text_form(20, 600),
                    "objects": {"type": "array", "items": thing, "minItems": 4, "maxItems": 6},
                }
            ),
            "goals": text_form(20, 600),
            "ties": {"type": "array", "items": tie, "minItems": min(n_ties, 2), "maxItems": n_ties},
        }
    )


def _read(
    value: Mapping[str, Any], world: World, names: Mapping[str, SpareName], story: Story | None, rng: random.Random
) -> tuple[Character, dict[str, str]] | Refusal:
    """The character and its ties, or what is wrong with them."""
    position = next((position for position in world.positions if position.key == value["position"]), None)
    if not suits_age(position, value["age"]):
        low, high = ages_for(world, position)
        return Refusal(kind="invalid", text=f"age: {value['age']} → {low}..{high} ({value['position']})")
    ties = {item["name"]: item["tie"] for item in value["ties"] if world.characters}
    if len(ties) < min(2, len(world.characters)):
        return Refusal(kind="invalid", text=f"ties: {len(ties)} < {min(2, len(world.characters))}")
    character = _character(value, world, names[value["name"]], position, rng)
    return _objection(character, world, story) or (character, ties)


def _character(
    value: Mapping[str, Any], world: World, name: SpareName, position: Position | None, rng: random.Random
) -> Character:
    """The character with numbers in place of words; what is money is inside its limits."""
    skills = {" ".join(item["skill"].split()): levels.skill(item["level"], rng) for item in value["skills"]}
    salary = position.weekly_income if position else EconomySettings().unemployed_income
    extra = min(value["extra_weekly_income"], max(0, EconomySettings().max_salary - salary))
    prose: dict[str, Any] = {key: _clean(value[key]) for key in (*_PROSE, "goals")}
    objects = tuple(dict.fromkeys(_clean(thing) for thing in value["home"]["objects"]))
    return Character(
        name=name.name,
        gender=name.gender,
        birthday=birthday_for(world, value["age"], rng),
        **prose,
        traits={key: levels.score(value["traits"][key], rng) for key in TRAITS},
        talents={key: levels.score(value["talents"][key], rng) for key in TALENTS},
        skills=with_required(skills, position),
        position=position.key if position else None,
        deposit=min(value["deposit"], most_deposit(position, extra)),
        extra_weekly_income=extra,
        possessions=tuple(
            Belonging(name=_clean(item["name"]), description=_clean(item["description"]), value=item["value"])
            for item in value["possessions"]
        ),
        home=Home(description=_clean(value["home"]["description"]), objects=objects),
    )


def _clean(text: str) -> str:
    return " ".join(text.split()) or "…"


def _objection(character: Character, world: World, story: Story | None) -> Refusal | None:
    """What makes a character unusable here: people who do not exist, a story retold, somebody told a second time."""
    strangers = _strangers("\n".join(texts_of(character).values()), world, character.name)
    if strangers:
        return Refusal(kind="invalid", text=f"unknown people: {', '.join(strangers)}")
    if story is not None and longest_copy(character.details, [story.text]) >= LONGEST_COPY:
        return Refusal(kind="invalid", text=f"details = “{story.title}”")
    others = [likeness_text(other) for other in world.characters]
    place, alike = most_alike(likeness_text(character), others)
    if alike >= SAME:
        return Refusal(kind="invalid", text=f"appearance, details ≈ {world.characters[place].name} ({alike:.0%})")
    return None


def _strangers(text: str, world: World, own: str) -> list[str]:
    """Names of the list, of nobody so far, that a text speaks of."""
    spare = [name.name for name in unused_names(world) if normal_form(name.name) != normal_form(own)]
    return strangers_in(text, spare, [own, *(character.name for character in world.characters)])


async def _views(
    author: Author, world: World, newcomer: Character, other: Character, ties: Mapping[str, str], number: int
) -> tuple[str, str]:
    """What the newcomer knows of somebody, and that person of the newcomer."""
    shortest, longest = VIEW_CHARS.get(world.language, VIEW_CHARS["en"])

    def parse(value: dict[str, Any]) -> tuple[str, str] | Refusal:
        first, second = _clean(value["memory_of_acquaintance"]), _clean(value["memory_of_newcomer"])
        odds = kinship_unanswered(first, second, world.language)
        if odds:
            return Refusal(kind="invalid", text=odds)
        strangers = _strangers(f"{first}\n{second}", world, newcomer.name)
        if strangers:
            return Refusal(kind="invalid", text=f"unknown people: {', '.join(strangers)}")
        return first, second

    return await author.ask(
        f"{number}/views/{other.name}",
        "views",
        values={
            "newcomer": full_view(world, newcomer),
            "acquaintance": full_view(world, other),
            "known": [{"name": name, "as": _beginning(text, 120)} for name, text in list(other.knows.items())[:4]],
            "tie": ties[other.name],
            "words": VIEW_WORDS,
        },
        schema=closed(dict.fromkeys(("memory_of_acquaintance", "memory_of_newcomer"), text_form(shortest, longest))),
        parse=parse,
        max_tokens=1200,
    )


def full_view(world: World, character: Character) -> dict[str, Any]:
    """A character as another's memory may draw on it."""
    best = sorted(character.skills, key=lambda skill: (-character.skills[skill], skill))[:3]
    marked = [name for name, value in character.traits.items() if levels.score_level(value) in ("low", "high")]
    return {
        **summary(world, character),
        "appearance": character.appearance,
        "details": character.details,
        "conflicts": character.conflicts,
        "skills": best,
        "traits": {name: levels.score_level(character.traits[name]) for name in marked},
    }
