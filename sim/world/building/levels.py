"""Words for levels become numbers, with a seed (SPEC section 11)."""

import random

SCORE_LEVELS = {
    "low": (10, 25),
    "below_average": (30, 50),
    "average": (55, 65),
    "above_average": (70, 85),
    "high": (90, 100),
}
"""Traits and talents; the two steps between those that the specification names are ours."""
SKILL_LEVELS = {
    "untrained": (0, 10),
    "beginner": (15, 30),
    "some_experience": (35, 95),
    "proficient": (100, 295),
    "master": (300, 300),
}


def score(level: str, rng: random.Random) -> int:
    """A trait or talent of this level."""
    return rng.randint(*SCORE_LEVELS[level])


def skill(level: str, rng: random.Random) -> int:
    """A skill of this level."""
    return rng.randint(*SKILL_LEVELS[level])


def score_level(value: float) -> str:
    """The word for a trait or talent: the highest level that it reaches, `low` below all."""
    reached = [level for level, (least, _) in SCORE_LEVELS.items() if value >= least]
    return reached[-1] if reached else "low"
