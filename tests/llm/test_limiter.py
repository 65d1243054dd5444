"""Rates and concurrency in virtual time."""

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sim.llm.limiter import Limiter
from tests.llm.virtual_clock import run_virtually, virtual_now


async def call_times(limiter: Limiter, many: int, tokens: int = 1, lasts_s: float = 0.0) -> list[float]:
    starts: list[float] = []

    async def call() -> None:
        async with limiter.slot(tokens) as slot:
            starts.append(virtual_now())
            await asyncio.sleep(lasts_s)
            slot.answered(tokens)

    async with asyncio.TaskGroup() as group:
        for _ in range(many):
            group.create_task(call())
    return starts


@settings(deadline=None, max_examples=30)
@given(st.integers(6, 300), st.integers(10, 400))
def test_no_minute_has_more_requests_than_allowed(per_minute: int, many: int) -> None:
    async def main() -> list[float]:
        limiter = Limiter(concurrency=1000, requests_per_minute=per_minute, clock=virtual_now)
        return await call_times(limiter, many)

    starts, _ = run_virtually(main())
    assert len(starts) == many
    for first in starts:
        assert sum(first <= start < first + 60 for start in starts) <= per_minute + 1


def test_tokens_are_limited_and_unused_ones_come_back() -> None:
    async def main(use: int) -> float:
        limiter = Limiter(concurrency=1000, tokens_per_minute=6000, clock=virtual_now)
        before = virtual_now()
        for _ in range(20):
            async with limiter.slot(1000) as slot:
                slot.answered(use)
        return virtual_now() - before

    all_used, _ = run_virtually(main(1000))
    few_used, _ = run_virtually(main(100))
    assert all_used == pytest.approx((20 - 1) * 1000 / (5000 / 60))
    assert few_used < all_used / 8


def test_one_request_beyond_the_whole_allowance_still_passes() -> None:
    async def main() -> list[float]:
        return await call_times(Limiter(concurrency=9, tokens_per_minute=600, clock=virtual_now), 2, tokens=1000)

    starts, _ = run_virtually(main())
    assert starts[1] - starts[0] == pytest.approx(1000 / (500 / 60))


def test_concurrency_is_bounded_and_nobody_is_forgotten() -> None:
    async def main() -> list[float]:
        return await call_times(Limiter(concurrency=4, clock=virtual_now), 10, lasts_s=1.0)

    starts, took = run_virtually(main())
    assert [start - starts[0] for start in starts] == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]
    assert took == 3


def test_refusals_halve_the_concurrency_once_and_answers_raise_it_again() -> None:
    async def main() -> list[int]:
        limiter = Limiter(concurrency=16, clock=virtual_now)
        allowed = [limiter.allowed]
        async with limiter.slot(1) as first, limiter.slot(1) as second:
            first.refused()
            second.refused()
        allowed.append(limiter.allowed)
        for _ in range(10):
            async with limiter.slot(1) as slot:
                slot.refused()
        allowed.append(limiter.allowed)
        for _ in range(4):
            async with limiter.slot(1) as slot:
                slot.answered(1)
        allowed.append(limiter.allowed)
        for _ in range(500):
            async with limiter.slot(1) as slot:
                slot.answered(1)
        return [*allowed, limiter.allowed]

    allowed, _ = run_virtually(main())
    assert allowed[:3] == [16, 8, 1]
    assert 2 <= allowed[3] <= 3
    assert allowed[4] == 16


def test_a_cancelled_waiter_gives_its_place_on() -> None:
    async def main() -> int:
        limiter = Limiter(concurrency=1, clock=virtual_now)
        done: list[int] = []

        async def call(number: int) -> None:
            async with limiter.slot(1):
                await asyncio.sleep(1)
                done.append(number)

        tasks = [asyncio.ensure_future(call(number)) for number in range(4)]
        await asyncio.sleep(0.5)
        tasks[1].cancel()
        await asyncio.sleep(0.5)
        tasks[2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert done == [0, 3]
        return limiter.allowed

    assert run_virtually(main())[0] == 1
