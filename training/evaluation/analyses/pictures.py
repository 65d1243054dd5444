"""What each picture shows: one function for each analysis, from its tables to a figure. Nothing is computed here."""

from collections.abc import Mapping

import networkx as nx
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from training.evaluation.analyses.cost import ROLES
from training.evaluation.analyses.drawing import COLOURS, bars, figure, heat, lines, whole_numbers
from training.evaluation.analyses.friends import graph_of
from training.evaluation.analyses.lettering import Lettering
from training.evaluation.analyses.lives import METRICS, REWARDS
from training.evaluation.analyses.measures import ALL_WORLDS, groups_of
from training.evaluation.analyses.rewards import SHOWN_REWARDS

Tables = Mapping[str, pd.DataFrame]
"""An analysis' tables by the names of their files."""
LAYOUT_SEED = 1
_MOST_SPRINGS = 300
"""Larger graphs are laid out on a circle, community by community."""
_MOST_NAMES = 30


def distributions(tables: Tables, letters: Lettering) -> Figure:
    """Quartile boxes of all worlds by year, and each world's yearly means as lines."""
    table = tables["reward_distributions"]
    table = table[table["year"] != "all"].assign(year=lambda frame: frame["year"].astype(int))
    made, all_axes = figure(2, 3, title="Life rewards by year: quartiles over all worlds, means of each world")
    for axes, reward in zip(all_axes, SHOWN_REWARDS, strict=False):
        of_reward = table[table["reward"] == reward]
        pooled, worlds = (of_reward[(of_reward["world"] == ALL_WORLDS) == whole] for whole in (True, False))
        names = {"q1": "q25", "med": "median", "q3": "q75", "whislo": "min", "whishi": "max"}
        known = pooled.dropna(subset=list(names.values()))
        stats = [{name: row[column] for name, column in names.items()} for _, row in known.iterrows()]
        if stats:
            axes.bxp([{**stat, "fliers": []} for stat in stats], positions=known["year"].tolist(), widths=0.5)
        lines(axes, worlds, x="year", y="mean", by="world", labels=_labels(worlds["world"], letters))
        axes.set_title(reward.replace("_", " "))
        whole_numbers(axes, of_reward["year"])
    for axes in all_axes[len(SHOWN_REWARDS) :]:
        axes.set_axis_off()
    return made


def behaviour(tables: Tables, letters: Lettering) -> Figure:
    """Mean r of every metric with every reward."""
    table = _pooled(tables["reward_behaviour_correlations"])
    made, (axes,) = figure(1, 1, title="Pearson's r of rewards and behaviour, mean over worlds", width=5.5, height=7.5)
    matrix = table.pivot(index="metric", columns="reward", values="r").reindex(index=METRICS, columns=REWARDS)
    heat(axes, matrix, low=-1.0, high=1.0)
    return made


def rank_correlations(tables: Tables, letters: Lettering) -> Figure:
    """Mean ρ of any two rewards."""
    table = _pooled(tables["reward_rank_correlations"])
    made, (axes,) = figure(1, 1, title="Spearman's rho between rewards, mean over worlds", width=4.5, height=3.0)
    matrix = table.pivot(index="first", columns="second", values="rho")
    heat(axes, matrix.reindex(index=REWARDS[:-1], columns=REWARDS[1:]), low=-1.0, high=1.0)
    return made


def wealth(tables: Tables, letters: Lettering) -> Figure:
    """Inequality by year, and the mean deposit of those who began poor or rich."""
    made, (left, right) = figure(1, 2, title="Deposits by year (0: the founding)", width=4.5)
    inequality, groups = tables["deposit_gini"], _pooled(tables["deposit_by_initial_group"])
    lines(left, inequality, x="year", y="gini", by="world", labels=_labels(inequality["world"], letters))
    left.set_title("Gini coefficient")
    names = {"1": "began poorest", "2": "second quarter", "3": "third quarter", "4": "began richest"}
    lines(right, groups, x="year", y="mean_deposit", by="initial_group", labels=names)
    right.set_title("mean deposit by initial deposit, all worlds")
    for axes, table in ((left, inequality), (right, groups)):
        whole_numbers(axes, table["year"])
    return made


def transitions(tables: Tables, letters: Lettering) -> Figure:
    """Shares of moves between quartiles."""
    table = _pooled(tables["reward_transitions"])
    made, (axes,) = figure(1, 1, title="Quartile of the total reward, one year to the next", width=4.5, height=3.2)
    matrix = table.pivot(index="from_quartile", columns="to_quartile", values="share")
    heat(axes, matrix, low=0.0, high=1.0, colours="Blues")
    axes.set_xlabel("quartile a year later (4 is the best)")
    axes.set_ylabel("quartile")
    return made


