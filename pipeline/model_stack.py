"""Where the way to a model is put together: structured → journaled → resilient → client, for each role."""

from collections.abc import Callable, Mapping
from typing import Any

from pipeline.pool_client import PoolClient
from pipeline.response_format import response_format
from pipeline.settings import EndpointSettings, RunSettings
from sim.journal.protocol import Journal
from sim.llm.journaled import Journaled
from sim.llm.openai_client import OpenAIClient
from sim.llm.protocol import LLM, Reply, Request, Role
from sim.llm.resilient import Endpoint, Patience, Resilient
from sim.llm.scripted import Scripted
from sim.llm.scripted_faults import Faults
from sim.llm.structured import Structured
from sim.settings import AnswerSettings

Links = Mapping[str, Any]
"""Ways to the engine pools by name (pipeline.vllm_pool.EngineLink)."""


class Roles:
    """Policy calls to one model, environment calls to another, or to the same; some agents have models of their own."""

    def __init__(self, models: Mapping[Role, LLM], by_agent: Mapping[str, LLM]) -> None:
        """One model for each role, and those of single agents."""
        self._models = models
        self._by_agent = by_agent

    async def complete(self, request: Request) -> Reply:
        """The reply of the agent's or the role's model."""
        own = self._by_agent.get(request.agent) if request.role == "policy" else None
        return await (own or self._models[request.role]).complete(request)


def journaled_models(
    settings: RunSettings,
    links: Links,
    journal: Journal,
    *,
    version: str,
    language: str,
    count: Callable[[str], int],
    played: Mapping[str, str] | None = None,
) -> Journaled:
    """All models behind one journal. `played` names the agents who have another of `serving.others` than the policy."""
    serving = settings.serving
    make = _EndpointMaker(settings, links, version=version, language=language, count=count)
    fallback = make.endpoint("fallback", serving.fallback) if serving.fallback else None
    policy = make.endpoint("policy", serving.policy)
    shared = serving.environment == serving.policy
    environment = policy if shared else make.endpoint("environment", serving.environment)
    models: dict[Role, LLM] = {
        "policy": Resilient(policy, fallback=fallback),
        "environment": Resilient(environment, fallback=fallback),
    }
    never_trained = _EndpointMaker(settings, links, version="0", language=language, count=count)
    others = {
        name: Resilient(never_trained.endpoint(name, serving.others[name]), fallback=fallback)
        for name in sorted(set((played or {}).values()))
    }
    return Journaled(Roles(models, {agent: others[name] for agent, name in (played or {}).items()}), journal)


def structured(settings: RunSettings, replies: Journaled) -> Structured:
    """The outermost layer: answers of the required form, asked for again with the error named."""
    return Structured(
        replies, attempts=settings.sim.limits.structure_attempts, max_tokens_bound=settings.sim.answers.longest
    )


def extra_fields(wanted: EndpointSettings, answers: AnswerSettings) -> dict[str, Any]:
    """Further fields of each request to an outside server. Those that know structural tags are vLLM, whose chat
    templates take options as our own engines' do; another server might refuse a field that it does not know."""
    options = {"chat_template_kwargs": answers.template_options} if wanted.structured == "structural_tag" else {}
    return {**options, **wanted.extra_body}


class _EndpointMaker:
    """Makes endpoints with one run's limits."""

    def __init__(
        self, settings: RunSettings, links: Links, *, version: str, language: str, count: Callable[[str], int]
    ) -> None:
        self._settings = settings
        self._links = links
        self._version = version
        self._language = language
        self._count = count

    def endpoint(self, name: str, wanted: EndpointSettings) -> Endpoint:
        """The endpoint of one role."""
        limits = self._settings.limits
        client: Any = getattr(self, f"_{wanted.kind}")(wanted)
        return Endpoint(
            name,
            client,
            patience=Patience(
                timeout_s=limits.call_timeout_s,
                retries=limits.call_retries,
                backoff_s=limits.backoff_s,
                max_outage_s=limits.max_outage_s,
                concurrency=limits.concurrent_calls,
                requests_per_minute=wanted.requests_per_minute,
                tokens_per_minute=wanted.tokens_per_minute,
            ),
            probe=client.healthy if isinstance(client, PoolClient) else client.probe,
        )

    def _scripted(self, wanted: EndpointSettings) -> Scripted:
        return Scripted(
            language=self._language,
            name=wanted.model or "scripted",
            version=self._version,
            faults=Faults(**wanted.faults.model_dump()),
            count=self._count,
        )

    def _engine(self, wanted: EndpointSettings) -> PoolClient:
        return PoolClient(
            self._links[wanted.engine],
            timeout_s=self._settings.limits.call_timeout_s,
            template_options=self._settings.sim.answers.template_options,
        )

    def _openai(self, wanted: EndpointSettings) -> OpenAIClient:
        return OpenAIClient(
            base_url=wanted.base_url,
            model=wanted.model,
            key_env=wanted.key_env,
            structured=wanted.structured,
            extra=extra_fields(wanted, self._settings.sim.answers),
            timeout_s=self._settings.limits.call_timeout_s,
            to_response_format=lambda output: response_format(output, self._settings.sim.answers.short),
        )
