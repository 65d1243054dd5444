"""How somebody looks after a year, from what anybody could see of that year: never from diaries and records.

Everybody reads an appearance, and the notes of a year hold what was said to one person alone, or to nobody.
"""

from statistics import mean

from sim.core.agent import AgentState
from sim.environment.ask import ask_environment
from sim.environment.forms import closed
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay

MOST_CHARS = 600
"""Longest description of an appearance."""


async def yearly_appearance(desk: Desk, overlay: Overlay, name: str) -> str:
    """The appearance after the year as the environment proposes it; "" where it stays or the answer fails."""
    state, unit = overlay.state(name), overlay.unit
    chars = min(MOST_CHARS, desk.settings.answers.text_chars)
    answer = await ask_environment(
        desk,
        overlay,
        step="appearance",
        duty="appearance",
        template="environment/appearance.j2",
        values={
            "name": name,
            "gender": state.profile.gender,
            "age": desk.clock.age(state.profile.birthday, unit.year, unit.week, desk.clock.n_day),
            "position": state.position.key if state.position else "",
            "standard": state.living_standard,
            "vitality": _mean_vitality(state, unit.year),
            "appearance": state.profile.appearance,
            "chars": chars,
        },
        schema=closed({"appearance": {"type": "string", "maxLength": chars}}),
        parse=lambda value: " ".join(str(value["appearance"]).split()),
        default="",
        length="medium",
        affinity=name,
    )
    return answer.value


def _mean_vitality(state: AgentState, year: int) -> int:
    """Mean of the year's closing vitalities, or the present one where there is none."""
    values = [snapshot.vitality for snapshot in state.snapshots if snapshot.year == year]
    return round(mean(values or [state.vitality]))
