"""A real fine-tune of a tiny model: what is learnt, what is saved, and that nothing broken is ever saved."""

import asyncio
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

from pipeline.trainer_job import TrainerFailed, run_trainer
from training.checkpoint import CheckpointError, is_checkpoint, read_checkpoint
from training.rows_file import TrainRow, write_rows
from training.settings import SftSettings
from training.sft_spec import LOSS_FILE, TOKENS_FOLDER, SftSpec, spec_of, write_spec
from training.tiny_model import make_tiny_model
from training.tokens import IGNORED, load_tokenizer, render_row

pytestmark = pytest.mark.engine
ROOT = Path(__file__).parents[2]
N_ROWS = 10


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return make_tiny_model(tmp_path_factory.mktemp("models") / "tiny", seed=1)


def some_rows(tokenizer, number=N_ROWS):
    """Rows of very different lengths; the last prompts are the shortest."""
    draw = random.Random(0)
    for n in range(number):
        messages = (
            {"role": "system", "content": "You are 李明."},
            {"role": "user", "content": "What now? " + "x" * draw.randint(0, 40)},
        )
        answer = "I plan " + "y" * draw.randint(1, 60)
        digest = render_row(tokenizer, messages, answer).digest
        yield TrainRow(
            key=f"row {n}", source="roleplay", messages=messages, answer=answer, prompt_digest=digest, output_tokens=1
        )


def a_spec(tiny, folder, rows=None, **fields):
    settings = {
        "batch": 4,
        "micro_batch": 2,
        "learning_rate": 1e-3,
        "min_learning_rate": 1e-4,
        "gradient_checkpointing": False,
        "device": "cpu",
        "save_dtype": "float32",
    }
    precision = fields.pop("precision", "float32")
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(folder / "train.parquet", rows if rows is not None else some_rows(load_tokenizer(str(tiny))))
    spec = spec_of(
        SftSettings(**{**settings, **fields}),
        base=str(tiny),
        data=folder / "train.parquet",
        checkpoint=folder / "checkpoint",
        work=folder / "work",
        seed=3,
        template_options={"enable_thinking": False},
        facts={"title": "round 1", "round": 1},
    )
    return msgspec.structs.replace(spec, precision=precision)


def train(spec: SftSpec):
    from training.sft import run

    return run(spec)


def weights(folder):
    from safetensors.numpy import load_file

    return load_file(Path(folder) / "model.safetensors")


def largest_difference(one, other):
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    return max(float(abs(first[name] - second[name]).max()) for name in first)


@pytest.fixture(scope="module")
def trained(tiny, tmp_path_factory):
    spec = a_spec(tiny, tmp_path_factory.mktemp("trained"))
    return spec, train(spec)


def test_every_planned_step_is_made_and_the_loss_falls(trained):
    spec, metrics = trained
    losses = [json.loads(line) for line in (Path(spec.work) / LOSS_FILE).read_text(encoding="utf-8").splitlines()]
    assert [entry["step"] for entry in losses] == [1, 2, 3]
    assert metrics["steps"] == spec.planned_steps(N_ROWS) == 3
    assert all(math.isfinite(entry["loss"]) and math.isfinite(entry["grad_norm"]) for entry in losses)
    assert metrics["last_loss"] < metrics["first_loss"]
    assert losses[0]["learning_rate"] == pytest.approx(1e-3)
    assert 1e-4 <= losses[2]["learning_rate"] < losses[1]["learning_rate"]


def test_the_checkpoint_is_whole_changed_and_loads(trained, tiny):
    from transformers import AutoModelForCausalLM, AutoTokenizer

    spec, metrics = trained
    made = read_checkpoint(Path(spec.checkpoint), verify=True)
    assert made.weights_digest == metrics["weights_digest"]
    assert metrics["changed_share"] > 0.9
    assert largest_difference(tiny, spec.checkpoint) > 1e-4
    model = AutoModelForCausalLM.from_pretrained(spec.checkpoint, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(spec.checkpoint, local_files_only=True)
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "?"}], add_generation_prompt=True, return_tensors="pt"
    )
    written = model.generate(**prompt, max_new_tokens=3, do_sample=False)
    assert written.shape[1] > prompt["input_ids"].shape[1]
    assert load_tokenizer(spec.checkpoint).stop_id == load_tokenizer(str(tiny)).stop_id
    assert "| round | 1 |" in (Path(spec.checkpoint) / "README.md").read_text(encoding="utf-8")


