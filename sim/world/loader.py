"""A world's folder → a checked `World`, its smaller casts, and the first state of each agent.

Bad files are refused with file, key and remedy.
"""

import difflib
import hashlib
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import msgspec

from sim.context.memory_files import GENERAL, person_path
from sim.context.render import Renderer
from sim.core.agent import AgentState, Location, MemoryFile, Position, Possession, Profile, Requirements
from sim.core.clock import Slot, parse_slot
from sim.world import schema
from sim.world.builder_command import builder_advice
from sim.world.schema import Character, World
from sim.world.soundness import faults
from sim.world.yaml_files import CHARACTERS, FILES, read_entry, read_list

_MOST_FAULTS = 12


def load_world(folder: Path) -> World:
    """The world of a folder, checked as a whole; ValueError lists what to mend."""
    world, files = read_world(folder)
    found = faults(world, files)
    if found:
        more = [f"and {len(found) - _MOST_FAULTS} more"] if len(found) > _MOST_FAULTS else []
        raise ValueError("\n".join([f"world {folder}: not sound", *found[:_MOST_FAULTS], *more]))
    if not world.characters:
        raise ValueError(
            f"{folder}/world.yaml: cast: nobody lives here; write some characters, or have them made:"
            f"{builder_advice(folder, 24)}"
        )
    return world


def read_world(folder: Path) -> tuple[World, list[str]]:
    """What the files of a folder say, each by itself well formed, and the file of each character."""
    if not (folder / FILES[0]).is_file():
        raise ValueError(
            f"{folder}: no {FILES[0]}; a world is a folder with {', '.join(FILES)} and {CHARACTERS}/<name>.yaml"
        )
    head = read_entry(folder, "world.yaml", schema.WorldEntry)
    files = _cast_files(folder, head)
    world = World(
        name=head.name,
        language=head.language,
        start_year=head.start_year,
        currency=head.currency,
        worldview=head.worldview,
        rules=head.rules,
        content_policy=head.content_policy,
        locations=tuple(_place(entry) for entry in read_list(folder, "locations", schema.LocationEntry)),
        positions=tuple(_position(entry) for entry in read_list(folder, "positions", schema.PositionEntry)),
        prices=read_list(folder, "prices", schema.Price),
        names=read_list(folder, "names", schema.SpareName),
        stories=read_list(folder, "stories", schema.Story),
        characters=tuple(read_entry(folder, file, Character) for file in files),
        digest=world_digest(folder),
    )
    return world, files


