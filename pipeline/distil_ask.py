"""Self-distillation's way to the model: the policy endpoint through a journal of its own; nothing is asked twice."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from pipeline.finetune_step import Ask
from pipeline.host_desk import counter_of
from pipeline.journal_actor import ActorJournal, journal_actor
from pipeline.model_stack import journaled_models
from pipeline.progress import Progress
from pipeline.run_folder import RunFolder
from pipeline.serving import Serving, tokenizer_of
from pipeline.settings import RunSettings
from sim.core.keys import Scope, UnitKey, seed_of
from sim.journal.tables import JournalId
from sim.llm.protocol import Message, OutputFormat, Reply, Request
from training.self_distil import DistilAnswer, DistilAsk

UNIT = UnitKey(year=0, week=0, stage="distil")


@asynccontextmanager
async def open_asking(
    settings: RunSettings, folder: RunFolder, round_number: int, serving: Serving, progress: Progress
) -> AsyncIterator[Ask]:
    """A function that has a general prompt answered by the current model."""
    scope = Scope(run_seed=settings.seed, round=round_number, world="distil")
    identity = JournalId(run=folder.root.name, round=round_number, world="distil")
    async with journal_actor(folder.distil_journal(round_number), identity) as (actor, has_past):
        journal = ActorJournal(actor, has_past=has_past)
        replies = journaled_models(
            settings,
            serving.links(),
            journal,
            version=serving.weights.version,
            language="en",
            count=counter_of(tokenizer_of(settings)),
        )
        in_flight = asyncio.Semaphore(settings.limits.concurrent_calls)

        async def ask(question: DistilAsk) -> DistilAnswer:
            async with in_flight:
                return _answer(await replies.complete(_request(settings, scope, question)))

        with replies.with_prior(str(UNIT), await journal.replies_of(str(UNIT))):
            follow = asyncio.create_task(progress.follow(lambda: _counters(journal)))
            try:
                yield ask
            finally:
                follow.cancel()


async def _counters(journal: ActorJournal) -> list[Mapping[str, Any]]:
    return [await journal.counters()]


def _request(settings: RunSettings, scope: Scope, question: DistilAsk) -> Request:
    answers = settings.sim.answers
    return Request(
        key=question.key,
        unit=str(UNIT),
        agent="",
        duty="general",
        role="policy",
        messages=tuple(Message(role=m["role"], parts=(m["content"],)) for m in question.messages),  # type: ignore[arg-type]
        output=OutputFormat(kind="text", text_chars=8 * settings.training.mixture.distil_max_tokens),
        seed=seed_of(scope, question.key),
        max_tokens=settings.training.mixture.distil_max_tokens + answers.reasoning_room,
        temperature=answers.temperature,
        top_p=answers.top_p,
        affinity=question.key,
    )


def _answer(reply: Reply) -> DistilAnswer:
    return DistilAnswer(
        text=reply.text,
        finish=reply.finish,
        output_tokens=reply.usage.output_tokens,
        token_ids=reply.token_ids,
        prompt_digest=reply.prompt_digest,
        model=reply.model,
        fallback=reply.fallback,
    )
