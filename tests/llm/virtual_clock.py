"""An event loop whose time jumps to the next timer instead of passing, for tests of waits."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Jumping(selectors.DefaultSelector):
    """A selector that never blocks: a wait moves the loop's time."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0

    def select(self, timeout: float | None = None) -> list[Any]:
        ready = super().select(0)
        if not ready:
            if timeout is None:
                raise RuntimeError("everything waits for something that can't happen")
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """asyncio with virtual time."""

    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now


def virtual_now() -> float:
    """The running loop's time."""
    return asyncio.get_running_loop().time()


def run_virtually(main: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """The result, and how long it took in virtual seconds."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        before = runner.get_loop().time()
        result = runner.run(main)
        return result, runner.get_loop().time() - before
