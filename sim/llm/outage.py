"""A dead server pauses the run: one clear line, one prober for all waiting calls, an end with a remedy if it stays."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sim.llm.protocol import ServerDown

log = logging.getLogger(__name__)

Probe = Callable[[], Awaitable[bool]]


class Outage:
    """The gate before one endpoint: open while it lives."""

    def __init__(
        self,
        name: str,
        probe: Probe,
        *,
        max_outage_s: float,
        first_wait_s: float = 1.0,
        longest_wait_s: float = 30.0,
        on_pause: Callable[[str], None] = log.warning,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`name` says in messages which server this is; `on_pause` is told once per pause, and once when it ends."""
        self._name = name
        self._probe = probe
        self._max_outage_s = max_outage_s
        self._first_wait_s = first_wait_s
        self._longest_wait_s = longest_wait_s
        self._on_pause = on_pause
        self._clock = clock
        self._sleep = sleep
        self._lock = asyncio.Lock()
        self._since: float | None = None
        self._ended = 0
        self._healthy_at = float("-inf")

    async def pass_gate(self) -> None:
        """Wait while the endpoint is known to be down."""
        if self._since is not None:
            await self.paused(self._ended, "")

    @property
    def generation(self) -> int:
        """Counts the pauses that ended; a failure that began before the last end says nothing about now."""
        return self._ended

    async def paused(self, generation: int, why: str) -> bool:
        """Whether a failure was an outage: if the probe fails, wait until the endpoint is back.

        ServerDown if it stays away longer than allowed.
        """
        failed_at = self._clock()
        async with self._lock:
            if self._ended != generation:
                return True
            if self._since is None and (self._healthy_at >= failed_at or await self._healthy()):
                return False
            await self._wait_until_back(why)
            return True

    async def _healthy(self) -> bool:
        """Whether the probe passes; one answer serves all who failed before it was asked."""
        asked_at = self._clock()
        if not await self._probe():
            return False
        self._healthy_at = asked_at
        return True

    async def _wait_until_back(self, why: str) -> None:
        if self._since is None:
            self._since = self._clock()
            self._on_pause(
                f"{self._name} is not reachable ({why}): the run pauses and goes on by itself when it is back; it "
                f"stops after {self._max_outage_s:.0f} s"
            )
        wait_s = self._first_wait_s
        while True:
            left_s = self._max_outage_s - (self._clock() - self._since)
            if left_s <= 0:
                raise ServerDown(
                    f"{self._name} was not reachable for {self._max_outage_s:.0f} s. The run's state is saved: start "
                    "the server, check its address, then start the same command again"
                )
            await self._sleep(min(wait_s, left_s))
            wait_s = min(2 * wait_s, self._longest_wait_s)
            if await self._healthy():
                self._on_pause(f"{self._name} is back after {self._clock() - self._since:.0f} s: the run goes on")
                self._since = None
                self._ended += 1
                return
