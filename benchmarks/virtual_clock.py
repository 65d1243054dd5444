"""An event loop whose time jumps to the next timer instead of passing, so that simulated waiting costs nothing.

Right only where nothing waits for a thread, a socket or a process: those would seem to take no time.
"""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    """Never blocks: a wait moves the time on."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """What is ready now; if nothing is, the time of the next timer comes at once."""
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("everything waits and no timer is set: the work is stuck, or waits for a thread")
            self.now += max(0.0, timeout)
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """asyncio with virtual time."""

    def __init__(self) -> None:
        """Time starts at 0."""
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        """Virtual seconds since the start."""
        return self._jumping.now


def run_virtually(work: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """The result, and how many virtual seconds it took."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        result = runner.run(work)
        return result, runner.get_loop().time()
