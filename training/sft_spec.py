"""What a fine-tune is told: the trainer's only input, a JSON file, with the arithmetic to check before it starts."""

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from sim.core.keys import digest_of
from training.settings import SftSettings

METRICS_FILE = "metrics.json"
LOSS_FILE = "loss.jsonl"
TOKENS_FOLDER = "tokens"
PARENT_VARIABLE = "LIFELOOP_TRAINER_PARENT"
"""Environment variable with the process id whose end ends the trainer too."""


class SftSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One fine-tune."""

    base: str
    """Folder or hub name of the model to start from."""
    data: str
    """Parquet file with `messages`, `answer`, `token_ids`, `prompt_digest`."""
    data_digest: str
    """SHA-256 of that file."""
    checkpoint: str
    """Folder to make."""
    work: str
    """Folder for metrics, losses and token ids."""
    seed: int
    world_size: int = 1
    """Processes in all; the trainer refuses any other number."""
    method: Literal["full", "lora"] = "full"
    lora_rank: int = 16
    epochs: int = 1
    batch: int = 256
    micro_batch: int = 1
    learning_rate: float = 1e-5
    min_learning_rate: float = 1e-6
    warmup_share: float = 0.03
    max_length: int = 32768
    device: Literal["auto", "cpu", "gpu"] = "auto"
    accelerate_config: str = ""
    gradient_checkpointing: bool = True
    save_dtype: Literal["float32", "bfloat16"] = "float32"
    precision: Literal["bfloat16", "float32"] = "bfloat16"
    """Precision of computing; the trained weights themselves are float32 in both."""
    template_options: Mapping[str, Any] = {}
    """What the chat template is told, as in serving (whether the model reasons)."""
    facts: Mapping[str, Any] = {}
    """For the model card, beyond what this spec and the metrics say."""

    @property
    def accumulation(self) -> int:
        """Forward passes of each process per optimizer step; ValueError if the batch can't be divided so."""
        per_pass = self.micro_batch * self.world_size
        if self.batch % per_pass:
            raise ValueError(
                f"training.sft.batch = {self.batch} is no multiple of micro_batch times processes "
                f"({self.micro_batch} x {self.world_size}); set it to a multiple of {per_pass}"
            )
        return self.batch // per_pass

    def planned_steps(self, rows: int) -> int:
        """Optimizer steps over so many rows; every row is seen once per epoch, the last batch may be smaller."""
        passes = math.ceil(math.ceil(rows / self.micro_batch) / self.world_size)
        return math.ceil(passes / self.accumulation) * self.epochs

    @property
    def digest(self) -> str:
        """Names this fine-tune: the same spec on the same data gives the same model."""
        return digest_of(msgspec.json.encode(self, order="deterministic"))

    def warmup_steps(self, rows: int) -> int:
        """Steps with rising learning rate, rounded down: the first of them learns nothing, so short runs have none."""
        return math.floor(self.warmup_share * self.planned_steps(rows))


def spec_of(
    settings: SftSettings,
    *,
    base: str,
    data: Path,
    checkpoint: Path,
    work: Path,
    seed: int,
    template_options: Mapping[str, Any],
    facts: Mapping[str, Any],
) -> SftSpec:
    """The spec of a fine-tune by these settings; ValueError if they don't fit together."""
    processes = settings.processes * settings.nodes if settings.launcher == "torchrun" else 1
    if settings.launcher == "process" and settings.processes * settings.nodes > 1:
        raise ValueError(
            f"training.sft.launcher = process runs one process, but processes x nodes is "
            f"{settings.processes} x {settings.nodes}; set launcher to torchrun"
        )
    if settings.min_learning_rate > settings.learning_rate:
        raise ValueError(
            f"training.sft.min_learning_rate = {settings.min_learning_rate} is above learning_rate = "
            f"{settings.learning_rate}; lower it"
        )
    shared = {name: getattr(settings, name) for name in SftSpec.__struct_fields__ if name in SftSettings.model_fields}
    spec = SftSpec(
        base=base,
        data=str(data.absolute()),
        data_digest=_file_digest(data),
        checkpoint=str(checkpoint.absolute()),
        work=str(work.absolute()),
        seed=seed,
        world_size=processes,
        template_options=template_options,
        facts=facts,
        **shared,
    )
    if spec.accumulation < 1:
        raise ValueError(f"training.sft.batch = {settings.batch} must be at least 1")
    if spec.accelerate_config:
        if spec.save_dtype != "bfloat16" or spec.method != "full":
            raise ValueError(
                "training.sft.accelerate_config: split weights are trained in full and stored as bfloat16; set "
                "save_dtype and method so"
            )
        deepspeed_options(Path(spec.accelerate_config))
    return spec


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_spec(spec: SftSpec, path: Path) -> None:
    """Store a spec as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(spec), indent=1) + b"\n")


def read_spec(path: Path) -> SftSpec:
    """A stored spec; ValueError if the file is none."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=SftSpec)
    except msgspec.DecodeError as error:
        raise ValueError(f"{path} is no trainer spec: {error}") from error


def deepspeed_options(path: Path) -> dict[str, Any]:
    """DeepSpeed's own configuration from an Accelerate config file (YAML), or from a DeepSpeed file (JSON) as it is.

    `auto` values are filled in by the trainer from the spec. Gradients are added up in float32 over a batch.
    """
    if not path.is_file():
        raise ValueError(f"training.sft.accelerate_config = {str(path)!r}: there is no such file")
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    if not isinstance(config, dict):
        raise ValueError(f"{path} is no Accelerate or DeepSpeed configuration; see configs/accelerate/zero3.yaml")
    if "zero_optimization" in config:
        return config
    if config.get("distributed_type") != "DEEPSPEED" or "deepspeed_config" not in config:
        raise ValueError(f"{path}: distributed_type must be DEEPSPEED, with a section deepspeed_config")
    given = config["deepspeed_config"]
    stage = int(given.get("zero_stage", 3))
    zero: dict[str, Any] = {"stage": stage, "overlap_comm": True, "contiguous_gradients": True}
    for part in ("optimizer", "param"):
        if given.get(f"offload_{part}_device", "none") != "none":
            zero[f"offload_{part}"] = {"device": given[f"offload_{part}_device"], "pin_memory": True}
    if stage == 3:
        zero["stage3_gather_16bit_weights_on_model_save"] = True
    return {
        "zero_optimization": zero,
        "bf16": {"enabled": "auto"},
        "data_types": {"grad_accum_dtype": "fp32"},
        "gradient_clipping": given.get("gradient_clipping", "auto"),
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": "auto",
    }
