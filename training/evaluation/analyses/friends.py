"""Friends: two who like each other, affection of at least 60 both ways; how many one has, and who flocks together.

Graphs are those of the founding and of the last complete year. Communities are Louvain's, with a fixed seed. Pure.
"""

from collections.abc import Iterator, Sequence

import networkx as nx
import pandas as pd

from sim.core.counts import THRESHOLD
from training.evaluation.analyses.measures import each_world, groups_of, table_of

LOUVAIN_SEED = 1


def friendships(ratings: pd.DataFrame) -> pd.DataFrame:
    """Pairs of friends in each year, `first` before `second` by name, with both affections."""
    columns = ["world", "year", "first", "second", "affection", "affection_back"]
    liking = ratings[ratings["affection"] >= THRESHOLD][["world", "year", "rater", "rated", "affection"]]
    back = liking.rename(columns={"rater": "rated", "rated": "rater", "affection": "affection_back"})
    mutual = liking.merge(back, on=["world", "year", "rater", "rated"])
    mutual = mutual.rename(columns={"rater": "first", "rated": "second"})
    return mutual[mutual["first"] < mutual["second"]][columns].sort_values(columns[:4], ignore_index=True)


def friends_of_each(ratings: pd.DataFrame, profiles: pd.DataFrame) -> pd.DataFrame:
    """How many friends every agent has in each year; nobody is left out."""
    pairs = friendships(ratings)
    ends = pd.concat([pairs.rename(columns={end: "agent"})[["world", "year", "agent"]] for end in ("first", "second")])
    counts = ends.groupby(["world", "year", "agent"]).size().rename("friends").reset_index()
    everybody = profiles[["world", "year", "agent"]]
    found = everybody.merge(counts, on=["world", "year", "agent"], how="left").fillna({"friends": 0})
    return found.astype({"friends": int})


def distribution(ratings: pd.DataFrame, profiles: pd.DataFrame) -> pd.DataFrame:
    """How many agents have how many friends, by year, in each world and over all worlds."""
    rows: list[dict[str, object]] = []
    for world, of_world in each_world(friends_of_each(ratings, profiles)):
        for year, of_year in of_world.groupby("year", sort=True):
            counts = of_year["friends"].value_counts().sort_index()
            for friends, agents in counts.items():
                row = {"world": world, "year": year, "friends": friends, "agents": agents}
                rows.append({**row, "share": agents / len(of_year), "mean_friends": of_year["friends"].mean()})
    return table_of(rows, ["world", "year", "friends", "agents", "share", "mean_friends"])


def edges(ratings: pd.DataFrame, profiles: pd.DataFrame) -> pd.DataFrame:
    """The friendships of the founding and of the last year."""
    shown = _first_and_last(profiles)[["world", "year"]].drop_duplicates()
    return friendships(ratings).merge(shown, on=["world", "year"])


def nodes(ratings: pd.DataFrame, profiles: pd.DataFrame) -> pd.DataFrame:
    """Every agent at the founding and in the last year: its number in the picture, its friends, its community.

    Numbers go by name. Communities are numbered from the largest; who has no friend is in none (0).
    """
    rows: list[dict[str, object]] = []
    for world, year, names, graph in _graphs(ratings, profiles):
        community = {node: place for place, group in enumerate(communities(graph), start=1) for node in group}
        for node, name in enumerate(names):
            row = {"world": world, "year": year, "number": node + 1, "agent": name}
            rows.append({**row, "friends": graph.degree[node], "community": community.get(node, 0)})
    return table_of(rows, ["world", "year", "number", "agent", "friends", "community"])


def summary(ratings: pd.DataFrame, profiles: pd.DataFrame) -> pd.DataFrame:
    """The graphs in figures; modularity is that of the communities, NaN without a friendship."""
    rows: list[dict[str, object]] = []
    for world, year, names, graph in _graphs(ratings, profiles):
        groups = communities(graph)
        alone = [{node} for node in graph if not graph.degree[node]]
        modularity = nx.community.modularity(graph, [*groups, *alone]) if graph.size() else float("nan")
        row = {"world": world, "year": year, "agents": len(names), "friendships": graph.size()}
        rows.append({**row, "without_friends": len(alone), "communities": len(groups), "modularity": modularity})
    columns = ["world", "year", "agents", "friendships", "without_friends", "communities", "modularity"]
    return table_of(rows, columns)


def communities(graph: nx.Graph) -> list[list[int]]:
    """Louvain's communities of those who have friends, the largest first. Nodes are integers: sets of them have one
    order in every process, so equal graphs give equal communities."""
    befriended = graph.subgraph([node for node in graph if graph.degree[node]])
    if not befriended.size():
        return []
    found = nx.community.louvain_communities(nx.Graph(befriended), seed=LOUVAIN_SEED)
    return sorted((sorted(group) for group in found), key=lambda group: (-len(group), group))


def graph_of(names: Sequence[str], pairs: pd.DataFrame) -> nx.Graph:
    """Friends as a graph whose node k is the k-th name."""
    place = {name: node for node, name in enumerate(names)}
    graph = nx.Graph()
    graph.add_nodes_from(range(len(names)))
    graph.add_edges_from(
        (place[first], place[second]) for first, second in zip(pairs["first"], pairs["second"], strict=True)
    )
    return graph


def _graphs(ratings: pd.DataFrame, profiles: pd.DataFrame) -> Iterator[tuple[str, int, list[str], nx.Graph]]:
    """World, year, names and graph of the founding and of the last year."""
    pairs = edges(ratings, profiles)
    for (world, year), people in groups_of(_first_and_last(profiles), ["world", "year"]):
        names = sorted(people["agent"])
        known = pairs["first"].isin(names) & pairs["second"].isin(names)
        of_year = pairs[(pairs["world"] == world) & (pairs["year"] == year) & known]
        yield str(world), int(year), names, graph_of(names, of_year)


def _first_and_last(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of the founding and of each world's last year."""
    last = frame.groupby("world")["year"].transform("max")
    return frame[(frame["year"] == 0) | (frame["year"] == last)]
