"""8 Life reward: the year's social, subjective and economic reward of everybody, compared within the world. No model.

Outputs: `rewards` by name; after the first year also `baseline`, the social reward at the founding.
"""

import msgspec

from sim.core.agent import WeekSnapshot
from sim.core.facts import UnitFacts
from sim.core.keys import UnitKey
from sim.core.reward import RewardRules, YearOfLife, life_rewards
from sim.core.social import social_rewards
from sim.engine.stage import Board, Job, Stage
from sim.mind.desk import Desk
from sim.mind.overlay import Overlay
from sim.year.units import nobody, nothing_more, of_all


def needs(unit: UnitKey, board: Board) -> frozenset[UnitKey]:
    """All judgings of the year; in the first also those of the founding."""
    return of_all(unit.year, "judging", board) | (of_all(0, "judging", board) if unit.year == 1 else frozenset())


async def run(job: Job, desk: Desk) -> UnitFacts:
    """Reckon up the year."""
    rules = RewardRules(**desk.settings.reward.model_dump())
    judged = {unit.who: outputs for unit, outputs in job.needed.items() if unit.year == job.unit.year}
    years = {
        name: YearOfLife(
            scores=judged[name]["scores"],
            snapshots=msgspec.convert(judged[name]["snapshots"], tuple[WeekSnapshot, ...]),
            deposit_start=judged[name]["deposit_start"],
            deposit_end=judged[name]["deposit_end"],
        )
        for name in sorted(judged)
    }
    rewards = life_rewards(years, rules)
    outputs = {"rewards": {name: msgspec.to_builtins(reward) for name, reward in rewards.items()}}
    if job.unit.year == 1:
        outputs["baseline"] = _baseline(job, rules)
    return Overlay(job).finish(outputs)


def _baseline(job: Job, rules: RewardRules) -> dict[str, float]:
    """The social reward at t = 0, from profiles alone."""
    founding = {unit.who: outputs["scores"] for unit, outputs in job.needed.items() if unit.year == 0}
    social = social_rewards(
        sorted(founding), founding, alpha=rules.alpha, damping=rules.damping, tolerance=rules.tolerance
    )
    return {name: reward.reward for name, reward in social.items()}


STAGE = Stage(
    name="life_reward", position=19, participants=nobody, needs=needs, run=run, successors=nothing_more, pure=True
)