def world_digest(folder: Path) -> str:
    """SHA-256 over the world's YAML files, by name: each file's name, length and bytes."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.yaml"), key=lambda path: path.relative_to(folder).as_posix()):
        data = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def cast_of(world: World, n: int, folder: Path | str = "") -> World:
    """The world with its first n characters. Who knew an absent one is left with a fixed sentence among its notes.

    `folder` is where the world stands, for the command that makes more characters where n is too large.
    """
    if n > len(world.characters):
        raise ValueError(
            f"world {world.name!r} has {len(world.characters)} characters, {n} are asked for: lower sim.n_agents, or "
            f"extend the world and name the new folder in worlds:{builder_advice(folder or world.name, n)}"
        )
    if n < 1:
        raise ValueError(f"sim.n_agents = {n}: a world needs at least one agent")
    if n == len(world.characters):
        return world
    absent = [character.name for character in world.characters[n:]]
    render = Renderer(world.language)
    told = {name: render.render("world/absent.j2", {"name": name}) for name in absent}
    characters = tuple(_without(character, told) for character in world.characters[:n])
    return msgspec.structs.replace(world, characters=characters)


def _without(character: Character, told: dict[str, str]) -> Character:
    """The character without the people who are told to be absent."""
    knows = {name: text for name, text in character.knows.items() if name not in told}
    sentences = [sentence for name, sentence in told.items() if name in character.knows]
    return msgspec.structs.replace(character, knows=knows, goals="\n".join([character.goals, *sentences]))


def initial_states(world: World) -> dict[str, AgentState]:
    """The first state of every agent, by name, in cast order."""
    return {character.name: first_state(world, character) for character in world.characters}


def first_state(world: World, character: Character) -> AgentState:
    """An agent before its first week: memory from goals and acquaintances, the first-named the most recent."""
    name, known = character.name, list(character.knows)
    order = {person: len(known) - place for place, person in enumerate(known)}
    files = {person_path(person): _memory(text, order[person]) for person, text in character.knows.items()}
    files[GENERAL] = _memory(character.goals, len(known) + 1)
    return AgentState(
        profile=_profile(character),
        home=Location(
            name=f"home/{name}",
            size="home",
            description=character.home.description,
            objects=character.home.objects,
        ),
        position=next((position for position in world.positions if position.key == character.position), None),
        skills={skill: float(level) for skill, level in sorted(character.skills.items())},
        deposit=character.deposit,
        deposit_at_year_start=character.deposit,
        extra_weekly_income=character.extra_weekly_income,
        possessions=tuple(
            Possession(id=f"birth/{name}#{place}", name=thing.name, description=thing.description, value=thing.value)
            for place, thing in enumerate(character.possessions, start=1)
        ),
        files=files,
        met=order,
        ticks=len(known) + 1,
    )


def _memory(text: str, touched: int) -> MemoryFile:
    """A first memory is short, so it is its own summary; the prompt cuts it to its budget."""
    return MemoryFile(text=text, summary=text, touched=touched)


def _profile(character: Character) -> Profile:
    """The profile that a character starts with."""
    return Profile(
        name=character.name,
        gender=character.gender,
        birthday=_birthday(character),
        appearance=character.appearance,
        details=character.details,
        conflicts=character.conflicts,
        motivation=character.motivation,
        values=character.values,
        preferences=character.preferences,
        traits=character.traits,
        talents=character.talents,
    )


def _birthday(character: Character) -> Slot:
    """The birthday as a slot; checked when the world was loaded."""
    born = parse_slot(character.birthday)
    if born is None:
        raise ValueError(f"birthday of {character.name}: {character.birthday!r}; write it like Y1996-W8-activity-D4")
    return born


def _place(entry: schema.LocationEntry) -> Location:
    return Location(name=entry.name, size=entry.size, description=entry.description, objects=entry.objects)


def _position(entry: schema.PositionEntry) -> Position:
    needs = entry.requirements
    return Position(
        organization=entry.organization,
        role=entry.role,
        type=entry.type,
        weekly_income=entry.weekly_income,
        weekly_skill_gain=entry.weekly_skill_gain,
        capacity=entry.capacity,
        requirements=Requirements(skills=needs.skills, min_age=needs.min_age, max_age=needs.max_age),
    )


def _cast_files(folder: Path, head: schema.WorldEntry) -> list[str]:
    """The character files in cast order; the cast and the folder must name the same ones."""
    paths = sorted((folder / CHARACTERS).glob("*.yaml"))
    file_by_stem = {unicodedata.normalize("NFC", path.stem): f"{CHARACTERS}/{path.name}" for path in paths}
    _same_stems(folder, head.cast, sorted(file_by_stem))
    return [file_by_stem[stem] for stem in head.cast]


def _same_stems(folder: Path, cast: Iterable[str], there: list[str]) -> None:
    """Refuse a cast that repeats a file, names one that is missing, or leaves one out."""
    seen: set[str] = set()
    for stem in cast:
        if stem in seen:
            raise ValueError(f"{folder}/world.yaml: cast: {stem!r} stands twice; remove one")
        if stem not in there:
            close = difflib.get_close_matches(stem, there, n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"write it, or remove {stem!r} from cast"
            raise ValueError(f"{folder}/world.yaml: cast: no file {CHARACTERS}/{stem}.yaml; {hint}")
        seen.add(stem)
    left = [stem for stem in there if stem not in seen]
    if left:
        raise ValueError(f"{folder}/world.yaml: cast: lacks {', '.join(left)}; add them in order, or remove the files")
