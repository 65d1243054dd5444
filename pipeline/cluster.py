"""Ray: connect to a cluster or start a local one, wait for its nodes, and say what it has."""

import logging
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import RayError

from pipeline.settings import ClusterSettings

log = logging.getLogger(__name__)
NAMESPACE = "lifeloop"
RAY_ERRORS = (RayError,)
"""What Ray raises, for those who may not import it."""
QUIET_ENV = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "HF_HUB_DISABLE_TELEMETRY": "1",
}
# Ray lowers its workers' priority by 15, so that an engine would hardly move beside anything else that computes.
LOCAL_ENV = {"RAY_worker_niceness": "0"}


class ClusterNotReady(RuntimeError):
    """Ray can't be reached, or its nodes did not come in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a cluster has in all."""

    nodes: int
    cpus: float
    gpus: float
    gpus_per_node: float
    memory_gib: float


def connect(settings: ClusterSettings, *, say: Callable[[str], None] = log.info) -> Resources:
    """Join the cluster of the settings, of RAY_ADDRESS or of the running job; else start a local Ray of our own."""
    if ray.is_initialized():
        return resources()
    os.environ.update({key: os.environ.get(key, value) for key, value in QUIET_ENV.items()})
    address = settings.address or os.environ.get("RAY_ADDRESS", "")
    options: dict[str, Any] = {
        "namespace": NAMESPACE,
        "log_to_driver": False,
        "logging_level": logging.ERROR,
        "runtime_env": {"env_vars": QUIET_ENV},
    }
    if not address:
        os.environ.update(LOCAL_ENV)
        options |= {
            "address": "local",
            "num_cpus": settings.logical_cpus or max(8, os.cpu_count() or 1),
            "include_dashboard": False,
            "object_store_memory": 512 * 2**20,
        }
    else:
        options["address"] = address
    try:
        ray.init(**options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ClusterNotReady(
            f"Ray at {address or 'this machine'} can't be used: {error}. Start one with `ray start --head`, set "
            "RAY_ADDRESS or cluster.address to it, or leave both empty for a local Ray"
        ) from error
    wait_for_nodes(settings, say=say)
    return resources()


def wait_for_nodes(settings: ClusterSettings, *, say: Callable[[str], None]) -> None:
    """Wait until enough nodes have joined, with a line of progress; ClusterNotReady after the time allowed."""
    deadline = time.monotonic() + settings.wait_timeout_s
    while (there := _alive_nodes()) < settings.wait_nodes:
        if time.monotonic() > deadline:
            raise ClusterNotReady(
                f"{there} of {settings.wait_nodes} nodes joined within {settings.wait_timeout_s} s; look at the "
                "workers' logs, or lower cluster.wait_nodes"
            )
        say(f"waiting for nodes: {there} of {settings.wait_nodes} are here")
        time.sleep(min(5.0, settings.wait_timeout_s))


def resources() -> Resources:
    """Resources of the connected cluster."""
    nodes = [node for node in ray.nodes() if node["Alive"]]
    total = ray.cluster_resources()
    return Resources(
        nodes=len(nodes),
        cpus=total.get("CPU", 0.0),
        gpus=total.get("GPU", 0.0),
        gpus_per_node=max((node["Resources"].get("GPU", 0.0) for node in nodes), default=0.0),
        memory_gib=total.get("memory", 0.0) / 2**30,
    )


def in_ray_job() -> bool:
    """Whether this process is the driver of a `ray job submit`."""
    return bool(os.environ.get("RAY_JOB_CONFIG_JSON_ENV_VAR"))


def disconnect() -> None:
    """Leave the cluster; a local one ends."""
    ray.shutdown()


def _alive_nodes() -> int:
    return sum(1 for node in ray.nodes() if node["Alive"])
