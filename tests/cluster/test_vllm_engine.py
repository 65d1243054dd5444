"""One real engine with the small model: chats, forms of answers, seeds, and weight swaps that prove themselves."""

import asyncio
import json
import os
import shutil
from pathlib import Path

import pytest

from pipeline.engine_spec import EngineSpec
from pipeline.response_format import response_format
from pipeline.vllm_engine import EngineDied, ReloadRefused, VllmEngine
from sim.core.keys import digest_of_ids
from sim.llm.protocol import OutputFormat, Tag
from training.base_model import check_model_folder
from training.checkpoint import weights_digest

pytestmark = pytest.mark.engine

MODEL = Path(os.environ.get("LIFELOOP_MODEL", Path(__file__).parents[2] / ".cache/models/smollm2-135m-instruct"))
SCHEMA = {
    "type": "object",
    "properties": {
        "plan": {"type": "string", "maxLength": 40},
        "mood": {"type": "integer", "minimum": -5, "maximum": 5},
        "who": {"type": "array", "items": {"enum": ["Mara Voss", "李雷"]}, "maxItems": 2},
    },
    "required": ["plan", "mood", "who"],
    "additionalProperties": False,
}
LONG_PROMPT = "The harbour town wakes slowly. " * 60


@pytest.fixture(scope="module")
def run():
    """Runs coroutines in the one loop that the engine lives in."""
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture(scope="module")
def engine(run):
    check_model_folder(MODEL)
    engine = VllmEngine(
        EngineSpec(
            name="policy", model=str(MODEL), dtype="bfloat16", max_model_len=2048, max_num_seqs=16, kv_cache_gib=0.5
        )
    )
    run(engine.start())
    yield engine
    run(engine.stop())


@pytest.fixture(scope="module")
def changed(tmp_path_factory):
    """A checkpoint with other weights, as a fine-tune would leave it (in float32)."""
    import torch
    from safetensors.torch import load_file, save_file

    folder = tmp_path_factory.mktemp("changed") / "model"
    shutil.copytree(MODEL, folder)
    weights = {name: tensor.float() for name, tensor in load_file(folder / "model.safetensors").items()}
    random = torch.Generator().manual_seed(0)
    for name, tensor in weights.items():
        if "norm" not in name:
            tensor.mul_(1 + 0.2 * torch.randn(tensor.shape, generator=random))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def body(text, **more):
    return {"messages": [{"role": "user", "content": text}], "max_tokens": 24, "temperature": 0.0} | more


def text_of(reply):
    return reply["choices"][0]["message"]["content"]


def replies_of(run, engine, text, form, max_tokens):
    """Four seeded answers, asked at once."""

    async def ask():
        calls = (
            engine.chat(body(text, max_tokens=max_tokens, temperature=1.0, seed=seed, **form)) for seed in range(4)
        )
        return await asyncio.gather(*calls)

    return run(ask())


def test_a_chat_is_answered_with_its_tokens(engine, run):
    from transformers import AutoTokenizer

    reply = run(engine.chat(body("Name a colour.")))
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    ids = reply["choices"][0]["token_ids"]
    assert reply["model"] == "policy@base"
    assert tokenizer.decode(ids, skip_special_tokens=True) == text_of(reply)
    assert len(ids) == reply["usage"]["completion_tokens"]
    prompt = tokenizer.apply_chat_template(body("Name a colour.")["messages"], add_generation_prompt=True)["input_ids"]
    assert reply["prompt_digest"] == digest_of_ids(prompt)
    assert reply["prompt_ids"] == reply["usage"]["prompt_tokens"] == len(prompt)


def test_json_follows_its_schema(engine, run):
    form = response_format(OutputFormat(kind="json", schema=SCHEMA), 200)
    for reply in replies_of(run, engine, "Plan your week.", form, 200):
        value = json.loads(text_of(reply))
        assert reply["choices"][0]["finish_reason"] == "stop"
        assert set(value) == {"plan", "mood", "who"}
        assert len(value["plan"]) <= 40
        assert -5 <= value["mood"] <= 5
        assert set(value["who"]) <= {"Mara Voss", "李雷"}


def test_a_json_answer_may_be_a_function_call_instead(engine, run):
    tool = {
        "type": "object",
        "properties": {"name": {"enum": ["read_file"]}, "arguments": {"enum": [{}]}},
        "required": ["name", "arguments"],
    }
    form = response_format(OutputFormat(kind="json", schema=SCHEMA, tools=(tool,)), 250)
    for reply in replies_of(run, engine, "Plan your week.", form, 250):
        assert reply["choices"][0]["finish_reason"] == "stop"
        assert text_of(reply).startswith(("{", "<tool_call>"))


def test_text_may_hold_tags_but_no_broken_ones(engine, run):
    action = {"type": "object", "properties": {"to": {"type": "string", "maxLength": 20}}, "required": ["to"]}
    tag = Tag(name="role_action", schema=action | {"additionalProperties": False}, at_least=1, at_most=2)
    form = response_format(
        OutputFormat(kind="tagged", tags=(tag,), spans=("private", "visible_to"), text_chars=80), 160
    )
    for reply in replies_of(run, engine, "Greet your friends.", form, 400):
        text = text_of(reply)
        assert reply["choices"][0]["finish_reason"] == "stop"
        assert 1 <= text.count("<role_action>") == text.count("</role_action>") <= 2
        assert text.count("<private>") == text.count("</private>")
        assert json.loads(text.split("<role_action>")[1].split("</role_action>")[0]).keys() == {"to"}


