"""Names of units and calls, and a call's seed. A key is all that joins results: never arrival order or time."""

import hashlib
import unicodedata
from collections.abc import Iterable

import msgspec


class UnitKey(msgspec.Struct, frozen=True, kw_only=True, order=True, array_like=True):
    """Name of one unit of work within one world of one round.

    `index` is the day, the contact round or the ranking round (0 where a stage has none); `who` is an agent's name,
    for a joint activity or an encounter its first participant by name, and "" for a unit of the whole world.
    """

    year: int
    week: int
    stage: str
    index: int = 0
    who: str = ""

    def __str__(self) -> str:
        """Readable form, also the journal's key: `Y1-W2/contact.3/Mara Voss`."""
        return f"Y{self.year}-W{self.week}/{self.stage}.{self.index}/{self.who}"


def parse_unit(text: str) -> UnitKey:
    """The unit key of its text form; ValueError if the text is none."""
    time, stage, who = text.split("/", 2)
    year, week = time.split("-")
    name, index = stage.rsplit(".", 1)
    return UnitKey(year=int(year[1:]), week=int(week[1:]), stage=name, index=int(index), who=who)


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """What all calls of one simulation share: run seed, round (from 1) and world."""

    run_seed: int
    round: int
    world: str


def call_key(unit: UnitKey, agent: str, step: str, attempt: int) -> str:
    """The journal's key of one model call in a world's round: unit, agent ("" for the environment), step, attempt."""
    return f"{unit}/{agent}/{step}/{attempt}"


def seed_of(scope: Scope, *parts: object) -> int:
    """A 63-bit seed from the run's seed, round, world and any further parts (SPEC section 12)."""
    text = "\x1f".join([str(scope.run_seed), str(scope.round), scope.world, *(str(part) for part in parts)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def digest_of(data: bytes) -> str:
    """Content address of a block: the first 32 hex digits of its SHA-256."""
    return hashlib.sha256(data).hexdigest()[:32]


def digest_of_ids(token_ids: Iterable[int]) -> str:
    """Digest of a prompt's token ids: of their decimal forms joined by commas."""
    return digest_of(",".join(map(str, token_ids)).encode())


def normal_form(name: str) -> str:
    """A name as it is compared: NFKC, trimmed, inner blanks collapsed, case folded."""
    return " ".join(unicodedata.normalize("NFKC", name).split()).casefold()
