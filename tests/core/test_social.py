"""Social reward: worked examples by hand, networkx as an independent oracle, and what must never matter."""

import networkx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.core.social import among, dimension_of, edge_weights, page_rank, rescale, social_rewards, standing

RULES = {"alpha": 2.0, "damping": 0.85, "tolerance": 1e-9}
NAMES = ("Ada", "Bo", "Čeněk", "丁", "Eve", "Fay")


@st.composite
def casts(draw, max_size=6):
    """A cast and the scores that its agents gave to one another, to themselves and to strangers."""
    names = NAMES[: draw(st.integers(1, max_size))]
    anybody = st.sampled_from([*names, "a stranger"])
    scores = {name: draw(st.dictionaries(anybody, st.integers(0, 100), max_size=6)) for name in names}
    return names, scores


def test_ranks_are_rescaled_evenly_from_100_to_0():
    # four rated: shares 3/3, 2/3, 1/3, 0/3 of 100, whatever the distances between the scores
    weights = rescale({"a": 99, "b": 98, "c": 12, "d": 3})
    assert weights == pytest.approx({"a": 100, "b": 100 * 2 / 3, "c": 100 / 3, "d": 0})


def test_ties_share_the_mean_of_their_ranks():
    # places of five: 100, 75, 50, 25, 0; b, c and d share (75 + 50 + 25) / 3 = 50
    weights = rescale({"a": 90, "b": 60, "c": 60, "d": 60, "e": 10})
    assert weights == {"a": 100, "b": 50, "c": 50, "d": 50, "e": 0}
    # a tie at the top of three: (100 + 50) / 2 = 75
    assert rescale({"a": 70, "b": 70, "c": 1}) == {"a": 75, "b": 75, "c": 0}
    # all alike: (100 + 0) / 2
    assert rescale({"a": 40, "b": 40}) == {"a": 50, "b": 50}


def test_a_single_rated_person_gets_100_and_nobody_gives_nothing():
    assert rescale({"a": 0}) == {"a": 100}
    assert rescale({}) == {}


def test_edge_weights_are_shares_of_what_a_rater_gives():
    # ranks 100, 50, 0 of a sum of 150
    weights = edge_weights(["a", "b", "c", "d"], {"a": {"b": 90, "c": 60, "d": 30}})
    assert weights == {"a": pytest.approx({"b": 2 / 3, "c": 1 / 3, "d": 0})}


def test_standing_of_three_worked_out_by_hand():
    # a rates b above c: ranks 100 and 0, so w_ab = 1, w_ac = 0; b rates a alone: w_ba = 1; c rates nobody.
    # S_c = 0.05 + 0.85 · S_c / 3            → S_c = 0.05 / (43/60) = 3/43
    # S_a and S_b satisfy the same equation  → each (1 − 3/43) / 2 = 20/43
    scores = {"a": {"b": 80, "c": 20}, "b": {"a": 70}}
    rank = page_rank("abc", edge_weights("abc", scores), damping=0.85, tolerance=1e-9)
    assert rank == pytest.approx({"a": 20 / 43, "b": 20 / 43, "c": 3 / 43}, abs=1e-8)
    # S'_a = w_ba · (1 + 2 · w_ab) · S_b = 1 · 3 · 20/43, S'_b alike; S'_c = 0 · (1 + 2 · 0) · S_a = 0
    assert standing("abc", scores, **RULES) == pytest.approx({"a": 60 / 43, "b": 60 / 43, "c": 0}, abs=1e-7)