def quartiles(tables: Tables, letters: Lettering) -> Figure:
    """The most telling metrics by quartile of each reward, a line for each year."""
    table = tables["behaviour_by_quartile"]
    places = sorted(table["place"].unique())
    made, all_axes = figure(len(REWARDS), len(places), title="Means by quartile of the reward", width=2.4, height=2.0)
    cells = ((reward, place) for reward in REWARDS for place in places)
    for axes, (reward, place) in zip(all_axes, cells, strict=True):
        cell = table[(table["reward"] == reward) & (table["place"] == place)]
        if cell.empty:
            axes.set_axis_off()
            continue
        for shade, (year, group) in enumerate(cell.groupby("year", sort=True)):
            axes.plot(group["quartile"], group["mean"], color=COLOURS[shade % len(COLOURS)], label=f"Y{year}")
        axes.set_title(f"{reward}: {cell['metric'].iloc[0]}", fontsize=6)
        axes.set_xticks([1, 2, 3, 4])
    all_axes[0].legend(fontsize=5)
    return made


def friends(tables: Tables, letters: Lettering) -> Figure:
    """How many friends agents have, a line for each year, over all worlds."""
    table = _pooled(tables["friends_per_agent"])
    made, (axes,) = figure(1, 1, title="Friends per agent (affection of 60 and above both ways), all worlds", width=5.0)
    lines(axes, table, x="friends", y="share", by="year", labels={str(year): f"Y{year}" for year in table["year"]})
    axes.set_xlabel("friends")
    axes.set_ylabel("share of agents")
    whole_numbers(axes, table["friends"])
    return made


