"""Finds and checks calls of memory functions, `<tool_call>{…}</tool_call>`, in a model's text."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

import msgspec

from sim.llm.json_reader import check, read_object
from sim.llm.outcome import Refusal, ToolCall

OPEN = "<tool_call>"
CLOSE = "</tool_call>"
_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|$)", re.DOTALL)


class ToolReading(msgspec.Struct, frozen=True, kw_only=True):
    """All calls of one answer; `repaired` where one needed a lenient reading."""

    calls: tuple[ToolCall, ...]
    repaired: bool


def mentions_call(text: str) -> bool:
    """Whether the text tries to call a function."""
    return OPEN in text


def read_calls(text: str, tools: Iterable[Mapping[str, Any]]) -> ToolReading | Refusal:
    """The calls in a text, each valid by the schema of the function that it names; the first bad one is refused."""
    schemas = {name: tool for tool in tools for name in names_of(tool)}
    calls: list[ToolCall] = []
    repaired = False
    for match in _CALL.finditer(text):
        reading = read_object(match.group(1))
        if isinstance(reading, Refusal):
            return _within(OPEN, reading)
        refusal = _check_call(reading.value, schemas)
        if refusal is not None:
            return refusal
        calls.append(ToolCall(name=reading.value["name"], arguments=reading.value.get("arguments", {})))
        repaired = repaired or reading.repaired or not match.group().endswith(CLOSE)
    return ToolReading(calls=tuple(calls), repaired=repaired)


def names_of(tool: Mapping[str, Any]) -> tuple[str, ...]:
    """The function names that a tool's schema allows."""
    name = cast(Mapping[str, Any], tool.get("properties", {})).get("name", {})
    return (name["const"],) if "const" in name else tuple(name.get("enum", ()))


def _check_call(value: Mapping[str, Any], schemas: Mapping[str, Mapping[str, Any]]) -> Refusal | None:
    name = value.get("name")
    if not isinstance(name, str) or name not in schemas:
        names = ", ".join(schemas)
        return Refusal(
            kind="invalid",
            text=f"{OPEN}: no function {str(name)[:60]!r}; there are {names}",
            code="no_function",
            detail=names,
        )
    refusal = check(value, schemas[name])
    return None if refusal is None else _within(f"{OPEN} {name}", refusal)


def _within(place: str, refusal: Refusal) -> Refusal:
    """A refusal of one call, with where it stands."""
    detail = f"{place}: {refusal.detail}" if refusal.detail else place
    return Refusal(kind=refusal.kind, text=f"{place}: {refusal.text}", code=refusal.code, detail=detail)
