"""From calls to the data set: halves of equal output, every candidate accounted for, the same bytes in any order."""

import asyncio
import json
import random
from collections import Counter

import pytest

from sim.core.facts import Verdict
from sim.core.keys import Scope
from training.checkpoint import model_card
from training.general import OFFLINE, open_prompts
from training.prepare import Content, Inputs, card_facts, prepare
from training.rows_file import read_rows
from training.samples import Call
from training.self_distil import DistilAnswer
from training.settings import MixtureSettings, SelectionSettings, SftSettings, TrainingSettings
from training.tiny_model import make_tiny_model
from training.tokens import load_tokenizer

SCOPE = Scope(run_seed=7, round=1, world="")
AGENTS = ("Mara Voss", "李明")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory):
    return load_tokenizer(str(make_tiny_model(tmp_path_factory.mktemp("models") / "tiny", seed=1)))


def calls():
    """Twenty weeks' plans of two agents in years 1 and 2, some of them broken, and four of the environment."""
    made = []
    for year in (1, 2):
        for week in range(1, 11):
            for agent in AGENTS:
                key = f"Y{year}-W{week}/plan.0/{agent}/{agent}/plan/0"
                finish = "length" if week == 3 else "stop"
                made.append(a_call(key, agent, "plan", finish, f"In week {week} I {'work ' * week}and rest."))
        for week in (1, 2):
            key = f"Y{year}-W{week}/public_events.0///public_events/0"
            made.append(a_call(key, "", "public_events", "stop", '{"events": []}'))
    return made


def a_call(key, agent, duty, finish, answer):
    unit = "/".join(key.split("/")[:3])
    return Call(world="apartment", key=key, unit=unit, agent=agent, duty=duty, finish=finish, answer=answer)


def content_of(sample):
    by_key = {call.key: call for call in calls()}
    messages = ({"role": "system", "content": f"You are {sample.agent}."}, {"role": "user", "content": "Plan."})
    return Content(messages=messages, answer=by_key[sample.key].answer)


async def ask(question):
    number = sum(map(ord, question.messages[-1]["content"])) % 30
    return DistilAnswer(text=f"It is {'so ' * number}.{question.attempt}", finish="stop", model="policy@base")


def inputs(tokenizer, order=None, **fields):
    made = calls()
    verdicts = {
        (call.world, call.key): Verdict(
            key=call.key,
            agent=call.agent,
            duty=call.duty,
            status="ok",
            drop="principle:no_parroting" if "W4" in call.unit else "",
        )
        for call in made
    }
    if order is not None:
        random.Random(order).shuffle(made)
    values = {
        "calls": made,
        "verdicts": verdicts,
        "advantages": {("apartment", agent, year): 0.5 for agent in AGENTS for year in (1, 2)},
        "content_of": content_of,
        "open_pass": lambda number: open_prompts(OFFLINE, seed=number),
        "ask": ask,
        "tokenizer": tokenizer,
    }
    return Inputs(**{**values, **fields})


def settings(years=(1,), sft=None, min_rows=4, **mixture):
    return TrainingSettings(
        selection=SelectionSettings(years=years),
        mixture=MixtureSettings(**mixture),
        sft=sft or SftSettings(),
        min_rows=min_rows,
    )


def made(tokenizer, folder, chosen=None, **fields):
    prepared = asyncio.run(prepare(inputs(tokenizer, **fields), chosen or settings(), folder, SCOPE))
    rows = list(read_rows(folder / prepared.data)) if prepared.enough else []
    return prepared, rows


def test_general_output_equals_roleplay_output(tokenizer, tmp_path):
    prepared, rows = made(tokenizer, tmp_path)
    tokens = Counter()
    for row in rows:
        assert row["output_tokens"] == len(tokenizer.ids_of(row["answer"])) + 1
        tokens[row["source"]] += row["output_tokens"]
    allowed = max(0.01 * tokens["roleplay"], min(row["output_tokens"] for row in rows) / 2)
    assert abs(tokens["roleplay"] - tokens["general"]) <= allowed
    assert {part.source: part.output_tokens for part in prepared.parts} == dict(tokens)
    assert prepared.rows == len(rows)


def test_rows_hold_what_the_model_saw_and_where_it_comes_from(tokenizer, tmp_path):
    _, rows = made(tokenizer, tmp_path)
    row = next(row for row in rows if row["agent"] == "李明" and row["week"] == 5)
    assert row["messages"] == [
        {"role": "system", "content": "You are 李明."},
        {"role": "user", "content": "Plan."},
    ]
    assert row["answer"] == "In week 5 I work work work work work and rest."
    assert (row["year"], row["stage"], row["advantage"], row["world"]) == (1, "plan", 0.5, "apartment")
    general = next(row for row in rows if row["source"] == "general")
    assert general["duty"].startswith("lifeloop/")
    assert general["model"] == "policy@base"


