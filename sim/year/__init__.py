"""The founding of a world and the end of each year, in the order in which they run.

FOUNDING (year 0): birth.py, openings.py, directory.py, judging.py.
YEAR_END: profile_update.py, openings.py, wishes.py, ranking.py, take_up.py, directory.py, judging.py, life_reward.py.
units.py names the units around a unit.
"""

from sim.engine.stage import Stage
from sim.year import birth, directory, judging, life_reward, openings, profile_update, ranking, take_up, wishes

FOUNDING: tuple[Stage, ...] = (birth.STAGE, openings.STAGE, directory.STAGE, judging.STAGE)
YEAR_END: tuple[Stage, ...] = (
    profile_update.STAGE,
    openings.STAGE,
    wishes.STAGE,
    ranking.STAGE,
    take_up.STAGE,
    directory.STAGE,
    judging.STAGE,
    life_reward.STAGE,
)
