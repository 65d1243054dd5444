"""Writes a world as a folder of YAML: complete or not there at all."""

import json
import os
import shutil
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import yaml

from sim.core.agent import Position
from sim.core.keys import normal_form
from sim.world.schema import Character, World
from sim.world.yaml_files import CHARACTERS, read_yaml

if TYPE_CHECKING or not hasattr(yaml, "CSafeDumper"):
    from yaml import SafeDumper
else:  # the same by libyaml, ten times as fast
    from yaml import CSafeDumper as SafeDumper

RECORD = "build.json"
_WIDTH = 110


def write_world(source: Path, world: World, before: World, files: Sequence[str], out: Path) -> None:
    """Write the extended world to a new folder: what is unchanged is copied from the source, file by file.

    `before` is the source's own world and `files` its character files. ValueError if the folder is there already.
    """
    refuse_present(out)
    building = out.with_name(f".{out.name}.unfinished")
    if building.exists():
        shutil.rmtree(building)
    shutil.copytree(source, building)
    stems = _write_cast(building, world, before, files)
    head = {**read_yaml(source, "world.yaml"), "cast": stems}
    write_yaml(building / "world.yaml", head)
    if world.positions != before.positions:
        entries = [position_entry(position) for position in world.positions]
        write_yaml(building / "positions.yaml", {"positions": entries})
    if world.names != before.names:
        write_yaml(building / "names.yaml", {"names": msgspec.to_builtins(world.names)})
    os.replace(building, out)


def refuse_present(out: Path) -> None:
    """ValueError if there is something where a world shall be written."""
    if out.exists():
        raise ValueError(f"--out {out}: is there already; name a new folder, or remove this one")


def _write_cast(folder: Path, world: World, before: World, files: Sequence[str]) -> list[str]:
    """Write new and changed characters; the file stems of all in cast order."""
    old = dict(zip((character.name for character in before.characters), files, strict=True))
    unchanged = dict(zip(old, before.characters, strict=True))
    (folder / CHARACTERS).mkdir(exist_ok=True)
    stems: list[str] = []
    taken = {normal_form(Path(file).stem) for file in files}
    for character in world.characters:
        file = old.get(character.name)
        stem = _free_stem(character.name, taken) if file is None else Path(file).stem
        if file is None or unchanged[character.name] != character:
            write_yaml(folder / (file or f"{CHARACTERS}/{stem}.yaml"), character_entry(character))
        stems.append(stem)
    return stems


def _free_stem(name: str, taken: set[str]) -> str:
    """A file name for a character: its name in small plain letters where it has such, else as it is."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    plain = "_".join("".join(char if char.isalnum() else " " for char in letters).split())
    stem = plain if plain and name.isascii() | (len(plain) > 2) else unicodedata.normalize("NFC", name)
    number = 1
    wanted = stem
    while normal_form(wanted) in taken:
        number += 1
        wanted = f"{stem}_{number}"
    taken.add(normal_form(wanted))
    return wanted


def character_entry(character: Character) -> dict[str, Any]:
    """A character as its file has it; what is at its default is left out."""
    entry = msgspec.to_builtins(character)
    left_out = [key for key in ("position", "extra_weekly_income", "possessions", "knows") if not entry[key]]
    return {key: value for key, value in entry.items() if key not in left_out}


def position_entry(position: Position) -> dict[str, Any]:
    """A position as positions.yaml has it."""
    needs = position.requirements
    asked = {"skills": dict(needs.skills), "min_age": needs.min_age, "max_age": needs.max_age}
    requirements = {key: value for key, value in asked.items() if value}
    return {
        "organization": position.organization,
        "role": position.role,
        "type": position.type,
        "weekly_income": position.weekly_income,
        "weekly_skill_gain": dict(position.weekly_skill_gain),
        "capacity": position.capacity,
        **({"requirements": requirements} if requirements else {}),
    }


def write_yaml(path: Path, content: Mapping[str, Any]) -> None:
    """Write one YAML file, complete or not at all."""
    text = yaml.dump(dict(content), Dumper=SafeDumper, allow_unicode=True, sort_keys=False, width=_WIDTH)
    write_text(path, text)


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write one JSON file, complete or not at all."""
    write_text(path, json.dumps(content, ensure_ascii=False, indent=2) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text under a temporary name, then put it in its place."""
    temporary = path.with_name(f".{path.name}.tmp")
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
