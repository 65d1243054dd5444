"""`python -m sim.world.check WORLD`: what is wrong with a world, before anybody lives in it; exit status 1 on faults.

By rules, and on request by a model that compares what several people say of one. The files themselves stay as they are.
"""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sim.world import schema
from sim.world.checking.findings import Finding, fault, faults_in, report
from sim.world.checking.money import not_numeric
from sim.world.checking.people import people_findings
from sim.world.checking.places import place_findings
from sim.world.checking.views import view_findings
from sim.world.loader import read_world
from sim.world.schema import World
from sim.world.soundness import faults
from sim.world.yaml_files import CHARACTERS, FILES, read_entry, read_list, read_yaml

_LISTS = (
    ("locations", schema.LocationEntry),
    ("positions", schema.PositionEntry),
    ("prices", schema.Price),
    ("names", schema.SpareName),
    ("stories", schema.Story),
)


def check_folder(folder: Path) -> list[Finding]:
    """Everything that the rules find in a world's folder."""
    broken = list(file_findings(folder))
    if broken:
        return broken
    try:
        world, files = read_world(folder)
    except ValueError as error:
        return [fault("file", str(folder), str(error).removeprefix(f"{folder}/"))]
    return check_world(world, files)


def check_world(world: World, files: Sequence[str]) -> list[Finding]:
    """Everything that the rules find in a world that could be read; `files` names the file of each character."""
    unsound = [fault("soundness", *_where(text)) for text in faults(world, files)]
    found = [*unsound, *place_findings(world), *people_findings(world), *view_findings(world)]
    return list(dict.fromkeys(found))


def file_findings(folder: Path) -> Iterator[Finding]:
    """Files that can't be read, money that is no number, entries that are not of their form."""
    for file in (*FILES, *sorted(f"{CHARACTERS}/{path.name}" for path in (folder / CHARACTERS).glob("*.yaml"))):
        try:
            content = read_yaml(folder, file)
        except ValueError as error:
            yield fault("file", *_where(str(error).removeprefix(f"{folder}/")))
            continue
        wrong = list(not_numeric(file, content))
        for path, value in wrong:
            yield fault("money", f"{file}: {path}", f"{value!r} is no whole number; write the amount alone")
        if not wrong:
            yield from _form(folder, file)


def _form(folder: Path, file: str) -> Iterator[Finding]:
    """Whether a file holds entries of its form."""
    try:
        if file.startswith(f"{CHARACTERS}/"):
            read_entry(folder, file, schema.Character)
        elif file == FILES[0]:
            read_entry(folder, file, schema.WorldEntry)
        else:
            read_list(folder, file.removesuffix(".yaml"), dict(_LISTS)[file.removesuffix(".yaml")])
    except ValueError as error:
        yield fault("file", *_where(str(error).removeprefix(f"{folder}/")))


def _where(text: str) -> tuple[str, str]:
    """A message `file: key: what` as its place and the rest."""
    found = re.match(r"(?P<where>[^:]+: [^:]+): (?P<text>.*)", text, re.DOTALL)
    return (found["where"], found["text"]) if found else ("world", text)


def main(words: Sequence[str] | None = None) -> int:
    """The command line; the exit status."""
    from sim.world.building.endpoint import add_model_options, model_of

    given = argparse.ArgumentParser(prog="python -m sim.world.check", description="Check a world's folder.")
    given.add_argument("world", type=Path, help="folder of the world")
    given.add_argument("--json", action="store_true", help="print the findings as a JSON list")
    given.add_argument("--calls", type=int, default=100, help="most questions to the model (default 100)")
    add_model_options(given)
    asked = given.parse_args(words)
    found = check_folder(asked.world)
    if asked.base_url or asked.config:
        try:
            found += _by_model(asked, model_of(asked), found)
        except ValueError as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
    if asked.json:
        print(msgspec.json.format(msgspec.json.encode(found), indent=2).decode())
    else:
        print(report(found))
    return 1 if faults_in(found) else 0


def _by_model(asked: argparse.Namespace, chosen: Any, found: Sequence[Finding]) -> list[Finding]:
    """What a model finds at odds; nothing where the files are too broken to be read."""
    from sim.world.building.accounts import findings_by_model

    if any(finding.kind in ("file", "money", "soundness") for finding in faults_in(found)):
        raise ValueError(f"{asked.world}: mend the faults in its files first; a model reads a sound world only")
    world, _ = read_world(asked.world)
    return findings_by_model(world, chosen, seed=asked.seed, most=asked.calls)


if __name__ == "__main__":
    sys.exit(main())
