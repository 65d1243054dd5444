"""The life reward of a year: subjective, economic, z-scores and their weighted sum (SPEC section 7).

The social part comes from sim.core.social; everything here compares the agents of one world and one year.
"""

import math
from collections.abc import Mapping, Sequence

from sim.core.agent import FULFILMENTS, Value, WeekSnapshot
from sim.core.social import social_rewards

PENALISED = (*FULFILMENTS, "vitality")
_NO_SPREAD = 1e-12


class RewardRules(Value, frozen=True, kw_only=True):
    """Constants of the reward; the settings of the same names give them."""

    alpha: float
    damping: float
    tolerance: float
    penalty: float
    social: float
    subjective: float
    economic: float


class YearOfLife(Value, frozen=True, kw_only=True):
    """What one agent brings to the reckoning: its scores of others, its week-end numbers, its deposits."""

    scores: Mapping[str, Mapping[str, float | None]]
    """rated → {"affection", "respect"}; None is missing."""
    snapshots: tuple[WeekSnapshot, ...]
    deposit_start: int
    deposit_end: int


class LifeReward(Value, frozen=True, kw_only=True):
    """One agent's reward of one year, with its parts before and after comparison."""

    social: float
    social_affection: float
    social_respect: float
    subjective: float
    economic: float
    z_social: float
    z_subjective: float
    z_economic: float
    reward: float
    n_penalties: int


def lower_quartile(values: Sequence[float]) -> float:
    """The 25th percentile by linear interpolation at rank `0.25 · (n − 1)` of the sorted values."""
    ordered = sorted(values)
    place = 0.25 * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def count_penalties(snapshots: Mapping[str, Sequence[WeekSnapshot]]) -> dict[str, int]:
    """`n_p`: (week, quantity) pairs in which an agent is strictly below that week's 25th percentile over all agents."""
    by_week: dict[tuple[int, int], dict[str, WeekSnapshot]] = {}
    for name in sorted(snapshots):
        for snapshot in snapshots[name]:
            by_week.setdefault((snapshot.year, snapshot.week), {})[name] = snapshot
    counts = dict.fromkeys(sorted(snapshots), 0)
    for week in sorted(by_week):
        for quantity in PENALISED:
            values = {name: float(getattr(snapshot, quantity)) for name, snapshot in by_week[week].items()}
            threshold = lower_quartile(list(values.values()))
            for name, value in values.items():
                counts[name] += value < threshold
    return counts


def subjective_reward(snapshots: Sequence[WeekSnapshot], n_penalties: int, penalty: float) -> float:
    """`r_subj = (Σ_w Σ_d f_{w,d} − n_p·λ_p) / (n_w·4)`; 0 for a year without weeks."""
    if not snapshots:
        return 0.0
    total = math.fsum(float(getattr(snapshot, name)) for snapshot in snapshots for name in FULFILMENTS)
    return (total - n_penalties * penalty) / (len(snapshots) * len(FULFILMENTS))


def z_scores(values: Mapping[str, float]) -> dict[str, float]:
    """`(x − mean) / σ` with the population's standard deviation; all 0 where the values do not differ."""
    if not values:
        return {}
    numbers = list(values.values())
    size = max(abs(number) for number in numbers)
    if max(numbers) - min(numbers) <= _NO_SPREAD * size:
        return dict.fromkeys(sorted(values), 0.0)
    mean = math.fsum(numbers) / len(numbers)
    deviations = {name: values[name] - mean for name in sorted(values)}
    scale = max(abs(deviation) for deviation in deviations.values())
    sigma = scale * math.sqrt(math.fsum((d / scale) ** 2 for d in deviations.values()) / len(numbers))
    return {name: deviation / sigma for name, deviation in deviations.items()}


def life_rewards(years: Mapping[str, YearOfLife], rules: RewardRules) -> dict[str, LifeReward]:
    """`r = 0.4 z_social + 0.4 z_subj + 0.2 z_econ` of every agent of one world and year (weights from the rules)."""
    names = sorted(years)
    social = social_rewards(
        names,
        {name: years[name].scores for name in names},
        alpha=rules.alpha,
        damping=rules.damping,
        tolerance=rules.tolerance,
    )
    penalties = count_penalties({name: years[name].snapshots for name in names})
    subjective = {name: subjective_reward(years[name].snapshots, penalties[name], rules.penalty) for name in names}
    economic = {name: float(years[name].deposit_end - years[name].deposit_start) for name in names}
    z_social = z_scores({name: social[name].reward for name in names})
    z_subjective, z_economic = z_scores(subjective), z_scores(economic)
    return {
        name: LifeReward(
            social=social[name].reward,
            social_affection=social[name].affection,
            social_respect=social[name].respect,
            subjective=subjective[name],
            economic=economic[name],
            z_social=z_social[name],
            z_subjective=z_subjective[name],
            z_economic=z_economic[name],
            reward=rules.social * z_social[name]
            + rules.subjective * z_subjective[name]
            + rules.economic * z_economic[name],
            n_penalties=penalties[name],
        )
        for name in names
    }