def test_standing_of_four_worked_out_by_hand():
    # a: b 90, c 60, d 30 → w_ab = 2/3, w_ac = 1/3, w_ad = 0;  b: a and c tied → w_ba = w_bc = 1/2;  c: b → w_cb = 1
    # d rates nobody: S_d = 0.15/4 + 0.85 · S_d/4 → S_d = 0.0375 / 0.7875 = 1/21, and everybody's base is
    # 0.0375 + 0.85/4 · 1/21 = 1/21 as well. With B = S_b:
    #   S_a = 1/21 + 0.85 · B/2
    #   S_c = 1/21 + 0.85 · (S_a/3 + B/2)
    #   B   = 1/21 + 0.85 · (2/3 · S_a + S_c) = 1/21 + (1/21 + 0.425 · B) · (1.7/3 + 0.85 · 77/60)
    factor = 1.7 / 3 + 0.85 * 77 / 60
    s_b = (1 / 21) * (1 + factor) / (1 - 0.425 * factor)
    s_a = 1 / 21 + 0.425 * s_b
    s_c = 1 / 21 + 0.85 * (s_a / 3 + s_b / 2)
    assert s_a + s_b + s_c + 1 / 21 == pytest.approx(1)
    scores = {"a": {"b": 90, "c": 60, "d": 30}, "b": {"a": 55, "c": 55}, "c": {"b": 10}}
    expected = {
        "a": 1 / 2 * (1 + 2 * 2 / 3) * s_b,
        "b": 2 / 3 * (1 + 2 * 1 / 2) * s_a + 1 * (1 + 2 * 1 / 2) * s_c,
        "c": 1 / 3 * (1 + 2 * 0) * s_a + 1 / 2 * (1 + 2 * 1) * s_b,
        "d": 0.0,
    }
    assert standing("abcd", scores, **RULES) == pytest.approx(expected, abs=1e-7)


def test_social_reward_is_the_mean_of_both_dimensions():
    # affection as in the first example; respect: both rate each other alone, which leaves c nothing as well
    scores = {
        "a": {"b": {"affection": 80, "respect": 50}, "c": {"affection": 20, "respect": None}},
        "b": {"a": {"affection": 70, "respect": 50}},
        "c": {},
    }
    rewards = social_rewards("abc", scores, **RULES)
    assert rewards["a"].affection == pytest.approx(60 / 43, abs=1e-7)
    assert rewards["a"].respect == pytest.approx(60 / 43, abs=1e-7)
    assert rewards["a"].reward == pytest.approx(0.5 * 60 / 43 + 0.5 * 60 / 43, abs=1e-7)
    assert rewards["c"].reward == 0


def test_a_missing_score_is_missing_and_a_zero_is_a_zero():
    scores = {"a": {"b": {"affection": None, "respect": 5}, "c": {"affection": 0, "respect": 6}}}
    assert dimension_of(scores, "affection") == {"a": {"c": 0.0}}
    # the zero alone is a rating: c is the single person whom a rates on affection
    assert edge_weights("abc", dimension_of(scores, "affection")) == {"a": {"c": 1.0}}


def test_strangers_and_oneself_are_dropped_before_the_ranks():
    scores = {"a": {"a": 100, "ghost": 90, "b": 10}, "ghost": {"a": 80}}
    assert among(["b", "a"], scores) == {"a": {"b": 10}}
    assert edge_weights(["a", "b"], scores) == {"a": {"b": 1.0}}


def test_one_agent_two_strangers_and_somebody_nobody_knows():
    assert standing(["a"], {"a": {"a": 100}}, **RULES) == {"a": 0}
    assert standing(["a", "b"], {}, **RULES) == {"a": 0, "b": 0}
    assert standing([], {}, **RULES) == {}
    with_hermit = standing(["a", "b", "hermit"], {"a": {"b": 1}, "b": {"a": 1}, "hermit": {"a": 100}}, **RULES)
    assert with_hermit["hermit"] == 0
    # S_h = 0.05, S_a = 0.05 + 0.85 · (S_b + S_h), S_b = 0.05 + 0.85 · S_a → S_a = 0.135 / 0.2775
    s_a = (0.05 + 0.85 * (0.05 + 0.05)) / (1 - 0.85**2)
    s_b = 0.05 + 0.85 * s_a
    assert with_hermit["a"] == pytest.approx(1 * (1 + 2 * 1) * s_b + 1 * (1 + 2 * 0) * 0.05, abs=1e-7)
    assert with_hermit["b"] == pytest.approx(1 * (1 + 2 * 1) * s_a, abs=1e-7)


