"""Every analysis of SPEC section 10: its tables with their definitions, its picture, and what it can't do without."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd
from matplotlib.figure import Figure

from training.evaluation.analyses import cost, divergence, friends, models, pictures, rewards, striving, wealth
from training.evaluation.analyses.lettering import Lettering
from training.evaluation.analyses.lives import METRICS, REWARDS, Lives
from training.evaluation.analyses.needs import (
    Need,
    a_base,
    calls_made,
    complete_year,
    enough_weeks,
    four_agents,
    judged_anybody,
    several_models,
    several_years,
    traits_known,
    two_agents,
)
from training.evaluation.analyses.pictures import Tables
from training.evaluation.life import LEVEL, RESAMPLES, comparison_seed


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """One table: `{name}.csv`."""

    name: str
    shows: str
    definition: str
    make: Callable[[Lives], pd.DataFrame]
    source: str
    """The frame of the lives that its numbers are counted in."""
    gaps: str
    """When a value is empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """Tables that belong together, and the picture `{name}.png` of them."""

    name: str
    title: str
    sheets: Sequence[Sheet]
    draw: Callable[[Tables, Lettering], Figure]
    needs: Sequence[Need] = ()

    def lacks(self, lives: Lives) -> str:
        """Why there is nothing to show, or not everything; "" if nothing is lacking."""
        return "; ".join(dict.fromkeys(reason for need in self.needs if (reason := need(lives))))


def _seed(lives: Lives) -> int:
    return comparison_seed(lives.seed, max(lives.rounds.values()))


