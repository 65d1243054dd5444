"""What happened in a conversation and what each reader may know of it: history for a speaker, lines for the rest.

Every event carries who could perceive it; no view is ever made from anything else.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sim.core.visibility import Segment, seen_by
from sim.llm.protocol import Message
from sim.mind.compaction import own_turn

Render = Callable[[str, Mapping[str, Any]], str]

_ANYBODY = ""
"""The reader that stands for anybody present: open parts and notices, nothing meant for some."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing of a conversation. A cue asks one agent for something, a thought is its own words to such a cue."""

    kind: Literal["scene", "speech", "notice", "cue", "thought"]
    readers: tuple[str, ...]
    text: str
    """As read; of a speech and a thought as written, which only the speaker sees."""
    speaker: str = ""
    segments: tuple[Segment, ...] = ()
    open: bool = True
    """Anybody present perceives it (a gift is told to the two alone)."""


@dataclass(slots=True)
class Transcript:
    """The events of one conversation, in order."""

    render: Render
    events: list[Event] = field(default_factory=list[Event])
    thoughts: dict[int, str] = field(default_factory=dict[int, str])
    """Compact reasoning behind a speech or thought, by the event's place; for its speaker's history alone."""

    def add(self, event: Event) -> None:
        """Something happened."""
        self.events.append(event)

    def ask(self, name: str, text: str) -> None:
        """Ask one agent for its next words."""
        self.add(Event(kind="cue", readers=(name,), text=text, open=False))

    def think(self, name: str, text: str) -> None:
        """An agent's own words to a cue, for nobody else."""
        self.add(Event(kind="thought", readers=(name,), speaker=name, text=text, open=False))

    def tell(self, name: str, text: str) -> None:
        """Something that one agent alone is told."""
        self.add(Event(kind="notice", readers=(name,), text=text, open=False))

    def history_for(self, reader: str) -> tuple[Message, ...]:
        """What the reader has seen as a chat: its own words as the assistant's, all else as the user's."""
        messages: list[Message] = []
        waiting: list[str] = []
        for place, event in enumerate(self.events):
            if reader not in event.readers:
                continue
            if event.speaker == reader:
                messages += [*_as_user(waiting), own_turn(event.text, self.thoughts.get(place, ""))]
                waiting = []
            else:
                waiting.append(self._line(event, reader))
        return (*messages, *_as_user(waiting))

    def lines_for(self, reader: str) -> list[str]:
        """What the reader has perceived, its own words included, without cues and thoughts."""
        return [
            self._line(event, reader)
            for event in self.events
            if reader in event.readers and event.kind not in ("cue", "thought")
        ]

    def open_lines(self) -> list[str]:
        """What anybody present may know."""
        return [
            self._line(event, _ANYBODY) for event in self.events if event.open and event.kind not in ("cue", "thought")
        ]

    def _line(self, event: Event, reader: str) -> str:
        if event.kind != "speech":
            return event.text
        parts = [
            {"kind": part.kind, "text": part.text.strip(), "to": list(part.to)}
            for part in seen_by(event.segments, reader, event.speaker)
        ]
        return self.render("days/speech.j2", {"speaker": event.speaker, "parts": parts})


def _as_user(lines: list[str]) -> list[Message]:
    return [Message(role="user", parts=("\n".join(lines),))] if lines else []
