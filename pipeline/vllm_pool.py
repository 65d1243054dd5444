"""Pools of vLLM engines on Ray: start, health, restart, weight swap on all replicas or none; and the way to them.

An engine is a named actor in a placement group of its own, so that its GPUs stay reserved while it is restarted and any
process can find it by name.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import psutil
import ray
from ray.exceptions import RayActorError, RayError
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from pipeline.engine_placement import bundles_of, cores_of, placement_problem
from pipeline.engine_spec import EngineSpec, engine_environment
from pipeline.pool_client import ReplicaDown
from pipeline.vllm_engine import EngineDied, ReloadRefused, VllmEngine
from training.checkpoint import weights_digest

log = logging.getLogger(__name__)
CALLS = 4096
PLACEMENT_SECONDS = 120.0
WATCH_SECONDS = 2.0
HEALTH_SECONDS = 60.0
MISSED_CHECKS = 3
SWAP_SECONDS = 3600.0
GRACE_SECONDS = 15.0

T = TypeVar("T")


class PoolFailed(RuntimeError):
    """The pool can't be started or kept alive; the text says why and what to do."""


class PoolSpec(msgspec.Struct, frozen=True, kw_only=True):
    """A pool: its name (unique in the cluster's namespace), its engines' settings and number, and its limits."""

    name: str
    engine: EngineSpec
    replicas: int = 1
    start_timeout_s: float = 1800.0
    memory_gib: float = 0.0
    """Free main memory that an engine's node must have at the start; 0: not checked."""
    restarts: int = 3
    """How often each dead engine is started again."""

    @property
    def replica_names(self) -> tuple[str, ...]:
        """Names of the engines' actors."""
        return tuple(f"{self.name}-{number}" for number in range(self.replicas))