def test_text_with_spans_ends_at_its_bound(engine, run):
    form = response_format(OutputFormat(kind="text", spans=("private",), text_chars=50), 80)
    reply = run(engine.chat(body("Tell me a long story.", max_tokens=300, **form)))
    assert reply["choices"][0]["finish_reason"] == "stop"
    assert 0 < len(text_of(reply)) <= 50 + 2 * 12 + len("<private></private>")


def test_a_seed_repeats_its_answer(engine, run):
    def ask(seed):
        return text_of(run(engine.chat(body("Invent a name for a ship.", temperature=1.0, seed=seed))))

    assert ask(5) == ask(5)
    assert len({ask(seed) for seed in range(6)}) > 1


def test_a_shared_prefix_is_cached(engine, run):
    first = run(engine.chat(body(LONG_PROMPT + "Who wakes first?")))
    second = run(engine.chat(body(LONG_PROMPT + "Who wakes last?")))
    assert second["usage"]["cached_tokens"] > first["usage"]["prompt_tokens"] // 2


@pytest.mark.parametrize(
    ("wrong", "status"),
    [
        ({"messages": [{"role": "user", "content": "a b " * 3000}]}, 400),
        ({"temperature": -1.0}, 400),
        ({"model": "policy@other"}, 404),
        ({"response_format": {"type": "structural_tag", "format": {"type": "nonsense"}}}, 400),
    ],
)
def test_a_wrong_request_comes_back_as_an_error(engine, run, wrong, status):
    reply = run(engine.chat(body("Hello") | wrong))
    assert reply["error"]["status"] == status
    assert reply["error"]["message"]


def test_a_deadline_ends_a_chat_and_leaves_the_engine_free(engine, run):
    reply = run(engine.chat(body("Tell a story.", max_tokens=1900, ignore_eos=True), timeout_s=0.5))
    assert reply["error"]["status"] == 504
    assert run(engine.health())["running"] == 0
    assert text_of(run(engine.chat(body("Name a colour."))))


def test_new_weights_are_served_with_proof_and_old_ones_come_back(engine, run, changed):
    question = body(LONG_PROMPT + "What comes next?")
    run(engine.chat(question))
    before = run(engine.chat(question))
    assert before["usage"]["cached_tokens"] > 0

    proof = run(engine.reload(str(changed), "r2"))
    after = run(engine.chat(question))
    assert proof["model"] == after["model"] == "policy@r2"
    assert proof["weights_digest"] == weights_digest(changed) != weights_digest(MODEL)
    assert proof["held"]["equal"] == proof["held"]["modules"] > 100
    assert proof["cached_tokens_after"] == 0
    assert after["usage"]["cached_tokens"] == 0
    assert text_of(after) != text_of(before)

    assert run(engine.reload(str(MODEL), "r3"))["weights_digest"] == weights_digest(MODEL)
    again = run(engine.chat(question))
    assert again["model"] == "policy@r3"
    assert text_of(again) == text_of(before)


def test_the_proof_fails_for_weights_that_are_not_held(engine, run, changed):
    report = run(engine._engine.collective_rpc("compare_with_checkpoint", args=(str(changed),)))[0]
    assert report["different"]
    assert report["equal"] < report["modules"]


def test_a_chat_during_a_swap_waits_and_is_answered_by_one_version(engine, run):
    async def both():
        async with asyncio.TaskGroup() as group:
            early = [
                group.create_task(engine.chat(body(f"Count from {n}.", max_tokens=40, ignore_eos=True)))
                for n in range(6)
            ]
            await asyncio.sleep(0.3)
            swap = group.create_task(engine.reload(str(MODEL), "r4"))
            while (await engine.health())["open"]:
                await asyncio.sleep(0.01)
            late = [group.create_task(engine.chat(body(f"Count from {n}."))) for n in range(6)]
        return [task.result() for task in early], swap.result(), [task.result() for task in late]

    old = engine.model_id
    early, proof, late = run(both())
    assert {reply["model"] for reply in early} == {old}
    assert {reply["usage"]["completion_tokens"] for reply in early} == {40}
    assert {reply["model"] for reply in late} == {proof["model"]} == {"policy@r4"}


def test_weights_that_do_not_fit_are_refused_and_the_old_ones_stay(engine, run, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(ReloadRefused, match="can't be read"):
        run(engine.reload(str(tmp_path / "empty"), "r9"))
    broken = tmp_path / "broken"
    shutil.copytree(MODEL, broken)
    with (broken / "model.safetensors").open("r+b") as file:
        file.truncate(1000_000)
    with pytest.raises(ReloadRefused, match="cut short"):
        run(engine.reload(str(broken), "r9"))
    assert run(engine.chat(body("Name a colour.")))["model"] != "policy@r9"


def test_paused_chats_wait(engine, run):
    async def paused():
        await engine.pause()
        waiting = asyncio.create_task(engine.chat(body("Name a colour.")))
        done, _ = await asyncio.wait({waiting}, timeout=1.0)
        held = not done
        await engine.resume()
        return held, await waiting

    held, reply = run(paused())
    assert held
    assert text_of(reply)


def test_a_stopped_engine_says_so():
    engine = VllmEngine(EngineSpec(name="policy", model=str(MODEL)))
    with pytest.raises(EngineDied, match="never started"):
        asyncio.run(engine.chat(body("Hello")))
