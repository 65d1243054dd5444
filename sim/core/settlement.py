"""A week's settlement and living standard: decay, income, skill gain, what a standard costs and gives (SPEC 5).

Money is never spent that is not there.
"""

from collections.abc import Mapping
from typing import Literal, get_args

from sim.core.agent import AgentState, LivingStandard, Position, Value, clamp
from sim.core.facts import Changed

STANDARDS: tuple[LivingStandard, ...] = get_args(LivingStandard)
"""Cheapest first."""

COST_PER_WEEK: Mapping[LivingStandard, int] = {"frugal": 100, "moderate": 200, "comfortable": 300, "luxurious": 500}
MATERIAL_PER_WEEK: Mapping[LivingStandard, int] = {"frugal": -5, "moderate": 0, "comfortable": 5, "luxurious": 10}

SKILL_GAIN_PER_WEEK = (1, 5)
"""Least and most that a position teaches of one skill in a week."""


class StandardOutcome(Value, frozen=True, kw_only=True):
    """The standard that holds this week, what is paid and what it does to material fulfilment."""

    standard: LivingStandard
    paid: int
    material: int
    verdict: Literal["as_chosen", "too_dear", "destitute"]
    """too_dear: a cheaper standard than the chosen one holds; destitute: not even the frugal one could be paid."""


def decay(state: AgentState, share: float) -> Changed:
    """Weekly decay of mood, social and esteem: `v ← v − share·v`; material does not decay (SPEC section 5)."""
    mood, social, esteem = (-round(share * value, 6) for value in (state.mood, state.social, state.esteem))
    return Changed(reason="decay", mood=mood, social=social, esteem=esteem)


def weekly_income(position: Position | None, extra: int, *, unemployed_income: int, max_salary: int) -> int:
    """Fixed income of a week: the position's salary (or the income of the unemployed) and the extra weekly income."""
    salary = unemployed_income if position is None else min(max(0, position.weekly_income), max_salary)
    return salary + max(0, extra)


def skill_gain(position: Position | None) -> dict[str, float]:
    """What the position teaches in a week, 1 to 5 per skill; a skill that it does not teach is left out."""
    if position is None:
        return {}
    low, high = SKILL_GAIN_PER_WEEK
    gains = position.weekly_skill_gain
    return {skill: clamp(gains[skill], low, high) for skill in sorted(gains) if gains[skill] > 0}


def dearest_affordable(deposit: int) -> LivingStandard | None:
    """The dearest standard that the deposit pays, or None if not even the frugal one is."""
    affordable: list[LivingStandard] = [standard for standard in STANDARDS if COST_PER_WEEK[standard] <= deposit]
    return affordable[-1] if affordable else None


def settle_standard(chosen: LivingStandard, deposit: int) -> StandardOutcome:
    """What comes of a chosen standard.

    One that the deposit can't pay gives way to the dearest affordable one. Who can't pay even the frugal one lives
    frugally, pays all there is, and bears the frugal standard's loss.
    """
    best = dearest_affordable(deposit)
    if best is None:
        return StandardOutcome(
            standard="frugal", paid=max(0, deposit), material=MATERIAL_PER_WEEK["frugal"], verdict="destitute"
        )
    too_dear = COST_PER_WEEK[chosen] > deposit
    standard = best if too_dear else chosen
    return StandardOutcome(
        standard=standard,
        paid=COST_PER_WEEK[standard],
        material=MATERIAL_PER_WEEK[standard],
        verdict="too_dear" if too_dear else "as_chosen",
    )
