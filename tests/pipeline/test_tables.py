"""Tables of real small lives and of journals made by hand: their numbers, their bytes, and what is missing."""

import datasets
import msgspec
import pandas as pd
import pyarrow.parquet as pq
import pytest

from pipeline.run_folder import TABLES, RunFolder
from pipeline.table_rows import RewardLine, attempt_of, select_rounds
from pipeline.tables import (
    read_table,
    rewards_of_round,
    selection_of_round,
    write_tables,
    years_of_round,
)
from sim.core.facts import UnitFacts, Verdict
from sim.core.keys import UnitKey, call_key
from sim.core.reward import LifeReward
from sim.journal.rows import CallRow, Timing
from sim.llm.protocol import Reply, Usage
from tests.pipeline.small_runs import journal_of, live_round, run_settings
from tests.whole.lives import faulty, lived, small_life
from training.prepare import REPORT_FILE, Prepared
from training.samples import Drop
from training.settings import SelectionSettings

TWO_YEARS = {"n_year": 2, "n_week": 1, "n_day": 2, "n_contact": 2}


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> RunFolder:
    """Two rounds; in the first one answers go wrong."""
    folder = live_round(tmp_path_factory.mktemp("run"), 1, faulty(malformed=0.2, empty=0.1, truncated=0.1))
    live_round(folder.root, 2, time=TWO_YEARS)
    write_tables(folder, run_settings())
    return folder


def a_call(unit: UnitKey, agent: str, step: str = "plan", *, text: str = "{}", **reply) -> CallRow:
    """A call as a journal holds it."""
    return CallRow(
        key=call_key(unit, agent, step, reply.pop("attempt", 1)),
        unit=str(unit),
        agent=agent,
        duty=step,
        role="policy" if agent else "environment",
        seed=2**63 - 1,
        max_tokens=10,
        temperature=1.0,
        top_p=1.0,
        messages=(),
        reply=Reply(**{"text": text, "finish": "stop", "model": "m@1", "usage": Usage(prompt_tokens=7), **reply}),
        timing=Timing(started=3.0, seconds=0.5, cached_tokens=4, host="a"),
    )


def a_reward(world: str, agent: str, year: int, reward: float) -> RewardLine:
    zeros = dict.fromkeys(RewardLine.__struct_fields__, 0.0)
    return RewardLine(
        **{**zeros, "round": 1, "world": world, "agent": agent, "year": year, "reward": reward, "n_penalties": 0}
    )


def test_every_table_is_there_and_pandas_reads_it(run):
    for name in TABLES:
        frame = pd.read_parquet(run.table(name))
        assert list(frame.columns) == list(read_table(run, name).columns)
        assert name == "drops" or len(frame), name


def test_datasets_reads_a_table(run, tmp_path):
    rows = datasets.load_dataset(
        "parquet", data_files=str(run.table("rewards")), split="train", cache_dir=str(tmp_path)
    )
    assert rows.num_rows == len(read_table(run, "rewards"))


def test_unknown_and_missing_tables_are_named(run, tmp_path):
    with pytest.raises(ValueError, match="no table of a run; there are calls"):
        read_table(run, "call")
    with pytest.raises(ValueError, match="does not exist yet"):
        read_table(RunFolder(tmp_path), "calls")


def test_bad_answers_are_counted_by_kind_and_none_may_be_learnt_from(run):
    calls = read_table(run, "calls")
    first = calls[calls["round"] == 1]
    assert {"malformed", "empty", "truncated"} <= set(first["drop"])
    assert set(first[first["answer"].str.strip() == ""]["drop"]) == {"empty"}
    assert set(first[first["finish"] == "length"]["drop"]) == {"truncated"}
    assert set(first[first["drop"] == ""]["status"]) <= {"ok", "repaired"}
    assert (first["attempt"] > 1).any()
    assert set(calls[calls["agent"] == ""]["role"]) == {"environment"}


def test_keys_join_calls_with_timings_and_hold_no_duplicates(run):
    calls, timings = read_table(run, "calls"), read_table(run, "timings")
    assert not calls.duplicated(["round", "world", "key"]).any()
    assert (calls["key"] == timings["key"]).all()


def test_agent_years_hold_the_tokens_of_the_calls(run):
    calls, years = read_table(run, "calls"), read_table(run, "agent_years")
    assert len(years) == 4 + 8
    for _, row in years.iterrows():
        of_year = (calls["agent"] == row["agent"]) & (calls["year"] == row["year"]) & (calls["round"] == row["round"])
        assert row["input_tokens"] == calls[of_year]["prompt_tokens"].sum()
        assert row["output_tokens"] == calls[of_year]["output_tokens"].sum()


