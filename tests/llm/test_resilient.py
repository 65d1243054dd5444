"""Transport: retries, limits, pauses, fallback; all waits in virtual time."""

import asyncio

import pytest

from sim.llm.protocol import LLM, OutputFormat, Reply, Request, ServerDown, TransportError, Usage
from sim.llm.resilient import MOST_OUTAGES, Endpoint, Patience, Resilient
from sim.llm.scripted import Scripted
from sim.llm.scripted_faults import Faults
from tests.llm.replay import Replay, a_request
from tests.llm.virtual_clock import run_virtually, virtual_now

TIMEOUT = TransportError("timeout", "too slow")
LOADED = TransportError("status_429", "slow down")


class Server:
    """A model that can be down, and counts."""

    def __init__(self, inner: LLM, *, down_between: tuple[float, float] = (0.0, 0.0)) -> None:
        self.inner = inner
        self.down = down_between
        self.probes = 0
        self.lines: list[str] = []

    def is_down(self) -> bool:
        return self.down[0] <= virtual_now() - 1000.0 < self.down[1]

    async def probe(self) -> bool:
        self.probes += 1
        await asyncio.sleep(0.01)
        return not self.is_down()

    async def complete(self, request: Request) -> Reply:
        if self.is_down():
            raise TransportError("refused", "connection refused")
        return await self.inner.complete(request)


def endpoint(server: Server, name: str = "policy at http://x/v1", **patience: float) -> Endpoint:
    given = Patience(**{"backoff_s": 1.0, "retries": 3, "max_outage_s": 600.0, **patience})  # type: ignore[arg-type]
    return Endpoint(name, server, patience=given, probe=server.probe, on_pause=server.lines.append, clock=virtual_now)


def ask(server: Server, fallback: Server | None = None, **patience: float) -> tuple[Reply, float]:
    async def main() -> Reply:
        second = endpoint(fallback, "fallback") if fallback else None
        return await Resilient(endpoint(server, **patience), fallback=second).complete(a_request())

    return run_virtually(main())


def test_failed_tries_are_listed_and_waits_double_with_jitter() -> None:
    model = Replay([TIMEOUT, TransportError("status_503", "busy"), TransportError("garbage", "<html>"), "there"])
    reply, took = ask(Server(model))
    assert (reply.text, reply.finish) == ("there", "stop")
    assert reply.tries == ("timeout", "status_503", "garbage")
    assert 0.5 + 1 + 2 <= took - 0.02 <= 1 + 2 + 4
    again, took_again = ask(Server(Replay([TIMEOUT, TransportError("status_503", ""), TIMEOUT, "there"])))
    assert (again.text, round(took_again, 1)) == ("there", round(took, 1))


def test_tries_are_bounded_then_the_call_is_unanswered() -> None:
    model = Replay([TIMEOUT] * 10)
    reply, _ = ask(Server(model), retries=2)
    assert (reply.finish, reply.text, reply.tries) == ("unanswered", "", ("timeout",) * 3)
    assert len(model.asked) == 3


def test_a_defect_of_the_request_is_not_repeated() -> None:
    model = Replay([TransportError("status_400", "prompt too long", retryable=False), "never"])
    reply, took = ask(Server(model))
    assert (reply.finish, reply.tries, took) == ("unanswered", ("status_400",), 0)


def test_the_same_server_fault_twice_is_not_repeated_but_another_is() -> None:
    same = TransportError("status_500", "tool parser failed at 17")
    assert ask(Server(Replay([same, same, "never"])))[0].tries == ("status_500", "status_500")
    other = TransportError("status_500", "worker 3 restarted")
    assert ask(Server(Replay([same, other, "there"])))[0].text == "there"


def test_a_hanging_call_is_cut_off_by_its_time_limit() -> None:
    class Hanging:
        async def complete(self, request: Request) -> Reply:
            await asyncio.sleep(1e6)
            return Reply(text="late", finish="stop")

    reply, took = ask(Server(Hanging()), timeout_s=30, retries=1)
    assert (reply.finish, reply.tries) == ("unanswered", ("timeout", "timeout"))
    assert 60 <= took <= 63


def test_too_many_requests_never_use_up_tries_and_the_wish_is_honoured() -> None:
    wish = TransportError("status_429", "slow down", retry_after=20.0)
    reply, took = ask(Server(Replay([LOADED] * 6 + [wish, "there"])), retries=1)
    assert reply.text == "there"
    assert reply.tries == ("status_429",) * 7
    assert took >= 20 + sum(0.5 * 2**n for n in range(6))


def test_too_many_requests_for_ever_stops_the_run_with_a_remedy() -> None:
    with pytest.raises(ServerDown, match="lower the concurrency or the requests per minute"):
        ask(Server(Replay([LOADED] * 1000)), max_outage_s=300)


def test_the_fallback_answers_after_the_last_try_and_is_marked() -> None:
    reply, _ = ask(Server(Replay([TIMEOUT] * 4)), Server(Replay([TIMEOUT, "from the other"])))
    assert (reply.text, reply.fallback) == ("from the other", True)
    assert reply.tries == ("timeout",) * 5


def test_a_refused_key_stops_the_run_and_names_the_remedy() -> None:
    error = TransportError("status_401", "bad key", retryable=False)
    with pytest.raises(ServerDown, match="set the environment variable"):
        ask(Server(Replay([error])), Server(Replay(["never"])))


