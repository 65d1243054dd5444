"""Turns the form that an answer must have into the `response_format` of a vLLM request (pure; grammars by xgrammar).

Plain JSON is a `json_schema` (compact by the engine's disable_any_whitespace), the rest are structural tags: `or`,
`repeat`, `tag`, `regex`, JSON with max_whitespace_cnt=1 (the engine option does not reach there, and 0 is refused).
maxLength, maxItems, enum and integer ranges are enforced. Each new bound of a string or text costs the engine up to 2 s
once; grammars that differ in an enum cost 0.02 s. Tried and not used: `any_text` with max_chars (any grammar with it
is compiled anew each time, 1.5 s), `triggered_tags` and `excludes` of whole tags (admit half-written tags).
"""

import json
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from sim.llm.protocol import OutputFormat, Tag
from sim.llm.tool_calls import CLOSE, OPEN, names_of
from sim.mind.tools import CALLS_PER_ROUND

Format = dict[str, Any]

NAMES_CHARS = 120
MOST_SPANS = 4
REPEATED_TOKENS = 80
"""So many tokens of an answer's limit make room for one function call or one span."""
CHARS_PER_TOKEN = 4
"""Plain text is bound by a grammar only where its bound can be met before the limit of tokens."""
GAP_SHARE = 4
"""Text between tags may be up to this part of the whole text's bound."""


def response_format(output: OutputFormat, max_tokens: int) -> dict[str, Any]:
    """The body field that makes the server enforce the form; none for plain text. `max_tokens` bounds repetitions."""
    if output.kind == "json" and not output.tools:
        schema = {"name": "answer", "schema": dict(output.schema), "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    is_plain = output.kind == "text" and not output.spans and not output.tools
    if is_plain and output.text_chars >= CHARS_PER_TOKEN * max_tokens:
        return {}
    room = max(1, max_tokens // REPEATED_TOKENS)
    answer = _answer(output, min(MOST_SPANS, room))
    if output.tools:
        answer = _any_of([answer, _calls(output.tools, min(CALLS_PER_ROUND, room))])
    return {"response_format": {"type": "structural_tag", "format": answer}}


def _answer(output: OutputFormat, most_spans: int) -> Format:
    """The answer proper, without function calls."""
    if output.kind == "json":
        return _json(output.schema)
    text = _speech(output.text_chars, output.spans, most_spans)
    if output.kind == "text" or not output.tags:
        return _sequence(text)
    blocks = [_block(name, list(tags), output.text_chars) for name, tags in groupby(output.tags, lambda tag: tag.name)]
    spoken = _sequence([*text, *blocks])
    # Without any text there must be a tag, or the answer could be empty.
    first, *others = blocks
    silent = _sequence([first | {"min": max(1, first["min"])}, *others])
    return _any_of([spoken, silent])


def _speech(chars: int, spans: Sequence[str], most: int) -> list[Format]:
    """Free text up to a bound, never blank, with marked spans in it where they are allowed."""
    text = {"type": "regex", "pattern": rf"[^<\s][^<]{{0,{max(0, chars - 1)}}}"}
    if not spans:
        return [text]
    part = max(1, chars // GAP_SHARE)
    marked = _sequence([_any_of([_span(name, part) for name in spans]), _text(part)])
    return [text, _repeat(0, most, marked)]


def _span(name: str, chars: int) -> Format:
    """`<private>…</private>`, or `<visible_to="A,B">…</visible_to>`."""
    if name != "visible_to":
        return _tag(name, _text(chars))
    names = {"type": "regex", "pattern": rf'[^<>"\n]{{1,{NAMES_CHARS}}}">'}
    content = _sequence([names, _text(chars)])
    return {"type": "tag", "begin": f'<{name}="', "content": content, "end": f"</{name}>"}


def _block(name: str, tags: Sequence[Tag], chars: int) -> Format:
    """The tags of one name, each followed by a little text."""
    value = _any_of([_json(tag.schema) for tag in tags])
    one = _sequence([_tag(name, value), _text(max(1, chars // GAP_SHARE))])
    return _repeat(sum(tag.at_least for tag in tags), sum(tag.at_most for tag in tags), one)


def _calls(tools: Sequence[Mapping[str, Any]], most: int) -> Format:
    """One or more function calls, each on a line of its own or not; all but the arguments is given word for word."""
    calls = [_call(name, tool["properties"].get("arguments", {})) for tool in tools for name in names_of(tool)]
    return _repeat(1, most, _sequence([_any_of(calls), {"type": "regex", "pattern": r"\n?"}]))


def _call(name: str, arguments: Mapping[str, Any]) -> Format:
    begin = f'{OPEN}{{"name": {json.dumps(name, ensure_ascii=False)}, "arguments": '
    return {"type": "tag", "begin": begin, "content": _json(arguments), "end": "}" + CLOSE}


def _json(schema: Mapping[str, Any]) -> Format:
    return {"type": "json_schema", "json_schema": dict(schema), "max_whitespace_cnt": 1}


def _text(chars: int) -> Format:
    """Text or nothing, without any tag: no `<` at all, so that none can be half written."""
    return {"type": "regex", "pattern": f"[^<]{{0,{chars}}}"}


def _tag(name: str, content: Format) -> Format:
    return {"type": "tag", "begin": f"<{name}>", "content": content, "end": f"</{name}>"}


def _sequence(elements: list[Format]) -> Format:
    return {"type": "sequence", "elements": elements}


def _any_of(elements: list[Format]) -> Format:
    return elements[0] if len(elements) == 1 else {"type": "or", "elements": elements}


def _repeat(least: int, most: int, content: Format) -> Format:
    return {"type": "repeat", "min": least, "max": most, "content": content}
