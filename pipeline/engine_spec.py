"""What one vLLM engine is: its settings, and the environment variables and server flags that they turn into (pure)."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

PREFILL_TOKENS = 2048


class EngineSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What one engine is: model, precision, sizes, device."""

    name: str
    """Served name; replies carry `name@version`."""
    model: str
    """Folder of a Hugging Face model, or a hub name."""
    version: str = "base"
    """Version of the weights in `model`."""
    device: Literal["cpu", "gpu"] = "cpu"
    dtype: str = "auto"
    max_model_len: int = 4096
    max_num_seqs: int = 64
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    kv_cache_gib: float = 1.0
    """Cache of a CPU engine; a GPU engine takes `gpu_memory_share` in all."""
    gpu_memory_share: float = 0.9
    cpu_threads: int = 0
    """Computing threads of a CPU engine; 0: all cores."""
    cpu_cores: str = ""
    """Cores that a CPU engine is bound to, such as `0-1`; empty: bound to none."""
    extra_args: Mapping[str, Any] = {}
    """Further vLLM options by their command-line names without dashes."""


def engine_environment(spec: EngineSpec, cores: int) -> dict[str, str]:
    """Environment variables that the engine's processes need from their start, on a machine of so many cores."""
    environment = {
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_LOGGING_LEVEL": "WARNING",
        "TQDM_DISABLE": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    if spec.device == "cpu":
        # Threads that wait by spinning starve each other as soon as anything else computes on these cores.
        environment |= {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
        # Where cores are given, vLLM sets its worker's threads itself; its other processes need no more than one.
        environment["VLLM_CPU_OMP_THREADS_BIND"] = spec.cpu_cores or "nobind"
        environment["OMP_NUM_THREADS"] = "1" if spec.cpu_cores else str(spec.cpu_threads or cores)
    return environment


def server_flags(spec: EngineSpec) -> list[str]:
    """The engine's settings as flags of vLLM's server, `extra_args` last so that they win."""
    options: dict[str, Any] = {
        "model": spec.model,
        "served-model-name": f"{spec.name}@{spec.version}",
        "dtype": spec.dtype,
        "max-model-len": spec.max_model_len,
        "max-num-seqs": spec.max_num_seqs,
        "tensor-parallel-size": spec.tensor_parallel,
        "pipeline-parallel-size": spec.pipeline_parallel,
        "enable-prefix-caching": True,
        "enable-prompt-tokens-details": True,
        "structured-outputs-config": {"backend": "xgrammar", "disable_any_whitespace": True},
        "worker-extension-cls": "pipeline.held_weights.HeldWeights",
        "disable-log-stats": True,
        "use-tqdm-on-load": False,
    }
    if spec.device == "cpu":
        # A seeded request that is prefilled in pieces ends a CPU engine, so prompts are always prefilled whole.
        options |= {
            "enforce-eager": True,
            "enable-chunked-prefill": False,
            "max-num-batched-tokens": max(spec.max_model_len, PREFILL_TOKENS),
            "kv-cache-memory-bytes": int(spec.kv_cache_gib * 2**30),
        }
    else:
        options["gpu-memory-utilization"] = spec.gpu_memory_share
    if spec.tensor_parallel * spec.pipeline_parallel > 1:
        # Inside a placement group vLLM would choose Ray by itself, and refuse a bundle with several GPUs.
        options["distributed-executor-backend"] = "ray" if spec.pipeline_parallel > 1 else "mp"
    return [flag for name, value in (options | dict(spec.extra_args)).items() for flag in _flag(name, value)]


def _flag(name: str, value: Any) -> list[str]:
    """One option as command-line words; true and false are `--name` and `--no-name`, objects are JSON."""
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    if isinstance(value, Mapping):
        return [f"--{name}", msgspec.json.encode(value).decode()]
    return [f"--{name}", str(value)]
