"""The command over lived lives: every file is there, equal tables give equal bytes, too little gives a reason."""

import os
import subprocess
import sys
from itertools import count
from pathlib import Path

import msgspec
import pandas as pd
import pytest
from matplotlib.image import imread

from pipeline.run_folder import RunFolder
from pipeline.tables import read_table, write_tables
from sim.core.keys import UnitKey
from sim.llm.protocol import Reply, Request
from sim.llm.scripted import Scripted
from tests.pipeline.small_runs import live_round, run_settings
from tests.whole.lives import lived, small_life
from training.evaluation.analyses.__main__ import FOLDER, main
from training.evaluation.analyses.catalogue import ANALYSES
from training.evaluation.analyses.measures import ALL_WORLDS
from training.evaluation.analyses.report import INDEX, LABELS

TIME = {"n_year": 2, "n_week": 2, "n_day": 1, "n_contact": 1}
CSVS = [f"{sheet.name}.csv" for analysis in ANALYSES for sheet in analysis.sheets]
PNGS = [f"{analysis.name}.png" for analysis in ANALYSES]


class TwoModels:
    """The scripted model under two names, each playing some of the agents, with a clock of its own."""

    def __init__(self) -> None:
        self._scripted = Scripted()
        self._now = count(1000)

    async def complete(self, request: Request) -> Reply:
        reply = await self._scripted.complete(request)
        name = "large@1" if request.agent[:1] < "P" else "small@1"
        return msgspec.structs.replace(reply, model=name, started=float(next(self._now)), seconds=2.0)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> RunFolder:
    """Two rounds of two worlds, one with a Chinese name, the other with two models in one society."""
    root = tmp_path_factory.mktemp("run") / "first"
    for number in (1, 2):
        live_round(root, number, TwoModels(), seed=number, time=TIME, n_agents=4)
        folder = live_round(root, number, world="苑", seed=number + 2, time=TIME, n_agents=4)
    write_tables(folder, run_settings())
    return folder


@pytest.fixture(scope="module")
def written(run) -> Path:
    assert main([str(run.root)]) == 0
    return run.root / FOLDER


def read(folder: Path, name: str) -> pd.DataFrame:
    return pd.read_csv(folder / f"{name}.csv")


def test_every_table_and_picture_is_there_and_readable(written):
    assert sorted(path.name for path in written.iterdir()) == sorted([*CSVS, *PNGS, INDEX, LABELS])
    for name in CSVS:
        assert len(pd.read_csv(written / name)), name
    for name in PNGS:
        assert imread(written / name).shape[0] > 50, name


def test_the_index_names_every_file_with_its_definition_and_number(written):
    page = (written / INDEX).read_text(encoding="utf-8")
    assert all(f"[{name}]({name})" in page for name in (*CSVS, *PNGS))
    assert "first round 2" in page
    assert "16 agents' years (8 agents, 2 years) in 2 worlds" in page
    assert "Lacking" not in page


def test_figures_are_those_of_the_tables(run, written):
    calls, rewards = read_table(run, "calls"), read_table(run, "rewards")
    of_round = calls[(calls["round"] == 2) & (calls["world"] == "苑")]
    cost = read(written, "cost_by_world").set_index(["world", "role"])
    assert cost.loc[("苑", "both"), "tokens"] == of_round["prompt_tokens"].sum() + of_round["output_tokens"].sum()
    assert pd.isna(cost.loc[("苑", "both"), "call_hours"]), "no time was recorded there"
    timed = calls[(calls["round"] == 2) & (calls["world"] == "apartment")]
    assert cost.loc[("apartment", "both"), "call_hours"] == pytest.approx(len(timed) * 2 / 3600)
    shown = read(written, "reward_distributions").set_index(["world", "year", "reward"])
    first = rewards[(rewards["round"] == 2) & (rewards["year"] == 1)]
    assert shown.loc[(ALL_WORLDS, "1", "subjective"), "mean"] == pytest.approx(first["subjective"].mean())
    counts = read(written, "friends_per_agent")
    assert counts[counts["world"] == ALL_WORLDS].groupby("year")["agents"].sum().tolist() == [8, 8, 8]


def test_several_models_are_compared_where_they_live_together(written):
    table = read(written, "models_in_one_society").set_index(["metric", "model"])
    assert set(table.index.get_level_values("model")) == {"large@1", "small@1"}
    large, small = (table.loc[("social", model)] for model in ("large@1", "small@1"))
    assert large["worlds"] == 1
    assert large["agents"] + small["agents"] == 4
    for moment in ("init", "Y1", "Y2", "avg"):
        assert large[moment] * large["agents"] + small[moment] * small["agents"] == pytest.approx(0.0, abs=1e-8)


