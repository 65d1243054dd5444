"""Where engines can run (pure): the bundles that a pool asks Ray for, whether any node has them, and CPU cores."""

from collections.abc import Mapping, Sequence
from typing import Literal

from pipeline.engine_spec import EngineSpec

Bundle = dict[str, float]
Strategy = Literal["STRICT_PACK", "PACK"]


def bundles_of(spec: EngineSpec) -> tuple[list[Bundle], Strategy]:
    """What one engine reserves. One bundle holds it whole on a node; stages over nodes need a bundle for each GPU."""
    if spec.device == "cpu":
        return [{"CPU": 1.0}], "STRICT_PACK"
    if spec.pipeline_parallel == 1:
        return [{"CPU": 1.0, "GPU": float(spec.tensor_parallel)}], "STRICT_PACK"
    return [{"CPU": 1.0, "GPU": 1.0} for _ in range(spec.tensor_parallel * spec.pipeline_parallel)], "PACK"


def placement_problem(pool: str, spec: EngineSpec, replicas: int, nodes: Sequence[Mapping[str, float]]) -> str:
    """Why nodes with these resources can't hold the engines; "" if they can. Names the missing resource."""
    free = [dict(node) for node in nodes]
    bundles, _ = bundles_of(spec)
    for number in range(1, replicas + 1):
        for bundle in bundles:
            home = next((node for node in free if _fits(bundle, node)), None)
            if home is None:
                return _missing(pool, number, replicas, bundle, free)
            for resource, amount in bundle.items():
                home[resource] = home.get(resource, 0.0) - amount
    return ""


def cores_of(spec: EngineSpec, number: int, replicas: int, cores: int) -> str:
    """Cores of one machine that the n-th CPU engine of a pool is bound to; "" where they don't suffice for all."""
    threads = spec.cpu_threads or max(1, cores // replicas)
    if spec.device != "cpu" or threads * replicas > cores:
        return ""
    first = number * threads
    return str(first) if threads == 1 else f"{first}-{first + threads - 1}"


def _fits(bundle: Mapping[str, float], node: Mapping[str, float]) -> bool:
    return all(node.get(resource, 0.0) >= amount for resource, amount in bundle.items())


def _missing(pool: str, number: int, replicas: int, bundle: Mapping[str, float], free: list[Bundle]) -> str:
    """A sentence on the resource that is short."""
    most_free = {name: max((node.get(name, 0.0) for node in free), default=0.0) for name in bundle}
    lacking = [name for name, amount in bundle.items() if most_free[name] < amount]
    resource = lacking[-1] if lacking else next(iter(bundle))
    remedy = "tensor_parallel or replicas" if resource == "GPU" else "replicas, or raise cluster.logical_cpus"
    return (
        f"engine {number} of {replicas} of pool {pool} needs {bundle[resource]:g} {resource} on one node, and the "
        f"freest of {len(free)} nodes has {max(most_free[resource], 0.0):g} left; lower {remedy}"
    )
