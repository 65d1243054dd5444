"""Models for proofs of privacy: agents that mark every word not meant for all, and a world that repeats all it is told.

A mark says whose it is and who may read it: `zqp2n7x` is agent 2's own, `zqv2to5n8x` is agent 2's for agent 5.
"""

import itertools
import json
import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from sim.llm.json_reader import check, read_object
from sim.llm.outcome import Refusal
from sim.llm.protocol import Reply, Request
from sim.llm.scripted import Scripted
from sim.llm.tool_calls import CLOSE, OPEN

MARK = re.compile(r"zq(?:p(?P<own>\d+)|v(?P<by>\d+)to(?P<to>\d+))n\d+x?")
OPEN_DUTIES = ("turn", "public_act", "contact")
"""Where others read what is not inside a tag; all else that an agent writes is its own affair."""
_ACTION = re.compile(r"<role_action>(.*?)</role_action>", re.DOTALL)
_TOOL = re.compile(rf"{OPEN}(.*?){CLOSE}", re.DOTALL)
Write = Callable[[str, int], str]


def readers_of(mark: re.Match[str]) -> set[int]:
    """Numbers of the agents who may read a mark."""
    return {int(mark["own"])} if mark["own"] else {int(mark["by"]), int(mark["to"])}


def leaks(text: str, reader: int) -> list[str]:
    """The marks of a text that this reader must not see."""
    return sorted({mark.group() for mark in MARK.finditer(text) if reader not in readers_of(mark)})


def has_a_reader(text: str) -> bool:
    """Whether somebody may read all marks of the text."""
    sets = [readers_of(mark) for mark in MARK.finditer(text)]
    return not sets or bool(set.intersection(*sets))


class Marked:
    """The scripted model: agents write marks everywhere, and the environment repeats in every text what it was told."""

    def __init__(self, names: Sequence[str], *, language: str = "en") -> None:
        self.numbers = {name: number for number, name in enumerate(sorted(names), start=1)}
        self._scripted = Scripted(language=language)

    async def complete(self, request: Request) -> Reply:
        reply = await self._scripted.complete(request)
        rng = random.Random(f"marks {request.seed}")
        if not request.agent:
            echo = _Echo(request, rng)
            events = request.duty == "public_events"
            text = _two_events(request) if events else reply.text
            text = _filled(text, request.output.schema, echo.write, skip=("name",) if events else ())
            return msgspec.structs.replace(reply, text=text, reasoning=echo.write("", 2000))
        author = _Author(self.numbers, request, rng)
        return msgspec.structs.replace(reply, text=author.answer(reply.text), reasoning=f"I think {author.own()}.")


class _Echo:
    """Repeats: the marks that it was told, then the end of what it was told."""

    def __init__(self, request: Request, rng: random.Random) -> None:
        told = "\n".join(message.text for message in request.messages)
        marks = sorted({mark.group() for mark in MARK.finditer(told)})
        rng.shuffle(marks)
        self._marks = itertools.cycle(marks or ["nothing"])
        self._told = " ".join(told.split())
        self._n = len(marks)

    def write(self, text: str, most: int) -> str:
        said = ""
        for mark in itertools.islice(self._marks, max(1, self._n)):
            if len(said) + len(mark) + 1 > most:
                break
            said = f"{said} {mark}".strip()
        room = most - len(said) - 1
        return f"{said} {self._told[-room:]}" if room > 40 else said or text