NO_SPREAD = "fewer than three pairs, or one of the two does not vary"
ANALYSES: tuple[Analysis, ...] = (
    Analysis(
        name="reward_distributions",
        title="Reward distributions",
        draw=pictures.distributions,
        needs=(complete_year,),
        sheets=[
            Sheet(
                name="reward_distributions",
                shows="How the social, adjusted social, subjective, economic and total reward are distributed in each "
                "year and over all years, in each world and over all worlds.",
                definition="Mean, population standard deviation, quartiles by linear interpolation. The total is "
                "z-scored within its world and year, so its mean is 0 there.",
                make=lambda lives: rewards.distributions(lives.years),
                source="years",
                gaps="the social reward at t = 0 is not known (adjusted social)",
            )
        ],
    ),
    Analysis(
        name="reward_behaviour_correlations",
        title="Rewards and behaviour",
        draw=pictures.behaviour,
        needs=(complete_year,),
        sheets=[
            Sheet(
                name="reward_behaviour_correlations",
                shows=f"What the rewards go together with: {len(REWARDS)} rewards, {len(METRICS)} metrics.",
                definition="Pearson's r over all agents' years of a world; then the mean of r and of |r| over the "
                "worlds where it is defined.",
                make=lambda lives: rewards.behaviour_correlations(lives.years),
                source="years",
                gaps=NO_SPREAD,
            )
        ],
    ),
    Analysis(
        name="reward_rank_correlations",
        title="The rewards among themselves",
        draw=pictures.rank_correlations,
        needs=(complete_year,),
        sheets=[
            Sheet(
                name="reward_rank_correlations",
                shows="Whether who does well in one reward does well in another.",
                definition="Spearman's rho over all agents' years of a world, ties sharing their mean rank; then its "
                "mean over the worlds where it is defined.",
                make=lambda lives: rewards.reward_rank_correlations(lives.years),
                source="years",
                gaps=NO_SPREAD,
            )
        ],
    ),
    Analysis(
        name="wealth",
        title="Wealth",
        draw=pictures.wealth,
        needs=(complete_year, four_agents),
        sheets=[
            Sheet(
                name="deposit_gini",
                shows="How unequal deposits are at the founding (year 0) and at each year's end.",
                definition="G = sum over i, j of |x_i - x_j| / (2 n^2 mean); 0 is equal. Mean over worlds below.",
                make=lambda lives: wealth.deposit_gini(lives.profiles),
                source="profiles",
                gaps="all deposits are 0",
            ),
            Sheet(
                name="deposit_by_initial_group",
                shows="What becomes of those who began poor or rich.",
                definition="Agents stay in the quartile of their deposit at the founding (1 began poorest, ties by "
                "name); mean deposit of each quartile by year.",
                make=lambda lives: wealth.deposit_by_initial_group(lives.profiles),
                source="profiles",
                gaps="never",
            ),
        ],
    ),
    Analysis(
        name="reward_transitions",
        title="From year to year",
        draw=pictures.transitions,
        needs=(complete_year, several_years, four_agents),
        sheets=[
            Sheet(
                name="reward_transitions",
                shows="Where the agents of one quartile of the total reward are a year later (4 is the best).",
                definition="Quartiles within the world's year, ties by name. Shares among those who come from a "
                "quartile, then their mean over pairs of consecutive years (all worlds: of every world).",
                make=lambda lives: rewards.transitions(lives.years),
                source="years",
                gaps="nobody came from that quartile",
            )
        ],
    ),
    Analysis(
        name="behaviour_by_quartile",
        title="Behaviour by quartile",
        draw=pictures.quartiles,
        needs=(complete_year, four_agents),
        sheets=[
            Sheet(
                name="behaviour_by_quartile",
                shows="How those who do well in a reward live, year by year.",
                definition="For each reward the six metrics with the highest mean |r| over worlds; their means in "
                "each quartile of that reward within the world's year, over all worlds.",
                make=lambda lives: rewards.behaviour_by_quartile(lives.years),
                source="years",
                gaps="never; a metric without a defined r is not among the six",
            )
        ],
    ),
    Analysis(
        name="friends_per_agent",
        title="Friends",
        draw=pictures.friends,
        needs=(complete_year, judged_anybody),
        sheets=[
            Sheet(
                name="friends_per_agent",
                shows="How many agents have how many friends, by year (0: the founding).",
                definition="Friends: affection of at least 60 both ways.",
                make=lambda lives: friends.distribution(lives.ratings, lives.profiles),
                source="profiles",
                gaps="never",
            )
        ],
    ),
    Analysis(
        name="friend_graphs",
        title="Circles of friends",
        draw=pictures.friend_graphs,
        needs=(complete_year, judged_anybody),
        sheets=[
            Sheet(
                name="friend_graph_nodes",
                shows="Every agent at the founding and in the last year, with its number in the picture.",
                definition=f"Communities by Louvain's method (seed {friends.LOUVAIN_SEED}), numbered from the "
                "largest; 0 is in none.",
                make=lambda lives: friends.nodes(lives.ratings, lives.profiles),
                source="profiles",
                gaps="never",
            ),
            Sheet(
                name="friend_graph_edges",
                shows="Every pair of friends then, with both affections.",
                definition="Friends: affection of at least 60 both ways.",
                make=lambda lives: friends.edges(lives.ratings, lives.profiles),
                source="ratings",
                gaps="never",
            ),
            Sheet(
                name="friend_graph_summary",
                shows="Both graphs in figures.",
                definition="Modularity of the communities; who has no friend counts as a community of one.",
                make=lambda lives: friends.summary(lives.ratings, lives.profiles),
                source="profiles",
                gaps="there is no friendship (modularity)",
            ),
        ],
    ),
    Analysis(
        name="striving",
        title="Striving",
        draw=pictures.striving,
        needs=(complete_year, two_agents),
        sheets=[
            Sheet(
                name="striving_scores",
                shows="How much each agent strives, and who is in the top and the bottom quarter of its world.",
                definition="Mean over years of the average of extra_earning_count and skill_improvement_count, each "
                "scaled from 0 to 1 over the agents of the year; a count in which nobody differs is left out.",
                make=lambda lives: striving.scores(lives.years),
                source="years",
                gaps="in no year anybody differs",
            ),
            Sheet(
                name="striving_ratios",
                shows="How the top quarter lives, against the bottom quarter.",
                definition="Ratio of the means over the agents' years of both groups.",
                make=lambda lives: striving.ratios(lives.years),
                source="years",
                gaps="the bottom's mean is 0",
            ),
        ],
    ),
    Analysis(
        name="divergence",
        title="Divergence",
        draw=pictures.divergence,
        needs=(complete_year, traits_known),
        sheets=[
            Sheet(
                name="divergence",
                shows="How far each world moves from where it began, in seven figures (some with a detail).",
                definition="Traits: sum of |last - first|. Affection: drops of 15 or more from one judging to the "
                "next. Deposits: ranks at the founding and in the last year. Positions: different ones held, and "
                f"changes. Mood: days of the week after a fall of {divergence.MOOD_DECLINE:g} or more, minus those of "
                f"the week before it. High spirits: mean mood of {divergence.HIGH_MOOD:g} or more, "
                f"{100 * divergence.ALONE:g} % of the days solo.",
                make=lambda lives: divergence.divergence(lives.profiles, lives.ratings, lives.weeks),
                source="profiles",
                gaps="there is no case; or no rank can move by 30 in a cast of 30 or fewer; or ranks do not vary",
            )
        ],
    ),
    Analysis(
        name="cost",
        title="Cost",
        draw=pictures.cost_by_world,
        needs=(calls_made,),
        sheets=[
            Sheet(
                name="cost_by_world",
                shows="Calls, tokens and hours of role-play and environment.",
                definition="call_hours add up all calls; span_hours run from the first start to the last end, pauses "
                "of the run included.",
                make=lambda lives: cost.by_world(lives.calls),
                source="calls",
                gaps="times are not recorded",
            ),
            Sheet(
                name="cost_by_duty",
                shows="What each duty costs.",
                definition="Sums over the calls of a duty; share of all tokens of the world.",
                make=lambda lives: cost.by_duty(lives.calls),
                source="calls",
                gaps="times are not recorded, or there are no tokens",
            ),
        ],
    ),
    Analysis(
        name="cost_by_week",
        title="Cost from week to week",
        draw=pictures.cost_by_week,
        needs=(calls_made, enough_weeks),
        sheets=[
            Sheet(
                name="cost_by_week",
                shows="Calls, tokens and hours of each week; a year's end counts to its last week, the founding is 0.",
                definition="span_hours from the first start to the last end of the week's calls; weeks may overlap.",
                make=lambda lives: cost.by_week(lives.calls),
                source="calls",
                gaps="times are not recorded",
            ),
            Sheet(
                name="cost_fits",
                shows="Whether weeks become dearer.",
                definition="Least squares of the quantity on the week's number, without the founding; growth is the "
                "line's last value over its first.",
                make=lambda lives: cost.fits(lives.calls),
                source="calls",
                gaps="times are not recorded; fewer than three weeks; nothing varies (r2); the line does not begin "
                "above 0 (growth)",
            ),
        ],
    ),
    Analysis(
        name="base_against_tuned",
        title="Base against tuned model",
        draw=pictures.base_against_tuned,
        needs=(complete_year, a_base),
        sheets=[
            Sheet(
                name="base_against_tuned",
                shows="The first round against the round looked at, by year and on average (year 0).",
                definition=f"Means over agents; {100 * LEVEL:g} % intervals of the average change by bootstrap over "
                f"agents ({RESAMPLES} draws).",
                make=lambda lives: models.base_against_tuned(lives.base, lives.years, seed=_seed(lives)),
                source="base",
                gaps="single years have no interval; a base of 0 has no percent",
            )
        ],
    ),
    Analysis(
        name="models_in_one_society",
        title="Several models in one society",
        draw=pictures.society,
        needs=(complete_year, several_models),
        sheets=[
            Sheet(
                name="models_in_one_society",
                shows="How the agents of each model fare among those of the others.",
                definition="Every measure z-scored over all agents of the world's year, mean per model, then mean "
                "over worlds. init: the social reward at t = 0; avg: mean of the years; delta = avg - init.",
                make=lambda lives: models.in_one_society(lives.years, lives.calls),
                source="years",
                gaps="init and delta of measures other than the social reward",
            )
        ],
    ),
)