def test_two_agents_who_rate_each_other():
    # S = 1/2 each by symmetry; S' = 1 · (1 + 2 · 1) · 1/2
    assert standing("ab", {"a": {"b": 3}, "b": {"a": 99}}, **RULES) == pytest.approx({"a": 1.5, "b": 1.5})


@settings(deadline=None)
@given(casts())
def test_page_rank_agrees_with_networkx(cast):
    names, scores = cast
    weights = edge_weights(names, scores)
    graph = networkx.DiGraph()
    graph.add_nodes_from(names)
    graph.add_weighted_edges_from((j, i, w) for j, row in weights.items() for i, w in row.items())
    oracle = networkx.pagerank(graph, alpha=0.85, tol=1e-12, max_iter=1000)
    assert page_rank(names, weights, damping=0.85, tolerance=1e-9) == pytest.approx(oracle, abs=1e-7)


@settings(deadline=None)
@given(st.integers(2, 40), st.integers(0, 2**32), st.floats(0.1, 0.95))
def test_page_rank_agrees_with_networkx_on_larger_graphs(n, seed, damping):
    graph = networkx.gnp_random_graph(n, 0.2, seed=seed, directed=True)
    names = [f"agent {number}" for number in range(n)]
    scores = {names[j]: {names[i]: (7 * i + 3 * j) % 101 for i in graph.successors(j)} for j in graph}
    weights = edge_weights(names, scores)
    weighted = networkx.DiGraph()
    weighted.add_nodes_from(names)
    weighted.add_weighted_edges_from((j, i, w) for j, row in weights.items() for i, w in row.items())
    oracle = networkx.pagerank(weighted, alpha=damping, tol=1e-12, max_iter=5000)
    assert page_rank(names, weights, damping=damping, tolerance=1e-9) == pytest.approx(oracle, abs=1e-7)


@given(casts())
def test_ranks_sum_to_one_and_given_weights_to_one(cast):
    names, scores = cast
    weights = edge_weights(names, scores)
    assert all(sum(row.values()) == pytest.approx(1) for row in weights.values())
    assert sum(page_rank(names, weights, damping=0.85, tolerance=1e-9).values()) == pytest.approx(1)


@given(casts(), st.randoms())
def test_the_order_of_names_and_scores_never_matters(cast, random):
    names, scores = cast
    shuffled_names = random.sample(names, len(names))
    shuffled = {rater: dict(random.sample(list(scores[rater].items()), len(scores[rater]))) for rater in shuffled_names}
    assert standing(shuffled_names, shuffled, **RULES) == standing(names, scores, **RULES)


@given(casts())
def test_only_the_order_of_scores_matters_not_their_scale(cast):
    names, scores = cast
    squeezed = {rater: {rated: 40 + score / 10 for rated, score in given.items()} for rater, given in scores.items()}
    assert standing(names, squeezed, **RULES) == standing(names, scores, **RULES)


@given(casts())
def test_whom_nobody_rates_has_no_standing_and_nobody_has_less(cast):
    names, scores = cast
    rated = {name for row in among(names, scores).values() for name in row}
    result = standing(names, scores, **RULES)
    assert all(value >= 0 for value in result.values())
    assert all(result[name] == 0 for name in names if name not in rated)


@given(casts())
def test_being_liked_back_never_lowers_standing(cast):
    names, scores = cast
    with_regard = standing(names, scores, **RULES)
    without = standing(names, scores, **{**RULES, "alpha": 0.0})
    assert all(with_regard[name] >= without[name] for name in names)


def test_equal_agents_have_exactly_equal_standing():
    ring = {f"n{i}": {f"n{(i + step) % 7}": score for step, score in ((1, 80), (2, 60), (3, 10))} for i in range(7)}
    assert len(set(standing(list(ring), ring, **RULES).values())) == 1
