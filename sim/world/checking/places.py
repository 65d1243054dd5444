"""Places and positions of a world: can they be named, are they of the form of SPEC section 11, do they fit people."""

from collections import Counter
from collections.abc import Iterator, Sequence

from sim.context.names import resolve_name
from sim.core.agent import Location
from sim.core.position_supply import shape_for
from sim.core.vacancies import age_fits, missing_skills
from sim.world.building.newcomers import age_at_start, holders_of
from sim.world.checking.findings import Finding, fault, warning
from sim.world.checking.likeness import plain_form, sentence_count
from sim.world.schema import Character, World

N_PLACES = 30
SIZE_SHARES = {"small": 0.5, "medium": 0.35, "large": 0.15}
PLACE_SENTENCES, PLACE_OBJECTS = (4, 6), (5, 6)
HOME_SENTENCES, HOME_OBJECTS = (2, 4), (4, 6)


def unreachable_places(world: World) -> Iterator[Finding]:
    """Public places and homes that nobody could name for sure: written in quotes, the resolver finds none or several.

    Homes are named after the people who live there.
    """
    homes = {f"home/{character.name}": plain_form(character.name) for character in world.characters}
    public = [place.name for place in world.locations]
    for name in dict.fromkeys(public):
        if resolve_name(f'"{name}"', [*public, *homes]) != name:
            text = f"{name!r} can't be told from another place once it is written without marks and titles; rename it"
            yield fault("unreachable", "locations.yaml", text, name)
    counted = Counter(homes.values())
    for home, form in homes.items():
        if not form or counted[form] > 1:
            text = "is not told apart from another home by its owner's name; rename the character"
            yield fault("unreachable", f"characters: {home}", text, home)
    people = {plain_form(character.name): character.name for character in world.characters}
    for name in public:
        if plain_form(name) in people:
            text = f"{name!r} is also a person's name; rename the place"
            yield fault("unreachable", "locations.yaml", text, people[plain_form(name)])


def places(world: World) -> Iterator[Finding]:
    """Number, sizes, sentences and objects of public places and homes (warnings: a life works without)."""
    if len(world.locations) != N_PLACES:
        text = f"{len(world.locations)} public places; a full world has {N_PLACES}"
        yield warning("place", "locations.yaml", text)
    sizes = Counter(place.size for place in world.locations)
    for size, share in SIZE_SHARES.items():
        wanted = share * len(world.locations)
        if abs(sizes[size] - wanted) > 1:
            text = f"{sizes[size]} of {len(world.locations)} places are {size}; about {wanted:g} should be"
            yield warning("place", "locations.yaml", text)
    for place in world.locations:
        yield from _described(place, "locations.yaml", PLACE_SENTENCES, PLACE_OBJECTS)
    for character in world.characters:
        home = Location(
            name=f"home/{character.name}",
            size="home",
            description=character.home.description,
            objects=character.home.objects,
        )
        yield from _described(home, "characters", HOME_SENTENCES, HOME_OBJECTS)


def _described(place: Location, file: str, sentences: tuple[int, int], objects: tuple[int, int]) -> Iterator[Finding]:
    """Whether a place is described at the right length and has the right number of things."""
    n_sentences = sentence_count(place.description)
    if not sentences[0] <= n_sentences <= sentences[1]:
        text = f"{n_sentences} sentences; write {sentences[0]} to {sentences[1]}"
        yield warning("place", f"{file}: {place.name}", text, place.name)
    if not objects[0] <= len(place.objects) <= objects[1]:
        text = f"{len(place.objects)} objects; name {objects[0]} to {objects[1]}"
        yield warning("place", f"{file}: {place.name}", text, place.name)
    if len({thing.casefold() for thing in place.objects}) < len(place.objects):
        yield warning("place", f"{file}: {place.name}", "an object stands twice; remove one", place.name)


def positions(world: World) -> Iterator[Finding]:
    """Positions without a holder, holders too young, too old or unskilled, and how many places there are."""
    holders = holders_of(world.characters)
    for position in world.positions:
        if not holders[position.key]:
            text = "nobody holds it; give it to a character, or remove it"
            yield fault("unheld_position", f"positions.yaml: {position.key}", text, position.key)
    for character in world.characters:
        yield from _holder(world, character)
    yield from _supply(world, len(world.characters))


def _holder(world: World, character: Character) -> Iterator[Finding]:
    """Whether a character meets what its position asks for."""
    position = next((other for other in world.positions if other.key == character.position), None)
    age = age_at_start(world, character)
    if position is None or age is None:
        return
    needs, where = position.requirements, f"characters: {character.name}"
    if not age_fits(position, age):
        limits = f"{needs.min_age or 0} to {needs.max_age or '…'}"
        text = f"is {age}, {position.key} is for {limits}; change the birthday, the position or its limits"
        yield fault("age", where, text, character.name)
    levels = {skill: float(level) for skill, level in character.skills.items()}
    for skill, level in missing_skills(position, levels).items():
        text = f"{position.key} asks for {skill} {level}, which {character.name} has not; raise it, or ask for less"
        yield warning("skill", where, text, character.name)


def _supply(world: World, n: int) -> Iterator[Finding]:
    """Whether positions and their places are as many as the cast needs (SPEC section 6); the founding corrects them."""
    shape, where = shape_for(n), "positions.yaml"
    total = sum(position.capacity for position in world.positions)
    if not shape.min_places <= total <= shape.max_places:
        text = f"{total} places for {n} characters; {shape.min_places} to {shape.max_places} are usual"
        yield warning("supply", where, text)
    if not shape.min_positions <= len(world.positions) <= shape.max_positions:
        text = f"{len(world.positions)} positions; {shape.min_positions} to {shape.max_positions} are usual"
        yield warning("supply", where, text)
    for position in world.positions:
        if position.type == "work" and position.capacity > shape.max_per_work_position:
            text = f"capacity {position.capacity}; at most {shape.max_per_work_position} of {n} can hold one position"
            yield warning("supply", f"{where}: {position.key}", text, position.key)


def place_findings(world: World) -> Sequence[Finding]:
    """All of the above."""
    return [*unreachable_places(world), *places(world), *positions(world)]
