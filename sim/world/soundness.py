"""What a world's parts must satisfy among themselves: names, places, positions, money, and who knows whom.

`faults` lists everything that is wrong, each as `file: key: what; remedy`.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from sim.context.names import nearest
from sim.core.agent import TALENTS, TRAITS
from sim.core.clock import parse_slot
from sim.core.keys import normal_form
from sim.core.names import person_form
from sim.settings import EconomySettings
from sim.world.schema import DEPOSIT_WEEKS, Character, World

LONGEST_NAME = 60
_FORBIDDEN = frozenset('/\\,;"<>，、；')
"""Characters that paths, name lists in actions, or tags give a meaning to."""


def faults(world: World, files: Sequence[str]) -> list[str]:
    """All that is wrong with a world; `files` names the file of each character."""
    parts: tuple[Iterator[str], ...] = (
        _names_of_things(world),
        _positions(world),
        _names_of_people(world, files),
        *(_character(world, character, file) for character, file in zip(world.characters, files, strict=True)),
        _holders(world),
        _acquaintances(world, files),
    )
    return [fault for part in parts for fault in part]


def name_fault(name: str) -> str | None:
    """What is wrong with the name of a person or place, or None."""
    if len(name) > LONGEST_NAME:
        return f"{name[:20]}… has {len(name)} characters; shorten it to {LONGEST_NAME}"
    if any(unicodedata.category(char) in ("Cc", "Cs") for char in name):
        return f"{name!r} has a control character; remove it"
    forbidden = sorted(_FORBIDDEN & set(name))
    if forbidden:
        return f'{name!r} has "{forbidden[0]}"; remove it'
    if name != name.strip(" .") or ".." in name:
        return f"{name!r} begins or ends with a blank or a dot, or has two dots; remove them"
    return None


def _repeated(names: Iterable[str], form: Callable[[str], str] = normal_form) -> list[str]:
    """Names that stand more than once, as they are compared; later spellings of each."""
    seen: set[str] = set()
    repeated = []
    for name in names:
        if form(name) in seen:
            repeated.append(name)
        seen.add(form(name))
    return repeated


def _names_of_things(world: World) -> Iterator[str]:
    """Places, prices and stories have usable names, each once."""
    for place in world.locations:
        fault = name_fault(place.name)
        if fault:
            yield f"locations.yaml: name: {fault}"
    for file, key, values in (
        ("locations.yaml", "name", [place.name for place in world.locations]),
        ("prices.yaml", "item", [price.item for price in world.prices]),
        ("stories.yaml", "title", [story.title for story in world.stories]),
    ):
        for value in _repeated(values):
            yield f"{file}: {key}: {value!r} stands twice; rename or remove one"


def _positions(world: World) -> Iterator[str]:
    """Positions have usable names, each once, and possible ages."""
    for position in world.positions:
        for key in ("organization", "role"):
            fault = name_fault(getattr(position, key))
            if fault:
                yield f"positions.yaml: {key}: {fault}"
        low, high = position.requirements.min_age, position.requirements.max_age
        if low is not None and high is not None and low > high:
            yield f"positions.yaml: {position.key}: min_age {low} is above max_age {high}; swap or correct them"
    for key in _repeated(position.key for position in world.positions):
        yield f"positions.yaml: role: {key!r} stands twice; merge the two and add up their capacity"


def _names_of_people(world: World, files: Sequence[str]) -> Iterator[str]:
    """Each full name is usable and stands once, over characters and spare names."""
    for character, file in zip(world.characters, files, strict=True):
        fault = name_fault(character.name)
        if fault:
            yield f"{file}: name: {fault}"
    for spare in world.names:
        fault = name_fault(spare.name)
        if fault:
            yield f"names.yaml: name: {fault}"
    cast = [character.name for character in world.characters]
    for name in _repeated(cast, person_form):
        where = [file for other, file in zip(cast, files, strict=True) if person_form(other) == person_form(name)]
        yield f"{' and '.join(where)}: name: {name!r} is one person's only; rename one"
    taken = {person_form(name) for name in cast}
    for spare in world.names:
        if person_form(spare.name) in taken:
            yield f"names.yaml: name: {spare.name!r} is a character's name; remove it from the list"
    for name in _repeated((spare.name for spare in world.names), person_form):
        yield f"names.yaml: name: {name!r} stands twice; remove one"


def _character(world: World, character: Character, file: str) -> Iterator[str]:
    """One character's birthday, complete traits and talents, position and deposit."""
    born = parse_slot(character.birthday)
    if born is None or born.week < 1 or born.day < 1:
        yield f"{file}: birthday: {character.birthday!r} is no date; write it like Y1996-W8-activity-D4"
    elif born.year >= world.start_year:
        yield f"{file}: birthday: {character.birthday!r} is not before {world.start_year}; give an earlier year"
    for key, given, wanted in (("traits", character.traits, TRAITS), ("talents", character.talents, TALENTS)):
        for name in sorted(set(given) - set(wanted)):
            yield f"{file}: {key}.{name}: unknown; did you mean {nearest(name, wanted)[0]}?"
        for name in sorted(set(wanted) - set(given)):
            yield f"{file}: {key}.{name}: missing; give a value from 0 to 100"
    yield from _money(world, character, file)


def _money(world: World, character: Character, file: str) -> Iterator[str]:
    """The position exists, and the deposit is no more than twenty weeks of fixed income."""
    income_by_key = {position.key: position.weekly_income for position in world.positions}
    key = character.position
    if key is not None and key not in income_by_key:
        choices = ", ".join(nearest(key, income_by_key)[:3])
        yield f"{file}: position: {key!r} is not in positions.yaml; choose one of its organization/role ({choices}, …)"
        return
    salary = EconomySettings().unemployed_income if key is None else income_by_key[key]
    most = DEPOSIT_WEEKS * (salary + character.extra_weekly_income)
    if character.deposit > most:
        yield (
            f"{file}: deposit: {character.deposit} is above {most}, {DEPOSIT_WEEKS} weeks of salary and "
            "extra_weekly_income; lower it"
        )


def _holders(world: World) -> Iterator[str]:
    """No position has more holders than places."""
    holders = Counter(character.position for character in world.characters)
    for position in world.positions:
        if holders[position.key] > position.capacity:
            yield (
                f"positions.yaml: {position.key}: capacity {position.capacity}, but {holders[position.key]} characters "
                "hold it; raise capacity or give some another position"
            )


def _acquaintances(world: World, files: Sequence[str]) -> Iterator[str]:
    """Everybody known exists, knows back, and is somebody else."""
    by_name = {character.name: character for character in world.characters}
    file_of = {character.name: file for character, file in zip(world.characters, files, strict=True)}
    for character in world.characters:
        for other in character.knows:
            where = f"{file_of[character.name]}: knows.{other}"
            if other == character.name:
                yield f"{where}: is the character itself; remove it"
            elif other not in by_name:
                yield f"{where}: no such character; did you mean {nearest(other, by_name)[0]!r}? Else remove it"
            elif character.name not in by_name[other].knows:
                yield f"{where}: not mutual; add {character.name!r} to knows in {file_of[other]}, or remove it here"