class _Author:
    """Writes one answer of an agent."""

    def __init__(self, numbers: Mapping[str, int], request: Request, rng: random.Random) -> None:
        self._numbers, self._request, self._rng = numbers, request, rng
        self._me = numbers[request.agent]
        self._count = itertools.count(rng.randrange(10**6) * 100)

    def own(self) -> str:
        return f"zqp{self._me}n{next(self._count)}x"

    def answer(self, text: str) -> str:
        """The scripted answer with marks in every free text."""
        output, rng = self._request.output, self._rng
        if OPEN in text:
            schemas = {tool["properties"]["name"]["enum"][0]: tool for tool in output.tools}
            return _TOOL.sub(lambda match: self._tool(match[1], schemas), text)
        if output.kind == "json":
            return _filled(text, output.schema, self._tagged if self._is_open() else self._plain)
        if output.kind == "text":
            return self._plain(text, output.text_chars)
        spoken, *_ = text.split("<role_action>")
        actions = [self._action(match[1]) for match in _ACTION.finditer(text)]
        parts = [self._tagged(spoken.strip()[: output.text_chars // 2], output.text_chars), *actions]
        if rng.random() < 0.3:
            parts = [*parts[1:], parts[0]]
        return "\n".join(parts)

    def _is_open(self) -> bool:
        return self._request.duty in OPEN_DUTIES and not self._request.key.split("/")[-2].startswith("reflection")

    def _tool(self, call: str, schemas: Mapping[str, Any]) -> str:
        return f"{OPEN}{_filled(call, schemas[json.loads(call)['name']], self._plain, skip=('path',))}{CLOSE}"

    def _action(self, action: str) -> str:
        """An action with marks in its words; now and then inside a tag itself, its words then marked without tags."""
        value = json.loads(action)
        tag = next(t for t in self._request.output.tags if check(value, t.schema) is None)
        if self._rng.random() < 0.1:
            inner = _filled(action, tag.schema, self._plain)
            opening, closing = self._rng.choice(
                [("<private>", "</private>"), ("<private", ""), ("<think>", "</think>")]
            )
            return self._rng.choice(
                [
                    f"{opening}<role_action>{inner}</role_action>{closing}</private>",
                    f"<role_action>{opening}{inner}</role_action></private>",
                ]
            )
        return f"<role_action>{_filled(action, tag.schema, self._tagged)}</role_action>"

    def _plain(self, text: str, most: int) -> str:
        mark = self.own()
        return f"{text[: most - len(mark) - 1]} {mark}" if most > len(mark) + 2 else text

    def _tagged(self, text: str, most: int) -> str:
        """The text with one or two marks inside tags, well or badly written."""
        for _ in range(self._rng.randint(1, 2)):
            before, after = self._span()
            room = max(0, most - len(before) - len(after) - 2)
            text = text if MARK.search(text) else text[:room]
            if len(before) + len(after) + len(text) + 2 <= most:
                text = f"{before} {text} {after}".strip()
        return text

    def _span(self) -> tuple[str, str]:
        """What goes before a text, and what goes behind it."""
        rng, own = self._rng, self.own()
        other, number = rng.choice([item for item in self._numbers.items() if item[1] != self._me])
        shared = f"zqv{self._me}to{number}n{next(self._count)}x"
        stranger = rng.choice(["Nobody Known", other[:3], other + "son", ""])
        behind = [
            f"<private>{own}</private>", f"<private>{own}", f"＜private＞{own}＜／private＞",
            f"[private]{own}[/private]",
            f"< PRIVATE >{own}< / private >", f"<private {own}", f"<pri\u200bvate>{own}</private>",
            f"<secret>{own}</secret>",
            f"&lt;private&gt;{own}&lt;/private&gt;", f"《private》{own}《/private》",
            f"<private>a<private>b</private>{own}",
            f'<visible_to="{stranger}">{own}</visible_to>', f"<visible_to>{own}</visible_to>",
            f"{own}</priv", f"{own}</", f"{own}＜/visible",
            f'<private><visible_to="{other}">{own}</visible_to></private>', f'<visible_to="{other}" {own}',
            f'<visible_to="{other}">{shared}</visible_to>', f"<visible_to=“{other}”>{shared}</visible_to>",
            f"＜visible_to＝「{other}」＞{shared}＜/visible_to＞", f"<visible_to='{other.upper()}'>{shared}",
            f'<visible_to="{other}, {stranger}">{shared}</visible_to>', f'<visible_to="{other}">{shared}</visible_to>',
        ]  # fmt: skip
        ahead = [f"{own}</private>", f"<private>{own}</private>", f'<visible_to="{other}">{shared}</visible_to>']
        return (rng.choice(ahead), "") if rng.random() < 0.2 else ("", rng.choice(behind))


def _two_events(request: Request) -> str:
    """A week's public events, open to all, so that there is something to go to."""
    fields = request.output.schema["properties"]["events"]["items"]["properties"]
    event = {"description": "x", "weeks": 1, "location": fields["location"]["enum"][0], "only_for": []}
    days = fields["day"]["enum"][-2:]
    return json.dumps({"events": [{**event, "name": f"Fair {day} {request.seed % 1000}", "day": day} for day in days]})


def _filled(text: str, schema: Mapping[str, Any], write: Write, skip: Sequence[str] = ()) -> str:
    """A JSON answer with every free text written anew; any other text as it is."""
    reading = read_object(text)
    if isinstance(reading, Refusal):
        return text
    return json.dumps(_value(reading.value, schema, write, skip), ensure_ascii=False)


def _value(value: Any, schema: Mapping[str, Any], write: Write, skip: Sequence[str]) -> Any:
    for option in schema.get("anyOf", ()):
        if check(value, option) is None:
            return _value(value, option, write, skip)
    if isinstance(value, dict):
        fields = schema.get("properties", {})
        return {k: v if k in skip else _value(v, fields.get(k, {}), write, skip) for k, v in value.items()}
    if isinstance(value, list):
        return [_value(item, schema.get("items", {}), write, skip) for item in value]
    if isinstance(value, str) and schema.get("type") == "string" and not {"enum", "pattern"} & set(schema):
        return write(value, schema.get("maxLength", 500))
    return value
