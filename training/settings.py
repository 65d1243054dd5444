"""Settings of selection, training data and fine-tuning (SPEC sections 8, 9). Defaults are the paper's."""

from typing import Annotated, Literal

from pydantic import Field

from sim.settings import Count, Positive, Settings, Share


class SelectionSettings(Settings):
    """Which agent-years are learnt from (SPEC section 8)."""

    gamma: Annotated[float, Field(gt=0.0, le=1.0)] = 0.9
    """Discount of future rewards."""
    fraction: Annotated[float, Field(gt=0.0, le=1.0)] = 0.25
    """Share of a period's agents that is kept, by advantage."""
    years: tuple[Positive, ...] = (1, 2, 3, 4)
    """Periods whose selected agents are used."""


class MixtureSettings(Settings):
    """Role-play against general data (SPEC section 9)."""

    general_share: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.5
    """Share of general rows, by output tokens."""
    source: str = "offline"
    """`offline` for the file that ships, a JSONL file, or a data set name such as allenai/tulu-3-sft-mixture."""
    distil_factor: Annotated[float, Field(ge=1.0, le=10.0)] = 1.5
    """How much more general output is distilled than is needed, to choose from."""
    distil_max_tokens: Positive = 1024
    """Longest self-distilled answer in tokens."""
    distil_max_prompts: Positive = 200_000
    """Most prompts that are asked."""
    max_roleplay_rows: Count = 0
    """At most this many role-play rows, drawn by seed (0: all); a cap is reported."""
    environment: bool = False
    """Train on environment-model calls too."""
    environment_share: Share = 0.2
    """Environment rows, as a share of role-play output tokens."""


class SftSettings(Settings):
    """The fine-tune (SPEC section 9)."""

    method: Literal["full", "lora"] = "full"
    """Full fine-tuning, or LoRA that is merged before serving."""
    lora_rank: Positive = 16
    """Rank of LoRA adapters."""
    epochs: Positive = 1
    """Passes over the data."""
    batch: Positive = 256
    """Rows per optimizer step, over all processes."""
    micro_batch: Positive = 1
    """Rows per forward pass and process."""
    learning_rate: Annotated[float, Field(gt=0.0)] = 1e-5
    """Peak learning rate."""
    min_learning_rate: Annotated[float, Field(ge=0.0)] = 1e-6
    """Learning rate at the end of the cosine."""
    warmup_share: Share = 0.03
    """Share of steps with rising learning rate."""
    max_length: Positive = 32768
    """Longest row in tokens; longer rows are dropped and named, never cut."""
    device: Literal["auto", "cpu", "gpu"] = "auto"
    """Where to train."""
    launcher: Literal["process", "torchrun"] = "process"
    """One process, or several by torchrun."""
    processes: Positive = 1
    """Processes per node (GPUs)."""
    nodes: Positive = 1
    """Nodes."""
    accelerate_config: str = ""
    """Accelerate/DeepSpeed config file, such as configs/accelerate/zero3.yaml; empty for none."""
    gradient_checkpointing: bool = True
    """Trade compute for memory."""
    save_dtype: Literal["float32", "bfloat16"] = "bfloat16"
    """Precision of the checkpoint; float32 where the small changes of a short fine-tune must show."""
    memory_gib: Annotated[float, Field(ge=0.0)] = 0.0
    """Main memory that the fine-tune needs beside the paused engines, for the check before the start."""
    timeout_minutes: Positive = 24 * 60
    """The step is stopped with an error after this time."""


class TrainingSettings(Settings):
    """From life rewards to new weights."""

    base_model: str = ""
    """Model to fine-tune first; empty: the policy engine's model. `tiny`: a small random one, made for the run."""
    selection: SelectionSettings = SelectionSettings()
    """Selection by advantage."""
    mixture: MixtureSettings = MixtureSettings()
    """Composition of the training data."""
    sft: SftSettings = SftSettings()
    """Fine-tuning."""
    min_rows: Positive = 8
    """Fewer role-play rows than this: the step keeps the old weights and says so."""
