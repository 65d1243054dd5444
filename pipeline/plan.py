"""What a run will do and need, against what the machine or cluster has. Pure: the caller says what there is."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from pipeline.settings import EngineSettings, RunSettings, endpoints_of
from sim.world.builder_command import builder_advice

HOST_MEMORY_GIB = 0.35
LOCAL_BASE_MEMORY_GIB = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What there is: of a cluster in all, or of this machine."""

    nodes: int
    cpus: float
    gpus: float
    gpus_per_node: float
    memory_gib: float
    is_cluster: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """Resources that one part of the run holds while it works."""

    part: str
    cpus: float = 0.0
    gpus: float = 0.0
    memory_gib: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Steps, parts with their needs, and why it can't be done, if so."""

    steps: tuple[str, ...]
    needs: tuple[Need, ...]
    problems: tuple[str, ...] = field(default=())


def make_plan(
    settings: RunSettings, machine: Machine, cast_sizes: Mapping[str, int], folders: Mapping[str, str] | None = None
) -> Plan:
    """The plan of a run. `cast_sizes`: characters of each world, 0 for one that is still to be built.

    `folders` is, for each world, the folder that a larger one can be built from; its own name where none is given.
    """
    needs = (*_engine_needs(settings), *_host_needs(settings))
    trainer = _trainer_need(settings)
    return Plan(
        steps=tuple(f"round {number}: {' → '.join(settings.steps)}" for number in range(1, settings.rounds + 1)),
        needs=(*needs, *trainer),
        problems=(
            *_cast_problems(settings, cast_sizes, folders or {}),
            *_resource_problems(needs, machine, sum(need.memory_gib for need in trainer)),
            *_engine_problems(settings, machine),
            *_trainer_problems(settings, machine),
        ),
    )


def used_engines(settings: RunSettings) -> dict[str, EngineSettings]:
    """Engine pools that some endpoint uses, by name."""
    serving = settings.serving
    names = sorted({endpoint.engine for endpoint in endpoints_of(serving).values() if endpoint.kind == "engine"})
    return {name: serving.engines[name] for name in names}


def _engine_needs(settings: RunSettings) -> list[Need]:
    needs = []
    for name, engine in used_engines(settings).items():
        gpus = engine.tensor_parallel * engine.pipeline_parallel if engine.device == "gpu" else 0
        for number in range(1, engine.replicas + 1):
            needs.append(
                Need(
                    part=f"engine {name} {number}/{engine.replicas}",
                    cpus=1.0,
                    gpus=gpus,
                    memory_gib=engine.memory_gib,
                    note=f"{engine.model}, context {engine.max_model_len}",
                )
            )
    return needs


def _host_needs(settings: RunSettings) -> list[Need]:
    needs = []
    for world in settings.worlds:
        hosts = min(settings.cluster.hosts, settings.sim.n_agents)
        needs.append(
            Need(
                part=f"{hosts} agent hosts of {world}",
                cpus=hosts * settings.cluster.host_cpus,
                memory_gib=hosts * HOST_MEMORY_GIB,
                note=f"{settings.sim.n_agents} agents, {math.ceil(settings.sim.n_agents / hosts)} per host at most",
            )
        )
    return needs


def _trainer_need(settings: RunSettings) -> list[Need]:
    if "finetune" not in settings.steps:
        return []
    sft = settings.training.sft
    gpus = sft.processes * sft.nodes if sft.device == "gpu" else 0
    note = f"{sft.method}, {sft.nodes} nodes x {sft.processes} processes; engines are paused meanwhile"
    return [Need(part="fine-tuning", gpus=gpus, memory_gib=sft.memory_gib, note=note)]


def _cast_problems(settings: RunSettings, cast_sizes: Mapping[str, int], folders: Mapping[str, str]) -> list[str]:
    n = settings.sim.n_agents
    problems = []
    for world, size in cast_sizes.items():
        source = folders.get(world, world)
        if size == 0:
            problems.append(f"world {world} is not there yet; build it:{builder_advice(source, n, world)}")
        elif size < n:
            problems.append(
                f"world {world} has {size} characters, sim.n_agents = {n}: lower sim.n_agents, or extend the world and "
                f"name the new folder in worlds:{builder_advice(source, n)}"
            )
    return problems


def _resource_problems(needs: tuple[Need, ...], machine: Machine, trainer_gib: float) -> list[str]:
    problems = []
    cpus, gpus = sum(need.cpus for need in needs), sum(need.gpus for need in needs)
    memory = sum(need.memory_gib for need in needs) + trainer_gib
    memory += 0.0 if machine.is_cluster else LOCAL_BASE_MEMORY_GIB
    if cpus > machine.cpus:
        problems.append(
            f"{cpus:g} logical CPUs are needed, there are {machine.cpus:g}: lower cluster.hosts or host_cpus, or "
            "raise cluster.logical_cpus of a local Ray"
        )
    if gpus > machine.gpus:
        problems.append(f"{gpus:g} GPUs are needed by the engines, there are {machine.gpus:g}: lower replicas")
    if memory > machine.memory_gib:
        problems.append(
            f"{memory:.1f} GiB of memory are needed, there are {machine.memory_gib:.1f}: lower replicas, kv_cache_gib "
            "or cluster.hosts"
        )
    return problems


def _engine_problems(settings: RunSettings, machine: Machine) -> list[str]:
    return [
        f"serving.engines.{name}: tensor_parallel = {engine.tensor_parallel} GPUs on one node, but nodes have "
        f"{machine.gpus_per_node:g}: lower tensor_parallel"
        for name, engine in used_engines(settings).items()
        if engine.device == "gpu" and 0 < machine.gpus_per_node < engine.tensor_parallel
    ]


def _trainer_problems(settings: RunSettings, machine: Machine) -> list[str]:
    sft = settings.training.sft
    if "finetune" not in settings.steps or sft.device != "gpu":
        return []
    if sft.processes * sft.nodes > machine.gpus:
        return [
            f"fine-tuning needs {sft.nodes} x {sft.processes} GPUs, there are {machine.gpus:g}: lower "
            "training.sft.nodes or processes"
        ]
    return []


def plan_text(plan: Plan, machine: Machine) -> str:
    """The plan as a page of plain text."""
    where = "cluster" if machine.is_cluster else "machine"
    lines = ["plan", *(f"  {step}" for step in plan.steps), "parts and what they hold"]
    for need in plan.needs:
        held = [f"{need.cpus:g} CPU"] if need.cpus else []
        held += [f"{need.gpus:g} GPU"] if need.gpus else []
        held += [f"{need.memory_gib:.1f} GiB"] if need.memory_gib else []
        lines.append(f"  {need.part}: {', '.join(held) or '-'}{f' ({need.note})' if need.note else ''}")
    lines.append(
        f"the {where} has {machine.nodes} nodes, {machine.cpus:g} logical CPUs, {machine.gpus:g} GPUs, "
        f"{machine.memory_gib:.1f} GiB of memory"
    )
    lines += [f"can't be done here: {problem}" for problem in plan.problems] or ["it fits"]
    return "\n".join(lines)
