"""What an analysis can't do without, and what to say where it is lacking. Pure."""

from collections.abc import Callable

from training.evaluation.analyses import cost, models
from training.evaluation.analyses.lives import BASE_ROUND, Lives
from training.evaluation.analyses.measures import QUARTERS

Need = Callable[[Lives], str]
"""What is lacking, in words; "" if nothing is."""


def complete_year(lives: Lives) -> str:
    """A year that was lived to its end."""
    return "" if len(lives.years) else "no world has a complete year"


def several_years(lives: Lives) -> str:
    """Two complete years of one world."""
    counts = lives.years.groupby("world")["year"].nunique()
    return "" if (counts > 1).any() else "no world has two complete years"


def four_agents(lives: Lives) -> str:
    """Enough agents for quartiles."""
    counts = lives.years.groupby("world")["agent"].nunique()
    small = [f"{world} has {n}" for world, n in counts.items() if n < QUARTERS]
    return f"quartiles need four agents: {', '.join(small)}" if small else ""


def two_agents(lives: Lives) -> str:
    """Enough agents for a top and a bottom."""
    counts = lives.years.groupby("world")["agent"].nunique()
    small = [f"{world} has {n}" for world, n in counts.items() if n < 2]
    return f"a top and a bottom need two agents: {', '.join(small)}" if small else ""


def enough_weeks(lives: Lives) -> str:
    """Enough weeks for a line."""
    lived = lives.calls[lives.calls["year"] > 0]
    counts = lived[["world", "year", "week"]].drop_duplicates().groupby("world").size()
    small = [f"{world} has {n}" for world, n in counts.items() if n < cost.LEAST_WEEKS]
    return f"a line needs {cost.LEAST_WEEKS} weeks: {', '.join(small)}" if small else ""


def judged_anybody(lives: Lives) -> str:
    """Anybody's score of anybody."""
    return "" if lives.ratings["affection"].notna().any() else "nobody's affection for anybody is known"


def traits_known(lives: Lives) -> str:
    """Traits, which journals of earlier versions do not hold."""
    traits = lives.profiles.filter(like="trait_")
    return "the run does not hold traits" if len(traits) and traits.isna().all(axis=None) else ""


def a_base(lives: Lives) -> str:
    """A first round that lived the same years as the round looked at."""
    if len(lives.base):
        return ""
    if all(number == BASE_ROUND for number in lives.rounds.values()):
        return "only the first round is looked at, and it is the base itself"
    return "no world of the round was lived anew from the start of the first round (world: restart)"


def several_models(lives: Lives) -> str:
    """A world in which several models play."""
    played = models.model_of_each(lives.calls).groupby("world")["model"].nunique()
    return "" if (played > 1).any() else "in every world one model plays all agents"


def calls_made(lives: Lives) -> str:
    """Any model call."""
    return "" if len(lives.calls) else "no call was made"
