"""What of short-term memory still stands inside its window (SPEC section 2)."""

from sim.core.agent import AgentState, Message, Note
from sim.core.clock import Clock
from sim.core.keys import UnitKey
from sim.settings import WindowSettings


def first_week(clock: Clock, unit: UnitKey, weeks: int) -> int:
    """Number of the first week inside a window of so many weeks that ends with this one."""
    return clock.week_number(unit.year, unit.week) - weeks + 1


def records(state: AgentState, clock: Clock, unit: UnitKey, windows: WindowSettings) -> list[Note]:
    """Activity records inside their window, oldest first."""
    first = first_week(clock, unit, windows.record_weeks)
    return [note for note in state.records if clock.week_number(note.year, note.week) >= first]


def contacts(state: AgentState, clock: Clock, unit: UnitKey, windows: WindowSettings) -> list[Message]:
    """Messages inside their window, in the order of weeks and rounds."""
    first = first_week(clock, unit, windows.contact_weeks)
    kept = [message for message in state.messages if clock.week_number(message.year, message.week) >= first]
    return sorted(kept, key=lambda message: (clock.week_number(message.year, message.week), message.round))


def recently_related(state: AgentState, most: int) -> list[str]:
    """Known people, most recently met or written with first; those never met follow by name."""
    known = state.knows()
    return sorted(known, key=lambda name: (-state.met.get(name, 0), name))[:most]