class EngineActor:
    """One engine in a Ray actor; its methods are the engine's."""

    def __init__(self, spec: EngineSpec, memory_gib: float) -> None:
        """Nothing heavy here: `start` does the work, so that its errors reach the caller."""
        self._engine = VllmEngine(spec)
        self._memory_gib = memory_gib

    async def start(self) -> dict[str, Any]:
        """Start the engine, if this node has the memory."""
        free = psutil.virtual_memory().available / 2**30
        if free < self._memory_gib:
            raise EngineDied(
                f"an engine of {self._engine.model_id} needs {self._memory_gib:.1f} GiB of memory, this node has "
                f"{free:.1f} free; end other programs, or lower replicas or kv_cache_gib"
            )
        return await self._engine.start()

    async def chat(self, body: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """One chat."""
        return await self._engine.chat(body, timeout_s)

    async def health(self) -> dict[str, Any]:
        """Whether the engine answers."""
        return await self._engine.health()

    async def process(self) -> int:
        """Id of this actor's process on its node."""
        return os.getpid()

    async def reload(self, weights_path: str, version: str, digest: str) -> dict[str, Any]:
        """Swap the weights."""
        return await self._engine.reload(weights_path, version, digest)

    async def pause(self) -> None:
        """Hold chats back."""
        await self._engine.pause()

    async def resume(self) -> None:
        """Let chats in again."""
        await self._engine.resume()

    async def stop(self) -> None:
        """End the engine."""
        await self._engine.stop()


class EngineLink:
    """The way to a pool's engines from any process of the cluster: looks the actors up by name."""

    def __init__(self, replicas: Sequence[str], namespace: str) -> None:
        """Names of the actors and their namespace."""
        self.replicas = tuple(replicas)
        self._namespace = namespace
        self._actors: dict[str, Any] = {}

    async def chat(self, replica: str, body: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """The engine's reply or error. Raises ReplicaDown, TimeoutError."""
        return await self._call(replica, "chat", dict(body), timeout_s, within_s=timeout_s + GRACE_SECONDS)

    async def healthy(self, replica: str) -> bool:
        """Whether the replica answers."""
        try:
            await self._call(replica, "health", within_s=HEALTH_SECONDS)
        except (ReplicaDown, TimeoutError):
            return False
        return True

    async def _call(self, replica: str, method: str, *arguments: Any, within_s: float) -> Any:
        try:
            if replica not in self._actors:
                self._actors[replica] = ray.get_actor(replica, self._namespace)
        except ValueError as error:
            raise ReplicaDown(f"no actor of this name: {error}") from error
        try:
            return await _awaited(getattr(self._actors[replica], method).remote(*arguments), within_s)
        except (RayActorError, EngineDied) as error:
            self._actors.pop(replica, None)
            raise ReplicaDown(_reason(error)) from error


class EnginePool:
    """The owner of a pool: starts its engines, restarts the dead, swaps weights on all of them."""

    def __init__(self, spec: PoolSpec) -> None:
        """Nothing is started yet."""
        self.spec = spec
        self._weights = spec.engine.model
        self._version = spec.engine.version
        self._groups: dict[str, PlacementGroup] = {}
        self._actors: dict[str, Any] = {}
        self._deaths: dict[str, int] = {}
        self._changing = asyncio.Lock()

    @property
    def model_id(self) -> str:
        """Served id, `name@version`."""
        return f"{self.spec.engine.name}@{self._version}"

    def link(self) -> EngineLink:
        """The way to the engines, for a client in this or another process of this namespace."""
        return EngineLink(self.spec.replica_names, ray.get_runtime_context().namespace)

    async def start(self) -> None:
        """Reserve the resources and start all engines; PoolFailed says what is missing or went wrong."""
        async with self._changing:
            nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
            problem = placement_problem(self.spec.name, self.spec.engine, self.spec.replicas, nodes)
            if problem:
                raise PoolFailed(problem)
            await asyncio.gather(*(self._reserve(replica) for replica in self.spec.replica_names))
            started = await asyncio.gather(*map(self._start, range(self.spec.replicas)), return_exceptions=True)
            errors = [error for error in started if error is not None]
            if errors:
                await self._end()
                raise errors[0]
            log.info("pool %s: %d engines serve %s", self.spec.name, self.spec.replicas, self.model_id)

    async def stop(self) -> None:
        """End all engines and give their resources back; `start` begins anew with the current weights."""
        async with self._changing:
            await self._end()

    async def watch(self) -> None:
        """Restart engines that die; runs until cancelled. PoolFailed once an engine died too often."""
        missed = dict.fromkeys(self.spec.replica_names, 0)
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            async with self._changing:
                for number, replica in enumerate(self.spec.replica_names if self._actors else ()):
                    cause, dead = await self._ailment(replica)
                    missed[replica] = missed[replica] + 1 if cause else 0
                    if dead or missed[replica] >= MISSED_CHECKS:
                        missed[replica] = 0
                        await self._restart(number, cause)

    async def health(self) -> dict[str, dict[str, Any]]:
        """Every engine's state; `error` says why one doesn't answer."""
        states: dict[str, dict[str, Any]] = {}
        for replica, actor in self._actors.items():
            try:
                states[replica] = await _awaited(actor.health.remote(), HEALTH_SECONDS)
            except (RayActorError, EngineDied, TimeoutError) as error:
                states[replica] = {"error": _reason(error)}
        return states

    async def chat(self, replica: str, body: Mapping[str, Any], timeout_s: float) -> dict[str, Any]:
        """One chat with one engine. Raises ReplicaDown, TimeoutError."""
        return await self.link().chat(replica, body, timeout_s)

    async def pause(self) -> None:
        """Hold back chats on all engines, once those running are done."""
        await self._on_all("pause")

    async def resume(self) -> None:
        """Let chats in again."""
        await self._on_all("resume")

    async def redeploy(self, weights_path: str, version: str) -> list[dict[str, Any]]:
        """New weights on all engines, or the old ones on all and PoolFailed; the proofs, one per engine."""
        async with self._changing:
            digest = await asyncio.to_thread(weights_digest, Path(weights_path))
            for number, replica in enumerate(self._actors):
                cause, dead = await self._ailment(replica)
                if dead:
                    await self._restart(number, cause)
            results = await self._reload_all(weights_path, version, digest)
            refused = [result for result in results if isinstance(result, ReloadRefused)]
            if refused:
                await self._roll_back(results)
                raise PoolFailed(f"pool {self.spec.name} serves {self.model_id} as before: {_reason(refused[0])}")
            self._weights, self._version = weights_path, version
            return [await self._proof(number, result, digest) for number, result in enumerate(results)]

    # ---- engines

    async def _reserve(self, replica: str) -> None:
        bundles, strategy = bundles_of(self.spec.engine)
        self._groups[replica] = placement_group(bundles, strategy=strategy, name=f"{replica}-place")
        try:
            await _awaited(self._groups[replica].ready(), PLACEMENT_SECONDS)
        except TimeoutError as error:
            free = {name: amount for name, amount in ray.available_resources().items() if ":" not in name}
            await self._end()
            raise PoolFailed(
                f"{replica} got no place within {PLACEMENT_SECONDS:.0f} s: it asks for {bundles}, free in the cluster "
                f"are {free}; end what holds the rest, or lower replicas"
            ) from error

    async def _start(self, number: int) -> None:
        replica = self.spec.replica_names[number]
        actor = self._new_actor(number)
        self._actors[replica] = actor
        try:
            report = await _awaited(actor.start.remote(), self.spec.start_timeout_s)
        except (RayError, EngineDied, ValueError, TimeoutError) as error:
            cause = _reason(error) or f"it took over {self.spec.start_timeout_s:.0f} s"
            raise PoolFailed(f"{replica} did not start: {cause}") from error
        log.info("%s serves %s after %.0f s", replica, report["model"], report["seconds"])

    def _new_actor(self, number: int) -> Any:
        replica = self.spec.replica_names[number]
        engine = self._engine_spec(number)
        where = PlacementGroupSchedulingStrategy(
            self._groups[replica], placement_group_bundle_index=0, placement_group_capture_child_tasks=True
        )
        whole = engine.device == "gpu" and engine.pipeline_parallel == 1
        options: dict[str, Any] = {
            "name": replica,
            "num_cpus": 1,
            "num_gpus": engine.tensor_parallel if whole else 0,
            "scheduling_strategy": where,
            "runtime_env": {"env_vars": engine_environment(engine, os.cpu_count() or 1)},
            "max_restarts": 0,
            # One group for all: each concurrency group would run in an event loop of its own, the engine lives in one.
            "max_concurrency": CALLS,
        }
        return ray.remote(EngineActor).options(**options).remote(engine, self.spec.memory_gib)

    def _engine_spec(self, number: int) -> EngineSpec:
        """The n-th engine's settings, with the weights that the pool serves now."""
        spec = self.spec.engine
        alone = len([node for node in ray.nodes() if node["Alive"]]) == 1
        cores = spec.cpu_cores or (cores_of(spec, number, self.spec.replicas, os.cpu_count() or 1) if alone else "")
        return msgspec.structs.replace(spec, model=self._weights, version=self._version, cpu_cores=cores)

    async def _ailment(self, replica: str) -> tuple[str, bool]:
        """Why an engine gives no sign of health ("" if it does), and whether that is final."""
        try:
            await _awaited(self._actors[replica].health.remote(), HEALTH_SECONDS)
        except (RayActorError, EngineDied) as error:
            return _reason(error), True
        except TimeoutError:
            return f"no sign of health within {HEALTH_SECONDS:.0f} s", False
        return "", False

    async def _restart(self, number: int, cause: str) -> None:
        """Start a dead engine again with the current weights; PoolFailed once it died too often."""
        replica = self.spec.replica_names[number]
        while True:
            self._deaths[replica] = self._deaths.get(replica, 0) + 1
            if self._deaths[replica] > self.spec.restarts:
                raise PoolFailed(f"{replica} died {self._deaths[replica]} times, the last time of: {cause}")
            log.warning("%s died (%s); start %d of %d", replica, cause, self._deaths[replica], self.spec.restarts)
            ray.kill(self._actors[replica])
            try:
                await self._start(number)
            except PoolFailed as error:
                cause = str(error)
            else:
                return

    # ---- all engines

    async def _reload_all(self, path: str, version: str, digest: str) -> list[dict[str, Any] | BaseException]:
        calls = (_awaited(actor.reload.remote(path, version, digest), SWAP_SECONDS) for actor in self._actors.values())
        return await asyncio.gather(*calls, return_exceptions=True)

    async def _proof(self, number: int, result: dict[str, Any] | BaseException, digest: str) -> dict[str, Any]:
        """An engine's proof; one that died over the swap is started again with the new weights and proves them then."""
        if not isinstance(result, BaseException):
            return result
        if not isinstance(result, RayActorError | EngineDied | TimeoutError):
            raise result
        await self._restart(number, _reason(result))
        actor = self._actors[self.spec.replica_names[number]]
        return await _awaited(actor.reload.remote(self._weights, self._version, digest), SWAP_SECONDS)

    async def _roll_back(self, results: Sequence[dict[str, Any] | BaseException]) -> None:
        """The old weights again on engines that took the new ones; those that died are left to `watch`."""
        for actor, result in zip(self._actors.values(), results, strict=True):
            if not isinstance(result, BaseException):
                with contextlib.suppress(RayActorError, EngineDied, ReloadRefused, TimeoutError):
                    await _awaited(actor.reload.remote(self._weights, self._version, ""), SWAP_SECONDS)

    async def _on_all(self, method: str) -> None:
        async with self._changing:
            try:
                await asyncio.gather(
                    *(_awaited(getattr(actor, method).remote(), SWAP_SECONDS) for actor in self._actors.values())
                )
            except (RayActorError, EngineDied, ReloadRefused, TimeoutError) as error:
                raise PoolFailed(f"pool {self.spec.name}: {method} failed: {_reason(error)}") from error

    async def _end(self) -> None:
        """End engines and give back what was reserved."""
        for actor in self._actors.values():
            with contextlib.suppress(RayError, EngineDied, TimeoutError):
                await _awaited(actor.stop.remote(), GRACE_SECONDS)
            ray.kill(actor)
        for reserved in self._groups.values():
            remove_placement_group(reserved)
        self._actors.clear()
        self._groups.clear()


async def _awaited(reference: Awaitable[T], seconds: float) -> T:
    """The result of a Ray call; TimeoutError past the deadline."""
    async with asyncio.timeout(seconds):
        return await reference


def _reason(error: BaseException) -> str:
    """What happened, without the trace that Ray puts around an error of an actor."""
    return str(getattr(error, "cause", None) or error)
