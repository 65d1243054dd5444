"""The whole run's settings: simulation, training, serving, cluster, limits; all checked before anything starts."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator

from sim.settings import Count, Positive, Settings, Share, SimSettings
from training.settings import TrainingSettings

StepName = Literal["simulate", "select", "finetune", "redeploy", "evaluate"]
STEPS: tuple[StepName, ...] = ("simulate", "select", "finetune", "redeploy", "evaluate")


class FaultSettings(Settings):
    """Shares of bad answers that the scripted model gives on request."""

    malformed: Share = 0.0
    """Broken JSON, invented names, prose."""
    empty: Share = 0.0
    """No text."""
    truncated: Share = 0.0
    """Cut at the token limit."""
    unanswered: Share = 0.0
    """Never answered: every try of the call times out."""
    illegal: Share = 0.0
    """Actions that the rules refuse: unknown people and places, impossible days, gifts that one does not own …"""


class EndpointSettings(Settings):
    """Who answers: the scripted model, an engine of ours, or an outside OpenAI-compatible server."""

    kind: Literal["scripted", "engine", "openai"] = "engine"
    """Kind of endpoint."""
    engine: str = "policy"
    """Name of the engine pool under serving.engines (kind engine)."""
    base_url: Annotated[str, Field(pattern=r"^(https?://[^@?#\s]+)?$")] = ""
    """Such as http://host:8000/v1 (kind openai)."""
    model: str = ""
    """Model name that the outside server knows (kind openai); a name for the scripted model, where several are told
    apart (kind scripted)."""
    key_env: Annotated[str, Field(pattern=r"^([A-Z_][A-Z0-9_]{0,63})?$")] = ""
    """NAME of the environment variable that holds the key; the key itself is written nowhere."""
    structured: Literal["structural_tag", "json_schema", "json_object", "none"] = "json_schema"
    """What the outside server can enforce."""
    extra_body: dict[str, JsonValue] = Field(default_factory=dict)
    """Further fields of every request (kind openai), such as {chat_template_kwargs: {enable_thinking: false}}."""
    requests_per_minute: Count = 0
    """Limit of requests (0: none)."""
    tokens_per_minute: Count = 0
    """Limit of tokens (0: none)."""
    faults: FaultSettings = FaultSettings()
    """Bad answers on request (kind scripted)."""


class EngineSettings(Settings):
    """A pool of vLLM engines with one model."""

    model: str
    """Folder of a Hugging Face model, or a hub name; `smollm2` for the small one that the demo prepares."""
    replicas: Positive = 1
    """Engines."""
    tensor_parallel: Positive = 1
    """GPUs of one engine."""
    pipeline_parallel: Positive = 1
    """Stages of one engine over nodes."""
    device: Literal["cpu", "gpu"] = "gpu"
    """Where it runs."""
    dtype: Literal["auto", "bfloat16", "float16", "float32"] = "auto"
    """Serving precision."""
    max_model_len: Positive = 32768
    """Longest prompt and answer together, in tokens."""
    max_num_seqs: Positive = 256
    """Requests in one batch."""
    kv_cache_gib: Annotated[float, Field(gt=0.0)] = 1.0
    """Cache of a CPU engine in GiB."""
    gpu_memory_share: Annotated[float, Field(gt=0.0, le=1.0)] = 0.9
    """Share of GPU memory that an engine takes."""
    memory_gib: Annotated[float, Field(ge=0.0)] = 4.0
    """Main memory that one engine needs, for the check before the start."""
    cpu_threads: Count = 0
    """Threads of a CPU engine (0: all cores)."""
    start_timeout_s: Positive = 1800
    """Longest start."""
    extra_args: dict[str, str | int | float | bool] = Field(default_factory=dict)
    """Further vLLM engine arguments, by their command-line names without dashes."""


class FurtherPolicySettings(EndpointSettings):
    """A further model that plays a share of the cast; it is never trained, nor are its answers learned from."""

    share: Annotated[float, Field(gt=0.0, lt=1.0)]
    """Share of the agents of each world."""


class ServingSettings(Settings):
    """Who plays the roles and who answers for the world."""

    policy: EndpointSettings = EndpointSettings()
    """The role-players' model; where training is wanted, the one that is trained."""
    others: dict[str, FurtherPolicySettings] = Field(default_factory=dict)
    """Further role-players' models by a name of one's own, so that several live in one society."""
    environment: EndpointSettings = EndpointSettings()
    """The environment model; may share the policy's engine."""
    fallback: EndpointSettings | None = None
    """Asked when an endpoint fails beyond its retries; its answers are never trained on."""
    engines: dict[str, EngineSettings] = Field(default_factory=dict)
    """Engine pools by name."""


def world_label(name: str) -> str:
    """A world's name in a run: the last part of a folder's path."""
    return name.rstrip("/").rpartition("/")[2]


def endpoints_of(serving: ServingSettings) -> dict[str, EndpointSettings]:
    """All endpoints that are asked, by the key that names each under `serving`."""
    named = {"policy": serving.policy, "environment": serving.environment, "fallback": serving.fallback}
    others = {f"others.{name}": serving.others[name] for name in sorted(serving.others)}
    return {role: endpoint for role, endpoint in (named | others).items() if endpoint is not None}