def test_a_dead_server_pauses_all_calls_with_one_line_and_they_go_on_when_it_is_back() -> None:
    server = Server(Scripted(), down_between=(0, 95))

    async def main() -> list[Reply]:
        model = Resilient(endpoint(server))
        requests = [a_request(key=f"k/{n}", seed=n) for n in range(40)]
        async with asyncio.TaskGroup() as group:
            first = [group.create_task(model.complete(request)) for request in requests[:20]]
            await asyncio.sleep(50)
            late = [group.create_task(model.complete(request)) for request in requests[20:]]
        return [task.result() for task in [*first, *late]]

    replies, took = run_virtually(main())
    assert all(reply.finish == "stop" for reply in replies)
    assert [reply.tries for reply in replies] == [("refused",)] * 20 + [()] * 20
    assert 95 <= took <= 95 + 31
    assert len(server.lines) == 2
    assert "policy at http://x/v1 is not reachable (refused: connection refused): the run pauses" in server.lines[0]
    assert "is back after" in server.lines[1]
    assert server.probes < 20


def test_a_server_that_stays_away_stops_the_run_with_its_state_saved() -> None:
    server = Server(Scripted(), down_between=(0, 1e9))

    async def main() -> list[BaseException | Reply]:
        model = Resilient(endpoint(server, max_outage_s=120))
        calls = [model.complete(a_request(key=f"k/{n}")) for n in range(5)]
        return await asyncio.gather(*calls, return_exceptions=True)

    results, took = run_virtually(main())
    assert all(isinstance(result, ServerDown) for result in results)
    assert "start the server, check its address, then start the same command again" in str(results[0])
    assert 120 <= took <= 125
    assert len(server.lines) == 1


def test_an_outage_uses_up_no_tries_but_a_call_that_always_brings_it_down_ends() -> None:
    class Poisoned(Server):
        async def complete(self, request: Request) -> Reply:
            now = virtual_now() - 1000.0
            self.down = (now, now + 10)
            raise TransportError("reset", "connection lost")

    server = Poisoned(Scripted())
    reply, _ = ask(server, retries=1)
    assert reply.finish == "unanswered"
    assert reply.tries == ("reset",) * (MOST_OUTAGES + 1)


def test_a_timeout_while_the_server_is_healthy_is_no_outage() -> None:
    server = Server(Replay([TIMEOUT, "there"]))
    reply, _ = ask(server)
    assert reply.text == "there"
    assert (server.probes, server.lines) == (1, [])


def test_a_cancelled_prober_hands_over() -> None:
    server = Server(Scripted(), down_between=(0, 60))

    async def main() -> Reply:
        model = Resilient(endpoint(server))
        first = asyncio.ensure_future(model.complete(a_request()))
        second = asyncio.ensure_future(model.complete(a_request(key="other/0")))
        await asyncio.sleep(20)
        first.cancel()
        return await second

    reply, took = run_virtually(main())
    assert reply.finish == "stop"
    assert took < 95


def test_broken_characters_go_no_further() -> None:
    reply, _ = ask(Server(Replay([Reply(text="a\ud83db \U0001f600", reasoning="\udc00", finish="stop")])))
    assert (reply.text, reply.reasoning) == ("a\ufffdb \U0001f600", "\ufffd")


def test_scripted_calls_that_are_never_answered_end_unanswered() -> None:
    model = Scripted(faults=Faults(unanswered=1.0))
    reply, _ = ask(Server(model), backoff_s=0.0)
    assert (reply.finish, reply.tries) == ("unanswered", ("timeout",) * 4)


def test_refusals_for_load_lower_the_number_in_flight() -> None:
    seen: list[int] = []

    class Busy:
        """Takes four at a time, refuses the rest."""

        running = 0

        async def complete(self, request: Request) -> Reply:
            self.running += 1
            try:
                seen.append(self.running)
                await asyncio.sleep(0.1)
                if self.running > 4:
                    raise TransportError("status_429", "too many")
                await asyncio.sleep(1)
                return Reply(text="ok", finish="stop", usage=Usage(prompt_tokens=1, output_tokens=1))
            finally:
                self.running -= 1

    async def main() -> list[Reply]:
        model = Resilient(endpoint(Server(Busy()), concurrency=64, max_outage_s=3600))
        return list(await asyncio.gather(*(model.complete(a_request(key=f"k/{n}", seed=n)) for n in range(200))))

    replies, _ = run_virtually(main())
    assert all(reply.text == "ok" for reply in replies)
    assert max(seen[:64]) == 64
    assert sorted(seen[len(seen) // 2 :])[len(seen) // 4] <= 8


def test_concurrency_leaves_no_trace_in_the_replies() -> None:
    def all_replies(**patience: float) -> list[Reply]:
        async def main() -> list[Reply]:
            server = Server(Scripted(faults=Faults(unanswered=0.2)))
            model = Resilient(endpoint(server, backoff_s=0.1, **patience))
            output = OutputFormat(kind="text")
            calls = [model.complete(a_request(key=f"k/{n}", seed=n, output=output)) for n in range(60)]
            return list(await asyncio.gather(*calls))

        return run_virtually(main())[0]

    assert all_replies(concurrency=1) == all_replies(concurrency=50)
