"""Characters without a model: composed from the world's own parts by a seed, for load tests.

They hold the world's positions, use its names, skills, things and stories, and know each other in a small-world
network in which colleagues are neighbours. Their sentences stand beside the prompts, in `world/sampled.yaml`.
"""

import random
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec
import networkx as nx
import yaml

from sim.context.render import prompts_folder
from sim.core.agent import TALENTS, TRAITS, Location, Position
from sim.world.building.newcomers import (
    Draft,
    ages_for,
    birthday_for,
    most_deposit,
    open_positions,
    with_drafts,
    with_required,
)
from sim.world.building.spare_names import full_names_in, names_for, parts_of
from sim.world.checking.likeness import alike_pairs
from sim.world.checking.people import SIMILAR, likeness_text
from sim.world.schema import Belonging, Character, Home, SpareName, World

TIES = 8
"""About how many people everybody knows."""
_REWIRED = 0.15
_REMADE = 4
_JITTER = 8
_PLAIN_SCORE = 50
_FIRST_SENTENCE = re.compile(r"(?<=[.!?])\s|(?<=[。！？])")
_LOOKS_IN_VIEW = 1
"""The group of a view's sentences that tells how somebody looks."""
_PARTS = ("appearance", "details", "conflicts", "motivation", "values", "preferences", "goals")


class _Words(msgspec.Struct, frozen=True, kw_only=True):
    """The sentences of one language."""

    looks: dict[str, list[str]]
    traits: dict[str, tuple[str, str]]
    words: dict[str, list[str]]
    work: dict[str, str]
    appearance: list[list[str]]
    details: list[list[str]]
    conflicts: list[list[str]]
    motivation: list[list[str]]
    values: list[list[str]]
    preferences: list[list[str]]
    home: list[list[str]]
    goals: list[list[str]]
    possession: list[list[str]]
    view: list[list[str]]


@cache
def _words(language: str) -> _Words:
    text = (prompts_folder(language) / "world" / "sampled.yaml").read_text(encoding="utf-8")
    return msgspec.convert(yaml.safe_load(text), _Words)


