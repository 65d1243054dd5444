"""Which rows of a run's tables an analysis reads: the round, lives that go on, complete years, several runs."""

import pandas as pd
import pytest

from tests.training.analyses.frames import PLAIN
from training.evaluation.analyses.lives import METRICS, read_lives

CALL = {"stage": "plan", "duty": "plan", "role": "policy", "fallback": False, "model": "m@1"}


def a_run(folder, *years, calls=None, seed=None):
    """Tables of a run in which Ann lived these (round, world, year); `calls` is as `years` where nothing is given."""
    where = [{"round": number, "world": world, "year": year, "agent": "Ann"} for number, world, year in years]
    keys = [{"round": number, "world": world, "year": year} for number, world, year in (calls or years)]
    measured = [row | {name: PLAIN[name] for name in METRICS} for row in where]
    rewards = [row | {name: PLAIN[name] for name in PLAIN if name not in METRICS} for row in where]
    called = [row | CALL | {"agent": "Ann", "week": 1, "key": f"k{place}"} for place, row in enumerate(keys)]
    profiles = [*where, *({**row, "year": 0} for row in where if row["year"] == 1)]
    tables = {
        "agent_years": pd.DataFrame(measured, columns=["round", "world", "year", "agent", *METRICS]),
        "rewards": pd.DataFrame(rewards, columns=["round", "world", "year", "agent", *PLAIN]).drop(columns=[*METRICS]),
        "agent_weeks": pd.DataFrame([row | {"week": 1, "mood": 50.0} for row in where]),
        "profiles": pd.DataFrame([row | {"deposit": 5} for row in profiles]),
        "ratings": pd.DataFrame([row | {"rater": "Ann", "rated": "Ben", "affection": 50.0} for row in profiles]),
        "calls": pd.DataFrame([row | {"prompt_tokens": 9, "output_tokens": 1} for row in called]),
        "timings": pd.DataFrame(
            [
                {name: row[name] for name in ("round", "world", "key")} | {"started": 0.0, "seconds": 3.0}
                for row in called
            ]
        ),
    }
    (folder / "tables").mkdir(parents=True)
    for name, frame in tables.items():
        columns = list(frame.columns) or ["round", "world", "year", "week", "agent", "rater", "rated", "affection"]
        frame.reindex(columns=columns).to_parquet(folder / "tables" / f"{name}.parquet")
    if seed is not None:
        (folder / "settings.yaml").write_text(f"seed: {seed}\n", encoding="utf-8")
    return folder


def years_of(lives):
    return list(zip(lives.years["round"], lives.years["world"], lives.years["year"], strict=True))


def test_the_last_round_is_taken_and_the_first_is_its_base(tmp_path):
    run = a_run(tmp_path / "run", (1, "w", 1), (1, "w", 2), (2, "w", 1), (2, "w", 2), seed=7)
    lives = read_lives([run])
    assert years_of(lives) == [(2, "w", 1), (2, "w", 2)]
    assert lives.rounds == {"run": 2}
    assert lives.seed == 7
    assert lives.base["round"].tolist() == [1, 1]
    assert sorted(lives.profiles["year"]) == [0, 1, 2]
    first = read_lives([run], 1)
    assert years_of(first) == [(1, "w", 1), (1, "w", 2)]
    assert first.base.empty


def test_a_life_that_goes_on_is_one_life_and_has_no_base(tmp_path):
    run = a_run(tmp_path, (1, "w", 1), (2, "w", 2), (3, "w", 3), (3, "v", 1), (1, "v", 1))
    lives = read_lives([run], 2)
    assert years_of(lives) == [(1, "w", 1), (2, "w", 2)]
    assert sorted(lives.profiles["year"]) == [0, 1, 2]
    third = read_lives([run])
    assert [row for row in years_of(third) if row[1] == "w"] == [(1, "w", 1), (2, "w", 2), (3, "w", 3)]
    assert set(third.base["world"]) == {"v"}, "v was lived anew, w went on"


def test_a_round_without_a_complete_year_is_not_the_last_one(tmp_path):
    run = a_run(tmp_path, (1, "w", 1), calls=[(1, "w", 1), (2, "w", 1)])
    assert years_of(read_lives([run])) == [(1, "w", 1)]
    begun = read_lives([run], 2)
    assert begun.years.empty
    assert begun.profiles.empty
    assert len(begun.calls) == 1


def test_profiles_of_years_that_are_not_complete_are_left_out(tmp_path):
    run = a_run(tmp_path, (1, "w", 1))
    path = run / "tables" / "profiles.parquet"
    profiles = pd.read_parquet(path)
    pd.concat([profiles, profiles.assign(year=2)]).to_parquet(path)
    assert sorted(read_lives([run]).profiles["year"]) == [0, 1]


def test_worlds_of_several_runs_are_told_apart(tmp_path):
    one, two, other = (a_run(tmp_path / name, (1, "w", 1)) for name in ("x/run", "y/run", "late"))
    lives = read_lives([one, two, other])
    assert lives.rounds == {"run#1": 1, "run#2": 1, "late": 1}
    for frame in (lives.years, lives.calls, lives.weeks, lives.ratings, lives.profiles):
        assert set(frame["world"]) == {"run#1/w", "run#2/w", "late/w"}
    assert set(read_lives([one]).years["world"]) == {"w"}


def test_a_time_that_was_not_recorded_is_not_zero(tmp_path):
    calls = read_lives([a_run(tmp_path, (1, "w", 1))]).calls
    assert calls[["started", "seconds"]].isna().all(axis=None)


def test_what_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"there is no run folder .*nowhere"):
        read_lives([tmp_path / "nowhere"])
    run = a_run(tmp_path / "run", (1, "w", 1), (2, "w", 1))
    with pytest.raises(ValueError, match="has no round 3; there are rounds 1, 2"):
        read_lives([run], 3)
