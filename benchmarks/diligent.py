"""A scripted model that writes as much as it may and keeps what it must not forget: the worst case for bounded memory.

Once a year it plants three facts: in its diary, in general.txt and in the file of a person. Whenever it rewrites a file
or folds its diary it carries such sentences over, first; so a fact that is gone was lost by the machinery.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from sim.llm.latency import count_pieces
from sim.llm.protocol import Message, OutputFormat, Reply, Request
from sim.llm.scripted import Scripted
from sim.llm.tool_calls import CLOSE, OPEN

KINDS = ("diary", "general", "person")
PLANTING_WEEK = 1
_FACT = re.compile(r"Never forget (diary|general|person) (\d+): [^.]*\.")
_RESULT = re.compile(r"^\[(read_file|update_file) ([^\]\n]+)\]\n(.*?)(?=^\[|\Z)", re.MULTILINE | re.DOTALL)
_PERSON_LINE = re.compile(r"^- (characters/[^:\n]+\.txt)", re.MULTILINE)
_UNIT = re.compile(r"Y(\d+)-W(\d+)")
_FILLER = "And so another day went by, with much to do and more to say about it. "
_LONG = 60
"""A text that may have so many characters is written to its end."""
_SHARES = (1.0, 0.7, 0.45, 0.25, 0.0)
"""Parts of the longest text that are tried until the answer fits its limit of tokens."""


def fact(kind: str, year: int) -> str:
    """The sentence that is planted."""
    return f"Never forget {kind} {year}: the key of year {year} lies under the third step."


def facts_in(text: str) -> set[tuple[str, int]]:
    """Kind and year of the planted sentences that stand in a text as a whole."""
    return {(match[1], int(match[2])) for match in _FACT.finditer(text)}


def _sentences(text: str) -> list[str]:
    """The planted sentences of a text, the latest year first, each once."""
    found = {match.group(): int(match[2]) for match in _FACT.finditer(text)}
    return sorted(found, key=lambda sentence: (-found[sentence], sentence))


def _filled(beginning: str, chars: int) -> str:
    """A text of so many characters that begins like this."""
    text = f"{beginning.strip()} " if beginning.strip() else ""
    return (text + _FILLER * (1 + max(0, chars - len(text)) // len(_FILLER)))[:chars].rstrip()


class Diligent:
    """The scripted model, at length."""

    def __init__(self, language: str = "en") -> None:
        """A model for a world of this language; the filler stays English."""
        self._inner = Scripted(language=language)

    async def complete(self, request: Request) -> Reply:
        """The scripted model's choice, with every text as long as its limits allow."""
        plain = msgspec.structs.replace(request, output=msgspec.structs.replace(request.output, tools=()))
        reply = await self._inner.complete(plain)
        text = self._memory_work(request) if request.output.tools else None
        if text is None:
            text = _fitting(request, reply.text)
        usage = msgspec.structs.replace(reply.usage, output_tokens=count_pieces(text))
        return msgspec.structs.replace(reply, text=text, finish="stop", usage=usage)

    def _memory_work(self, request: Request) -> str | None:
        """In the review: read two files, rewrite them, then answer; elsewhere no functions are called."""
        if request.duty != "review":
            return None
        results = {(match[1], match[2]): match[3] for match in _RESULT.finditer(request.messages[-1].text)}
        read = [path for name, path in results if name == "read_file"]
        if any(name == "update_file" for name, _ in results):
            return None
        if not read:
            return _calls({"name": "read_file", "arguments": {"path": path}} for path in _paths(request))
        return _calls(_update(request, path, results["read_file", path]) for path in read)


def _paths(request: Request) -> list[str]:
    """general.txt and the file of one person, another one each week."""
    people = _PERSON_LINE.findall(request.messages[0].text)
    _, week = _when(request)
    return ["general.txt", *([people[week % len(people)]] if people else [])]


def _update(request: Request, path: str, old: str) -> dict[str, Any]:
    """The longest new text of a file that keeps its planted sentences."""
    year, week = _when(request)
    kind = "person" if path.startswith("characters/") else "general"
    planted = [fact(kind, year)] if week == PLANTING_WEEK else []
    kept = list(dict.fromkeys([*planted, *_sentences(old)]))
    limits = next(
        tool["properties"]["arguments"]["properties"]
        for tool in request.output.tools
        if tool["properties"]["name"]["enum"] == ["update_file"]
    )
    return {
        "name": "update_file",
        "arguments": {
            "path": path,
            "text": _filled(" ".join(kept), limits["text"]["maxLength"] * 9 // 10),
            "summary": _filled(" ".join(kept[:2]), limits["summary"]["maxLength"]),
        },
    }


def _fitting(request: Request, text: str) -> str:
    """The answer at the greatest length that its limit of tokens allows."""
    for share in _SHARES:
        longer = _lengthened(request, text, share)
        if count_pieces(longer) <= request.max_tokens:
            return longer
    return text


def _lengthened(request: Request, text: str, share: float) -> str:
    output = request.output
    if output.kind == "json":
        return _encoded(_grown(_decoded(text), output.schema, _important(request), share))
    if request.duty == "fold":
        return _filled(" ".join(_sentences(_stage(request))), int(output.text_chars * share) or len(text))
    if output.kind == "text":
        return _filled(text, max(len(text), int(output.text_chars * share)))
    return _tags_grown(text, output, share)


def _important(request: Request) -> str:
    """What the diary of the planting week begins with."""
    year, week = _when(request)
    return fact("diary", year) if request.duty == "review" and week == PLANTING_WEEK else ""


def _grown(value: Any, schema: Mapping[str, Any], beginning: str, share: float) -> Any:
    """A value with every free text filled up to its bound."""
    if isinstance(value, dict):
        shapes = schema.get("properties", {})
        return {name: _grown(inner, shapes.get(name, {}), beginning, share) for name, inner in value.items()}
    if isinstance(value, list):
        return [_grown(inner, schema.get("items", {}), beginning, share) for inner in value]
    longest = schema.get("maxLength", 0)
    if isinstance(value, str) and "enum" not in schema and longest >= _LONG:
        return _filled(f"{beginning} {value}", max(len(beginning) + 1, int(longest * share)))
    return value


def _tags_grown(text: str, output: OutputFormat, share: float) -> str:
    """Tagged actions with longer messages."""
    for tag in output.tags:
        options: Sequence[Mapping[str, Any]] = tag.schema.get("anyOf", [tag.schema])
        pattern = re.compile(rf"<{tag.name}>(\{{.*?\}})</{tag.name}>", re.DOTALL)

        def grown(match: re.Match[str], options: Sequence[Mapping[str, Any]] = options, name: str = tag.name) -> str:
            value = _decoded(match[1])
            shape = next((one for one in options if set(value) == set(one.get("properties", {}))), {})
            return f"<{name}>{_encoded(_grown(value, shape, '', share))}</{name}>"

        text = pattern.sub(grown, text)
    return text


def _when(request: Request) -> tuple[int, int]:
    """Year and week of a call."""
    match = _UNIT.search(request.unit)
    return (int(match[1]), int(match[2])) if match else (0, 0)


def _stage(request: Request) -> str:
    """What is asked, without the system message: there the same sentences stand as memory."""
    later: Sequence[Message] = request.messages[1:]
    return "\n".join(message.text for message in later)


def _calls(calls: Iterable[Mapping[str, Any]]) -> str:
    return "\n".join(f"{OPEN}{_encoded(call)}{CLOSE}" for call in calls)


def _decoded(text: str) -> Any:
    return msgspec.json.decode(text.encode())


def _encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()
