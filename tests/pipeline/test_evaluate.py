"""The evaluate step over two small rounds: its page, its files, and that both say the same."""

import pandas as pd
import pytest

from pipeline.evaluate import CSV_FILE, PARQUET_FILE, TEXT_FILE, evaluate_step, measured_years
from pipeline.report.screen_text import width
from pipeline.run_folder import RunFolder
from pipeline.tables import read_table, write_tables
from tests.pipeline.small_runs import live_round, run_settings
from training.evaluation.life import METRICS


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> RunFolder:
    folder = live_round(tmp_path_factory.mktemp("run"), 1, time={"n_year": 2, "n_week": 1, "n_day": 2, "n_contact": 2})
    live_round(folder.root, 2, time={"n_year": 2, "n_week": 1, "n_day": 2, "n_contact": 2})
    return folder


def test_files_and_page_of_a_later_round(run, tmp_path):
    notes = evaluate_step(run, run_settings(), 2, tmp_path / "evaluate")
    assert notes == {"compared": True, "base_round": 1, "pairs": 4, "years": [1, 2]}
    rows = pd.read_parquet(tmp_path / "evaluate" / PARQUET_FILE)
    assert len(rows) == len(METRICS) * 3
    pd.testing.assert_frame_equal(rows, pd.read_csv(tmp_path / "evaluate" / CSV_FILE), check_dtype=False)
    page = (tmp_path / "evaluate" / TEXT_FILE).read_text(encoding="utf-8")
    assert all(width(line) <= 100 for line in page.splitlines())
    assert all(f"\n{label} " in page for label in METRICS)


def test_numbers_are_those_of_the_tables(run, tmp_path):
    write_tables(run, run_settings())
    evaluate_step(run, run_settings(), 2, tmp_path)
    rows = pd.read_parquet(tmp_path / PARQUET_FILE).set_index(["metric", "year"])
    years, rewards = read_table(run, "agent_years"), read_table(run, "rewards")
    of_round = years[years["round"] == 2]
    assert rows.loc[("mood", 0), "tuned"] == pytest.approx(of_round["fulfillment_mood"].mean())
    assert rows.loc[("mood", 2), "tuned"] == pytest.approx(of_round[of_round["year"] == 2]["fulfillment_mood"].mean())
    base = rewards[(rewards["round"] == 1) & (rewards["year"] == 1)]
    assert rows.loc[("economy", 1), "base"] == pytest.approx(base["economic"].mean())
    assert rows.loc[("economy", 1), ["delta_low", "delta_high"]].isna().all()


def test_same_run_same_bytes(run, tmp_path):
    for name in ("a", "b"):
        evaluate_step(run, run_settings(), 2, tmp_path / name)
    for file in (PARQUET_FILE, CSV_FILE, TEXT_FILE):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_the_first_round_has_nothing_to_be_compared_with(run, tmp_path):
    notes = evaluate_step(run, run_settings(), 1, tmp_path / "evaluate")
    assert notes["compared"] is False
    assert not (tmp_path / "evaluate").exists()


def test_a_life_that_goes_on_is_not_compared_with_its_own_past(run, tmp_path):
    notes = evaluate_step(run, run_settings(world="continue"), 2, tmp_path)
    assert notes["compared"] is False
    assert "different years of one life" in notes["why"]


def test_a_round_that_was_not_lived_is_refused(run, tmp_path):
    with pytest.raises(ValueError, match="no agent's year in common"):
        evaluate_step(run, run_settings(), 3, tmp_path)


def test_measured_years_have_every_row_of_the_comparison(run):
    rows = measured_years(run, 1)
    assert len(rows) == 8
    assert all(set(METRICS.values()) <= set(row) for row in rows)
