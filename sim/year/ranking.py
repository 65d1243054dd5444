"""4 Ranking: one round of matching. The environment ranks the candidates of each position that more want than it takes.

Outputs: `granted` and `holders` so far; after the last round also `for` each agent its `position` and new `colleagues`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from sim.core.agent import Position
from sim.core.facts import UnitFacts
from sim.core.keys import UnitKey
from sim.core.vacancies import (
    Applicant,
    Matching,
    Round,
    begin,
    close_round,
    complete_ranking,
    new_colleagues,
    open_round,
)
from sim.engine.stage import Board, Job, Stage
from sim.environment.ranking import rank_candidates
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.year.units import nobody, nothing_more, of_all, year_end


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """Everybody's wishes, the positions, and the round before."""
    before = {year_end(unit.year, "ranking", board.clock, index=unit.index - 1)} if unit.index > 1 else set()
    return of_all(unit.year, "wishes", board) | {year_end(unit.year, "openings", board.clock)} | before


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Match one round."""
    overlay, unit = Overlay(job), job.unit
    openings = job.needed[year_end(unit.year, "openings", desk.clock)]
    positions = msgspec.convert(openings["positions"], list[Position])
    applicants = [
        msgspec.convert({**outputs, "name": name}, Applicant) for name, outputs in job.outputs_of("wishes").items()
    ]
    opened = open_round(unit.index, applicants, positions, matching := _matching(job, applicants))
    rankings = await _rank_all(desk, overlay, opened, positions, {a.name: a for a in applicants})
    matching = close_round(opened, rankings, matching)
    outputs: dict[str, Any] = {"granted": dict(matching.granted), "holders": dict(matching.holders)}
    if unit.index == openings["rounds"]:
        outputs["for"] = _results(desk, applicants, positions, matching)
    return overlay.finish(outputs)


def _matching(job: Job, applicants: Sequence[Applicant]) -> Matching:
    """Where the round before left off."""
    before = [unit for unit in job.needed if unit.stage == "ranking"]
    if not before:
        return begin(applicants)
    outputs = job.needed[before[0]]
    return Matching(granted=outputs["granted"], holders=outputs["holders"])


async def _rank_all(
    desk: Desk,
    overlay: Overlay,
    opened: Round,
    positions: Sequence[Position],
    applicants: Mapping[str, Applicant],
) -> dict[str, tuple[str, ...]]:
    """Complete rankings of every position with candidates; asked for, side by side, where places are short."""
    by_key = {position.key: position for position in positions}
    contested = [key for key in sorted(opened.candidates) if len(opened.candidates[key]) > opened.free[key]]
    async with asyncio.TaskGroup() as group:
        tasks = {
            key: group.create_task(
                rank_candidates(
                    desk,
                    overlay,
                    position=by_key[key],
                    places=opened.free[key],
                    candidates=[applicants[name] for name in opened.candidates[key]],
                )
            )
            for key in contested
        }
    skills = {name: applicant.skills for name, applicant in applicants.items()}
    return {
        key: complete_ranking(by_key[key], tasks[key].result() if key in tasks else (), names, skills)
        for key, names in opened.candidates.items()
    }


def _results(
    desk: Desk, applicants: Sequence[Applicant], positions: Sequence[Position], matching: Matching
) -> dict[str, dict[str, Any]]:
    """What the matching means for each agent."""
    by_key = {position.key: msgspec.to_builtins(position) for position in positions}
    before = {applicant.name: applicant.position for applicant in applicants}
    colleagues = new_colleagues(before, matching.holders, at_most=desk.settings.limits.met_people)
    return {
        name: {"position": by_key[key] if key else None, "colleagues": list(colleagues[name])}
        for name, key in matching.holders.items()
    }


STAGE = Stage(name="ranking", position=15, participants=nobody, needs=needs, run=run, successors=nothing_more)
