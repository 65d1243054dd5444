"""Brings a call through: time limit, retries with back-off, rate limits, pauses, then the fallback endpoint.

A call that none of this brings through is a reply of its own, `unanswered`. What an answer says is no matter here.
"""

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable

import msgspec

from sim.llm.latency import count_pieces
from sim.llm.limiter import Limiter
from sim.llm.outage import Outage, Probe
from sim.llm.protocol import LLM, Reply, Request, ServerDown, TransportError

log = logging.getLogger(__name__)

TOO_MANY = "status_429"
MOST_OUTAGES = 8
"""Pauses that one call may meet; one that meets more may be what brings the server down."""
_DOUBTFUL = ("refused", "reset", "timeout")
_MISCONFIGURED = {
    "status_401": "it does not accept the key; set the environment variable that holds it",
    "status_403": "it forbids the request; check the key's rights",
    "status_404": "it knows no such address or model; check base_url and model",
}


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long and how often one endpoint is asked."""

    timeout_s: float = 600.0
    """Longest single try."""
    retries: int = 3
    """Further tries after a failure in transport."""
    backoff_s: float = 1.0
    """First wait between tries; doubles."""
    longest_backoff_s: float = 60.0
    max_outage_s: float = 86400.0
    """Longest pause for a server that is down or refuses for its load."""
    concurrency: int = 256
    requests_per_minute: int = 0
    tokens_per_minute: int = 0


class Endpoint:
    """A client with its limits and its gate."""

    def __init__(
        self,
        name: str,
        client: LLM,
        *,
        patience: Patience,
        probe: Probe,
        on_pause: Callable[[str], None] = log.warning,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`probe` tells whether the server is healthy, within a bounded time of its own."""
        self.name = name
        self.client = client
        self.patience = patience
        self.clock = clock
        self.sleep = sleep
        self.outage = Outage(
            name, probe, max_outage_s=patience.max_outage_s, on_pause=on_pause, clock=clock, sleep=sleep
        )
        self.limiter = Limiter(
            concurrency=patience.concurrency,
            requests_per_minute=patience.requests_per_minute,
            tokens_per_minute=patience.tokens_per_minute,
            clock=clock,
            sleep=sleep,
        )


class Resilient:
    """A model behind one endpoint and perhaps a second one."""

    def __init__(self, endpoint: Endpoint, *, fallback: Endpoint | None = None) -> None:
        """The fallback is asked when a call fails on the first endpoint beyond its retries."""
        self._endpoint = endpoint
        self._fallback = fallback

    async def complete(self, request: Request) -> Reply:
        """The reply, with the kinds of all failed tries; `unanswered` if there is none. Raises ServerDown."""
        tries: list[str] = []
        reply = await _Call(self._endpoint, request, tries).answer()
        if reply is None and self._fallback is not None:
            reply = await _Call(self._fallback, request, tries).answer()
            if reply is not None:
                reply = msgspec.structs.replace(reply, fallback=True)
        if reply is None:
            return Reply(text="", finish="unanswered", tries=tuple(tries))
        return msgspec.structs.replace(
            reply, text=_whole(reply.text), reasoning=_whole(reply.reasoning), tries=(*tries, *reply.tries)
        )


class _Call:
    """One request on its way to one endpoint."""

    def __init__(self, endpoint: Endpoint, request: Request, tries: list[str]) -> None:
        self._endpoint = endpoint
        self._request = request
        self._tries = tries
        self._failures = 0
        self._outages = 0
        self._last = ""
        self._jitter = random.Random(f"{request.seed} {endpoint.name}")
        self._tokens = request.max_tokens + sum(count_pieces(message.text) for message in request.messages)
        self._refused_since: float | None = None

    async def answer(self) -> Reply | None:
        """The reply, or None when the tries are used up."""
        outage = self._endpoint.outage
        while True:
            await outage.pass_gate()
            generation = outage.generation
            try:
                return await self._try()
            except TransportError as error:
                self._tries.append(error.kind)
                if error.kind in _MISCONFIGURED:
                    raise self._stopped(
                        f"answers {error.kind}: {_MISCONFIGURED[error.kind]} ({error.detail})"
                    ) from error
                if not error.retryable:
                    return None
                doubtful = error.kind in _DOUBTFUL or error.kind.startswith("status_5")
                if doubtful and await outage.paused(generation, str(error)):
                    self._outages += 1
                    if self._outages <= MOST_OUTAGES:
                        continue
                    return None
                if not await self._may_go_on(error):
                    return None

    async def _try(self) -> Reply:
        """One try within its time."""
        timeout_s = self._endpoint.patience.timeout_s
        async with self._endpoint.limiter.slot(self._tokens) as slot:
            try:
                async with asyncio.timeout(timeout_s):
                    reply = await self._endpoint.client.complete(self._request)
            except TimeoutError as error:
                raise TransportError("timeout", f"no answer within {timeout_s:g} s") from error
            except TransportError as error:
                if error.kind == TOO_MANY:
                    slot.refused()
                raise
            slot.answered(reply.usage.prompt_tokens + reply.usage.output_tokens)
            return reply

    async def _may_go_on(self, error: TransportError) -> bool:
        """Wait before the next try; False if there is none.

        Refusals for load don't use up tries, or load would decide results; the same server fault twice is no accident.
        """
        patience = self._endpoint.patience
        if error.kind == TOO_MANY:
            await self._wait_for_room(error)
            return True
        same_fault = error.kind == "status_500" and str(error) == self._last
        self._last = str(error)
        self._failures += 1
        if self._failures > patience.retries or same_fault:
            return False
        await self._endpoint.sleep(self._wait_s(self._failures, error.retry_after))
        return True

    async def _wait_for_room(self, error: TransportError) -> None:
        now = self._endpoint.clock()
        self._refused_since = now if self._refused_since is None else self._refused_since
        if now - self._refused_since > self._endpoint.patience.max_outage_s:
            raise self._stopped("refuses all calls for its load; lower the concurrency or the requests per minute")
        await self._endpoint.sleep(self._wait_s(min(len(self._tries), 16), error.retry_after))

    def _wait_s(self, failures: int, retry_after: float | None) -> float:
        """Doubling waits, spread over half to full so that calls don't come back together; never before the wish."""
        patience = self._endpoint.patience
        longest = min(patience.longest_backoff_s, patience.backoff_s * 2 ** (failures - 1))
        return max(longest * self._jitter.uniform(0.5, 1.0), min(retry_after or 0.0, patience.max_outage_s))

    def _stopped(self, why: str) -> ServerDown:
        return ServerDown(
            f"{self._endpoint.name} {why}. The run's state is saved; start the same command again after that"
        )


def _whole(text: str) -> str:
    """The text with halves of surrogate pairs replaced: what can't be written as UTF-8 goes no further than here."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
