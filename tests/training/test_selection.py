"""The top quarter of each period: how many, who, and in which order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.selection import number_kept, select, select_period

people = st.dictionaries(
    st.text(min_size=1, max_size=4), st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=1, max_size=30
)


@pytest.mark.parametrize(
    ("n_agents", "fraction", "kept"),
    [
        (100, 0.25, 25),
        (8, 0.25, 2),
        (7, 0.25, 1),
        (3, 0.25, 1),
        (1, 0.25, 1),
        (0, 0.25, 0),
        (100, 0.29, 29),
        (5, 1.0, 5),
    ],
)
def test_number_kept(n_agents, fraction, kept):
    assert number_kept(n_agents, fraction) == kept


def test_ties_go_to_the_higher_reward_then_to_the_name():
    advantage = {"d": 1.0, "c": 1.0, "b": 1.0, "a": 0.5}
    reward = {"d": 0.1, "c": 0.3, "b": 0.3, "a": 9.0}
    assert select_period(advantage, reward, fraction=1.0) == ("b", "c", "d", "a")
    assert select_period(advantage, reward, fraction=0.5) == ("b", "c")


def test_every_period_is_selected_on_its_own():
    # period 1 spreads widely, period 2 hardly: each still keeps one of four
    advantages = {"a": [9.0, 0.1], "b": [8.0, 0.2], "c": [7.0, 0.4], "d": [6.0, 0.3]}
    rewards = {name: [0.0, 0.0] for name in advantages}
    assert select(advantages, rewards, fraction=0.25) == {1: ("a",), 2: ("c",)}
    assert select({}, {}, fraction=0.25) == {}


@given(people, st.sampled_from([0.1, 0.25, 0.5, 0.75, 1.0]))
def test_nobody_left_out_beats_anybody_kept(values, fraction):
    advantage = {name: float(pair[0]) for name, pair in values.items()}
    reward = {name: float(pair[1]) for name, pair in values.items()}
    kept = select_period(advantage, reward, fraction=fraction)
    assert len(kept) == len(set(kept)) == number_kept(len(values), fraction)
    worst = min((advantage[name], reward[name]) for name in kept)
    assert all((advantage[name], reward[name]) <= worst for name in values if name not in kept)


@given(people, st.randoms())
def test_the_order_of_arrival_never_matters(values, random):
    advantage = {name: float(pair[0]) for name, pair in values.items()}
    reward = {name: float(pair[1]) for name, pair in values.items()}
    shuffled = {name: advantage[name] for name in random.sample(sorted(values), len(values))}
    assert select_period(shuffled, reward, fraction=0.25) == select_period(advantage, reward, fraction=0.25)
