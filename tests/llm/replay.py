"""A model that gives prepared replies in order and remembers what it was asked."""

from collections.abc import Iterable

from sim.llm.protocol import Message, OutputFormat, Reply, Request


class Replay:
    """Answers with the given replies (texts mean finished ones), one per call; an exception is raised instead."""

    def __init__(self, replies: Iterable[Reply | str | Exception]) -> None:
        self.replies = list(replies)
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return Reply(text=reply, finish="stop") if isinstance(reply, str) else reply


def a_request(**changes: object) -> Request:
    """The smallest valid request; any field can be set."""
    fields: dict[str, object] = {
        "key": "Y1-W1/plan.0/Ann/Ann/plan/0",
        "unit": "Y1-W1/plan.0/Ann",
        "agent": "Ann",
        "duty": "plan",
        "role": "policy",
        "messages": (Message(role="system", parts=("You are Ann.",)), Message(role="user", parts=("Plan.",))),
        "output": OutputFormat(kind="text"),
        "seed": 7,
        "max_tokens": 100,
    }
    return Request(**{**fields, **changes})  # type: ignore[arg-type]
