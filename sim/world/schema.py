"""What a world is: its text, places, positions, prices, stories, spare names and characters (SPEC section 11).

`World` is what a simulation uses. `Character` and the entries have the shape of the YAML files, with their ranges.
"""

from typing import Annotated, Literal

import msgspec

from sim.core.agent import Location, Position, Value
from sim.settings import EconomySettings

_ECONOMY = EconomySettings()

Text = Annotated[str, msgspec.Meta(min_length=1)]
Score = Annotated[int, msgspec.Meta(ge=0, le=100)]
Level = Annotated[int, msgspec.Meta(ge=0)]
FirstLevel = Annotated[int, msgspec.Meta(ge=0, le=300)]
Gain = Annotated[int, msgspec.Meta(ge=1, le=5)]
Money = Annotated[int, msgspec.Meta(ge=0)]
Salary = Annotated[int, msgspec.Meta(ge=0, le=_ECONOMY.max_salary)]
Cost = Annotated[int, msgspec.Meta(ge=0, le=_ECONOMY.max_price)]
Capacity = Annotated[int, msgspec.Meta(ge=1)]
Age = Annotated[int, msgspec.Meta(ge=0, le=200)]
Things = Annotated[tuple[Text, ...], msgspec.Meta(min_length=1)]

DEPOSIT_WEEKS = 20
"""A first deposit is at most this many weeks of fixed income (SPEC section 11)."""


class Entry(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of everything that stands in a world's files: an unknown key is refused."""


class LocationEntry(Entry, frozen=True, kw_only=True):
    """One public place of locations.yaml."""

    name: Text
    size: Literal["small", "medium", "large"]
    description: Text
    objects: Things


class RequirementsEntry(Entry, frozen=True, kw_only=True):
    """Entry conditions of a position; what is left out is no condition."""

    skills: dict[Text, Level] = msgspec.field(default_factory=dict)
    min_age: Age | None = None
    max_age: Age | None = None


class PositionEntry(Entry, frozen=True, kw_only=True):
    """One position of positions.yaml."""

    organization: Text
    role: Text
    type: Literal["work", "non-work"]
    weekly_income: Salary
    weekly_skill_gain: dict[Text, Gain]
    capacity: Capacity
    requirements: RequirementsEntry = RequirementsEntry()


class Price(Entry, frozen=True, kw_only=True):
    """One thing that money buys; free things have the price 0."""

    item: Text
    price: Cost
    category: Text


class SpareName(Entry, frozen=True, kw_only=True):
    """A full name for a later character."""

    name: Text
    gender: Text


class Story(Entry, frozen=True, kw_only=True):
    """A reference story that new characters may be adapted from."""

    title: Text
    text: Text


class Belonging(Entry, frozen=True, kw_only=True):
    """A possession that a character starts with."""

    name: Text
    description: Text
    value: Money


class Home(Entry, frozen=True, kw_only=True):
    """Where a character lives."""

    description: Text
    objects: Things


class Character(Entry, frozen=True, kw_only=True):
    """One file of characters/: who somebody is at the start, and what this person knows of others."""

    name: Text
    gender: Text
    birthday: Text
    appearance: Text
    details: Text
    conflicts: Text
    motivation: Text
    values: Text
    preferences: Text
    traits: dict[str, Score]
    talents: dict[str, Score]
    skills: dict[Text, FirstLevel]
    position: Text | None = None
    """`{organization}/{role}`; without it the character starts unemployed."""
    deposit: Money
    extra_weekly_income: Salary = 0
    possessions: tuple[Belonging, ...] = ()
    home: Home
    goals: Text
    knows: dict[Text, Text] = msgspec.field(default_factory=dict)
    """Full names of others, those closest first, with the memory of each."""


class WorldEntry(Entry, frozen=True, kw_only=True):
    """world.yaml."""

    name: Text
    language: Text
    start_year: Annotated[int, msgspec.Meta(ge=1, le=9999)]
    currency: Text
    worldview: Text
    rules: Text
    content_policy: str = ""
    cast: tuple[Text, ...]
    """File stems of characters/, in the order in which smaller runs take them; only the builder takes an empty one."""


class World(Value, frozen=True, kw_only=True):
    """A loaded and checked world."""

    name: str
    language: str
    start_year: int
    currency: str
    worldview: str
    rules: str
    content_policy: str
    locations: tuple[Location, ...]
    positions: tuple[Position, ...]
    prices: tuple[Price, ...]
    names: tuple[SpareName, ...]
    stories: tuple[Story, ...]
    characters: tuple[Character, ...]
    """In cast order."""
    digest: str
    """SHA-256 over the world's files."""
