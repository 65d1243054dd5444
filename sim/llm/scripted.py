"""The scripted model: answers every kind of question validly and plausibly, from the call's seed alone.

It ships with the product, for tests, demos and dry runs. On request a share of its answers is malformed, empty, cut off
or never given, and it tells how long a served model would have taken.
"""

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from sim.llm.latency import BlockCache, Latency, count_pieces, pieces
from sim.llm.protocol import OutputFormat, Reply, Request, Tag, TransportError, Usage
from sim.llm.scripted_faults import FaultKind, Faults, spoilt
from sim.llm.scripted_offences import offend
from sim.llm.scripted_values import LIKELY, RARE, Maker, names_in
from sim.llm.scripted_words import Words
from sim.llm.tool_calls import CLOSE, OPEN

TOOL_SHARE = 0.3
SPAN_SHARE = 0.25
MORE_TAGS = 2
TEXT_CHARS = 500
_RECEIVERS = ("to", "receiver", "recipient", "visible_to")


class Scripted:
    """A model without weights."""

    def __init__(
        self,
        *,
        language: str = "en",
        name: str = "scripted",
        version: str = "0",
        faults: Faults | None = None,
        count: Callable[[str], int] = count_pieces,
        latency: Latency | None = None,
        cache: BlockCache | None = None,
        sleep: Callable[[float], Awaitable[None]] | None = None,
    ) -> None:
        """`sleep` is waited for where the latency shall be felt, as with a virtual clock; without it nothing waits."""
        self.model = f"{name}@{version}"
        self._words = Words(language)
        self._faults = faults or Faults()
        self._count = lru_cache(maxsize=2048)(count)
        self._latency = latency
        self._cache = cache
        self._sleep = sleep

    async def complete(self, request: Request) -> Reply:
        """The reply; TransportError for a call that is never answered."""
        fault = self.fault_of(request)
        if fault == "unanswered":
            raise TransportError("timeout", f"the scripted model never answers {request.key}")
        reply = self._reply(request, fault)
        if self._latency is None:
            return reply
        usage = reply.usage
        seconds = self._latency.seconds(
            prompt_tokens=usage.prompt_tokens, cached_tokens=usage.cached_tokens, output_tokens=usage.output_tokens
        )
        if self._sleep is not None:
            await self._sleep(seconds)
        return msgspec.structs.replace(reply, seconds=seconds)

    async def probe(self) -> bool:
        """Whether the model is there: always."""
        return True

    def fault_of(self, request: Request) -> FaultKind | None:
        """What goes wrong with this call."""
        return self._faults.kind_of(request.key, request.seed)

    def _reply(self, request: Request, fault: FaultKind | None) -> Reply:
        text, finish = self._good(request)
        if fault == "malformed":
            rng = random.Random(f"spoilt {request.seed}")
            text, finish = spoilt(text, request.output, rng, self._words.sentence(rng, "speech")), "stop"
        elif fault == "illegal" and (offence := self._offence(request)):
            text, finish = offence, "stop"
        elif fault == "truncated":
            text, finish = text[: max(1, len(text) // 2)], "length"
        elif fault == "empty":
            text, finish = "", "stop"
        prompt = sum(self._count(part) for message in request.messages for part in message.parts)
        cached = 0
        if self._cache is not None:
            cached = min(prompt, self._cache.admit(pieces("\x1e".join(m.text for m in request.messages))))
        usage = Usage(prompt_tokens=prompt, output_tokens=self._count(text), cached_tokens=cached)
        return Reply(text=text, finish="length" if finish == "length" else "stop", usage=usage, model=self.model)

    def _offence(self, request: Request) -> str:
        """An answer with forbidden actions; "" where the question allows no actions."""
        rng = random.Random(f"illegal {request.seed}")
        return offend(request.output, rng, who=request.agent, prose=self._words.sentence(rng, "speech"))

    def _good(self, request: Request) -> tuple[str, str]:
        """A valid answer, a brief one where a longer has no room; cut off where not even that fits."""
        text = ""
        for brief in (False, True):
            text = _Author(request, self._words, brief=brief).answer()
            if self._count(text) <= request.max_tokens:
                return text, "stop"
        while self._count(text) > request.max_tokens:
            text = text[: len(text) * 3 // 4]
        return text, "length"


class _Author:
    """Writes one answer."""

    def __init__(self, request: Request, words: Words, *, brief: bool) -> None:
        self._output: OutputFormat = request.output
        self._duty = request.duty
        self._words = words
        self._brief = brief
        self._rng = random.Random(request.seed)

    def answer(self) -> str:
        """Function calls now and then where they may be made, else the answer in its form."""
        if self._output.tools and self._rng.random() < TOOL_SHARE:
            return self._calls()
        if self._output.kind == "json":
            return _text_of(self._maker(self._output.schema).value(self._output.schema, self._duty))
        text = self._free_text()
        return text if self._output.kind == "text" else "\n".join([text, *self._tags()])

    def _maker(self, schema: Mapping[str, Any]) -> Maker:
        return Maker(self._rng, self._words, schema, brief=self._brief)

    def _calls(self) -> str:
        chosen = self._rng.sample(self._output.tools, min(len(self._output.tools), self._rng.randint(1, 2)))
        calls = [self._maker(tool).value(tool) for tool in chosen]
        return "\n".join(f"{OPEN}{_text_of(call)}{CLOSE}" for call in calls)

    def _free_text(self) -> str:
        """Some sentences, one of them now and then for one's own or a few people's eyes."""
        longest = min(TEXT_CHARS, self._output.text_chars)
        text = self._words.text(self._rng, self._duty, longest, brief=self._brief)
        span = self._span()
        if not span or len(text) + len(span) > self._output.text_chars:
            return text
        return self._words.join([text, span])

    def _span(self) -> str:
        spans = self._output.spans
        if not spans or self._brief or self._rng.random() >= SPAN_SHARE:
            return ""
        name = self._rng.choice(spans)
        inside = self._words.sentence(self._rng, "reason")
        if name != "visible_to":
            return f"<{name}>{inside}</{name}>"
        people = sorted({who for tag in self._output.tags for who in _receivers(tag.schema)})
        if not people:
            return ""
        chosen = self._rng.sample(people, min(len(people), self._rng.randint(1, 2)))
        return f'<visible_to="{",".join(sorted(chosen))}">{inside}</visible_to>'

    def _tags(self) -> list[str]:
        return [
            f"<{tag.name}>{_text_of(self._maker(tag.schema).value(tag.schema))}</{tag.name}>"
            for tag in self._output.tags
            for _ in range(self._how_many(tag))
        ]

    def _how_many(self, tag: Tag) -> int:
        names = [tag.name, *names_in(tag.schema)]
        odds = RARE if any(map(self._words.rare, names)) else LIKELY if any(map(self._words.likely, names)) else 0.5
        many = tag.at_least
        while not self._brief and many < min(tag.at_most, tag.at_least + MORE_TAGS) and self._rng.random() < odds:
            many += 1
        return many


def _text_of(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _receivers(schema: Mapping[str, Any]) -> list[str]:
    """Names that a tag's schema lists as receivers."""
    names: list[str] = []
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    for name in _RECEIVERS:
        listed: Sequence[Any] = properties.get(name, {}).get("enum", ())
        names += [who for who in listed if isinstance(who, str)]
    options: Sequence[Mapping[str, Any]] = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    for option in options:
        names += _receivers(option)
    return names
