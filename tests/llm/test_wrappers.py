"""The wrappers in their order around one client: what is recorded, what is asked again, what a resume repeats."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from sim.core.facts import UnitFacts
from sim.journal.log import JournalFile
from sim.journal.protocol import JournalError
from sim.journal.rows import CallRow
from sim.journal.tables import JournalId
from sim.llm.journaled import Journaled, row_of
from sim.llm.outcome import Outcome
from sim.llm.protocol import LLM, OutputFormat, Reply, Request, TransportError, Usage
from sim.llm.resilient import Endpoint, Patience, Resilient
from sim.llm.scripted import Scripted
from sim.llm.scripted_faults import Faults
from sim.llm.structured import Structured
from tests.llm.replay import Replay, a_request
from tests.llm.virtual_clock import run_virtually, virtual_now

SCHEMA = {
    "type": "object",
    "properties": {
        "plan": {"type": "string", "maxLength": 80},
        "score": {"type": "integer", "minimum": 0, "maximum": 9},
    },
    "required": ["plan", "score"],
    "additionalProperties": False,
}
FORM = OutputFormat(kind="json", schema=SCHEMA)


class Memory:
    """A journal that keeps rows in a list, and can be slow or broken."""

    def __init__(self, *, slow_s: float = 0.0, broken: bool = False) -> None:
        self.rows: list[CallRow] = []
        self.slow_s = slow_s
        self.broken = broken

    async def record_call(self, row: CallRow) -> None:
        await asyncio.sleep(self.slow_s)
        if self.broken:
            raise JournalError("the disk is full")
        self.rows.append(row)

    async def record_unit(self, facts: UnitFacts) -> None: ...

    async def record_snapshot(self, agent: str, year: int, week: int, state: bytes) -> None: ...


def stack(client: LLM, journal: Any, *, backoff_s: float = 1.0) -> tuple[Structured, Journaled]:
    async def healthy() -> bool:
        return True

    patience = Patience(retries=1, backoff_s=backoff_s)
    endpoint = Endpoint("policy", client, patience=patience, probe=healthy, clock=virtual_now)
    journaled = Journaled(Resilient(endpoint), journal, host="h1")
    return Structured(journaled, attempts=3, max_tokens_bound=400), journaled


def ask(model: Structured, request: Request) -> Any:
    return model.ask(request, lambda value: value, feedback=lambda refusal: f"Please: {refusal.text}")


def test_an_answer_counts_only_once_it_is_durable() -> None:
    slow = Memory(slow_s=5.0)
    model, _ = stack(Replay(['{"plan": "a", "score": 1}']), slow)
    outcome, took = run_virtually(ask(model, a_request(output=FORM)))
    assert (outcome.status, took, len(slow.rows)) == ("ok", 5.0, 1)
    model, _ = stack(Replay(['{"plan": "a", "score": 1}']), Memory(broken=True))
    with pytest.raises(JournalError, match="disk is full"):
        run_virtually(ask(model, a_request(output=FORM)))


def test_each_attempt_is_a_call_of_its_own_with_its_failed_tries() -> None:
    journal = Memory()
    client = Replay(
        [TransportError("timeout", ""), "no json", Reply(text="{", finish="length"), '{"plan": "a", "score": 1}']
    )
    model, _ = stack(client, journal)
    outcome, _ = run_virtually(ask(model, a_request(output=FORM)))
    assert outcome.status == "repaired"
    assert [row.key.rsplit("/", 1)[1] for row in journal.rows] == ["0", "1", "2"]
    assert [row.reply.tries for row in journal.rows] == [("timeout",), (), ()]
    assert [row.max_tokens for row in journal.rows] == [100, 100, 150]
    assert len({row.seed for row in journal.rows}) == 3


def test_a_call_without_an_answer_is_recorded_and_never_asked_again() -> None:
    journal = Memory()
    client = Replay([TransportError("timeout", "")] * 2 + ['{"plan": "late", "score": 1}'])
    model, journaled = stack(client, journal)
    outcome, _ = run_virtually(ask(model, a_request(output=FORM)))
    assert outcome.status == "failed"
    assert [(row.reply.finish, row.reply.tries) for row in journal.rows] == [("unanswered", ("timeout", "timeout"))]
    request = a_request(output=FORM)
    prior = {row.key: row.reply for row in journal.rows}

    async def again() -> Outcome[Any]:
        with journaled.with_prior(request.unit, prior):
            return await ask(model, request)

    outcome, _ = run_virtually(again())
    assert outcome.status == "failed"
    assert len(client.replies) == 1


def test_prior_replies_serve_their_unit_only_and_end_with_it() -> None:
    journal = Memory()
    recorded = Reply(text='{"plan": "old", "score": 1}', finish="stop")
    model, journaled = stack(Replay(['{"plan": "new", "score": 1}'] * 3), journal)
    request = a_request(output=FORM)

    async def main() -> list[str]:
        other = msgspec.structs.replace(request, unit="Y1-W1/plan.0/Bob", key="Y1-W1/plan.0/Bob/Bob/plan/0")
        with journaled.with_prior(request.unit, {request.key: recorded, other.key: recorded}):
            inside = await ask(model, request)
            of_other = await ask(model, other)
        after = await ask(model, request)
        return [outcome.value["plan"] for outcome in (inside, of_other, after)]

    plans, _ = run_virtually(main())
    assert plans == ["old", "new", "new"]
    assert len(journal.rows) == 2


def test_the_prior_is_dropped_when_the_unit_fails() -> None:
    _, journaled = stack(Replay(["x"]), Memory())
    with pytest.raises(KeyError), journaled.with_prior("u", {}):
        raise KeyError("the unit broke")
    with journaled.with_prior("u", {}):
        pass


def test_timing_and_cache_stand_apart_from_the_result() -> None:
    reply = Reply(
        text="a",
        finish="stop",
        usage=Usage(prompt_tokens=9, output_tokens=1, cached_tokens=8),
        seconds=1.5,
        started=77.0,
    )
    row = row_of(a_request(), reply, "h1")
    assert row.reply == Reply(text="a", finish="stop", usage=Usage(prompt_tokens=9, output_tokens=1))
    assert (row.timing.started, row.timing.seconds, row.timing.cached_tokens, row.timing.host) == (77.0, 1.5, 8, "h1")
    assert [[row.blocks[part] for part in message.parts] for message in row.messages] == [["You are Ann."], ["Plan."]]


def test_a_resumed_unit_asks_only_what_is_not_recorded_and_ends_the_same(tmp_path: Path) -> None:
    """Ten questions with faults; the second run has the first six calls from the journal file."""
    identity = JournalId(run="r", world="w", round=1)
    requests = [a_request(output=FORM, key=f"u/q{n}/0", unit="u", seed=n * 31) for n in range(10)]

    async def live(journal: JournalFile, prior: dict[str, Reply]) -> list[Outcome[Any]]:
        model, journaled = stack(
            Scripted(faults=Faults(malformed=0.3, unanswered=0.1, empty=0.1)), journal, backoff_s=0.0
        )
        with journaled.with_prior("u", prior):
            return [await ask(model, request) for request in requests]

    whole = JournalFile(tmp_path / "whole", identity)
    undisturbed = asyncio.run(live(whole, {}))
    recorded = whole.replies_of("u")
    cut = {key: recorded[key] for key in sorted(recorded)[:6]}
    second = JournalFile(tmp_path / "second", identity)
    assert asyncio.run(live(second, cut)) == undisturbed
    assert set(second.replies_of("u")) == set(recorded) - set(cut)
    assert {**second.replies_of("u"), **cut} == recorded
    for journal in (whole, second):
        journal.close()