def test_nothing_broken_is_among_the_rows_and_every_candidate_is_accounted_for(tokenizer, tmp_path):
    prepared, rows = made(tokenizer, tmp_path)
    roleplay = [row for row in rows if row["source"] == "roleplay"]
    assert {row["week"] for row in roleplay} == {1, 2, 5, 6, 7, 8, 9, 10}
    dropped = {(drop.source, drop.reason): drop.calls for drop in prepared.drops}
    assert dropped[("roleplay", "truncated")] == 2
    assert dropped[("roleplay", "principle:no_parroting")] == 2
    assert len(roleplay) + 4 == 20
    general = sum(calls for (source, _), calls in dropped.items() if source == "general")
    assert sum(row["source"] == "general" for row in rows) + general == prepared.asked


def test_only_the_years_of_the_settings_are_used(tokenizer, tmp_path):
    _, rows = made(tokenizer, tmp_path, settings(years=(2, 4)))
    assert {row["year"] for row in rows if row["source"] == "roleplay"} == {2}


def test_the_order_of_the_journal_does_not_change_a_byte(tokenizer, tmp_path):
    made(tokenizer, tmp_path / "a")
    made(tokenizer, tmp_path / "b", order=5)
    for name in ("train.parquet", "prepared.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_too_few_rows_make_no_data_set(tokenizer, tmp_path):
    prepared, _ = made(tokenizer, tmp_path, settings(min_rows=17))
    assert not prepared.enough
    assert prepared.asked == 0
    assert [path.name for path in tmp_path.iterdir()] == ["prepared.json"]
    assert json.loads((tmp_path / "prepared.json").read_text(encoding="utf-8"))["enough"] is False


def test_a_cap_keeps_so_many_roleplay_rows(tokenizer, tmp_path):
    prepared, rows = made(tokenizer, tmp_path, settings(max_roleplay_rows=6))
    assert sum(row["source"] == "roleplay" for row in rows) == 6
    assert {drop.reason: drop.calls for drop in prepared.drops}["cap"] == 10


def test_environment_rows_count_in_the_roleplay_half(tokenizer, tmp_path):
    prepared, rows = made(tokenizer, tmp_path, settings(environment=True, environment_share=0.5))
    tokens = Counter()
    for row in rows:
        tokens[row["source"]] += row["output_tokens"]
    assert sum(row["source"] == "environment" for row in rows) == 2
    assert abs(tokens["roleplay"] + tokens["environment"] - tokens["general"]) <= prepared.allowed_gap_tokens


def test_rows_beyond_the_longest_length_are_dropped_and_named(tokenizer, tmp_path):
    chosen = settings(sft=SftSettings(max_length=110), min_rows=2, distil_max_tokens=20)
    prepared, rows = made(tokenizer, tmp_path, chosen)
    whole = [
        len(tokenizer.prompt_ids(row["messages"])) + row["output_tokens"] for row in rows if row["source"] == "roleplay"
    ]
    assert max(whole) <= 110
    too_long = sum(drop.calls for drop in prepared.drops if drop.reason == "too_long")
    assert too_long == len(prepared.too_long) > 0
    assert "apartment: Y1-W10/plan.0/李明/李明/plan/0" in prepared.too_long


def test_prompts_that_leave_no_room_for_an_answer_are_not_asked(tokenizer, tmp_path):
    asked = []

    async def listening(question):
        asked.append(len(tokenizer.prompt_ids(question.messages)))
        return await ask(question)

    made(tokenizer, tmp_path, settings(sft=SftSettings(max_length=200), distil_max_tokens=90), ask=listening)
    assert max(asked) <= 110


def test_answers_longer_than_any_row_are_refused(tokenizer, tmp_path):
    with pytest.raises(ValueError, match=r"distil_max_tokens = 200 leaves no room"):
        made(tokenizer, tmp_path, settings(sft=SftSettings(max_length=200), distil_max_tokens=200))


def test_without_general_answers_the_roleplay_half_is_thinned_to_nothing(tokenizer, tmp_path):
    async def silent(question):
        return DistilAnswer(text="", finish="stop")

    prepared, _ = made(tokenizer, tmp_path, ask=silent)
    assert not prepared.enough
    reasons = {drop.reason: drop.calls for drop in prepared.drops}
    assert reasons["thinned"] == 16
    assert reasons["empty"] == prepared.asked


def test_a_share_of_zero_asks_nothing_and_trains_on_roleplay_alone(tokenizer, tmp_path):
    prepared, rows = made(tokenizer, tmp_path, settings(general_share=0.0))
    assert {row["source"] for row in rows} == {"roleplay"}
    assert prepared.asked == 0


def test_the_model_card_names_the_parts_and_the_drops(tokenizer, tmp_path):
    prepared, _ = made(tokenizer, tmp_path)
    card = model_card({"title": "t", **card_facts(prepared)}).splitlines()
    roleplay = next(part for part in prepared.parts if part.source == "roleplay")
    assert f"| roleplay | {roleplay.rows} | {roleplay.output_tokens} |" in card
    assert "| principle:no_parroting | 2 |" in card
