"""The run's models: which engines run, which weights the policy has, and how a round's clients reach them."""

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.engine_spec import EngineSpec
from pipeline.plan import used_engines
from pipeline.run_folder import RunFolder
from pipeline.settings import EngineSettings, RunSettings
from pipeline.vllm_pool import EnginePool, PoolSpec
from training.checkpoint import is_checkpoint, read_checkpoint

log = logging.getLogger(__name__)
SMALL_MODEL = "smollm2"
REPOSITORY = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """What the policy serves: a folder or hub name, and its version, `r1` for the first."""

    model: str
    version: str


def model_path(name: str) -> str:
    """The folder of a model of the settings; the small one is prepared where the Makefile puts it."""
    if name != SMALL_MODEL:
        return name
    folder = REPOSITORY / ".cache" / "models" / "smollm2-135m-instruct"
    if not (folder / "config.json").exists():
        raise ValueError(f"the small model is not prepared: run `make model` (it puts it under {folder.name})")
    return str(folder)


def first_model(settings: RunSettings, folder: RunFolder) -> str:
    """The model that the first round serves and the first fine-tune starts from."""
    given = settings.training.base_model
    if given == "tiny":
        return str(folder.base_model("tiny"))
    if given:
        return model_path(given)
    policy = settings.serving.policy
    return model_path(settings.serving.engines[policy.engine].model) if policy.kind == "engine" else ""


def tokenizer_of(settings: RunSettings) -> str:
    """The model folder whose tokenizer counts prompts; "" where the policy is no engine of ours."""
    policy = settings.serving.policy
    return model_path(settings.serving.engines[policy.engine].model) if policy.kind == "engine" else ""


def weights_of_round(settings: RunSettings, folder: RunFolder, round_number: int) -> Weights:
    """The weights that a round is lived with: the last checkpoint made before it, else the first model."""
    for earlier in range(round_number - 1, 0, -1):
        checkpoint = folder.checkpoint(earlier)
        if folder.manifest(earlier, "redeploy").exists() and is_checkpoint(checkpoint):
            return Weights(model=str(checkpoint), version=f"r{earlier + 1}")
    return Weights(model=first_model(settings, folder), version="r1")


class Serving:
    """Engine pools of a run; without engines it only keeps the version."""

    def __init__(self, settings: RunSettings, folder: RunFolder, weights: Weights) -> None:
        """Nothing is started yet."""
        self._settings = settings
        self._run_name = hashlib.sha256(str(folder.root.resolve()).encode()).hexdigest()[:8]
        self.weights = weights
        self._pools: dict[str, EnginePool] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Serving"]:
        """Engines up and watched inside the block; a pool that can't be kept alive cancels it with its error."""
        try:
            async with asyncio.TaskGroup() as watchers:
                await self._start()
                tasks = [watchers.create_task(pool.watch(), name=f"watch {name}") for name, pool in self._pools.items()]
                yield self
                for task in tasks:
                    task.cancel()
        finally:
            await self._stop()

    @property
    def uses_engines(self) -> bool:
        """Whether any engine of ours is needed."""
        return bool(used_engines(self._settings))

    def links(self) -> Mapping[str, Any]:
        """Ways to the engines by pool, for clients in any process."""
        return {name: pool.link() for name, pool in self._pools.items()}

    async def health(self) -> Mapping[str, Any]:
        """Every engine's state by pool."""
        return {name: await pool.health() for name, pool in self._pools.items()}

    async def deploy(self, path: Path, version: str) -> Sequence[Mapping[str, Any]]:
        """New weights for the policy: its engines take them with proof; without engines the version moves on."""
        policy = self._settings.serving.policy
        if policy.kind == "engine":
            proofs: Sequence[Mapping[str, Any]] = await self._pools[policy.engine].redeploy(str(path), version)
        else:
            proofs = [_nominal_proof(path, version)]
        self.weights = Weights(model=str(path), version=version)
        return proofs

    @asynccontextmanager
    async def released(self) -> AsyncIterator[None]:
        """No engine computes inside the block: GPU engines end and come back, CPU engines pause."""
        for pool in self._pools.values():
            await (pool.stop() if pool.spec.engine.device == "gpu" else pool.pause())
        yield
        for pool in self._pools.values():
            await (pool.start() if pool.spec.engine.device == "gpu" else pool.resume())

    async def _start(self) -> None:
        for name, engine in used_engines(self._settings).items():
            pool = EnginePool(self._pool_spec(name, engine))
            self._pools[name] = pool
            await pool.start()

    async def _stop(self) -> None:
        for pool in self._pools.values():
            await pool.stop()
        self._pools.clear()

    def _pool_spec(self, name: str, engine: EngineSettings) -> PoolSpec:
        policy = self._settings.serving.policy
        is_policy = policy.kind == "engine" and policy.engine == name
        spec = EngineSpec(
            name=name,
            model=self.weights.model if is_policy else model_path(engine.model),
            version=self.weights.version if is_policy else "base",
            device=engine.device,
            dtype=engine.dtype,
            max_model_len=engine.max_model_len,
            max_num_seqs=engine.max_num_seqs,
            tensor_parallel=engine.tensor_parallel,
            pipeline_parallel=engine.pipeline_parallel,
            kv_cache_gib=engine.kv_cache_gib,
            gpu_memory_share=engine.gpu_memory_share,
            cpu_threads=engine.cpu_threads,
            extra_args=engine.extra_args,
        )
        return PoolSpec(
            name=f"{self._run_name}-{name}",
            engine=spec,
            replicas=engine.replicas,
            start_timeout_s=engine.start_timeout_s,
            memory_gib=engine.memory_gib,
        )


def _nominal_proof(path: Path, version: str) -> Mapping[str, Any]:
    """The proof of a policy without weights: the scripted model answers under the new version from now on."""
    return {
        "model": f"scripted@{version}",
        "version": version,
        "weights_digest": read_checkpoint(path).weights_digest,
        "held": {"equal": 1},
        "cached_tokens_after": 0,
        "probe_text": "-",
    }
