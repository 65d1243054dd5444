"""The smallest valid agent, position, place and job; any field can be set."""

from collections.abc import Iterable, Mapping
from typing import Any

from sim.core.agent import (
    TALENTS,
    TRAITS,
    Activity,
    AgentState,
    Location,
    MemoryFile,
    Position,
    Possession,
    Profile,
)
from sim.core.clock import Clock, Slot
from sim.core.keys import UnitKey
from sim.engine.board import LiveBoard
from sim.engine.stage import Job


def a_clock(**fields: int) -> Clock:
    """Two years of three weeks of two days with two contact rounds."""
    return Clock(**{"n_year": 2, "n_week": 3, "n_day": 2, "n_contact": 2, "start_year": 2024, **fields})


def a_slot(year: int = 1, week: int = 1, day: int = 1) -> Slot:
    """A day, the first by default."""
    return Slot(year=year, week=week, day=day)


def a_profile(name: str = "Mara Voss", **fields: Any) -> Profile:
    """A profile in which everything is average."""
    values: dict[str, Any] = {
        "gender": "woman",
        "birthday": Slot(year=1994, week=2, day=1),
        "appearance": f"{name} wears a green coat.",
        "details": "Grew up nearby.",
        "conflicts": "Wants to stay and to leave.",
        "motivation": "To be needed.",
        "values": "Fairness.",
        "preferences": "Tea.",
        "traits": dict.fromkeys(TRAITS, 50),
        "talents": dict.fromkeys(TALENTS, 50),
    }
    return Profile(**{"name": name, **values, **fields})


def a_position(organization: str = "Bakery", role: str = "Baker", **fields: Any) -> Position:
    """A job for one that pays 300 a week and teaches baking."""
    values: dict[str, Any] = {
        "type": "work",
        "weekly_income": 300,
        "weekly_skill_gain": {"baking": 2},
        "capacity": 1,
    }
    return Position(**{"organization": organization, "role": role, **values, **fields})


def a_home(owner: str = "Mara Voss") -> Location:
    """Somebody's home."""
    return Location(name=f"home/{owner}", size="home", description="Two rooms.", objects=("bed", "table"))


def a_place(name: str = "Courtyard", **fields: Any) -> Location:
    """A public place."""
    values: dict[str, Any] = {"size": "small", "description": "Open to all.", "objects": ("bench", "lamp")}
    return Location(**{"name": name, **values, **fields})


def an_item(item_id: str = "thing#1", **fields: Any) -> Possession:
    """Something that can be owned."""
    return Possession(**{"id": item_id, "name": "teapot", "description": "Blue.", "value": 20, **fields})


def known(*names: str) -> dict[str, MemoryFile]:
    """Memory files of people, the last one touched last."""
    return {
        f"characters/{name}.txt": MemoryFile(text=f"Knows {name}.", summary=f"Knows {name}.", touched=number)
        for number, name in enumerate(names, start=1)
    }


def an_agent(name: str = "Mara Voss", *, knows: Iterable[str] = (), **fields: Any) -> AgentState:
    """An agent with a job and 500 in the bank; `knows` gives it memory files and an order of meeting."""
    people = tuple(knows)
    values: dict[str, Any] = {
        "profile": a_profile(name),
        "home": a_home(name),
        "position": a_position(),
        "deposit": 500,
        "skills": {"baking": 30.0},
        "files": known(*people),
        "met": {person: number for number, person in enumerate(people, start=1)},
        "ticks": len(people),
    }
    return AgentState(**{**values, **fields})


def a_joint(name: str = "Chess", **fields: Any) -> Activity:
    """A joint activity of two on the first day."""
    values: dict[str, Any] = {
        "kind": "joint",
        "slot": a_slot(),
        "location": "Courtyard",
        "participants": ("Ann", "Ben"),
        "proposer": "Ann",
        "description": "A game.",
    }
    return Activity(**{"name": name, **values, **fields})


def an_event(name: str = "Market", participants: tuple[str, ...] = (), **fields: Any) -> Activity:
    """A public event on the first day."""
    values: dict[str, Any] = {"kind": "public", "slot": a_slot(), "location": "Courtyard"}
    return Activity(**{"name": name, "participants": participants, **values, **fields})


def a_unit(stage: str, who: str = "", *, index: int = 0, year: int = 1, week: int = 1) -> UnitKey:
    """A unit's name, of the first week by default."""
    return UnitKey(year=year, week=week, stage=stage, index=index, who=who)


def a_board(names: Iterable[str], done: Mapping[UnitKey, Mapping[str, Any]] | None = None, **clock: int) -> LiveBoard:
    """A board on which some units are finished."""
    board = LiveBoard(a_clock(**clock), names)
    for unit in sorted(done or {}):
        board.put(unit, (done or {})[unit])
    return board


def a_job(
    unit: UnitKey, states: Iterable[AgentState] = (), needed: Mapping[UnitKey, Mapping[str, Any]] | None = None
) -> Job:
    """A unit ready to run."""
    return Job(unit=unit, states={state.name: state for state in states}, needed=dict(needed or {}))
