"""The current model answers general prompts, until there is enough output to choose from (SPEC section 9).

Prompts are asked in waves and judged in their order up to the one that suffices, so neither timing nor the size of a
wave changes the result. Whoever asks journals by key. When the prompts run out they are asked again with other seeds.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from itertools import islice

import msgspec

from sim.core.keys import digest_of
from sim.llm.tool_calls import mentions_call
from training.general import Prompt
from training.samples import Drop, DropCounter

WAVE = 64
MOST_PASSES = 16
_REFUSAL = re.compile(
    r"^\W*(i\s*am|i['’]?m)?\s*(sorry|unable to (help|assist)|(i\s*)?(can\s*not|can['’]?t|cannot|won['’]?t) "
    r"(help|assist|comply|fulfil))|as an ai( language)? model|^\W*(抱歉|对不起|很抱歉)",
    re.IGNORECASE,
)


class DistilAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What the current model answered to one prompt."""

    text: str
    finish: str
    output_tokens: int = 0
    token_ids: tuple[int, ...] = ()
    prompt_digest: str = ""
    model: str = ""
    fallback: bool = False


class DistilAsk(msgspec.Struct, frozen=True, kw_only=True):
    """One question: its key in the journal, its messages, and the number of the attempt (its seed's part)."""

    key: str
    messages: tuple[Mapping[str, str], ...]
    attempt: int


class GeneralRow(msgspec.Struct, frozen=True, kw_only=True):
    """A general prompt with the current model's own answer, and where both come from."""

    key: str
    messages: tuple[Mapping[str, str], ...]
    answer: str
    output_tokens: int
    """With the end-of-turn token."""
    token_ids: tuple[int, ...]
    prompt_digest: str
    model: str
    prompt_id: str
    prompt_source: str


class Distilled(msgspec.Struct, frozen=True, kw_only=True):
    """Accepted rows in the order of their asking, what was left out, and how many prompts were asked."""

    rows: tuple[GeneralRow, ...]
    drops: tuple[Drop, ...]
    asked: int


async def distil(
    open_pass: Callable[[int], Iterator[Prompt]],
    ask: Callable[[DistilAsk], Awaitable[DistilAnswer]],
    *,
    needed_tokens: float,
    most_prompts: int,
    count: Callable[[str], int],
    wave: int = WAVE,
) -> Distilled:
    """Rows of at least `needed_tokens` output tokens, unless prompts or passes run out first.

    `open_pass(n)` opens the prompts for the n-th time. A pass that brings no new row is the last.
    """
    rows: list[GeneralRow] = []
    drops = DropCounter()
    said: set[tuple[str, str]] = set()
    asked, tokens = 0, 0
    for number in range(MOST_PASSES):
        prompts, before = open_pass(number), len(rows)
        while tokens < needed_tokens:
            batch = await asyncio.to_thread(_next_batch, prompts, min(wave, most_prompts - asked))
            if not batch:
                break
            for prompt, answer in zip(batch, await _ask_all(batch, number, ask), strict=True):
                if tokens >= needed_tokens:
                    break
                asked += 1
                saying = (_name(prompt), answer.text.strip())
                reason = _drop_reason(answer, saying in said)
                if reason:
                    drops.add("general", reason, "distil")
                    continue
                said.add(saying)
                rows.append(_row(prompt, number, answer, count))
                tokens += rows[-1].output_tokens
        if tokens >= needed_tokens or asked >= most_prompts or len(rows) == before:
            break
    return Distilled(rows=tuple(rows), drops=drops.report(), asked=asked)


def _next_batch(prompts: Iterator[Prompt], size: int) -> list[Prompt]:
    """The next prompts; read in a thread, since they may come over the network."""
    return list(islice(prompts, size))


def is_refusal(text: str) -> bool:
    """Whether an answer declines to answer, by its first words."""
    return bool(_REFUSAL.search(text.strip()[:120]))


async def _ask_all(
    batch: list[Prompt], attempt: int, ask: Callable[[DistilAsk], Awaitable[DistilAnswer]]
) -> list[DistilAnswer]:
    """The answers to a wave, in its order."""
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(
                _asked(ask, DistilAsk(key=_key(prompt, attempt), messages=prompt.messages, attempt=attempt))
            )
            for prompt in batch
        ]
    return [task.result() for task in tasks]


async def _asked(ask: Callable[[DistilAsk], Awaitable[DistilAnswer]], question: DistilAsk) -> DistilAnswer:
    return await ask(question)


def _name(prompt: Prompt) -> str:
    """A prompt's name; with the wording's digest, since data sets repeat ids."""
    wording = digest_of(msgspec.json.encode(prompt.messages, order="deterministic"))
    return f"distil/{prompt.source}/{prompt.id}/{wording[:12]}"


def _key(prompt: Prompt, attempt: int) -> str:
    """The journal's key."""
    return f"{_name(prompt)}/{attempt}"


def _row(prompt: Prompt, attempt: int, answer: DistilAnswer, count: Callable[[str], int]) -> GeneralRow:
    """The row of an accepted answer; tokens as the server counted them with the model's tokenizer, else counted."""
    return GeneralRow(
        key=_key(prompt, attempt),
        messages=prompt.messages,
        answer=answer.text,
        output_tokens=answer.output_tokens if answer.prompt_digest else count(answer.text) + 1,
        token_ids=answer.token_ids,
        prompt_digest=answer.prompt_digest,
        model=answer.model,
        prompt_id=prompt.id,
        prompt_source=prompt.source,
    )


def _is_text(text: str) -> bool:
    """Whether it can be written as UTF-8 at all."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _drop_reason(answer: DistilAnswer, repeated: bool) -> str:
    """Why an answer is not learnt from, or ""."""
    if answer.fallback:
        return "fallback"
    if answer.finish == "unanswered":
        return "unanswered"
    if answer.finish == "length":
        return "truncated"
    if not answer.text.strip():
        return "empty"
    if mentions_call(answer.text) or not _is_text(answer.text):
        return "malformed"
    if is_refusal(answer.text):
        return "refused"
    return "repeated" if repeated else ""
