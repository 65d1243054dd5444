"""One unit of work as one agent lived it: what it was told, what it answered, what came of it. Pure.

Everything comes from the agent's own prompts and facts, so that a transcript shows no more than the agent could see.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from pipeline.report.fact_lines import fact_lines
from pipeline.report.screen_text import block
from sim.core.facts import UnitFacts, Verdict
from sim.llm.json_reader import read_object
from sim.llm.outcome import Refusal
from sim.llm.protocol import Message, Reply
from sim.llm.tool_calls import CLOSE, OPEN

_STAGE_HEAD, _STAGE_TAIL = 240, 900
"""Characters that are shown of a long stage prompt: its beginning names the task, its end has what changes."""
_TOLD, _ANSWER = 4000, 2500
_STAGE_SEEN = "\0stage"
_STEP = re.compile(r"(?P<stem>\D*?)(?P<number>\d*)(?P<rounds>(?:\.\d+)*)(?P<rest>\.\D.*)?")
_PHASES = ("analysis", "intention", "act", "turn", "connect", "choice")
_LAST = ("reflection", "diary", "fold")
_TOOL = re.compile(rf"{OPEN}(.*?)(?:{CLOSE}|$)", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One of the agent's calls with its messages."""

    key: str
    messages: tuple[Message, ...]
    reply: Reply

    @property
    def step(self) -> str:
        """What was asked, by the key's last part but one."""
        return self.key.split("/")[-2]

    @property
    def attempt(self) -> int:
        """Which attempt at an answer it is."""
        last = self.key.rpartition("/")[2]
        return int(last) if last.isdigit() else 1


def unit_lines(name: str, title: str, calls: Iterable[Call], facts: UnitFacts | None) -> list[str]:
    """A unit's section: title, each call in the order of living, what became true of the agent; [] if nothing did."""
    ordered = sorted(calls, key=lambda call: order_of(call.step, call.attempt))
    verdicts = {verdict.key: verdict for verdict in facts.verdicts} if facts else {}
    seen: set[str] = set()
    lines: list[str] = []
    for call in ordered:
        lines += _told_lines(call, seen)
        lines += _answer_lines(call, verdicts.get(call.key), finished=facts is not None)
        seen.add(call.reply.text.strip())
    if facts is not None:
        lines += block("  * ", fact_lines(name, facts.by_agent.get(name, ())))
    return ["", *block("== ", [title if facts else f"{title} (not finished yet)"]), *lines] if lines else []


def order_of(step: str, attempt: int) -> tuple[int, str, int, tuple[int, ...], str, int]:
    """The place of a call among those of its unit: analysis, turns by number, reflection; then rounds and attempts."""
    match = _STEP.fullmatch(step)
    assert match is not None
    stem = match["stem"]
    rank = _PHASES.index(stem) if stem in _PHASES else len(_PHASES) + (_LAST.index(stem) + 1 if stem in _LAST else 0)
    rounds = tuple(int(part) for part in match["rounds"].split(".") if part)
    return rank, stem, int(match["number"] or 0), rounds, match["rest"] or "", attempt


def clipped_middle(text: str, head: int, tail: int) -> str:
    """A long text without its middle, cut between words where there are any."""
    if len(text) <= head + tail + 40:
        return text
    first, last = text[:head].rstrip(), text[-tail:].lstrip()
    first = first[:at] if (at := max(first.rfind(" "), first.rfind("\n"))) > head // 2 else first
    last = last[at + 1 :] if 0 <= (at := last.find(" ")) < tail // 2 else last
    return f"{first}\n[… {len(text) - len(first) - len(last)} characters …]\n{last}"


def _told_lines(call: Call, seen: set[str]) -> list[str]:
    """What the agent was told since its last call of the unit; the stage prompt comes first and is cut short."""
    lines: list[str] = []
    users = [message for message in call.messages if message.role != "system"]
    for place, message in enumerate(users):
        for number, part in enumerate(message.parts):
            is_stage = place == 0 and number == 0
            text = part.strip()
            known = "" if is_stage else text
            if not text or known in seen or (is_stage and _STAGE_SEEN in seen):
                continue
            seen.add(_STAGE_SEEN if is_stage else text)
            if message.role == "assistant":
                continue
            sizes = (_STAGE_HEAD, _STAGE_TAIL) if is_stage else (_TOLD // 2, _TOLD // 2)
            lines += block("  > " if is_stage else "  | ", [clipped_middle(text, *sizes)])
    return lines


def _answer_lines(call: Call, verdict: Verdict | None, *, finished: bool) -> list[str]:
    """What the agent answered, field by field or as function calls, and what became of the answer."""
    reply = call.reply
    note = _note(reply, verdict, finished=finished)
    head = f"  < {call.step}{f' ({note})' if note else ''}:"
    if not reply.text.strip():
        return [f"{head} nothing"]
    functions = [match.group(1) for match in _TOOL.finditer(reply.text)]
    texts = [_function(text) for text in functions] if functions else _fields(reply.text)
    return [head, *block("      ", [clipped_middle(text, _ANSWER // 2, _ANSWER // 2) for text in texts])]


def _note(reply: Reply, verdict: Verdict | None, *, finished: bool) -> str:
    """Anything out of the ordinary about an answer."""
    notes = []
    if reply.finish != "stop":
        notes.append("cut off" if reply.finish == "length" else "no answer came")
    if reply.fallback:
        notes.append("by the fallback endpoint")
    if verdict is None:
        notes += ["not used"] if finished else []
    elif verdict.status != "ok":
        words = {"failed": "not accepted", "fallback": "a default took its place", "repaired": "repaired"}
        notes.append(words.get(verdict.status, verdict.status))
    if verdict is not None and verdict.drop:
        notes.append(verdict.drop)
    return ", ".join(notes)


def _fields(text: str) -> list[str]:
    """A JSON answer as one line for each field; any other text as it is."""
    reading = read_object(text) if text.lstrip().startswith("{") else None
    if reading is None or isinstance(reading, Refusal):
        return [text.strip()]
    return [f"{field}: {_value(value)}" for field, value in reading.value.items()] or [text.strip()]


def _function(text: str) -> str:
    """A function call as it is usually written."""
    reading = read_object(text)
    if isinstance(reading, Refusal):
        return f"calls {text.strip()}"
    arguments = reading.value.get("arguments", {})
    named = arguments.items() if isinstance(arguments, dict) else ()
    return f"calls {reading.value.get('name')}({', '.join(f'{name}={_value(value)}' for name, value in named)})"


def _value(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode("utf-8")


def joined(sections: Sequence[Sequence[str]]) -> str:
    """Sections of lines as one text."""
    return "\n".join(line for section in sections for line in section)
