"""How fast an endpoint may be asked: requests and tokens a minute, and a number in flight that adapts to its refusals.

Concurrency falls to half when the endpoint says "too many requests" and rises by one per round of good answers.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

BURST_SHARE = 1 / 6
"""Part of a minute's allowance that may be used at once; the rest flows in evenly, so no minute exceeds its limit."""
SHORTEST_S = 0.001
"""A wait that any clock notices."""


class Bucket:
    """An allowance per minute that fills up evenly."""

    def __init__(self, per_minute: float, clock: Callable[[], float]) -> None:
        """Full at the start."""
        self._capacity = max(1.0, per_minute * BURST_SHARE)
        self._per_s = max(per_minute - self._capacity, per_minute / 2) / 60
        self._clock = clock
        self._level = self._capacity
        self._at = clock()

    def wait_s(self, cost: float) -> float:
        """How long until this may be taken; what exceeds the whole bucket is taken as a debt from a full one."""
        self._fill()
        lacking = min(cost, self._capacity) - self._level
        return max(SHORTEST_S, lacking / self._per_s) if lacking > 1e-9 else 0.0

    def take(self, cost: float) -> None:
        """Take, or give back a negative cost."""
        self._fill()
        self._level = min(self._capacity, self._level - cost)

    def _fill(self) -> None:
        now = self._clock()
        self._level = min(self._capacity, self._level + (now - self._at) * self._per_s)
        self._at = now


class Limiter:
    """Admits calls in order of arrival."""

    def __init__(
        self,
        *,
        concurrency: int,
        requests_per_minute: int = 0,
        tokens_per_minute: int = 0,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """0 a minute is no limit."""
        self._most = concurrency
        self._allowed = float(concurrency)
        self._in_flight = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._requests = Bucket(requests_per_minute, clock) if requests_per_minute else None
        self._tokens = Bucket(tokens_per_minute, clock) if tokens_per_minute else None
        self._turn = asyncio.Lock()
        self._sleep = sleep
        self._generation = 0

    @property
    def allowed(self) -> int:
        """Calls that may be in flight now."""
        return max(1, int(self._allowed))

    @asynccontextmanager
    async def slot(self, tokens: int) -> AsyncGenerator["Slot"]:
        """A place in flight for a call that may use so many tokens."""
        await self._enter()
        try:
            await self._pass_rates(tokens)
            yield Slot(self, tokens, self._generation)
        finally:
            self._in_flight -= 1
            self._admit()

    def settle(self, estimated: int, used: int) -> None:
        """Give back the tokens that a call did not use."""
        if self._tokens is not None:
            self._tokens.take(used - estimated)

    def grow(self) -> None:
        """A good answer: one more in flight after a full round of them."""
        self._allowed = min(float(self._most), self._allowed + 1.0 / self._allowed)
        self._admit()

    def shrink(self, generation: int) -> None:
        """Too many requests: half as many in flight; once for all calls that were under way together."""
        if generation == self._generation:
            self._generation += 1
            self._allowed = max(1.0, self._allowed / 2)

    async def _enter(self) -> None:
        if self._in_flight < self.allowed and not self._waiting:
            self._in_flight += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self._in_flight -= 1
                self._admit()
            raise

    def _admit(self) -> None:
        while self._waiting and self._in_flight < self.allowed:
            place = self._waiting.popleft()
            if not place.done():
                self._in_flight += 1
                place.set_result(None)

    async def _pass_rates(self, tokens: int) -> None:
        buckets = [(bucket, cost) for bucket, cost in ((self._requests, 1.0), (self._tokens, float(tokens))) if bucket]
        if not buckets:
            return
        async with self._turn:
            while (wait_s := max(bucket.wait_s(cost) for bucket, cost in buckets)) > 0:
                await self._sleep(wait_s)
            for bucket, cost in buckets:
                bucket.take(cost)


class Slot:
    """One call's place in flight."""

    def __init__(self, limiter: Limiter, tokens: int, generation: int) -> None:
        self._limiter = limiter
        self._tokens = tokens
        self._generation = generation

    def answered(self, tokens: int) -> None:
        """The call came back, having used so many tokens."""
        self._limiter.settle(self._tokens, tokens)
        self._limiter.grow()

    def refused(self) -> None:
        """The endpoint said that it gets too many requests; nothing was used."""
        self._limiter.settle(self._tokens, 0)
        self._limiter.shrink(self._generation)
