"""Full names for new characters: those of the world's list, then new ones of its given and family names."""

import itertools
import random
import re
from collections.abc import Iterable, Sequence

from sim.core.keys import normal_form
from sim.world.checking.likeness import CHINESE
from sim.world.schema import SpareName, World
from sim.world.soundness import name_fault

KEPT_SPARE = 20
"""So many unused names are left in the list of a world that was extended, as far as there are any."""
_CHINESE_NAME = re.compile(rf"[{CHINESE}]+")
_TWO_CHARACTER_FAMILIES = (
    "欧阳", "司马", "上官", "诸葛", "夏侯", "皇甫", "尉迟", "公孙", "慕容", "令狐", "长孙", "宇文", "司徒", "东方",
    "南宫", "西门", "独孤", "端木", "百里", "呼延",
)  # fmt: skip


def parts_of(name: str) -> tuple[str, str]:
    """Given name and family name; a name of one word has no family name."""
    if _CHINESE_NAME.fullmatch(name):
        size = 2 if name.startswith(_TWO_CHARACTER_FAMILIES) and len(name) > 2 else 1
        return (name[size:], name[:size]) if len(name) > size else (name, "")
    given, _, family = name.rpartition(" ")
    return (given, family) if given else (name, "")


def joined(given: str, family: str) -> str:
    """The full name of both parts, in the order of its script."""
    if not family:
        return given
    return f"{family}{given}" if _CHINESE_NAME.fullmatch(family + given) else f"{given} {family}"


def unused_names(world: World) -> list[SpareName]:
    """Names of the list that no character has, in their order."""
    taken = {normal_form(character.name) for character in world.characters}
    return [spare for spare in world.names if normal_form(spare.name) not in taken]


def names_for(world: World, n: int, rng: random.Random) -> list[SpareName]:
    """n unused names: a shuffled list, then combinations; ValueError if the list is too short even for these."""
    listed = unused_names(world)
    rng.shuffle(listed)
    if len(listed) >= n:
        return listed[:n]
    listed += combined(world, n - len(listed), rng)
    if len(listed) < n:
        raise ValueError(
            f"names.yaml: its names and their combinations give {len(listed)} new ones, {n} are needed; add names"
        )
    return listed


def combined(world: World, n: int, rng: random.Random) -> list[SpareName]:
    """Up to n new full names of given and family names that the world has; none is taken or on the list."""
    people = [*world.names, *(SpareName(name=person.name, gender=person.gender) for person in world.characters)]
    taken = {normal_form(person.name) for person in people}
    split = [(*parts_of(person.name), person.gender) for person in people if "·" not in person.name]
    families = list(dict.fromkeys(family for _, family, _ in split if family))
    found: list[SpareName] = []
    for offered in (_simple(split, families), _doubled(split, families)):
        rng.shuffle(offered)
        for name in offered:
            if len(found) == n:
                return found
            if normal_form(name.name) not in taken and name_fault(name.name) is None:
                taken.add(normal_form(name.name))
                found.append(name)
    return found


def _simple(split: Sequence[tuple[str, str, str]], families: Sequence[str]) -> list[SpareName]:
    """Every given name with every family name."""
    givens = dict.fromkeys((given, gender) for given, _, gender in split)
    return [SpareName(name=joined(given, family), gender=gender) for given, gender in givens for family in families]


def _doubled(split: Sequence[tuple[str, str, str]], families: Sequence[str], most: int = 40) -> list[SpareName]:
    """Two given names of one gender with a family name; of a few dozen of each, which is plenty."""
    givens = list(dict.fromkeys((given, gender) for given, _, gender in split))[:most]
    return [
        SpareName(name=joined(_two(first, second), family), gender=gender)
        for (first, gender), (second, other) in itertools.permutations(givens, 2)
        if gender == other
        for family in families[:most]
    ]


def _two(first: str, second: str) -> str:
    return first[:1] + second[-1:] if _CHINESE_NAME.fullmatch(first + second) else f"{first} {second}"


def names_left(world: World, rng: random.Random) -> tuple[SpareName, ...]:
    """The list of an extended world: what is unused, and some combinations where that is little."""
    left = unused_names(world)
    short = KEPT_SPARE - len(left)
    return (*left, *(combined(world, short, rng) if short > 0 else ()))


def full_names_in(text: str, names: Iterable[str]) -> list[str]:
    """Which of the full names stand in a text."""
    found = []
    for name in names:
        start = text.find(name)
        while start >= 0:
            if _stands_alone(text, start, start + len(name)):
                found.append(name)
                break
            start = text.find(name, start + 1)
    return found


def strangers_in(text: str, spare: Iterable[str], cast: Iterable[str]) -> list[str]:
    """Spare names that stand in a text and are no part of a character's name there."""
    longer = {name: [other for other in cast if name in other] for name in full_names_in(text, spare)}
    return [name for name, others in longer.items() if full_names_in(_without(text, others), [name])]


def _without(text: str, names: Iterable[str]) -> str:
    for name in names:
        text = text.replace(name, "\n")
    return text


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether no letter of an alphabet goes on before or after; Chinese has no word boundaries."""
    if _CHINESE_NAME.fullmatch(text[start:end]):
        return True
    before, after = text[start - 1 : start], text[end : end + 1]
    return not (before.isalnum() or after.isalnum())