def test_rewards_advantages_and_selection_fit_together(run):
    rewards, advantages, selection = (read_table(run, name) for name in ("rewards", "advantages", "selection"))
    of_round = rewards[rewards["round"] == 2].pivot_table(index="agent", columns="year", values="reward")
    gained = advantages[advantages["round"] == 2].pivot_table(index="agent", columns="year", values="advantage")
    first = (of_round[1] + 0.9 * of_round[2]) / 1.9
    pd.testing.assert_series_equal(gained[1], first, check_names=False)
    pd.testing.assert_series_equal(gained[2], of_round[2] - first, check_names=False)
    assert selection.groupby(["round", "world", "year"])["selected"].sum().tolist() == [1, 1, 1]
    assert set(selection[selection["selected"]]["rank"]) == {1}
    assert (rewards["adjusted_social"].notna()).all()


def test_weeks_profiles_and_ratings_begin_with_the_founding(run):
    weeks, profiles, ratings = (read_table(run, name) for name in ("agent_weeks", "profiles", "ratings"))
    years = read_table(run, "agent_years")
    assert weeks.groupby("round").size().tolist() == [4 * 2, 4 * 2]
    assert set(weeks[["joint", "public", "encounter", "solo"]].sum(axis=1)) == {2}
    assert profiles.groupby(["round", "year"]).size().tolist() == [4] * 5
    assert profiles.filter(like="trait_").shape[1] == 10
    assert profiles.filter(like="talent_").notna().all(axis=None)
    assert profiles["position"].str.contains("/").any()
    after = profiles[profiles["year"] > 0].sort_values(["round", "year", "agent"])
    assert after["deposit"].tolist() == years.sort_values(["round", "year", "agent"])["deposit"].tolist()
    assert set(ratings["year"]) == {0, 1, 2}
    liked = ratings[(ratings["affection"] >= 60) & (ratings["year"] > 0)].groupby(["round", "year", "rater"]).size()
    expected = years[years["n_likes"] > 0].set_index(["round", "year", "agent"])["n_likes"]
    assert liked.to_dict() == expected.to_dict()


def test_two_runs_have_the_same_bytes_but_for_timings(tmp_path):
    for name in ("a", "b"):
        folder = live_round(tmp_path / name, seed=7)
        write_tables(folder, run_settings())
    for name in TABLES:
        first, second = (RunFolder(tmp_path / run).table(name).read_bytes() for run in ("a", "b"))
        assert name == "timings" or first == second, name


def test_a_life_that_was_cut_off_gives_the_calls_so_far_and_the_complete_years(tmp_path):
    class Stopped(RuntimeError):
        pass

    def stop(unit: UnitKey, done: int, pending: int) -> None:
        if unit.year == 2 and unit.stage == "plan":
            raise Stopped

    folder = RunFolder(tmp_path)
    with pytest.raises(Stopped):
        lived(folder.journal(1, "apartment").parent, small_life(time=TWO_YEARS), on_done=stop)
    rows = write_tables(folder, run_settings())
    assert rows["agent_years"] == rows["rewards"] == rows["advantages"] == 4
    calls = read_table(folder, "calls")
    assert set(calls["year"]) == {0, 1, 2}
    assert len(selection_of_round(folder, 1, run_settings()).raters()) == 1
    assert {row["year"] for row in years_of_round(folder, 1)} == {1}


def test_an_empty_journal_and_an_empty_folder_give_empty_tables(tmp_path):
    for folder in (RunFolder(tmp_path / "none"), journal_of(RunFolder(tmp_path / "empty"))):
        rows = write_tables(folder, run_settings())
        assert rows == dict.fromkeys(TABLES, 0)
        assert all(read_table(folder, name).empty for name in TABLES)
        assert "answer" in pq.read_schema(folder.table("calls")).names
        assert rewards_of_round(folder, 1) == []


def test_a_call_of_an_unfinished_unit_has_neither_status_nor_drop(tmp_path):
    done, undone = (UnitKey(year=1, week=1, stage="plan", who=who) for who in ("苏雨", "Ann/Mary"))
    facts = UnitFacts(
        unit=done,
        by_agent={"苏雨": ()},
        verdicts=(Verdict(key=call_key(done, "苏雨", "plan", 2), agent="苏雨", duty="plan", status="ok"),),
    )
    calls = [
        a_call(done, "苏雨", attempt=1, text="half a pair \ud83d"),
        a_call(done, "苏雨", attempt=2, text="好"),
        a_call(undone, "Ann/Mary", tries=("timeout", "refused")),
    ]
    folder = journal_of(RunFolder(tmp_path), calls, [facts])
    write_tables(folder, run_settings())
    table = read_table(folder, "calls").set_index(["agent", "attempt"])
    assert table.loc[("苏雨", 2), ["status", "drop", "answer"]].tolist() == ["ok", "", "好"]
    assert table.loc[("苏雨", 1), ["status", "drop", "answer"]].tolist() == ["", "unused", "half a pair ?"]
    assert table.loc[("Ann/Mary", 1), ["status", "drop", "who"]].tolist() == ["", "", "Ann/Mary"]
    assert table["seed"].tolist() == [2**63 - 1] * 3
    timings = read_table(folder, "timings")
    assert timings["tries"].tolist() == ["timeout,refused", "", ""]
    assert set(timings["cached_tokens"]) == {4}


