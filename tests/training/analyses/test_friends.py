"""Friendships of a small cast worked out by hand, communities that must be found, and the same graph in any order."""

import math

import networkx as nx
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.training.analyses.frames import of_worlds, some_profiles, some_ratings, value
from training.evaluation.analyses.friends import (
    communities,
    distribution,
    edges,
    friends_of_each,
    friendships,
    graph_of,
    nodes,
    summary,
)
from training.evaluation.analyses.measures import ALL_WORLDS

PEOPLE = some_profiles(**{name: {"deposit": [0, 0]} for name in ("Ann", "Ben", "Cy", "苏雨")})
RATINGS = some_ratings(
    (0, "Ann", "Ben", 60.0),
    (0, "Ben", "Ann", 60.0),
    (0, "Ann", "Cy", 90.0),  # Cy has only 59 for Ann
    (0, "Cy", "Ann", 59.0),
    (1, "Ann", "苏雨", 100.0),
    (1, "苏雨", "Ann", 61.0),
    (1, "Ann", "Ben", 60.0),
    (1, "Ben", "Ann", None),
    (1, "Ben", "Cy", 80.0),  # Cy does not know Ben
)


def test_friends_like_each_other():
    pairs = friendships(RATINGS)
    assert pairs.values.tolist() == [["w", 0, "Ann", "Ben", 60.0, 60.0], ["w", 1, "Ann", "苏雨", 100.0, 61.0]]


def test_who_has_no_friend_is_counted():
    counts = friends_of_each(RATINGS, PEOPLE)
    assert counts[counts["year"] == 0]["friends"].tolist() == [1, 1, 0, 0]
    table = distribution(RATINGS, PEOPLE)
    assert value(table, "agents", world="w", year=1, friends=0) == 2
    assert value(table, "share", world="w", year=1, friends=1) == 0.5
    assert value(table, "mean_friends", world=ALL_WORLDS, year=1, friends=1) == 0.5


def test_worlds_do_not_mix():
    pairs = friendships(of_worlds(v=some_ratings((0, "Ann", "Ben", 90.0)), w=some_ratings((0, "Ben", "Ann", 90.0))))
    assert pairs.empty


def test_graphs_of_the_founding_and_the_end():
    middle = RATINGS[RATINGS["year"] == 1].assign(year=2)
    three_years = pd.concat([PEOPLE, PEOPLE[PEOPLE["year"] == 1].assign(year=2)])
    assert set(edges(pd.concat([RATINGS, middle]), three_years)["year"]) == {0, 2}
    table = nodes(RATINGS, PEOPLE)
    assert table[table["year"] == 1]["agent"].tolist() == ["Ann", "Ben", "Cy", "苏雨"]
    assert table[table["year"] == 1]["number"].tolist() == [1, 2, 3, 4]
    assert table[table["year"] == 1]["friends"].tolist() == [1, 0, 0, 1]
    assert table[table["year"] == 1]["community"].tolist() == [1, 0, 0, 1]
    figures = summary(RATINGS, PEOPLE)
    assert figures["friendships"].tolist() == [1, 1]
    assert figures["without_friends"].tolist() == [2, 2]
    # one community with the only edge and two alone: 1 - (2 / 2)^2
    assert figures["modularity"].tolist() == pytest.approx([0.0, 0.0])


def test_a_year_in_which_nobody_judged_has_nodes_and_no_edge():
    table = summary(some_ratings((0, "Ann", "Ben", None)), PEOPLE)
    assert table["friendships"].tolist() == [0, 0]
    assert all(math.isnan(modularity) for modularity in table["modularity"])
    assert edges(RATINGS[RATINGS["year"] == 0], PEOPLE[PEOPLE["year"] == 0]).shape[0] == 1


def test_two_circles_with_one_bridge_are_two_communities():
    circles = [nx.complete_graph(range(5)), nx.complete_graph(range(5, 9))]
    graph = nx.compose(*circles)
    graph.add_edge(0, 5)
    graph.add_node(9)
    assert communities(graph) == [[0, 1, 2, 3, 4], [5, 6, 7, 8]]
    # by hand: 17 edges, degrees 21 and 13 within 34: 10/17 - (21/34)^2 + 6/17 - (13/34)^2
    expected = 16 / 17 - (21 / 34) ** 2 - (13 / 34) ** 2
    assert nx.community.modularity(graph, [*communities(graph), [9]]) == pytest.approx(expected)


@settings(max_examples=25)
@given(st.sets(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_ratings_never_matters(pairs, rng):
    names = [f"a{place}" for place in range(8)]
    rows = [(year, names[a], names[b], 70.0) for a, b in pairs if a != b for year in (0, 1)]
    shuffled = list(rows)
    rng.shuffle(shuffled)
    people = some_profiles(**{name: {"deposit": [0, 0]} for name in names})
    first, second = (some_ratings(*given_rows) for given_rows in (sorted(rows), shuffled))
    pd.testing.assert_frame_equal(nodes(first, people), nodes(second, people))
    found = friends_of_each(first, people)
    assert found["friends"].sum() == 2 * len(friendships(first)), "friendship is mutual"
    assert graph_of(names, friendships(first)).number_of_nodes() == 8