def test_what_is_trained_on_is_exactly_the_answers_and_their_stop_tokens(trained, tiny):
    from training.token_rows import read_token_rows

    spec, metrics = trained
    tokenizer = load_tokenizer(str(tiny))
    rows, report = read_token_rows(Path(spec.work) / TOKENS_FOLDER)
    expected = [row.answer + "<|im_end|>" for row in some_rows(tokenizer)]
    labels = [[label for label in row["labels"] if label != IGNORED] for row in rows]
    assert [tokenizer.decode(ids, with_special=True) for ids in labels] == expected
    assert metrics["label_tokens"] == report.label_tokens == sum(len(ids) for ids in labels)


def test_the_loss_is_the_mean_over_all_answer_tokens_of_a_batch(trained, tiny):
    import torch
    from transformers import AutoModelForCausalLM

    spec, metrics = trained
    tokenizer = load_tokenizer(str(tiny))
    model = AutoModelForCausalLM.from_pretrained(tiny, local_files_only=True)
    total, tokens = 0.0, 0
    for row in list(some_rows(tokenizer))[: spec.batch]:
        made = render_row(tokenizer, row.messages, row.answer)
        with torch.no_grad():
            logits = model(torch.tensor([made.input_ids])).logits[0, :-1]
        targets = torch.tensor(made.labels[1:])
        total += float(torch.nn.functional.cross_entropy(logits, targets, ignore_index=IGNORED, reduction="sum"))
        tokens += int((targets != IGNORED).sum())
    assert metrics["first_loss"] == pytest.approx(total / tokens, rel=1e-4)


def test_micro_batching_changes_neither_loss_nor_weights(trained, tiny, tmp_path):
    spec, metrics = trained
    for micro in (1, 4):
        other = a_spec(tiny, tmp_path / str(micro), micro_batch=micro)
        assert train(other)["mean_loss"] == pytest.approx(metrics["mean_loss"], rel=1e-4)
        assert largest_difference(spec.checkpoint, other.checkpoint) < 1e-5


def test_the_same_spec_gives_the_same_bytes(trained, tiny, tmp_path):
    assert train(a_spec(tiny, tmp_path))["weights_digest"] == trained[1]["weights_digest"]


def test_computing_in_bfloat16_still_trains_float32_weights(trained, tiny, tmp_path):
    spec = a_spec(tiny, tmp_path, precision="bfloat16", learning_rate=1e-5, min_learning_rate=1e-6)
    metrics = train(spec)
    assert metrics["dtype"] == "float32"
    assert metrics["changed_share"] > 0.5
    assert largest_difference(tiny, spec.checkpoint) < 1e-4


def test_a_checkpoint_can_be_stored_as_bfloat16(tiny, tmp_path):
    spec = a_spec(tiny, tmp_path, save_dtype="bfloat16", gradient_checkpointing=True)
    assert train(spec)["dtype"] == "bfloat16"
    assert json.loads((Path(spec.checkpoint) / "config.json").read_text(encoding="utf-8"))["dtype"] == "bfloat16"


def test_adapters_are_merged_before_they_are_saved(tiny, tmp_path):
    spec = a_spec(tiny, tmp_path, method="lora", lora_rank=4)
    assert train(spec)["changed_share"] > 0.5
    assert weights(spec.checkpoint).keys() == weights(tiny).keys()
    assert not list(Path(spec.checkpoint).glob("adapter*"))


@pytest.mark.parametrize(("rows", "said"), [(4, "is not finite"), (N_ROWS, "loss is nan at step 2 of 3")])
def test_numbers_that_are_not_finite_end_it_without_a_checkpoint(tiny, tmp_path, rows, said):
    from training.sft import SftError

    broken = a_spec(tiny, tmp_path, some_rows(load_tokenizer(str(tiny)), rows), learning_rate=1e39)
    with pytest.raises(SftError, match=said):
        train(broken)
    assert not Path(broken.checkpoint).exists()


def test_weights_that_did_not_change_are_not_saved(tiny, tmp_path):
    from training.sft import SftError

    spec = a_spec(tiny, tmp_path, learning_rate=1e-30, min_learning_rate=1e-30)
    with pytest.raises(SftError, match="no weight changed"):
        train(spec)
    assert not Path(spec.checkpoint).exists()


def test_unfit_rows_are_dropped_and_named(tiny, tmp_path):
    rows = list(some_rows(load_tokenizer(str(tiny)), 24))
    rows[3] = msgspec.structs.replace(rows[3], prompt_digest="0" * 32)
    rows[7] = msgspec.structs.replace(rows[7], answer="z" * 500)
    metrics = train(a_spec(tiny, tmp_path, rows, max_length=400))
    assert metrics["dropped"] == {"prompt_differs": ["row 3"], "too_long": ["row 7"]}
    assert (metrics["rows"], metrics["steps"]) == (22, 6)


