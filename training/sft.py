"""The fine-tune: `python -m training.sft --spec FILE`, one process or several under torchrun.

Rows come tokenised with their labels, so no template runs twice. Weights are float32 while computing is bfloat16. A
loss or weight that is not finite, or a step too few, ends it with an error and without a checkpoint.
"""

import argparse
import json
import math
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset, concatenate_datasets
from safetensors import safe_open
from transformers import (
    AutoTokenizer,
    PrinterCallback,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.utils import logging as transformers_logging
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from training.checkpoint import Checkpoint, copy_tokenizer, write_checkpoint
from training.sft_spec import (
    LOSS_FILE,
    METRICS_FILE,
    PARENT_VARIABLE,
    TOKENS_FOLDER,
    SftSpec,
    deepspeed_options,
    read_spec,
)
from training.token_rows import TokenReport, make_token_rows, read_token_rows
from training.tokens import IGNORED, model_folder

BARRIER_SECONDS = 4 * 3600
_MODEL_FILES = ("*.safetensors", "*.json", "*.jinja", "*.txt", "*.model")
_COMPARED_NUMBERS = 4096


class SftError(RuntimeError):
    """The fine-tune failed; the text says why and what to do. Nothing was saved."""


def run(spec: SftSpec) -> dict[str, Any]:
    """Train and save; returns the metrics, which the first process also writes."""
    began = time.perf_counter()
    transformers_logging.disable_progress_bar()
    work = Path(spec.work)
    work.mkdir(parents=True, exist_ok=True)
    _check_world(spec)
    config = _config(spec)
    base = model_folder(spec.base, _MODEL_FILES)
    with config.main_process_first(local=False, desc="tokenising"):
        if config.process_index == 0:
            make_token_rows(Path(spec.data), str(base), work / TOKENS_FOLDER, spec.max_length, spec.template_options)
        rows, report = read_token_rows(work / TOKENS_FOLDER)
    planned = spec.planned_steps(len(rows))
    config.warmup_steps = spec.warmup_steps(len(rows))
    rows = _evened(rows, spec)
    watch = _Watch(work / LOSS_FILE, planned)
    trainer = (_AnswerTrainer if config.use_cpu else SFTTrainer)(
        model=str(base),
        args=config,
        train_dataset=rows,
        processing_class=AutoTokenizer.from_pretrained(base, local_files_only=True),
        peft_config=_lora(spec),
        callbacks=[watch],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    if trainer.state.global_step != planned:
        raise SftError(f"{trainer.state.global_step} optimizer steps were made instead of {planned}; nothing is saved")
    metrics = _metrics(spec, report, watch) | {"seconds": time.perf_counter() - began}
    made = _save(trainer, spec, base, metrics)
    if made is not None:
        metrics |= {"weights_digest": made.weights_digest, "dtype": made.dtype}
        (work / METRICS_FILE).write_text(json.dumps(metrics, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return metrics


class _AnswerTrainer(SFTTrainer):
    """Scores only the positions that have a label.

    TRL's own loss does so where Triton runs; on a CPU it scores every token of the prompt against the whole vocabulary,
    which took three quarters of a fine-tune on role-play rows (long prompts, short answers).
    """

    def compute_loss(
        self,
        model: torch.nn.Module,
        inputs: dict[str, torch.Tensor],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        """Sum of the labels' negative log-likelihoods over the number of labels in the whole optimizer step."""
        labels = inputs["labels"][:, 1:]
        places = (labels != IGNORED).any(dim=0).nonzero().flatten()
        if not len(places):  # a filled-up row of another process's share: it takes part and adds nothing
            places = torch.zeros(1, dtype=torch.long)
        outputs = model(
            input_ids=inputs["input_ids"],
            attention_mask=inputs.get("attention_mask"),
            logits_to_keep=places,
            use_cache=False,
        )
        logits = outputs.logits.float().flatten(0, 1)
        wanted = labels[:, places].flatten() if labels.shape[1] else inputs["labels"][:, 0]
        total = torch.nn.functional.cross_entropy(logits, wanted, ignore_index=IGNORED, reduction="sum")
        count = num_items_in_batch if num_items_in_batch is not None else (labels != IGNORED).sum().clamp(min=1)
        loss = total / count * self.accelerator.num_processes
        return (loss, outputs) if return_outputs else loss


def _evened(rows: Dataset, spec: SftSpec) -> Dataset:
    """Rows that share out evenly over processes: rows without labels fill up, or some rows would be repeated."""
    missing = -len(rows) % (spec.micro_batch * spec.world_size) if spec.world_size > 1 else 0
    if not missing:
        return rows
    first = rows[0]["input_ids"][:1]
    empty = {"input_ids": [first] * missing, "labels": [[IGNORED]] * missing}
    return concatenate_datasets([rows, Dataset.from_dict(empty, features=rows.features)])


class _Watch(TrainerCallback):
    """Writes every step's loss, and stops the run when a number is not finite or the plan is not kept."""

    def __init__(self, path: Path, planned: int) -> None:
        self.losses: list[float] = []
        self._path = path
        self._planned = planned

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any) -> None:
        """Refuse a plan of other length than the spec's."""
        if state.max_steps != self._planned:
            raise SftError(f"the trainer plans {state.max_steps} steps, the spec {self._planned}; nothing was trained")
        if args.process_index == 0:
            self._path.write_text("", encoding="utf-8")

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **_: Any,
    ) -> None:
        """Check and write one step's numbers."""
        if logs is None or "loss" not in logs:
            return
        entry = {name: float(logs[name]) for name in ("loss", "grad_norm", "learning_rate") if name in logs}
        for name, value in entry.items():
            if not math.isfinite(value):
                raise SftError(
                    f"{name} is {value} at step {state.global_step} of {self._planned}; nothing is saved. Lower "
                    "training.sft.learning_rate, or look for damaged rows in the data"
                )
        self.losses.append(entry["loss"])
        if args.process_index == 0:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": state.global_step, "steps": self._planned, **entry}) + "\n")
            numbers = " ".join(f"{name} {value:.4g}" for name, value in entry.items())
            print(f"step {state.global_step}/{self._planned} {numbers}", flush=True)


def _check_world(spec: SftSpec) -> None:
    """Refuse any other number of processes than the spec's."""
    found = int(os.environ.get("WORLD_SIZE", "1"))
    if found != spec.world_size:
        raise SftError(
            f"the spec wants {spec.world_size} processes, {found} are running; start it with torchrun "
            f"--nproc_per_node, or correct training.sft.processes"
        )
    if found == 1 and spec.device != "cpu" and torch.cuda.device_count() > 1:
        raise SftError(
            f"one process sees {torch.cuda.device_count()} GPUs; set training.sft.launcher to torchrun, or make one "
            "visible with CUDA_VISIBLE_DEVICES"
        )


def _config(spec: SftSpec) -> SFTConfig:
    """TRL's settings; made before the model, since DeepSpeed splits weights while they load."""
    on_cpu = spec.device == "cpu" or (spec.device == "auto" and not torch.cuda.is_available())
    if not on_cpu and not torch.cuda.is_available():
        raise SftError("training.sft.device = gpu, but no GPU is visible; set it to cpu or auto")
    deepspeed = deepspeed_options(Path(spec.accelerate_config)) if spec.accelerate_config else None
    if deepspeed is not None:
        _start_deepspeed(spec, on_cpu)
    return SFTConfig(
        output_dir=str(Path(spec.work) / "trainer"),
        model_init_kwargs={"dtype": "float32", "local_files_only": True},
        bf16=spec.precision == "bfloat16",
        use_cpu=on_cpu,
        ddp_backend="gloo" if on_cpu and spec.world_size > 1 else None,
        ddp_timeout=BARRIER_SECONDS,
        deepspeed=deepspeed,
        num_train_epochs=spec.epochs,
        per_device_train_batch_size=spec.micro_batch,
        gradient_accumulation_steps=spec.accumulation,
        gradient_checkpointing=spec.gradient_checkpointing,
        learning_rate=spec.learning_rate,
        lr_scheduler_type="cosine_with_min_lr",
        lr_scheduler_kwargs={"min_lr_rate": spec.min_learning_rate / spec.learning_rate},
        average_tokens_across_devices=True,
        train_sampling_strategy="sequential",
        shuffle_dataset=False,
        packing=False,
        max_length=None,
        seed=spec.seed % 2**32,
        data_seed=spec.seed % 2**32,
        logging_steps=1,
        logging_nan_inf_filter=False,
        disable_tqdm=True,
        report_to="none",
        save_strategy="no",
    )


def _start_deepspeed(spec: SftSpec, on_cpu: bool) -> None:
    """DeepSpeed needs its process group before settings and model are made; on CPUs over gloo."""
    if spec.method == "lora":
        raise SftError("method lora does not go with a DeepSpeed config; leave training.sft.accelerate_config empty")
    if on_cpu:
        os.environ["DS_ACCELERATOR"] = "cpu"
    import deepspeed

    deepspeed.init_distributed(dist_backend="gloo" if on_cpu else "nccl")


def _lora(spec: SftSpec) -> Any:
    """Adapters on all linear layers but the output head, or None."""
    if spec.method == "full":
        return None
    from peft import LoraConfig

    return LoraConfig(
        r=spec.lora_rank, lora_alpha=2 * spec.lora_rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )


def _metrics(spec: SftSpec, report: TokenReport, watch: _Watch) -> dict[str, Any]:
    return {
        "rows": report.rows,
        "dropped": {reason: list(keys) for reason, keys in report.dropped.items()},
        "input_tokens": report.input_tokens * spec.epochs,
        "label_tokens": report.label_tokens * spec.epochs,
        "served_answers": report.served_answers,
        "steps": len(watch.losses),
        "first_loss": watch.losses[0],
        "last_loss": watch.losses[-1],
        "mean_loss": sum(watch.losses) / len(watch.losses),
    }


def _save(trainer: SFTTrainer, spec: SftSpec, base: Path, metrics: dict[str, Any]) -> Checkpoint | None:
    """Write the checkpoint in the first process; the others only help to gather the weights and get None."""
    model, state = _trained(trainer, spec)
    if trainer.args.process_index != 0:
        return None
    dtype = str(model.dtype).removeprefix("torch.")
    model.config.use_cache = True

    def write(folder: Path) -> None:
        model.save_pretrained(folder, state_dict=state)
        copy_tokenizer(base, folder)
        share = _changed_share(base, folder)
        metrics["changed_share"] = share
        if share == 0.0:
            raise SftError(
                f"no weight changed in {dtype}; nothing is saved. Raise training.sft.learning_rate, or store the "
                "weights with training.sft.save_dtype = float32"
            )

    return write_checkpoint(Path(spec.checkpoint), write, dtype=dtype, facts=_facts(spec, metrics))


def _facts(spec: SftSpec, metrics: dict[str, Any]) -> dict[str, Any]:
    """What the model card and the done marker say; the spec's own facts win."""
    told = ("base", "seed", "method", "batch", "learning_rate", "min_learning_rate")
    facts = {"title": Path(spec.checkpoint).name} | {name: getattr(spec, name) for name in told}
    facts |= {name: value for name, value in metrics.items() if name not in ("seconds", "dropped")}
    return facts | dict(spec.facts) | {"spec": spec.digest}


def _trained(trainer: SFTTrainer, spec: SftSpec) -> tuple[Any, dict[str, torch.Tensor] | None]:
    """The trained model in the precision that is stored, with its gathered weights where they are split."""
    model: Any = trainer.accelerator.unwrap_model(trainer.model)
    if trainer.is_deepspeed_enabled:
        gathered: Any = trainer.accelerator.get_state_dict(trainer.model_wrapped)
        if gathered is not None:
            _check_finite(gathered)
        return model, gathered
    if spec.method == "lora":
        model = model.merge_and_unload()
    _check_finite(model.state_dict())
    return model.to(getattr(torch, spec.save_dtype)), None


def _check_finite(state: dict[str, torch.Tensor]) -> None:
    """SftError if a weight is not finite."""
    for name, tensor in state.items():
        if not bool(torch.isfinite(tensor).all()):
            raise SftError(f"the trained weight {name} is not finite; nothing is saved. Lower the learning rate")


def _changed_share(base: Path, trained: Path) -> float | None:
    """Share of weights that differ from the base in the stored precision, from the beginning of every tensor."""
    old = {name: file for file in sorted(base.glob("*.safetensors")) for name in _names(file)}
    compared = changed = 0
    for file in sorted(trained.glob("*.safetensors")):
        with safe_open(str(file), framework="pt") as new:
            for name in sorted(set(new.keys()) & set(old)):
                after = new.get_tensor(name).flatten()[:_COMPARED_NUMBERS]
                with safe_open(str(old[name]), framework="pt") as source:
                    before = source.get_tensor(name).flatten()[:_COMPARED_NUMBERS].to(after.dtype)
                compared += after.numel()
                changed += int((before != after).sum())
    return changed / compared if compared else None


def _names(file: Path) -> list[str]:
    with safe_open(str(file), framework="pt") as tensors:
        return list(tensors.keys())


def _end_with_parent(pid: int) -> None:
    """End this process when the one that started the fine-tune is gone, so that no orphan trains on."""

    def watch() -> None:
        while True:
            time.sleep(2.0)
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                os._exit(3)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def main() -> int:
    """Command line: one spec file."""
    parser = argparse.ArgumentParser(prog="python -m training.sft", description=main.__doc__)
    parser.add_argument("--spec", type=Path, required=True, help="JSON file written by training.sft_spec")
    arguments = parser.parse_args()
    if os.environ.get(PARENT_VARIABLE, "").isdigit():
        _end_with_parent(int(os.environ[PARENT_VARIABLE]))
    try:
        run(read_spec(arguments.spec))
    except (SftError, ValueError) as error:
        print(f"fine-tune: {error}", file=sys.stderr)
        return 1
    finally:
        if torch.distributed.is_available() and torch.distributed.is_initialized():
            torch.distributed.destroy_process_group()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
