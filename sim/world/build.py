"""`python -m sim.world.build WORLD --to N --out FOLDER`: a new folder with N characters; the source stays as it is.

New characters are written by a model, one at a time, or sampled from the world's own parts by a seed. What is done is
kept beside the new folder until it is complete: the same command goes on.
"""

import argparse
import asyncio
import random
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from sim.llm.protocol import LLM, ServerDown
from sim.world.building.author import Author, NoAnswer
from sim.world.building.casting import cast_one
from sim.world.building.endpoint import add_model_options, model_of, opened
from sim.world.building.mending import corrected_by_model, strangers_left
from sim.world.building.newcomers import Draft, scaled_positions, with_drafts
from sim.world.building.sampling import one_draft, sampled_drafts
from sim.world.building.spare_names import names_for, names_left
from sim.world.building.world_folder import RECORD, write_json, write_world, write_yaml
from sim.world.check import check_folder, check_world
from sim.world.checking.findings import Finding, faults_in, report
from sim.world.checking.money import not_numeric, with_numbers
from sim.world.loader import read_world, world_digest
from sim.world.schema import World
from sim.world.soundness import faults
from sim.world.yaml_files import CHARACTERS, FILES, read_yaml

STOPPED = 130
_SOURCE = "source"
_SHOWN = 12
_MOST = 100_000


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What shall be built."""

    source: Path
    n: int
    out: Path
    seed: int = 1
    by: str = "sampler"
    """The model's name, or `sampler`."""
    fallback: bool = False
    """Sample a character that the model fails to give."""
    most_checks: int = 0
    """Questions of the consistency check to the model."""

    @property
    def workplace(self) -> Path:
        """Where what is done so far is kept."""
        return self.out.with_name(f"{self.out.name}.building")

    def identity(self) -> dict[str, Any]:
        """What must be the same for a build to go on."""
        return {"source": world_digest(self.source), "to": self.n, "seed": self.seed, "by": self.by}


async def build(order: Order, model: LLM | None, say: Callable[[str], None] = print) -> list[Finding]:
    """Build it; what a check of the new world finds. ValueError says what is wrong and what to do."""
    if _is_finished(order):
        return check_folder(order.out)
    _begin(order)
    source = order.workplace / _SOURCE
    before, files = _sound(source)
    if order.n < len(before.characters):
        raise ValueError(
            f"--to {order.n}: the world has {len(before.characters)} characters already; a run takes the first of them "
            f"with sim.n_agents={order.n}"
        )
    mended, told = strangers_left(before)
    world = msgspec.structs.replace(mended, positions=scaled_positions(mended, order.n))
    record: dict[str, Any] = {**order.identity(), "seeds_written": max(0, min(2, order.n) - len(before.characters))}
    if model is None:
        drafts = sampled_drafts(world, order.n, order.seed)
        world = with_drafts(world, drafts)
    else:
        world, made = await _by_model(order, world, model, say)
        record |= made
    world, told_later = strangers_left(world)
    world = msgspec.structs.replace(world, names=names_left(world, random.Random(f"{order.seed}\x1fspare")))
    kept = {position.key for position in world.positions}
    record["positions_removed"] = [position.key for position in before.positions if position.key not in kept]
    record["told_that_somebody_left"] = [*told, *told_later]
    write_json(source / RECORD, record)
    write_world(source, world, before, files, order.out)
    shutil.rmtree(order.workplace)
    return check_world(world, [character.name for character in world.characters])


def _is_finished(order: Order) -> bool:
    """Whether this very build was completed before; ValueError if it can't be begun."""
    if not (order.source / FILES[0]).is_file():
        raise ValueError(f"{order.source}: no {FILES[0]}; name the folder of a world, such as configs/worlds/apartment")
    if order.out.resolve().is_relative_to(order.source.resolve()):
        raise ValueError(f"--out {order.out}: lies inside the world that is extended; name a folder elsewhere")
    if not order.out.exists():
        return False
    record = order.out / RECORD
    there = msgspec.json.decode(record.read_bytes()) if record.is_file() else {}
    if any(there.get(key) != value for key, value in order.identity().items()):
        raise ValueError(f"--out {order.out}: is there already; name a new folder, or remove this one")
    shutil.rmtree(order.workplace, ignore_errors=True)
    return True


def _begin(order: Order) -> None:
    """A workplace with a copy of the source, its money as numbers; or the one of a build that was broken off."""
    started = order.workplace / RECORD
    if started.exists():
        there = msgspec.json.decode(started.read_bytes())
        differ = [
            f"{key} {there.get(key)!r}, now {value!r}"
            for key, value in order.identity().items()
            if there.get(key) != value
        ]
        if differ:
            raise ValueError(
                f"{order.workplace}: holds another unfinished build ({'; '.join(differ)}); give the same command to go "
                "on with it, remove the folder, or choose another --out"
            )
        return
    shutil.rmtree(order.workplace, ignore_errors=True)
    order.workplace.mkdir(parents=True)
    shutil.copytree(order.source, order.workplace / _SOURCE)
    _with_numeric_money(order.workplace / _SOURCE)
    write_json(started, order.identity())


