"""The page at a run's end: shares and failures against the table, reports of a fine-tune, and a page that fits."""

import msgspec
import pytest

from pipeline.atomic import write_json
from pipeline.report.call_counts import CallGroup, count_calls, failures, share_by_itself, total_calls
from pipeline.report.screen_text import width
from pipeline.run_folder import RunFolder
from pipeline.summary import summary_text, write_summary
from pipeline.tables import read_table, write_tables
from sim.core.facts import UnitFacts
from sim.core.keys import UnitKey
from tests.pipeline.small_runs import journal_of, live_round, run_settings
from tests.whole.lives import faulty
from training.prepare import REPORT_FILE, Part, Prepared
from training.samples import Drop
from training.settings import MixtureSettings, TrainingSettings


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> RunFolder:
    """Two rounds, the first with bad answers and a fine-tune's reports."""
    folder = live_round(tmp_path_factory.mktemp("run"), 1, faulty(malformed=0.2, empty=0.1, truncated=0.1))
    live_round(folder.root, 2)
    step = folder.step(1, "finetune")
    (step / "trainer").mkdir(parents=True)
    prepared = Prepared(
        enough=True,
        rows=24,
        parts=(
            Part(source="roleplay", rows=12, output_tokens=1000),
            Part(source="general", rows=14, output_tokens=1500),
        ),
        asked=20,
        gap_tokens=3.0,
        allowed_gap_tokens=10.0,
        drops=(
            Drop(source="general", reason="truncated", stage="distil", calls=2),
            Drop(source="roleplay", reason="cap", stage="contact", calls=30),
            Drop(source="roleplay", reason="cap", stage="plan", calls=10),
            Drop(source="roleplay", reason="malformed", stage="plan", calls=5),
        ),
    )
    (step / REPORT_FILE).write_bytes(msgspec.json.encode(prepared))
    metrics = {"steps": 6, "first_loss": 3.25, "last_loss": 2.125, "changed_share": 0.021, "dropped": {}}
    write_json(step / "trainer" / "metrics.json", metrics)
    redeployed = {"redeployed": True, "version": "r2"}
    write_json(folder.manifest(1, "redeploy"), {"step": "redeploy", "round": 1, "inputs": {}, "notes": redeployed})
    write_tables(folder, settings())
    return folder


def settings():
    return run_settings(training=TrainingSettings(mixture=MixtureSettings(max_roleplay_rows=12, distil_max_prompts=20)))


def row(text: str, label: str) -> list[str]:
    """The cells of one row of the rounds' table."""
    line = next(line for line in text.splitlines() if line.startswith(label))
    return [cell.strip() for cell in line.removeprefix(label).split("  ") if cell.strip()]


def test_shares_and_failures_are_those_of_the_table(run):
    text, calls = summary_text(run, settings()), read_table(run, "calls")
    for place, number in enumerate((1, 2)):
        of_round = calls[calls["round"] == number]
        for role, label in (("policy", "role-play"), ("environment", "environment")):
            of_role = of_round[of_round["role"] == role]
            good = of_role[
                (of_role["finish"] == "stop")
                & ~of_role["fallback"]
                & of_role["status"].isin(["ok", "repaired"])
                & (of_role["drop"] != "malformed_action")
            ]
            share = f"{100 * len(good) / len(of_role):.1f} % of {len(of_role)}"
            assert row(text, f"answered by the model: {label}")[place] == share
        kinds = {"malformed": ["malformed", "malformed_action"], "empty": ["empty"], "truncated": ["truncated"]}
        for kind, drops in kinds.items():
            assert row(text, f"failed: {kind}")[place] == str(of_round["drop"].isin(drops).sum())
        assert row(text, "model calls")[place] == str(len(of_round))
    assert row(text, "failed: malformed")[0] != "0"
    rewards = read_table(run, "rewards")
    assert row(text, "mean subjective reward")[1] == f"{rewards[rewards['round'] == 2]['subjective'].mean():.2f}"


