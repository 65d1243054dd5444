"""Halves of equal output: exact on small sets (checked by trying all), within 1 % on large ones."""

import itertools
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training.mixing import Row, choose, draw_evenly, general_tokens_wanted, mix, nearest_subset

sizes = st.lists(st.integers(1, 60), max_size=9)


def rows(kind, tokens):
    """Rows of these sizes."""
    return [Row(id=f"{kind}{index}", tokens=size) for index, size in enumerate(tokens)]


def test_goal_by_hand():
    assert general_tokens_wanted(900, 0.5) == pytest.approx(900)
    # a quarter general: 300 of 1,200
    assert general_tokens_wanted(900, 0.25) == pytest.approx(300)
    assert general_tokens_wanted(900, 0.0) == 0


def test_nearest_subset_by_hand():
    # 30 + 50 = 80 is nearest to 78; 75 lies between 70 = 20 + 50 and 80: the smaller
    assert nearest_subset([20, 30, 50], 78) == [1, 2]
    assert nearest_subset([20, 30, 50], 75) == [0, 2]
    assert nearest_subset([20, 30, 50], 1000) == [0, 1, 2]
    assert nearest_subset([20, 30, 50], 4) == []
    assert nearest_subset([], 10) == []
    assert nearest_subset([7], -3) == []


@given(sizes, st.integers(0, 400))
def test_nearest_subset_agrees_with_trying_all(tokens, goal):
    found = sum(tokens[place] for place in nearest_subset(tokens, goal))
    sums = {sum(part) for n in range(len(tokens) + 1) for part in itertools.combinations(tokens, n)}
    best = min(abs(total - goal) for total in sums)
    assert abs(found - goal) == best
    assert found == min(total for total in sums if abs(total - goal) == best)


def test_mix_by_hand():
    # role-play 100 + 60 = 160; general 90 + 80 + 70: 90 + 70 fits exactly
    mixture = mix(rows("r", [100, 60]), rows("g", [90, 80, 70]), general_share=0.5, seed=1)
    assert sorted(mixture.rows) == ["g0", "g2", "r0", "r1"]
    assert (mixture.role_play_tokens, mixture.general_tokens, mixture.gap) == (160, 160, 0)
    # half of the shortest row (60 / 2) is more than 1 % of 160
    assert mixture.allowed_gap == 30
    assert mixture.within


def test_too_little_general_output_thins_the_role_play():
    mixture = mix(rows("r", [100, 60, 45]), rows("g", [50, 55]), general_share=0.5, seed=1)
    assert mixture.general == ("g0", "g1")
    # 105 general tokens: 60 + 45 of role-play
    assert sorted(mixture.role_play) == ["r1", "r2"]
    assert mixture.gap == 0


def test_no_general_share_and_no_rows():
    alone = mix(rows("r", [100, 60]), rows("g", [50]), general_share=0.0, seed=1)
    assert sorted(alone.rows) == ["r0", "r1"]
    assert mix([], rows("g", [50]), general_share=0.5, seed=1).rows == ()
    assert mix(rows("r", [50]), [], general_share=0.5, seed=1).rows == ()


def test_a_gap_that_no_choice_can_close_is_told():
    mixture = mix(rows("r", [150]), rows("g", [10, 1000, 1000]), general_share=0.5, seed=1)
    assert (mixture.general_tokens, mixture.gap, mixture.within) == (10, 140, False)


@given(sizes, sizes, st.sampled_from([0.2, 0.5, 0.7]), st.integers(0, 99))
def test_a_mixture_is_a_choice_of_the_rows(role_tokens, general_tokens, share, seed):
    role, general = rows("r", role_tokens), rows("g", general_tokens)
    mixture = mix(role, general, general_share=share, seed=seed)
    assert len(set(mixture.rows)) == len(mixture.rows)
    assert sorted(mixture.rows) == sorted((*mixture.role_play, *mixture.general))
    assert set(mixture.rows) <= {row.id for row in (*role, *general)}
    assert mixture == mix(role, general, general_share=share, seed=seed)
    goal = general_tokens_wanted(mixture.role_play_tokens, share)
    assert mixture.gap == pytest.approx(abs(mixture.general_tokens - goal))


@settings(deadline=None)
@given(st.integers(0, 9999))
def test_a_large_mixture_is_within_one_percent(seed):
    rng = random.Random(seed)
    role = rows("r", [rng.randint(20, 900) for _ in range(400)])
    general = rows("g", [rng.randint(20, 900) for _ in range(700)])
    mixture = mix(role, general, general_share=0.5, seed=seed)
    assert len(mixture.role_play) == 400
    assert mixture.within
    assert mixture.gap <= 0.01 * mixture.role_play_tokens


def test_the_seed_decides_who_is_chosen_and_the_order():
    role, general = rows("r", [50] * 20), rows("g", [50] * 60)
    first, second = (mix(role, general, general_share=0.5, seed=seed) for seed in (1, 2))
    assert set(first.general) != set(second.general)
    assert first.rows != second.rows
    # chosen rows are spread over the offer, not its first ones
    assert set(first.general) != {f"g{index}" for index in range(20)}


def test_rows_without_output_are_refused():
    with pytest.raises(ValueError, match="at least one output token"):
        choose([Row(id="a", tokens=0)], 10, random.Random(1))


def test_duties_take_turns():
    offer = {"frequent": rows("f", [10] * 100), "rare": rows("x", [10] * 2)}
    drawn = draw_evenly(offer, 60, seed=3)
    assert len(drawn) == 6
    assert sum(row.id.startswith("x") for row in drawn) == 2
    # 64 is nearer to 60 than to 70
    assert len(draw_evenly(offer, 64, seed=3)) == 6
    assert len(draw_evenly(offer, 10_000, seed=3)) == 102
    assert draw_evenly(offer, 60, seed=3) == drawn
    assert draw_evenly({}, 60, seed=3) == ()
