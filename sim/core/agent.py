"""What an agent is: profile, state, memory, possessions (SPEC section 2). Frozen; only facts.apply makes new ones."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from sim.core.clock import Slot

TRAITS = (
    "confidence",
    "control",
    "curiosity",
    "empathy",
    "extraversion",
    "feeling",
    "intuition",
    "judging",
    "patience",
    "responsibility",
)
TALENTS = (
    "beauty",
    "communication",
    "creativity",
    "health",
    "honesty",
    "integrity",
    "intelligence",
    "leadership",
    "trustworthiness",
)
FULFILMENTS = ("mood", "material", "social", "esteem")
LivingStandard = Literal["frugal", "moderate", "comfortable", "luxurious"]


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Base of all values that are stored: frozen, keyword-only, encodable."""


class Requirements(Value, frozen=True, kw_only=True):
    """Entry conditions of a position; an absent limit is no limit."""

    skills: Mapping[str, int] = msgspec.field(default_factory=dict[str, int])
    min_age: int | None = None
    max_age: int | None = None


class Position(Value, frozen=True, kw_only=True):
    """A place in the society: `{organization}/{role}`, its weekly income and skill gain, capacity and conditions."""

    organization: str
    role: str
    type: Literal["work", "non-work"]
    weekly_income: int
    weekly_skill_gain: Mapping[str, int]
    capacity: int
    requirements: Requirements = Requirements()

    @property
    def key(self) -> str:
        """The unique name `{organization}/{role}`."""
        return f"{self.organization}/{self.role}"


class Location(Value, frozen=True, kw_only=True):
    """A place with its objects; agents may use only what is there. A home's name is `home/{owner}`."""

    name: str
    size: Literal["small", "medium", "large", "home"]
    description: str
    objects: tuple[str, ...]


class Possession(Value, frozen=True, kw_only=True):
    """A thing that an agent owns; `id` is unique in the world and never reused."""

    id: str
    name: str
    description: str
    value: int


class Profile(Value, frozen=True, kw_only=True):
    """Who somebody is; changes only at year end, within yearly limits."""

    name: str
    gender: str
    birthday: Slot
    appearance: str
    details: str
    conflicts: str
    motivation: str
    values: str
    preferences: str
    traits: Mapping[str, int]
    talents: Mapping[str, int]


class MemoryFile(Value, frozen=True, kw_only=True):
    """One file of long-term memory; `touched` orders files by last access (larger is later)."""

    text: str
    summary: str = ""
    touched: int = 0


class MemoryLine(Value, frozen=True, kw_only=True):
    """What the prompt's weekly part tells of one memory file."""

    path: str
    summary: str


class Note(Value, frozen=True, kw_only=True):
    """A dated piece of short-term memory: a diary entry, an activity record, or an output of this week."""

    year: int
    week: int
    day: int = 0
    kind: str
    text: str


class Message(Value, frozen=True, kw_only=True):
    """One text message between two agents, or one notice of the calendar to an agent (sender "")."""

    year: int
    week: int
    round: int
    sender: str
    to: str
    text: str
    kind: Literal["message", "invitation", "response", "cancellation", "notice"] = "message"
    activity: str = ""


class Activity(Value, frozen=True, kw_only=True):
    """An activity in somebody's calendar. A joint one is identified by proposer and name."""

    kind: Literal["joint", "public", "encounter"]
    name: str
    slot: Slot
    location: str
    participants: tuple[str, ...] = ()
    proposer: str = ""
    description: str = ""

    @property
    def key(self) -> str:
        """Unique name of the activity: proposer and name for a joint one."""
        return f"{self.kind}:{self.proposer}:{self.name}"


class WeekSnapshot(Value, frozen=True, kw_only=True):
    """An agent's numbers at a week's end, from which yearly rewards are computed."""

    year: int
    week: int
    vitality: float
    mood: float
    material: float
    social: float
    esteem: float
    deposit: int
    total_skills: float


class Remembered(Value, frozen=True, kw_only=True):
    """Long-term memory and diaries as the prompt's weekly part shows them, so that it stays the same bytes all week."""

    files: tuple[MemoryLine, ...] = ()
    """Most recently accessed first."""
    diaries: tuple[Note, ...] = ()


class AgentState(Value, frozen=True, kw_only=True):
    """All that is true of one agent at one moment."""

    profile: Profile
    home: Location
    position: Position | None
    vitality: float = 70.0
    mood: float = 50.0
    material: float = 50.0
    social: float = 50.0
    esteem: float = 50.0
    skills: Mapping[str, float] = msgspec.field(default_factory=dict[str, float])
    deposit: int = 0
    extra_weekly_income: int = 0
    living_standard: LivingStandard = "moderate"
    possessions: tuple[Possession, ...] = ()
    files: Mapping[str, MemoryFile] = msgspec.field(default_factory=dict[str, MemoryFile])
    """Memory by logical path: `general.txt`, `characters/<who>.txt`, `others/<name>.txt`."""
    met: Mapping[str, int] = msgspec.field(default_factory=dict[str, int])
    """Known people → number of the last contact or activity together (larger is later)."""
    schedule: tuple[Activity, ...] = ()
    messages: tuple[Message, ...] = ()
    diaries: tuple[Note, ...] = ()
    """Weekly diaries, then folded year and life summaries (kind `diary`, `year_summary`, `life_summary`)."""
    records: tuple[Note, ...] = ()
    week_outputs: tuple[Note, ...] = ()
    """The agent's own outputs of this week's earlier stages."""
    refusals: tuple[str, ...] = ()
    """Refused actions with reasons, shown once in the next prompt."""
    snapshots: tuple[WeekSnapshot, ...] = ()
    """Week-end numbers of the running year."""
    deposit_at_year_start: int = 0
    ticks: int = 0
    """Counts accesses and meetings, so that `touched` and `met` order without a clock."""
    remembered: Remembered | None = None
    """Frozen when a week begins and when the profile changes; None before the first week."""
    applied: tuple[str, ...] = ()
    """Units of this week whose facts are in this state: applying is idempotent."""

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.profile.name

    def knows(self) -> tuple[str, ...]:
        """Whom the agent knows, by name: exactly those it has a characters/ file of."""
        prefix, suffix = "characters/", ".txt"
        return tuple(sorted(path[len(prefix) : -len(suffix)] for path in self.files if path.startswith(prefix)))

    def total_skills(self) -> float:
        """Sum of all skill levels."""
        return sum(self.skills[name] for name in sorted(self.skills))


def clamp(value: float, low: float = 0.0, high: float = 100.0) -> float:
    """The value inside its range, rounded to 6 decimals so that sums are the same bytes everywhere."""
    return round(min(high, max(low, value)), 6)
