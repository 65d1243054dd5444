"""What a life costs: tokens, calls and hours, by world, by duty, and from week to week. Pure.

`call_hours` add up all calls, `span_hours` run from the first call's start to the last one's end; a pause of the run
counts as span. The years' ends count to their last weeks, the founding is week 0.
"""

import numpy as np
import pandas as pd

from training.evaluation.analyses.measures import each_world, groups_of, table_of

ROLES = {"policy": "role-play", "environment": "environment"}
_HOUR = 3600.0
FITTED = ("tokens", "call_hours", "span_hours")
LEAST_WEEKS = 3


def by_world(calls: pd.DataFrame) -> pd.DataFrame:
    """Calls, tokens and hours of each world: role-play, environment, and both; the sum over worlds below."""
    rows: list[dict[str, object]] = []
    for world, of_world in each_world(calls):
        for role, name in ROLES.items():
            rows.append({"world": world, "role": name, **_cost(of_world[of_world["role"] == role])})
        rows.append({"world": world, "role": "both", **_cost(of_world)})
    columns = ["world", "role", "calls", "prompt_tokens", "output_tokens", "tokens", "call_hours", "span_hours"]
    return table_of(rows, columns)


def _cost(calls: pd.DataFrame) -> dict[str, object]:
    """Sums over some calls; the span of several worlds or rounds is the sum of theirs."""
    spans = [_span(group) for _, group in groups_of(calls, ["world", "round"])]
    prompt, output = int(calls["prompt_tokens"].sum()), int(calls["output_tokens"].sum())
    return {
        "calls": len(calls),
        "prompt_tokens": prompt,
        "output_tokens": output,
        "tokens": prompt + output,
        "call_hours": calls["seconds"].sum() / _HOUR if calls["seconds"].notna().all() else float("nan"),
        "span_hours": sum(spans),
    }


def _span(calls: pd.DataFrame) -> float:
    """Hours from the first start to the last end; NaN without times."""
    return float((calls["started"] + calls["seconds"]).max() - calls["started"].min()) / _HOUR


def by_week(calls: pd.DataFrame) -> pd.DataFrame:
    """Calls, tokens and hours of each week of each world; `number` counts the weeks through the years."""
    rows: list[dict[str, object]] = []
    for world, of_world in each_world(calls, pooled=False):
        number = 0
        for (year, week), group in groups_of(of_world, ["year", "week"]):
            number += int(year > 0)
            cost = _cost(group)
            row = {"world": world, "number": number, "year": year, "week": week}
            rows.append({**row, **{name: cost[name] for name in ("calls", "tokens", "call_hours", "span_hours")}})
    return table_of(rows, ["world", "number", "year", "week", "calls", "tokens", "call_hours", "span_hours"])


def fits(calls: pd.DataFrame) -> pd.DataFrame:
    """The line through each world's weeks, the founding left out: `quantity = intercept + slope · number`.

    Least squares; `r2` is the share of the variance that it explains, NaN where nothing varies. `growth` is the
    line's value at the last week over that at the first.
    """
    rows: list[dict[str, object]] = []
    for world, of_world in each_world(by_week(calls), pooled=False):
        weeks = of_world[of_world["number"] > 0]
        for quantity in FITTED:
            rows.append({"world": world, "quantity": quantity, **_line(weeks["number"], weeks[quantity])})
    return table_of(rows, ["world", "quantity", "slope", "intercept", "r2", "growth", "weeks"])


def _line(number: pd.Series, quantity: pd.Series) -> dict[str, object]:
    known = quantity.notna()
    x, y = number[known].to_numpy(float), quantity[known].to_numpy(float)
    if len(x) < LEAST_WEEKS:
        return {"weeks": len(x)}
    from_mean = x - x.mean()
    slope = float(from_mean @ (y - y.mean()) / (from_mean @ from_mean))
    intercept = float(y.mean() - slope * x.mean())
    residual = y - intercept - slope * x
    spread = float(np.ptp(y))
    around = (y - y.mean()) @ (y - y.mean())
    first, last = intercept + slope * x[0], intercept + slope * x[-1]
    return {
        "slope": slope,
        "intercept": intercept,
        "r2": 1.0 - float(residual @ residual) / float(around) if spread else float("nan"),
        "growth": last / first if first > 0 else float("nan"),
        "weeks": len(x),
    }


def by_duty(calls: pd.DataFrame) -> pd.DataFrame:
    """Calls, tokens and hours of each duty, and its share of the tokens, in each world and over all."""
    rows: list[dict[str, object]] = []
    for world, of_world in each_world(calls):
        total = int(of_world["prompt_tokens"].sum() + of_world["output_tokens"].sum())
        for (role, duty), group in groups_of(of_world, ["role", "duty"]):
            cost = _cost(group)
            prompt, output = int(group["prompt_tokens"].sum()), int(group["output_tokens"].sum())
            row = {"world": world, "role": ROLES[str(role)], "duty": duty, "calls": cost["calls"]}
            share = (prompt + output) / total if total else float("nan")
            tokens = {"prompt_tokens": prompt, "output_tokens": output, "share_of_tokens": share}
            rows.append({**row, **tokens, "call_hours": cost["call_hours"]})
    columns = ["world", "role", "duty", "calls", "prompt_tokens", "output_tokens", "share_of_tokens", "call_hours"]
    return table_of(rows, columns)