def _with_numeric_money(folder: Path) -> None:
    """Write amounts that stand as text as numbers, where they leave no doubt."""
    people = sorted(f"{CHARACTERS}/{path.name}" for path in (folder / CHARACTERS).glob("*.yaml"))
    for file in ("positions.yaml", "prices.yaml", *people):
        content = read_yaml(folder, file)
        if any(True for _ in not_numeric(file, content)):
            write_yaml(folder / file, with_numbers(file, content))


def _sound(folder: Path) -> tuple[World, list[str]]:
    """The world to extend, which may have no characters yet; its files must be sound."""
    world, files = read_world(folder)
    found = faults(world, files)
    if found:
        raise ValueError("\n".join([f"world {world.name!r}: not sound; mend it first", *found[:_SHOWN]]))
    if not world.positions or not world.locations:
        raise ValueError(f"world {world.name!r}: has no positions or no places; write some in its files first")
    return world, files


async def _by_model(order: Order, world: World, model: LLM, say: Callable[[str], None]) -> tuple[World, dict[str, Any]]:
    """The world with characters by the model, their memories checked; and what the record says of them."""
    author, drafts = Author(model, world, seed=order.seed), list[Draft]()
    sampled: list[str] = []
    first = len(world.characters) + 1
    for number in range(first, order.n + 1):
        grown = with_drafts(world, drafts)
        draft = await _next(order, author, grown, number)
        drafts.append(draft)
        sampled += [draft.character.name] if draft.source == "sampler" else []
        say(f"{number}/{order.n} {draft.character.name} ({draft.character.position or 'no position'}), {draft.source}")
    grown = with_drafts(world, drafts)
    newcomers = [draft.character.name for draft in drafts if draft.source == "model"]
    checked, corrections = await corrected_by_model(author, grown, newcomers, order.most_checks)
    say(f"{len(corrections)} memories corrected in {min(order.most_checks, len(newcomers))} questions at most")
    return checked, {"sampled_where_the_model_failed": sampled, "corrections": msgspec.to_builtins(corrections)}


async def _next(order: Order, author: Author, world: World, number: int) -> Draft:
    """The next character: as it was written before, else by the model, else sampled where that is allowed."""
    file = order.workplace / f"{number:06d}.json"
    if file.exists():
        return msgspec.json.decode(file.read_bytes(), type=Draft)
    left = order.n - number + 1
    try:
        draft = await cast_one(author, world, number=number, left=left, seed=order.seed)
    except NoAnswer as error:
        if not order.fallback:
            raise ValueError(
                f"character {number}: {error}. The same command goes on from here; a better model may help, "
                "--structured may not suit the server, and --fallback samples what the model fails to give"
            ) from error
        name = names_for(world, 1, random.Random(f"{order.seed}\x1fname\x1f{number}"))[0]
        draft = one_draft(world, name, left=left, seed=order.seed)
    write_json(file, msgspec.to_builtins(draft))
    return draft


def main(words: Sequence[str] | None = None) -> int:
    """The command line; the exit status."""
    asked = _options().parse_args(words)
    try:
        found = asyncio.run(_built(asked))
    except (ValueError, ServerDown) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nstopped; what is written is kept, and the same command goes on", file=sys.stderr)
        return STOPPED
    left = faults_in(found)
    print(f"{asked.out}: {asked.to} characters; use it as 'worlds=[{asked.out}]' with sim.n_agents up to {asked.to}")
    if left:
        print(report(left))
        print("correct these in the new folder; python -m sim.world.check tells what is left", file=sys.stderr)
    return 1 if left else 0


def _options() -> argparse.ArgumentParser:
    given = argparse.ArgumentParser(prog="python -m sim.world.build", description="Extend a world to N characters.")
    given.add_argument("world", type=Path, help="folder of the world to extend; it is not changed")
    given.add_argument("--to", type=int, required=True, help="number of characters of the new world")
    given.add_argument("--out", type=Path, required=True, help="new folder for it")
    given.add_argument("--sampler", action="store_true", help="compose characters by a seed, without a model")
    given.add_argument("--fallback", action="store_true", help="sample characters that the model fails to give")
    given.add_argument("--checks", type=int, default=200, help="most questions of the consistency check (default 200)")
    add_model_options(given)
    return given


async def _built(asked: argparse.Namespace) -> list[Finding]:
    """What was asked for on the command line."""
    if not 1 <= asked.to <= _MOST:
        raise ValueError(f"--to {asked.to}: give a number of characters from 1 to {_MOST}")
    order = Order(source=asked.world, n=asked.to, out=asked.out, seed=asked.seed)
    if asked.sampler:
        if asked.base_url or asked.config:
            raise ValueError("--sampler and a model exclude each other; give one of them")
        return await build(order, None)
    if not (asked.base_url or asked.config or asked.model):
        raise ValueError("say who writes: --base-url URL --model NAME, --config FILE, or --sampler without a model")
    chosen = model_of(asked)
    order = msgspec.structs.replace(order, by=chosen.label, fallback=asked.fallback, most_checks=asked.checks)
    if not (order.source / FILES[0]).is_file():
        raise ValueError(f"{order.source}: no {FILES[0]}; name the folder of a world, such as configs/worlds/apartment")
    async with opened(chosen, str(read_yaml(order.source, FILES[0]).get("language", "en"))) as model:
        return await build(order, model)


if __name__ == "__main__":
    sys.exit(main())