class ClusterSettings(Settings):
    """Ray and the machines."""

    address: str = ""
    """Ray address; empty: RAY_ADDRESS if set, else a local Ray of our own."""
    logical_cpus: Count = 0
    """CPUs that a local Ray counts with (0: cores, at least 8: actors that only wait hold one each)."""
    hosts: Positive = 4
    """Actors that host the agents of each world."""
    host_cpus: Annotated[float, Field(ge=0.0)] = 0.5
    """Logical CPUs that each agent host takes."""
    wait_nodes: Positive = 1
    """Nodes that must have joined before anything starts."""
    wait_timeout_s: Positive = 600
    """How long to wait for them."""


class RunLimitSettings(Settings):
    """Deadlines, retries, outages of the machinery; the life itself does not depend on them."""

    call_timeout_s: Annotated[float, Field(gt=0.0)] = 600.0
    """Longest single try of a model call."""
    call_retries: Count = 3
    """Further tries after a failure in transport."""
    backoff_s: Annotated[float, Field(ge=0.0)] = 1.0
    """First wait between tries; doubles."""
    max_outage_s: Annotated[float, Field(ge=0.0)] = 86400.0
    """How long a run pauses for a dead server before it stops with its state saved."""
    concurrent_calls: Positive = 256
    """Calls in flight per endpoint and host."""
    unit_timeout_s: Annotated[float, Field(gt=0.0)] = 14400.0
    """A unit of work longer than this raises an alarm in the log; nothing is substituted."""
    host_restarts: Count = 20
    """How often dead agent hosts are replaced before the run stops."""


class LoggingSettings(Settings):
    """What is said while it runs."""

    level: Literal["DEBUG", "INFO", "WARNING"] = "INFO"
    """Log level."""
    progress_s: Annotated[float, Field(gt=0.0)] = 5.0
    """Seconds between plain progress lines when not on a terminal."""


class RunSettings(Settings):
    """One run."""

    run_dir: str
    """Folder of the run; created, or resumed if it exists."""
    seed: int = 0
    """Seed of everything."""
    rounds: Positive = 2
    """Rounds of the steps."""
    steps: tuple[StepName, ...] = ("simulate", "select", "finetune", "redeploy")
    """Steps of a round, any beginning of simulate, select, finetune, redeploy, evaluate."""
    worlds: Annotated[tuple[str, ...], Field(min_length=1)] = ("apartment",)
    """Worlds lived side by side: names under configs/worlds, or folders."""
    world: Literal["restart", "continue"] = "restart"
    """The next round starts the worlds anew, or goes on with them."""
    sim: SimSettings = SimSettings()
    """The life."""
    training: TrainingSettings = TrainingSettings()
    """Selection and fine-tuning."""
    serving: ServingSettings = ServingSettings()
    """Models."""
    cluster: ClusterSettings = ClusterSettings()
    """Ray."""
    limits: RunLimitSettings = RunLimitSettings()
    """Deadlines and retries."""
    logging: LoggingSettings = LoggingSettings()
    """Progress and logs."""

    @model_validator(mode="after")
    def _consistent(self) -> "RunSettings":
        if not self.steps or self.steps != STEPS[: len(self.steps)]:
            raise ValueError(f"steps must be a beginning of {list(STEPS)}, for example [simulate, select]")
        if self.steps[-1] in ("finetune",) and self.rounds > 1:
            raise ValueError("rounds above 1 need the step redeploy, or every round would use the first weights")
        labels = [world_label(name) for name in self.worlds]
        if len(set(labels)) != len(labels):
            raise ValueError(
                f"worlds names a world twice, or two folders of one name ({', '.join(labels)}); a world's life is kept "
                "under its folder's name, so give each world once and rename one of such folders"
            )
        for role, endpoint in endpoints_of(self.serving).items():
            self._check_endpoint(role, endpoint)
        if sum(other.share for other in self.serving.others.values()) >= 1.0:
            raise ValueError("serving.others: the shares leave nobody to serving.policy; lower them below 1 in all")
        self._check_training()
        return self

    def _check_training(self) -> None:
        kind = self.serving.policy.kind
        if "redeploy" in self.steps and kind == "openai":
            raise ValueError(
                "steps: new weights can't be put into an outside server; end the steps before redeploy, or serve the "
                "policy by an engine of ours (serving.policy.kind=engine)"
            )
        if "finetune" in self.steps and kind != "engine" and not self.training.base_model:
            raise ValueError(
                f"training.base_model: is required to fine-tune when serving.policy.kind is {kind}; "
                "name a model folder, or `tiny`"
            )

    def _check_endpoint(self, role: str, endpoint: EndpointSettings) -> None:
        if endpoint.kind == "engine":
            engine = self.serving.engines.get(endpoint.engine)
            if engine is None:
                known = ", ".join(sorted(self.serving.engines)) or "none"
                raise ValueError(
                    f"serving.{role}.engine = {endpoint.engine!r} is not among serving.engines ({known}); "
                    "add it there or set the endpoint's kind"
                )
            if engine.max_model_len < self.sim.budgets.context:
                raise ValueError(
                    f"serving.engines.{endpoint.engine}.max_model_len = {engine.max_model_len} is below "
                    f"sim.budgets.context = {self.sim.budgets.context}; raise it or lower the context"
                )
            if self.sim.answers.thinking and "reasoning-parser" not in engine.extra_args:
                raise ValueError(
                    f"sim.answers.thinking: serving.engines.{endpoint.engine} would hold the reasoning to the form of "
                    "the answer; name the model's reasoning parser in its extra_args, such as {reasoning-parser: qwen3}"
                )
        if endpoint.kind == "openai" and not (endpoint.base_url and endpoint.model):
            raise ValueError(f"serving.{role}: kind openai needs base_url and model")