def test_rows_served_by_another_template_stop_the_fine_tune(tiny, tmp_path):
    rows = [msgspec.structs.replace(row, prompt_digest="0" * 32) for row in some_rows(load_tokenizer(str(tiny)))]
    with pytest.raises(ValueError, match="10 of 10 prompts don't give the ids that were served"):
        train(a_spec(tiny, tmp_path, rows))


def test_any_other_number_of_processes_is_refused(trained):
    from training.sft import SftError

    with pytest.raises(SftError, match="the spec wants 2 processes, 1 are running"):
        train(msgspec.structs.replace(trained[0], world_size=2))


def settings_of(spec, **fields):
    return SftSettings(batch=spec.batch, micro_batch=spec.micro_batch, device="cpu", **fields)


def test_a_process_of_its_own_trains_the_same_and_is_not_run_twice(trained, tiny, tmp_path):
    spec, seen = a_spec(tiny, tmp_path), []
    result = asyncio.run(run_trainer(spec, settings_of(spec), progress=seen.append))
    assert result.weights_digest == trained[1]["weights_digest"]
    assert [entry["step"] for entry in seen] == [1, 2, 3]
    again = asyncio.run(run_trainer(spec, settings_of(spec), progress=seen.append))
    assert (again, len(seen)) == (result, 3)
    with pytest.raises(CheckpointError, match="another fine-tune"):
        asyncio.run(run_trainer(msgspec.structs.replace(spec, seed=4), settings_of(spec)))


def test_a_failed_process_is_an_error_with_its_own_words(tiny, tmp_path):
    spec = a_spec(tiny, tmp_path, learning_rate=1e39)
    with pytest.raises(TrainerFailed, match=r"exit code 1.*trainer\.log.*\nfine-tune: loss is nan at step 2 of 3"):
        asyncio.run(run_trainer(spec, settings_of(spec)))
    assert not is_checkpoint(Path(spec.checkpoint))


def test_two_processes_train_the_same_weights_as_one(trained, tiny, tmp_path):
    spec = a_spec(tiny, tmp_path, launcher="torchrun", processes=2)
    settings = settings_of(spec, launcher="torchrun", processes=2)
    result = asyncio.run(run_trainer(spec, settings, environment={"OMP_NUM_THREADS": "1"}))
    assert largest_difference(trained[0].checkpoint, result.checkpoint) < 1e-5


@pytest.mark.slow
def test_weights_split_over_two_processes_train_alike(trained, tiny, tmp_path):
    chosen = {
        "launcher": "torchrun",
        "processes": 2,
        "save_dtype": "bfloat16",
        "accelerate_config": str(ROOT / "configs" / "accelerate" / "zero3.yaml"),
    }
    spec = a_spec(tiny, tmp_path, precision="bfloat16", **chosen)
    result = asyncio.run(run_trainer(spec, settings_of(spec, **chosen), environment={"OMP_NUM_THREADS": "1"}))
    assert result.metrics["dtype"] == "bfloat16"
    assert result.metrics["mean_loss"] == pytest.approx(trained[1]["mean_loss"], rel=0.01)


def test_the_trainer_does_not_outlive_a_starter_that_was_killed(tiny, tmp_path):
    spec = a_spec(tiny, tmp_path, epochs=100_000)
    write_spec(spec, tmp_path / "given.json")
    code = (
        "import asyncio, pathlib\nfrom pipeline.trainer_job import run_trainer\n"
        "from training.settings import SftSettings\nfrom training.sft_spec import read_spec\n"
        f"spec = read_spec(pathlib.Path({str(tmp_path / 'given.json')!r}))\n"
        "asyncio.run(run_trainer(spec, SftSettings(batch=4, micro_batch=2, device='cpu')))\n"
    )
    starter = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    try:
        losses = Path(spec.work) / LOSS_FILE
        wait_until(lambda: losses.is_file() and losses.stat().st_size > 0, 120)
        trainer = int(Path(f"/proc/{starter.pid}/task/{starter.pid}/children").read_text(encoding="utf-8").split()[0])
    finally:
        starter.kill()
        starter.wait(timeout=10)
    try:
        wait_until(lambda: not is_running(trainer), 20)
    finally:
        if is_running(trainer):
            os.kill(trainer, signal.SIGKILL)
    assert not is_checkpoint(Path(spec.checkpoint))


def is_running(pid):
    stat = Path(f"/proc/{pid}/stat")
    return stat.is_file() and stat.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0] != "Z"


def wait_until(holds, seconds):
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)
