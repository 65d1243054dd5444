"""The shipped paper config holds exactly the specification's numbers."""

from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from pipeline.load_settings import load_settings

PAPER = load_settings(Path(__file__).parents[2] / "configs" / "paper.yaml")

VALUES: dict[str, Any] = {
    # 1 Time
    "sim.n_agents": 100,
    "sim.time.n_year": 10,
    "sim.time.n_week": 10,
    "sim.time.n_day": 5,
    "sim.time.n_contact": 5,
    # 2 The agent
    "sim.limits.trait_change_per_year": 3,
    "sim.limits.talent_change_per_year": 5,
    "sim.limits.possessions": 50,
    "sim.windows.diary_weeks": 5,
    "sim.windows.record_weeks": 2,
    # 3 Context
    "sim.limits.tool_rounds": 8,
    "sim.budgets.memory_people": 50,
    # 5 The week
    "sim.economy.decay": 0.15,
    "sim.economy.unemployed_income": 100,
    "sim.economy.max_salary": 500,
    "sim.economy.max_price": 15000,
    "sim.economy.encounter_share": 5,
    "sim.limits.events_per_week": 10,
    "sim.limits.event_weeks": 5,
    "sim.limits.actions_per_round": 10,
    "sim.limits.weeks_ahead": 4,
    "sim.limits.turns_min": 5,
    "sim.limits.turns_max": 20,
    "sim.limits.met_people": 10,
    "sim.windows.contact_weeks": 3,
    # 6 Year end
    "sim.limits.wishes": 3,
    "sim.limits.rated_people": 20,
    # 7 Life reward
    "sim.reward.alpha": 2.0,
    "sim.reward.damping": 0.85,
    "sim.reward.tolerance": 1e-9,
    "sim.reward.penalty": 5.0,
    "sim.reward.social": 0.4,
    "sim.reward.subjective": 0.4,
    "sim.reward.economic": 0.2,
    # 8 Advantage and selection
    "training.selection.gamma": 0.9,
    "training.selection.fraction": 0.25,
    "training.selection.years": (1, 2, 3, 4),
    # 9 Fine-tuning
    "training.mixture.general_share": 0.5,
    "training.sft.epochs": 1,
    "training.sft.batch": 256,
    "training.sft.learning_rate": 1e-5,
    "training.sft.min_learning_rate": 1e-6,
}


@pytest.mark.parametrize(("key", "value"), VALUES.items())
def test_the_papers_numbers(key, value):
    found = reduce(getattr, key.split("."), PAPER)
    assert (tuple(found) if isinstance(value, tuple) else found) == value


def test_the_papers_config_uses_full_prompts():
    prompts = PAPER.sim.prompts
    assert (prompts.profile, prompts.tools, prompts.check_principles) == ("full", "all", True)
    assert not PAPER.sim.scheduling.barriers
