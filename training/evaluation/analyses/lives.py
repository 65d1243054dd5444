"""The tables of one or several runs put together: one life of each world, in frames that every analysis reads.

Worlds of several runs are told apart by their run's name. Years that are not complete are left out.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml

from sim.core.counts import AgentYear

BASE_ROUND = 1
METRICS: tuple[str, ...] = AgentYear.__struct_fields__[2:]
"""The measures of an agent's year."""
REWARDS = ("social", "subjective", "economic", "reward")
KEY = ["world", "year", "agent"]
_REWARD_COLUMNS = [*REWARDS, "baseline_social", "adjusted_social"]
_CALL_COLUMNS = ["round", "world", "key", "year", "week", "stage", "agent", "duty", "role", "fallback", "model"]
_TOKENS = ["prompt_tokens", "output_tokens"]
_COLUMNS: Mapping[str, list[str] | None] = {
    "agent_years": None,
    "rewards": ["round", *KEY, *_REWARD_COLUMNS],
    "agent_weeks": None,
    "profiles": None,
    "ratings": None,
    "calls": [*_CALL_COLUMNS, *_TOKENS],
    "timings": ["round", "world", "key", "started", "seconds"],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lives:
    """One life of each world; every frame has a column `world`."""

    years: pd.DataFrame
    """Measures and rewards of every agent's complete year."""
    weeks: pd.DataFrame
    """Every agent's weeks that are over, in unfinished years too."""
    profiles: pd.DataFrame
    """Every agent at the founding (year 0) and at the end of each complete year."""
    ratings: pd.DataFrame
    """Who judged whom how at the founding and in each complete year."""
    calls: pd.DataFrame
    """Every model call with its tokens and its time."""
    base: pd.DataFrame
    """As `years`, of the first round, where it lived the same years as the round looked at; empty where it did not."""
    rounds: Mapping[str, int]
    """The round looked at, by run."""
    seed: int
    """The run's seed (of the first run), for intervals."""


def read_lives(runs: Sequence[Path], round_number: int | None = None) -> Lives:
    """The last round of each run (or a given one); ValueError where a table or the round is not there."""
    names = _run_names(runs)
    parts = [_read_run(run, name, round_number, several=len(runs) > 1) for run, name in zip(runs, names, strict=True)]
    frames = {
        field: pd.concat([part[0][field] for part in parts], ignore_index=True)
        for field in ("years", "weeks", "profiles", "ratings", "calls", "base")
    }
    rounds = {name: part[1] for name, part in zip(names, parts, strict=True)}
    return Lives(**frames, rounds=rounds, seed=_seed(runs[0]))


def _run_names(runs: Sequence[Path]) -> list[str]:
    """The folders' names; equal ones get their place."""
    names = [run.resolve().name for run in runs]
    times = Counter(names)
    return [f"{name}#{place}" if times[name] > 1 else name for place, name in enumerate(names, start=1)]


def _read_run(run: Path, name: str, round_number: int | None, *, several: bool) -> tuple[dict[str, pd.DataFrame], int]:
    """The frames of one run, and the round that was taken."""
    tables = {table: _read(run, table) for table in _COLUMNS}
    number = _round_of(run, tables, round_number)
    of_round = {table: _life_until(frame, tables["calls"], number) for table, frame in tables.items()}
    years = _years(of_round["agent_years"], of_round["rewards"])
    complete = set(zip(years["world"], years["year"], strict=True)) | {(world, 0) for world in years["world"]}
    frames = {
        "years": years,
        "weeks": of_round["agent_weeks"].sort_values(["world", "year", "week", "agent"]),
        "profiles": _of_complete(of_round["profiles"], complete).sort_values(KEY),
        "ratings": _of_complete(of_round["ratings"], complete).sort_values(["world", "year", "rater", "rated"]),
        "calls": _calls(of_round["calls"], of_round["timings"]),
        "base": _base(tables, number, years),
    }
    if several:
        frames = {field: frame.assign(world=f"{name}/" + frame["world"]) for field, frame in frames.items()}
    return frames, number


def _read(run: Path, table: str) -> pd.DataFrame:
    """One table of a run."""
    path = run / "tables" / f"{table}.parquet"
    if not run.is_dir():
        raise ValueError(f"there is no run folder {run}; name the run_dir of a run")
    if not path.is_file():
        raise ValueError(
            f"{path} does not exist; tables are written when a run ends, and again by the run's own command on a "
            "finished run folder"
        )
    return pd.read_parquet(path, columns=_COLUMNS[table])


def _round_of(run: Path, tables: Mapping[str, pd.DataFrame], wanted: int | None) -> int:
    """The wanted round, or the last one with a complete year, or the last one at all."""
    there = sorted({int(number) for number in tables["calls"]["round"].unique()})
    if wanted is not None:
        if wanted not in there:
            raise ValueError(f"{run} has no round {wanted}; there are rounds {', '.join(map(str, there)) or '(none)'}")
        return wanted
    lived = sorted({int(number) for number in tables["rewards"]["round"].unique()})
    return (lived or there or [BASE_ROUND])[-1]


def _life_until(frame: pd.DataFrame, calls: pd.DataFrame, number: int) -> pd.DataFrame:
    """The rows of a round; where its worlds go on with an earlier life, also the rows of the rounds before."""
    begins = calls[calls["round"] == number].groupby("world")["year"].min()
    going_on = set(begins[begins > 1].index)
    earlier = (frame["round"] < number) & frame["world"].isin(going_on)
    return frame[(frame["round"] == number) | earlier].reset_index(drop=True)


def _years(measures: pd.DataFrame, rewards: pd.DataFrame) -> pd.DataFrame:
    """Measures with the rewards beside them, by world, year and agent."""
    joined = measures.merge(rewards, on=["round", *KEY], how="inner")
    return joined.sort_values(KEY, ignore_index=True)


def _calls(calls: pd.DataFrame, timings: pd.DataFrame) -> pd.DataFrame:
    """Calls with their times; a call that began at 0 has none."""
    known = timings.assign(started=timings["started"].where(timings["started"] > 0.0))
    known["seconds"] = known["seconds"].where(known["started"].notna())
    return calls.merge(known, on=["round", "world", "key"], how="left")


def _of_complete(frame: pd.DataFrame, complete: set[tuple[str, int]]) -> pd.DataFrame:
    """The rows of complete years and of the founding."""
    kept = [pair in complete for pair in zip(frame["world"], frame["year"], strict=True)]
    return frame[pd.Series(kept, index=frame.index, dtype=bool)]


def _base(tables: Mapping[str, pd.DataFrame], number: int, tuned: pd.DataFrame) -> pd.DataFrame:
    """The first round's years, where a later round lived the same worlds anew."""
    measures, rewards = (tables[name][tables[name]["round"] == BASE_ROUND] for name in ("agent_years", "rewards"))
    base = _years(measures, rewards)
    anew = set(tuned[tuned["round"] != BASE_ROUND]["world"]) - set(tuned[tuned["round"] == BASE_ROUND]["world"])
    return base[base["world"].isin(anew)] if number != BASE_ROUND else base.iloc[:0]


def _seed(run: Path) -> int:
    """The seed in a run's settings; 0 where there are none."""
    path = run / "settings.yaml"
    settings = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return int(settings.get("seed", 0))
