"""Candidates for a position, best first, as the environment judges them from skills and present position."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sim.context.budget import fit_lines
from sim.context.view import public_skills
from sim.core.agent import Position
from sim.core.keys import normal_form, seed_of
from sim.core.vacancies import Applicant, fitness
from sim.environment.ask import ask_environment
from sim.environment.forms import closed
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay

_LINES_SHARE = 0.6
_MORE_SKILLS = 3
_TOKENS_EACH = 10
"""About what the answer needs for one name."""


async def rank_candidates(
    desk: Desk, overlay: Overlay, *, position: Position, places: int, candidates: Sequence[Applicant]
) -> tuple[str, ...]:
    """Names in the order in which they should get the places; empty or partial where the answer fails.

    Candidates are shown in an order drawn by seed, so that no name comes first year after year. Where there are more
    than fit the prompt, the fittest are shown.
    """
    shown = _shown(desk, position, candidates)
    random.Random(seed_of(desk.scope, str(overlay.unit), position.key, "order")).shuffle(shown)
    names = [candidate.name for candidate in shown]
    n = max(places, min(len(names), desk.settings.answers.medium // _TOKENS_EACH))

    def parse(value: dict[str, Any]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value["ranking"]))

    answer = await ask_environment(
        desk,
        overlay,
        step=f"ranking.{position.key}",
        duty="ranking",
        template="environment/ranking.j2",
        values={
            "position": msgspec.to_builtins(position) | {"key": position.key},
            "places": places,
            "candidates": [_line(desk, position, candidate) for candidate in shown],
            "names": names,
        },
        schema=closed(
            {
                "ranking": {
                    "type": "array",
                    "items": {"type": "string", "enum": names},
                    "minItems": min(n, len(names)),
                    "maxItems": len(names),
                }
            }
        ),
        parse=parse,
        default=(),
        length="medium",
    )
    return answer.value


def _shown(desk: Desk, position: Position, candidates: Sequence[Applicant]) -> list[Applicant]:
    """The candidates that fit the prompt, the fittest first."""
    ordered = sorted(candidates, key=lambda c: (-fitness(position, c.skills), c.name))
    lines = [_line(desk, position, candidate) for candidate in ordered]
    budget = int(_LINES_SHARE * desk.settings.budgets.stage)
    return ordered[: len(fit_lines(lines, budget, desk.count))]


def _line(desk: Desk, position: Position, candidate: Applicant) -> str:
    """One candidate as the prompt prints it: what bears on the position first."""
    named = public_skills(desk, candidate.skills, [position])
    skills = _telling(position, {name: candidate.skills[name] for name in named})
    values = {"name": candidate.name, "age": candidate.age, "position": candidate.position, "skills": skills}
    return desk.render.render("environment/candidate.j2", values)


def _telling(position: Position, skills: Mapping[str, float]) -> list[str]:
    """The skills that the position asks for or trains, and a few others, with their levels."""
    wanted = {normal_form(name) for name in (*position.requirements.skills, *position.weekly_skill_gain)}
    by_level = sorted(skills, key=lambda name: (-skills[name], name))
    first = [name for name in by_level if normal_form(name) in wanted]
    rest = [name for name in by_level if normal_form(name) not in wanted][:_MORE_SKILLS]
    return [f"{name} {round(skills[name])}" for name in (*first, *rest)]