def test_an_agent_without_calls_has_a_year_of_zeros(tmp_path):
    reward = dict.fromkeys(LifeReward.__struct_fields__, 1.5) | {"n_penalties": 2}
    reckoning = UnitFacts(
        unit=UnitKey(year=1, week=1, stage="life_reward"),
        by_agent={},
        outputs={"rewards": {"苏雨": reward, "Ben": reward}, "baseline": {"Ben": 0.5}},
    )
    folder = journal_of(RunFolder(tmp_path), units=[reckoning])
    write_tables(folder, run_settings())
    years = read_table(folder, "agent_years").set_index("agent")
    assert years.loc["苏雨", ["input_tokens", "joint_participated", "deposit"]].tolist() == [0, 0, 0]
    adjusted = read_table(folder, "rewards").set_index("agent")["adjusted_social"]
    assert adjusted["Ben"] == 1.0
    assert pd.isna(adjusted["苏雨"])
    assert read_table(folder, "rewards").set_index("agent")["baseline_social"]["Ben"] == 0.5


def test_a_life_that_goes_on_takes_its_baseline_from_the_round_where_it_began(tmp_path):
    reward = dict.fromkeys(LifeReward.__struct_fields__, 1.0) | {"n_penalties": 0}
    folder = RunFolder(tmp_path)
    for number, outputs in ((1, {"baseline": {"Ben": 0.25}}), (2, {})):
        unit = UnitKey(year=number, week=2, stage="life_reward")
        units = [UnitFacts(unit=unit, by_agent={}, outputs={"rewards": {"Ben": reward}, **outputs})]
        journal_of(folder, units=units, number=number)
    (line,) = rewards_of_round(folder, 2)
    assert (line.year, line.adjusted_social) == (2, 0.75)
    write_tables(folder, run_settings())
    years = read_table(folder, "agent_years")
    assert years[["round", "year"]].to_numpy().tolist() == [[1, 1], [2, 2]]


def test_selection_worked_by_hand():
    # Four agents, two years, gamma 0.5. A_1 = (r_1 + r_2/2) / 1.5, A_2 = r_2 - A_1.
    rewards = {"Ann": (3.0, 0.0), "Ben": (0.0, 3.0), "Cy": (1.5, 1.5), "Dee": (0.0, 0.0)}
    lines = [a_reward("w", name, year, r[year - 1]) for name, r in rewards.items() for year in (1, 2)]
    chosen = select_rounds(lines, SelectionSettings(gamma=0.5, fraction=0.5, years=(1,)))
    advantage = {(line.agent, line.year): line.advantage for line in chosen.advantages}
    assert advantage == pytest.approx(
        {
            ("Ann", 1): 2.0, ("Ann", 2): -2.0, ("Ben", 1): 1.0, ("Ben", 2): 2.0,
            ("Cy", 1): 1.5, ("Cy", 2): 0.0, ("Dee", 1): 0.0, ("Dee", 2): 0.0,
        }
    )  # fmt: skip
    ranks = {line.year: [] for line in chosen.selection}
    for line in chosen.selection:
        ranks[line.year].append(line.agent)
    assert ranks == {1: ["Ann", "Cy", "Ben", "Dee"], 2: ["Ben", "Cy", "Dee", "Ann"]}
    assert chosen.raters() == pytest.approx(
        {("w", "Ann", 1): 2.0, ("w", "Cy", 1): 1.5, ("w", "Ben", 2): 2.0, ("w", "Cy", 2): 0.0}
    )
    assert {(line.agent, line.year) for line in chosen.selection if line.used} == {("Ann", 1), ("Cy", 1)}


def test_worlds_are_selected_from_on_their_own():
    lines = [a_reward(world, name, 1, value) for world, value in (("a", 9.0), ("b", 1.0)) for name in ("Ann", "Ben")]
    chosen = select_rounds(lines, SelectionSettings())
    assert set(chosen.raters()) == {("a", "Ann", 1), ("b", "Ann", 1)}
    assert select_rounds([], SelectionSettings()).raters() == {}


def test_drops_come_from_the_fine_tunes_reports(tmp_path):
    folder = journal_of(RunFolder(tmp_path))
    step = folder.step(1, "finetune")
    step.mkdir(parents=True)
    drop = Drop(source="roleplay", reason="malformed", stage="plan", calls=3)
    (step / REPORT_FILE).write_bytes(msgspec.json.encode(Prepared(enough=True, drops=(drop,))))
    (step / "metrics.json").write_text('{"dropped": {"too_long": ["a", "b"], "other": []}}', encoding="utf-8")
    write_tables(folder, run_settings())
    assert read_table(folder, "drops").to_numpy().tolist() == [
        [1, "roleplay", "malformed", "plan", 3],
        [1, "roleplay", "trainer_too_long", "sft", 2],
    ]


@pytest.mark.parametrize(("key", "attempt"), [("Y1-W1/plan.0/A/A/plan/3", 3), ("odd", 1), ("a/b/", 1)])
def test_attempt_of_a_key(key, attempt):
    assert attempt_of(key) == attempt