class Sampler:
    """Makes new characters for one world; every character's chance comes from the seed and its name alone."""

    def __init__(self, world: World, seed: int) -> None:
        """Gather the parts: things, objects and skills that name nobody."""
        self._world = world
        self._seed = seed
        self._words = _words(world.language)
        self._gap = "" if world.language == "zh" else " "
        self._things = _things(world)
        self._objects = _objects(world)
        self._skills = sorted({skill for position in world.positions for skill in position.weekly_skill_gain})
        self._looks: dict[str, dict[str, str]] = {}

    def character(self, name: SpareName, position: Position | None, attempt: int = 0) -> Character:
        """Somebody of this name in this position, who knows nobody yet; each attempt gives another one."""
        rng = random.Random(f"{self._seed}\x1fcharacter\x1f{name.name}\x1f{attempt}")
        own = random.Random(f"{self._seed}\x1flooks\x1f{name.name}\x1f{attempt}")
        self._looks[name.name] = {key: own.choice(options) for key, options in self._words.looks.items()}
        low, high = ages_for(self._world, position)
        age = rng.randint(low, high)
        traits, talents = self._scores(rng, "traits", TRAITS), self._scores(rng, "talents", TALENTS)
        skills = with_required(self._skills_of(rng, position), position)
        extra = rng.randrange(0, 60, 10)
        slots = self._slots(rng, name.name, position, traits, skills)
        text: dict[str, Any] = {part: self._text(rng, part, slots) for part in _PARTS}
        slots["object2"] = rng.choice(self._objects)
        return Character(
            name=name.name,
            gender=name.gender,
            birthday=birthday_for(self._world, age, rng),
            **text,
            traits=traits,
            talents=talents,
            skills=skills,
            position=position.key if position else None,
            deposit=rng.randint(0, most_deposit(position, extra) // 2),
            extra_weekly_income=extra,
            possessions=self._possessions(rng, slots),
            home=Home(description=self._text(rng, "home", slots), objects=self._home_objects(rng, slots)),
        )

    def views(self, one: Character, other: Character) -> tuple[str, str]:
        """What each of the two knows of the other: the same first meeting, told from both sides."""
        first, second = sorted((one, other), key=lambda character: character.name)
        rng = random.Random(f"{self._seed}\x1ftie\x1f{first.name}\x1f{second.name}")
        shared = {
            "year": str(self._world.start_year - rng.randint(1, 3)),
            "place": rng.choice(self._world.locations).name,
            "deed": rng.choice(self._words.words["deed"]),
        }
        texts = {who.name: self._view(rng, who, shared) for who in (first, second)}
        return texts[other.name], texts[one.name]

    def _view(self, rng: random.Random, who: Character, shared: Mapping[str, str]) -> str:
        """A memory of somebody: first meeting, looks, ability, character, how one stands to each other."""
        position = next((position for position in self._world.positions if position.key == who.position), None)
        slots = self._slots(rng, who.name, position, who.traits, who.skills)
        slots |= {**shared, "name": self._called(who.name)}
        groups = list(self._words.view)
        if any(who.name == other.name for other in self._world.characters):
            # Somebody whom the world's author wrote looks as the author says.
            slots["seen"] = _FIRST_SENTENCE.split(who.appearance, maxsplit=1)[0]
            groups[_LOOKS_IN_VIEW] = ["{seen}"]
        return self._joined(rng, groups, slots)

    def _called(self, name: str) -> str:
        return name if self._world.language == "zh" else parts_of(name)[0]

    def _slots(
        self,
        rng: random.Random,
        name: str,
        position: Position | None,
        traits: Mapping[str, int],
        skills: Mapping[str, int],
    ) -> dict[str, str]:
        """Words for the sentences about one person; looks stay the same wherever the person is told of."""
        words = self._words
        if name not in self._looks:
            own = random.Random(f"{self._seed}\x1flooks\x1f{name}")
            self._looks[name] = {key: own.choice(options) for key, options in words.looks.items()}
        marked = sorted(traits, key=lambda trait: (-abs(traits[trait] - _PLAIN_SCORE), trait))[:2]
        told = [words.traits[trait][int(traits[trait] > _PLAIN_SCORE)] for trait in marked]
        best = sorted(skills, key=lambda skill: (-skills[skill], skill))
        known: Sequence[Location] = self._world.locations
        places = (rng.sample(known, 2) if len(known) > 1 else list(known)) * 2
        role = {"organization": position.organization, "role": position.role} if position else {}
        pairs = {key: rng.sample(words.words[key], 2) for key in words.words}
        return {
            "organization": places[0].name,
            "work": words.work["held" if position else "none"].format_map(role),
            "trait": told[0],
            "trait2": told[-1],
            "skill": best[0],
            "skill2": best[min(1, len(best) - 1)],
            "place": places[0].name,
            "place2": places[1].name,
            "object": rng.choice(places[0].objects),
            "thing": rng.choice(self._things).name,
            "years": str(rng.randint(2, 3)),
            "story": rng.choice(self._world.stories).title if self._world.stories else places[1].name,
            **{key: pair[0] for key, pair in pairs.items()},
            **{f"{key}2": pair[1] for key, pair in pairs.items()},
            **self._looks[name],
            **role,
        }

    def _text(self, rng: random.Random, part: str, slots: Mapping[str, str]) -> str:
        """A text of its groups: one sentence of each, with a capital at its beginning."""
        return self._joined(rng, getattr(self._words, part), slots)

    def _joined(self, rng: random.Random, groups: Sequence[Sequence[str]], slots: Mapping[str, str]) -> str:
        sentences = [rng.choice(group).format_map(slots) for group in groups]
        return self._gap.join(sentence[:1].upper() + sentence[1:] for sentence in sentences)

    def _scores(self, rng: random.Random, key: str, names: Sequence[str]) -> dict[str, int]:
        """Each score near that of somebody who lives here."""
        cast = self._world.characters
        known = [getattr(rng.choice(cast), key) if cast else {} for _ in names]
        return {
            name: min(100, max(5, scores.get(name, _PLAIN_SCORE) + rng.randint(-_JITTER, _JITTER)))
            for name, scores in zip(names, known, strict=True)
        }

    def _skills_of(self, rng: random.Random, position: Position | None) -> dict[str, int]:
        """What the position trains, and some of what others here can do."""
        trained = sorted(position.weekly_skill_gain) if position else []
        pool = [skill for skill in self._skills if skill not in trained]
        chosen = rng.sample(pool, min(len(pool), rng.randint(2, 4)))
        levels = {skill: rng.randint(30, 90) for skill in trained} | {skill: rng.randint(10, 60) for skill in chosen}
        return levels or {"conversation": rng.randint(10, 60)}

    def _possessions(self, rng: random.Random, slots: Mapping[str, str]) -> tuple[Belonging, ...]:
        """Two to four things like those that people here own, each once."""
        by_name = {thing.name: thing for thing in self._things}
        names = rng.sample(sorted(by_name), min(len(by_name), rng.randint(2, 4)))
        return tuple(
            Belonging(name=name, description=self._text(rng, "possession", slots), value=by_name[name].value)
            for name in names
        )

    def _home_objects(self, rng: random.Random, slots: Mapping[str, str]) -> tuple[str, ...]:
        """The objects that the description names, and others."""
        named = [slots["object"], slots["object2"]]
        pool = [thing for thing in self._objects if thing not in named]
        return tuple(dict.fromkeys([*named, *rng.sample(pool, min(len(pool), 4))]))[:6]


def sampled_drafts(world: World, n: int, seed: int) -> list[Draft]:
    """As many new characters as bring the world to n, with their ties; positions are those of the world."""
    sampler, rng = Sampler(world, seed), random.Random(f"{seed}\x1fnames")
    names = names_for(world, n - len(world.characters), rng)
    grown = world
    newcomers: list[Character] = []
    for place, name in enumerate(names):
        newcomers.append(sampler.character(name, _chosen(grown, len(names) - place, rng)))
        grown = msgspec.structs.replace(world, characters=(*world.characters, *newcomers))
    return _tied(world, _unlike(world, newcomers, names, sampler), sampler, seed)


def _unlike(
    world: World, newcomers: Sequence[Character], names: Sequence[SpareName], sampler: Sampler
) -> list[Character]:
    """The newcomers, those made anew that came out too much like somebody before them."""
    by_key = {position.key: position for position in world.positions}
    people, first_new = [*world.characters, *newcomers], len(world.characters)
    for attempt in range(1, _REMADE + 1):
        alike = alike_pairs([likeness_text(person) for person in people], SIMILAR)
        again = sorted({other for _, other, _ in alike if other >= first_new})
        if not again:
            break
        for place in again:
            position = by_key.get(people[place].position or "")
            people[place] = sampler.character(names[place - first_new], position, attempt)
    return people[first_new:]


def one_draft(world: World, name: SpareName, *, left: int, seed: int) -> Draft:
    """One more character with ties to some who are there, where a model failed to give it; `left` are still to come."""
    rng = random.Random(f"{seed}\x1fone\x1f{name.name}")
    sampler = Sampler(world, seed)
    character = sampler.character(name, _chosen(world, left, rng))
    others = rng.sample(world.characters, min(len(world.characters), TIES // 2))
    views = {other.name: sampler.views(character, other) for other in others}
    knows = {other: view for other, (view, _) in views.items()}
    return Draft(
        character=msgspec.structs.replace(character, knows=knows),
        known_by={other: view for other, (_, view) in views.items()},
    )


def _chosen(world: World, left: int, rng: random.Random) -> Position | None:
    """An open position, those with more free places more often."""
    options = open_positions(world, left)
    held = [character.position for character in world.characters]
    weights = [max(1, position.capacity - held.count(position.key)) for position in options]
    return rng.choices(options, weights)[0] if options else None


def _tied(world: World, newcomers: Sequence[Character], sampler: Sampler, seed: int) -> list[Draft]:
    """Newcomers with their ties: neighbours on a ring sorted by organization, and some across it."""
    everybody = [*world.characters, *newcomers]
    ring = sorted(range(len(everybody)), key=lambda place: ((everybody[place].position or "").split("/")[0], place))
    network = nx.watts_strogatz_graph(len(everybody), min(TIES, len(everybody)), _REWIRED, seed=seed)
    first_new = len(world.characters)
    known: dict[str, dict[str, str]] = {character.name: {} for character in newcomers}
    known_by: dict[str, dict[str, str]] = {character.name: {} for character in newcomers}
    for one, other in sorted(tuple(sorted((ring[one], ring[other]))) for one, other in network.edges):
        if other < first_new:
            continue
        there, back = sampler.views(everybody[other], everybody[one])
        known[everybody[other].name][everybody[one].name] = there
        if one < first_new:
            known_by[everybody[other].name][everybody[one].name] = back
        else:
            known[everybody[one].name][everybody[other].name] = back
    return [
        Draft(
            character=msgspec.structs.replace(character, knows=known[character.name]),
            known_by=known_by[character.name],
        )
        for character in newcomers
    ]


def sampled_world(world: World, n: int, seed: int) -> World:
    """The world with sampled characters up to n; its positions are already those for n."""
    return with_drafts(world, sampled_drafts(world, n, seed))


def _things(world: World) -> list[Belonging]:
    """Possessions of the cast that name nobody, else what money buys here."""
    names = _parts_of_names(world)
    owned = [
        thing for person in world.characters for thing in person.possessions if not full_names_in(thing.name, names)
    ]
    bought = [Belonging(name=price.item, description=price.item, value=price.price) for price in world.prices]
    return owned or bought or [Belonging(name="notebook", description="notebook", value=5)]


def _objects(world: World) -> list[str]:
    """Objects of homes that name nobody, else of public places."""
    names = _parts_of_names(world)
    found = [thing for person in world.characters for thing in person.home.objects]
    at_home = sorted({thing for thing in found if not full_names_in(thing, names)})
    public = sorted({thing for place in world.locations for thing in place.objects})
    return at_home if len(at_home) >= 6 else public


def _parts_of_names(world: World) -> list[str]:
    """First and family names of the cast, and their full names."""
    parts = (part for person in world.characters for part in (person.name, *parts_of(person.name)))
    return sorted({part for part in parts if len(part) > 1})
