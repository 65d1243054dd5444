"""3 Application: up to three positions that the agent would like next year, or to stay.

Only what it meets the requirements of can be wished for; the rest is shown as something to work towards. Nothing is
asked where nothing is open. Outputs: `wishes`, and what they are decided by: `age`, `skills`, `position`, `max_age`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from sim.context.budget import fit_lines
from sim.context.names import resolve_name
from sim.core.agent import AgentState, Position
from sim.core.facts import UnitFacts
from sim.core.keys import UnitKey
from sim.core.vacancies import STAY_CURRENT, Applicant, fitness, meets, missing_skills
from sim.engine.stage import Board, Job, Stage
from sim.environment.forms import closed
from sim.llm.outcome import Refusal
from sim.llm.protocol import OutputFormat
from sim.mind.desk import Desk
from sim.mind.invoke import ask_agent
from sim.mind.overlay import Overlay
from sim.year.units import oneself, rankings, year_end

_OPEN_SHARE, _GOAL_SHARE = 0.30, 0.12
"""Parts of the stage budget for positions that are open to the agent, and for those out of reach."""
_FULL_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class _Choice:
    """What the agent may choose from, as the prompt prints it."""

    applicant: Applicant
    open: tuple[Position, ...]
    open_lines: list[str]
    goal_lines: list[str]

    @property
    def options(self) -> list[str]:
        """Everything that may be wished for."""
        keys = [position.key for position in self.open]
        return keys if self.applicant.over_age() else [STAY_CURRENT, *keys]

    def default(self) -> tuple[str, ...]:
        """Staying, where age allows it; else what is open, the best fitting first."""
        return tuple(self.options[:1])


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """The agent's changed profile, the positions, and who holds them so far."""
    clock = board.clock
    return frozenset(
        {
            year_end(unit.year, "profile_update", clock, who=unit.who),
            year_end(unit.year, "openings", clock),
            year_end(unit.year - 1, "directory", clock),
        }
    )


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Ask what the agent applies for."""
    overlay, name = Overlay(job), job.unit.who
    choice = _choice(job, desk, overlay.state(name))
    wishes = await _ask(desk, overlay, name, choice) if choice.open else choice.default()
    applicant = choice.applicant
    return overlay.finish(
        {
            "wishes": list(wishes),
            "age": applicant.age,
            "skills": dict(applicant.skills),
            "position": applicant.position,
            "max_age": applicant.max_age,
        }
    )


def _choice(job: Job, desk: Desk, state: AgentState) -> _Choice:
    positions = msgspec.convert(
        job.needed[year_end(job.unit.year, "openings", desk.clock)]["positions"], list[Position]
    )
    cards = job.needed[year_end(job.unit.year - 1, "directory", desk.clock)]["cards"]
    holders = Counter(card["position"] for card in cards.values())
    held = state.position
    applicant = Applicant(
        name=state.name,
        wishes=(),
        age=desk.clock.age(state.profile.birthday, job.unit.year, job.unit.week, desk.clock.n_day),
        skills=state.skills,
        position=held.key if held else None,
        max_age=held.requirements.max_age if held else None,
    )
    others = [position for position in positions if position.key != applicant.position]
    others.sort(key=lambda position: (-fitness(position, state.skills), -position.weekly_income, position.key))
    fitting = [position for position in others if meets(position, age=applicant.age, skills=state.skills)]
    beyond = [position for position in others if position not in fitting]
    lines = _lines(desk, fitting, holders, state)
    shown = fit_lines(lines, int(_OPEN_SHARE * desk.settings.budgets.stage), desk.count)
    goals = fit_lines(_lines(desk, beyond, holders, state), int(_GOAL_SHARE * desk.settings.budgets.stage), desk.count)
    return _Choice(applicant=applicant, open=tuple(fitting[: len(shown)]), open_lines=shown, goal_lines=goals)


def _lines(desk: Desk, positions: Sequence[Position], holders: Mapping[str, int], state: AgentState) -> list[str]:
    """Positions as a prompt prints them, with what the agent lacks."""
    return [
        desk.render.render(
            "year/position.j2",
            {
                "position": msgspec.to_builtins(position) | {"key": position.key},
                "free": max(0, position.capacity - holders.get(position.key, 0)),
                "lacks": missing_skills(position, state.skills),
                "short": desk.settings.prompts.profile == "short",
            },
        )
        for position in positions
    ]


async def _ask(desk: Desk, overlay: Overlay, name: str, choice: _Choice) -> tuple[str, ...]:
    limits, short = desk.settings.limits, desk.settings.prompts.profile == "short"
    chars = min(_FULL_CHARS, desk.settings.answers.text_chars)
    options = choice.options

    def parse(value: dict[str, Any]) -> tuple[str, ...] | Refusal:
        wishes: list[str] = []
        for text in value["wishes"]:
            wish = resolve_name(text, options)
            if isinstance(wish, Refusal):
                return wish
            wishes.append(wish)
        return tuple(dict.fromkeys(wishes))

    wishes = {
        "type": "array",
        "items": {"type": "string", "enum": options},
        "minItems": 1,
        "maxItems": min(limits.wishes, len(options)),
    }
    reason = {} if short else {"reason": {"type": "string", "maxLength": chars}}
    answer = await ask_agent(
        desk,
        overlay,
        name,
        step="wishes",
        template="year/wishes.j2",
        values={
            "open": choice.open_lines,
            "goals": choice.goal_lines,
            "over_age": choice.applicant.over_age(),
            "max_age": choice.applicant.max_age,
            "most": limits.wishes,
            "stay": STAY_CURRENT,
            "chars": chars,
        },
        output=OutputFormat(kind="json", schema=closed({**reason, "wishes": wishes})),
        parse=parse,
        default=choice.default,
        length="short" if short else "medium",
    )
    return answer.value


def successors(unit: UnitKey, board: Board) -> tuple[UnitKey, ...]:
    """The matching, what it brings the agent, and the directory that comes of it."""
    take_up = year_end(unit.year, "take_up", board.clock, who=unit.who)
    return (take_up, *rankings(unit.year, board), year_end(unit.year, "directory", board.clock))


STAGE = Stage(name="wishes", position=14, participants=oneself, needs=needs, run=run, successors=successors)