def friend_graphs(tables: Tables, letters: Lettering) -> Figure:
    """Each world's friendships at the founding and in the last year; colours are communities, grey is in none."""
    people, pairs = tables["friend_graph_nodes"], tables["friend_graph_edges"]
    shown = groups_of(people, ["world", "year"])
    title = "Friends at the founding and at the end; colours are communities"
    made, all_axes = figure(-(-len(shown) // 2), 2, title=title, width=4.5, height=4.0)
    for axes in all_axes:
        axes.set_axis_off()
    for axes, ((world, year), group) in zip(all_axes, shown, strict=False):
        of_year = pairs[(pairs["world"] == world) & (pairs["year"] == year)]
        axes.set_title(f"{letters.of(world)}, Y{year}")
        _graph(axes, group.sort_values("number"), of_year, letters)
    return made


def _graph(axes: Axes, people: pd.DataFrame, pairs: pd.DataFrame, letters: Lettering) -> None:
    """One graph; few nodes carry names, many the numbers of the table."""
    names = people["agent"].tolist()
    graph = graph_of(names, pairs)
    if len(names) <= _MOST_SPRINGS:
        spot = nx.spring_layout(graph, seed=LAYOUT_SEED)
    else:
        community = people["community"].tolist()
        order: list[int] = sorted(range(len(names)), key=lambda node: (community[node], node))
        ring = nx.Graph()
        ring.add_nodes_from(order)
        spot = nx.circular_layout(ring)
    colours = ["#bbbbbb" if not group else COLOURS[(group - 1) % len(COLOURS)] for group in people["community"]]
    readable = len(names) <= _MOST_NAMES and all(letters.draws(name) for name in names)
    texts = letters.of_all(names) if readable else [str(number) for number in people["number"]]
    nx.draw_networkx_edges(graph, spot, ax=axes, width=0.6, edge_color="#999999")
    nx.draw_networkx_nodes(graph, spot, ax=axes, node_size=60, node_color=colours)
    for node, text in enumerate(texts):
        axes.annotate(text, (spot[node][0], spot[node][1]), fontsize=6, ha="center", va="bottom")


def striving(tables: Tables, letters: Lettering) -> Figure:
    """Ratios of the top to the bottom group, over all worlds."""
    table = _pooled(tables["striving_ratios"])
    made, (axes,) = figure(1, 1, title="Who strives most against who strives least: ratio of means", width=6, height=6)
    bars(axes, table["metric"].tolist(), table["ratio"].tolist())
    axes.axvline(1.0, color="#555555", linewidth=0.8)
    return made


def divergence(tables: Tables, letters: Lettering) -> Figure:
    """Every figure, a bar for each world."""
    table = tables["divergence"]
    names = list(dict.fromkeys(table["figure"]))
    made, all_axes = figure(-(-len(names) // 3), 3, title="How far worlds move from where they began", height=1.9)
    for axes in all_axes[len(names) :]:
        axes.set_axis_off()
    for axes, name in zip(all_axes, names, strict=False):
        of_figure = table[table["figure"] == name]
        bars(axes, letters.of_all(of_figure["world"]), of_figure["value"].tolist())
        axes.set_title(name, fontsize=7)
    return made


def cost_by_world(tables: Tables, letters: Lettering) -> Figure:
    """Tokens of role-play and environment, and the duties that cost most."""
    worlds, duties = tables["cost_by_world"], _pooled(tables["cost_by_duty"])
    made, (left, right) = figure(1, 2, title="Cost: tokens", width=5.0, height=4.0)
    parts = worlds[(worlds["role"] != "both") & (worlds["world"] != ALL_WORLDS)]
    matrix = parts.pivot(index="world", columns="role", values="tokens").sort_index()
    begin = pd.Series(0.0, index=matrix.index)
    for place, role in enumerate(ROLES.values()):
        left.bar(letters.of_all(matrix.index), matrix[role], bottom=begin, color=COLOURS[place], label=role)
        begin = begin + matrix[role]
    left.margins(y=0.2)
    left.legend(fontsize=7)
    left.set_title("by world")
    most = duties.sort_values("share_of_tokens", ascending=False).head(20)
    bars(right, [f"{row.duty} ({row.role})" for row in most.itertuples()], most["share_of_tokens"].tolist())
    right.set_title("share of tokens by duty, all worlds")
    return made


def cost_by_week(tables: Tables, letters: Lettering) -> Figure:
    """Tokens and hours from week to week with the fitted lines."""
    weeks, fits = tables["cost_by_week"], tables["cost_fits"]
    made, all_axes = figure(1, 3, title="Cost from week to week (0: the founding), with fitted lines")
    for axes, quantity in zip(all_axes, ("tokens", "call_hours", "span_hours"), strict=True):
        lines(axes, weeks, x="number", y=quantity, by="world", labels=_labels(weeks["world"], letters))
        for place, (world, group) in enumerate(weeks.groupby("world", sort=True)):
            fit = fits[(fits["world"] == world) & (fits["quantity"] == quantity)]
            for intercept, slope in zip(fit["intercept"], fit["slope"], strict=True):
                line = intercept + slope * group["number"]
                axes.plot(group["number"], line, "--", linewidth=0.8, color=COLOURS[place % len(COLOURS)])
        axes.set_title(quantity.replace("_", " "))
        whole_numbers(axes, weeks["number"])
    return made


def base_against_tuned(tables: Tables, letters: Lettering) -> Figure:
    """The average change of every measure in percent, with its interval."""
    table = tables["base_against_tuned"]
    table = table[table["year"] == 0]
    made, (axes,) = figure(1, 1, title="Tuned against base: change in %, 95 % interval", width=6.0, height=4.0)
    bars(axes, table["metric"].tolist(), table["percent"].tolist())
    for place, (low, high) in enumerate(zip(table["percent_low"], table["percent_high"], strict=True)):
        axes.plot([low, high], [place, place], color="#333333", linewidth=1)
    axes.axvline(0.0, color="#555555", linewidth=0.8)
    return made


def society(tables: Tables, letters: Lettering) -> Figure:
    """Each model's social reward, from the founding through the years."""
    table = tables["models_in_one_society"]
    social = table[table["metric"] == "social"]
    moments = ["init", *(name for name in table.columns if name.startswith("Y"))]
    made, (axes,) = figure(1, 1, title="Models in one society: social reward (z), mean over worlds", width=5.5)
    for place, (_, row) in enumerate(social.iterrows()):
        values = row[moments].to_numpy(float)
        colour = COLOURS[place % len(COLOURS)]
        axes.plot(range(len(moments)), values, marker="o", color=colour, label=letters.of(row["model"]))
    axes.set_xticks(range(len(moments)), moments)
    axes.axhline(0.0, color="#555555", linewidth=0.8)
    axes.legend(fontsize=7)
    return made


def _pooled(table: pd.DataFrame) -> pd.DataFrame:
    return table[table["world"] == ALL_WORLDS]


def _labels(worlds: pd.Series, letters: Lettering) -> dict[str, str]:
    return {str(world): letters.of(str(world)) for world in worlds.unique()}