def test_names_that_can_not_be_drawn_are_listed(written):
    listed = pd.read_csv(written / LABELS)["text"].tolist()
    page = (written / INDEX).read_text(encoding="utf-8")
    assert ("苑" in listed) != ("Pictures show all names as they are" in page)


def test_equal_tables_give_equal_bytes_in_another_process(run, written, tmp_path):
    command = [sys.executable, "-m", "training.evaluation.analyses", str(run.root), "--out", str(tmp_path)]
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    subprocess.run(command, check=True, timeout=120, cwd=Path(__file__).parents[2], env=environment)
    for name in (*CSVS, *PNGS, INDEX, LABELS):
        assert (tmp_path / name).read_bytes() == (written / name).read_bytes(), name


def small_run(root: Path, **changes) -> Path:
    folder = live_round(root, time={**TIME, "n_year": 1, "n_week": 1}, **changes)
    write_tables(folder, run_settings())
    return root


@pytest.mark.parametrize("n_agents", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3))])
def test_a_small_cast_in_a_single_year_has_reasons_instead_of_numbers(tmp_path, n_agents):
    assert main([str(small_run(tmp_path, n_agents=n_agents))]) == 0
    page = (tmp_path / FOLDER / INDEX).read_text(encoding="utf-8")
    for reason in (
        "no world has two complete years",
        f"quartiles need four agents: apartment has {n_agents}",
        "a line needs 3 weeks: apartment has 1",
        "only the first round is looked at",
        "in every world one model plays all agents",
    ):
        assert reason in page
    assert read(tmp_path / FOLDER, "reward_transitions").empty
    assert read(tmp_path / FOLDER, "behaviour_by_quartile").empty
    assert len(read(tmp_path / FOLDER, "deposit_gini")) == 4
    if n_agents < 3:
        assert read(tmp_path / FOLDER, "reward_behaviour_correlations")["r"].isna().all()
    assert all((tmp_path / FOLDER / name).exists() for name in PNGS)


@pytest.mark.slow
@pytest.mark.parametrize(("last", "profiles"), [(1, 0), (2, 2)])
def test_a_life_that_was_broken_off_shows_its_cost_and_its_complete_years(tmp_path, last, profiles):
    class Stopped(RuntimeError):
        pass

    def stop(unit: UnitKey, done: int, pending: int) -> None:
        if unit.year == last and unit.stage == "resolve":
            raise Stopped

    folder = RunFolder(tmp_path)
    with pytest.raises(Stopped):
        lived(folder.journal(1, "apartment").parent, small_life(time=TIME), on_done=stop)
    write_tables(folder, run_settings())
    assert main([str(tmp_path)]) == 0
    page = (tmp_path / FOLDER / INDEX).read_text(encoding="utf-8")
    assert ("no world has a complete year" in page) == (last == 1)
    assert len(read(tmp_path / FOLDER, "cost_by_duty"))
    inequality = read(tmp_path / FOLDER, "deposit_gini")
    assert inequality["year"].nunique() == profiles, "the founding and the complete year"


def test_an_empty_run_is_no_crash(tmp_path):
    write_tables(RunFolder(tmp_path), run_settings())
    assert main([str(tmp_path)]) == 0
    assert "no call was made" in (tmp_path / FOLDER / INDEX).read_text(encoding="utf-8")
    assert all(pd.read_csv(tmp_path / FOLDER / name).empty for name in CSVS)


@pytest.mark.slow
def test_several_runs_go_into_a_folder_that_is_named(run, tmp_path, capsys):
    other = small_run(tmp_path / "other", n_agents=4)
    with pytest.raises(SystemExit):
        main([str(run.root), str(other)])
    assert "several runs need --out" in capsys.readouterr().err
    assert main([str(run.root), str(other), "--out", str(tmp_path / "both"), "--round", "1"]) == 0
    worlds = set(read(tmp_path / "both", "deposit_gini")["world"])
    assert worlds == {"first/apartment", "first/苑", "other/apartment", ALL_WORLDS}


def test_what_is_not_there_is_said_without_a_trace_of_the_program(run, tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert main([str(run.root), "--round", "9"]) == 2
    error = capsys.readouterr().err
    assert "tables are written when a run ends" in error
    assert "has no round 9; there are rounds 1, 2" in error
