"""The stage hands judgings over to the rules and tells the baseline after the first year alone."""

import asyncio

import msgspec
import pytest

from sim.year import life_reward
from tests.builders import a_board, a_job, a_unit
from tests.year.years import a_snapshot, a_year_desk, some_agents


def judged(scores, mood, deposits):
    """Outputs of one judging."""
    return {
        "scores": scores,
        "snapshots": msgspec.to_builtins((a_snapshot(1, mood=mood),)),
        "deposit_start": deposits[0],
        "deposit_end": deposits[1],
    }


def reckon(year=1):
    """The rewards of two who rate each other."""
    pair = {"affection": 60, "respect": 60}
    needed = {
        a_unit("judging", "Ann", year=year, week=2): judged({"Ben": pair}, 40.0, (500, 700)),
        a_unit("judging", "Ben", year=year, week=2): judged({"Ann": pair}, 80.0, (500, 450)),
    }
    if year == 1:
        needed[a_unit("judging", "Ann", year=0, week=0)] = judged({"Ben": pair}, 0.0, (0, 0))
        needed[a_unit("judging", "Ben", year=0, week=0)] = judged({}, 0.0, (0, 0))
    desk = a_year_desk(None, states=some_agents(("Ann", "Ben")))
    return asyncio.run(life_reward.run(a_job(a_unit("life_reward", year=year, week=2), [], needed), desk)).outputs


def test_rewards_of_two_by_hand():
    # as in the rules' own test: social alike, subjective 46.25 against 57.5, economic 200 against −50
    rewards = reckon()["rewards"]
    assert rewards["Ann"]["reward"] == pytest.approx(-0.2)
    assert rewards["Ben"]["reward"] == pytest.approx(0.2)
    assert rewards["Ann"]["n_penalties"] == 1
    assert set(rewards["Ann"]) == {
        "social",
        "social_affection",
        "social_respect",
        "subjective",
        "economic",
        "z_social",
        "z_subjective",
        "z_economic",
        "reward",
        "n_penalties",
    }


def test_the_baseline_is_the_social_reward_of_the_founding():
    # only Ann rated: S_Ann = 0.075 + 0.85 · S_Ben / 2, S_Ben = 0.075 + 0.85 · (S_Ann + S_Ben / 2), S_Ann + S_Ben = 1
    # → S_Ann · (1 + 0.425) = 0.5 and S'_Ben = 1 · (1 + 2 · 0) · S_Ann
    baseline = reckon()["baseline"]
    assert baseline["Ben"] == pytest.approx(0.5 / 1.425, abs=1e-7)
    assert baseline["Ann"] == 0
    assert "baseline" not in reckon(year=2)


def test_it_waits_for_all_judgings_of_its_year_and_once_for_the_founding():
    board = a_board(["Ann", "Ben"], n_week=2)
    first = life_reward.needs(a_unit("life_reward", week=2), board)
    second = life_reward.needs(a_unit("life_reward", year=2, week=2), board)
    assert {(unit.year, unit.who) for unit in first} == {(y, name) for y in (0, 1) for name in ("Ann", "Ben")}
    assert {(unit.year, unit.who) for unit in second} == {(2, "Ann"), (2, "Ben")}