def test_a_fine_tune_is_reported(run):
    text = summary_text(run, settings())
    assert row(text, "trained rows: role-play") == ["12 (1.0k tok)", "-"]
    assert row(text, "trained rows: general") == ["14 (1.5k tok)", "-"]
    assert row(text, "general share of output tokens") == ["60.0 % (off 3 tok)", "-"]
    assert row(text, "loss, first > last step") == ["3.250 > 2.125", "-"]
    assert row(text, "weights that changed") == ["2.1 %", "-"]
    assert row(text, "version served afterwards") == ["r2", "-"]
    assert "trained rows: environment" not in text, "a row that no round has anything for is left out"


def test_what_was_capped_and_left_out_is_said(run):
    text = summary_text(run, settings())
    assert "round 1: 40 roleplay answers left out by training.mixture.max_roleplay_rows = 12" in text
    assert "round 1: 2 general answers left out by training.mixture.distil_max_tokens" in text
    assert "round 1: general prompts ended at mixture.distil_max_prompts = 20" in text
    assert row(text, "  roleplay: malformed") == ["5", "0"]


def test_the_page_fits_and_leads_on(run):
    text = write_summary(run, settings())
    paths = (str(run.root),)
    assert all(width(line) <= 100 for line in text.splitlines() if not any(path in line for path in paths))
    assert text in run.summary.read_text(encoding="utf-8")
    assert f"--show {run.root} --agent '" in text
    assert "--week Y1-W1" in text
    assert "rounds/02/simulate/apartment/journal.db  journal of round 2" in text
    assert "with rounds=3 adds a round" in text


def test_it_is_the_same_page_again(run):
    assert summary_text(run, settings()) == summary_text(run, settings())


def test_a_run_without_anything_has_a_page(tmp_path):
    folder = RunFolder(tmp_path / "空")
    write_tables(folder, run_settings())
    assert "nothing was lived yet" in write_summary(folder, run_settings())
    journal_of(folder)
    write_tables(folder, run_settings())
    assert row(write_summary(folder, run_settings()), "model calls") == ["0"]


def test_many_rounds_and_unicode_names_still_fit(tmp_path):
    zeros = dict.fromkeys(
        ("social", "social_affection", "social_respect", "subjective", "economic", "z_social"), 123456.789
    ) | {"z_subjective": 0.0, "z_economic": 0.0, "reward": 0.0, "n_penalties": 0}
    folder = RunFolder(tmp_path / "r")
    names = [f"欧阳春晓{place}" for place in range(80)]
    for number in range(1, 8):
        reckoning = UnitFacts(
            unit=UnitKey(year=1, week=1, stage="life_reward"),
            by_agent={},
            outputs={"rewards": dict.fromkeys(names, zeros)},
        )
        journal_of(folder, units=[reckoning], number=number)
    write_tables(folder, run_settings())
    text = summary_text(folder, run_settings(worlds=("苑",), rounds=7))
    assert all(width(line) <= 100 for line in text.splitlines() if str(folder.root) not in line)
    assert " and 8 more" in text
    assert "round 7" in text


def group(**fields) -> CallGroup:
    values = {"round": 1, "role": "policy", "year": 1, "status": "ok", "drop": "", "finish": "stop", "fallback": False}
    return CallGroup(**{**values, "model": "m@1", "calls": 1, **fields})


def test_who_answered_by_hand():
    groups = [
        group(calls=5),
        group(calls=2, status="repaired", drop="principle:directness"),
        group(calls=1, status="failed", drop="malformed"),
        group(calls=1, status="fallback", drop="truncated", finish="length"),
        group(calls=1, fallback=True, status="fallback", drop="fallback"),
        group(calls=1, drop="malformed_action"),
        group(calls=4, status=""),
        group(calls=3, role="environment", status="failed", drop="empty"),
    ]
    assert share_by_itself(groups, "policy") == (7, 11), "calls of unfinished units are not counted yet"
    assert share_by_itself(groups, "environment") == (0, 3)
    assert failures(groups) == {"malformed": 2, "empty": 3, "truncated": 1, "unanswered": 0, "invalid": 0}
    assert total_calls(groups) == 18


def test_groups_hold_every_call(run):
    groups, calls = count_calls(run.table("calls")), read_table(run, "calls")
    assert total_calls(groups) == len(calls)
    assert sum(one.prompt_tokens for one in groups) == calls["prompt_tokens"].sum()
    assert groups == sorted(groups)
