"""Frames for the analyses' tests: whatever is not given is 1, so that a test names only what it is about."""

import pandas as pd

from training.evaluation.analyses.lives import METRICS, REWARDS

PLAIN = dict.fromkeys((*METRICS, *REWARDS, "baseline_social", "adjusted_social"), 1.0)


def some_years(**of_agent) -> pd.DataFrame:
    """Years of agents: `Ann={"reward": [1, 2]}` gives two years of Ann in world w."""
    rows = []
    for agent, measures in of_agent.items():
        n = max(len(values) for values in measures.values())
        for year in range(1, n + 1):
            given = {measure: values[year - 1] for measure, values in measures.items()}
            rows.append({**PLAIN, "world": "w", "year": year, "agent": agent, **given})
    return pd.DataFrame(rows)


def of_worlds(**frames: pd.DataFrame) -> pd.DataFrame:
    """Frames of several worlds as one."""
    return pd.concat([frame.assign(world=world) for world, frame in frames.items()], ignore_index=True)


def some_profiles(**of_agent) -> pd.DataFrame:
    """Profiles from the founding on: `Ann={"deposit": [100, 50]}`."""
    frame = some_years(**of_agent)
    plain = {"position": "", "deposit": 0}
    missing = {name: value for name, value in plain.items() if all(name not in given for given in of_agent.values())}
    return frame.assign(year=frame["year"] - 1, **missing)


def some_ratings(*rows) -> pd.DataFrame:
    """Affections: (year, rater, rated, affection)."""
    frame = pd.DataFrame(rows, columns=["year", "rater", "rated", "affection"])
    return frame.astype({"affection": float}).assign(world="w", respect=50.0)


def value(frame: pd.DataFrame, column: str, **where):
    """The one value of a column in the row that agrees with all of these."""
    for name, wanted in where.items():
        frame = frame[frame[name] == wanted]
    assert len(frame) == 1, f"{len(frame)} rows: {where}"
    return frame[column].iloc[0]
