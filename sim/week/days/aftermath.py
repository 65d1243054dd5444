"""What every activity leaves behind: limited changes, acquaintance, reflection with memory functions, a record."""

from collections.abc import Mapping, Sequence
from typing import Any

from sim.core.agent import Note
from sim.core.clock import Slot
from sim.core.facts import CameToKnow, Met, Noted
from sim.environment.forms import chars_for, closed
from sim.llm.protocol import Message, OutputFormat
from sim.mind.desk import Desk
from sim.mind.invoke import ask_agent, offers_tools
from sim.mind.overlay import Overlay

_FULL_CHARS, _SHORT_CHARS = 700, 160


def slot_of(overlay: Overlay) -> Slot:
    """The day of the unit."""
    return Slot(year=overlay.unit.year, week=overlay.unit.week, day=overlay.unit.index)


def acquaint(desk: Desk, overlay: Overlay, name: str, others: Sequence[str], record: Mapping[str, Any]) -> None:
    """Everybody who was there together knows each other from now on, with a short first entry."""
    for other in sorted(others):
        values = {**record, "name": other, "time": str(slot_of(overlay))}
        entry = desk.render.render("days/first_entry.j2", values)
        overlay.cause(name, CameToKnow(name=other, first_entry=entry), Met(name=other))


async def reflect(
    desk: Desk,
    overlay: Overlay,
    name: str,
    *,
    template: str,
    values: Mapping[str, Any],
    feedback: str,
    record: Mapping[str, Any],
    history: tuple[Message, ...] = (),
) -> None:
    """The agent looks back, may use its memory functions, and its summary becomes the record of the day.

    `values` fill the stage template; the request to look back comes as the last message. Without a usable answer the
    environment's feedback is the record.
    """
    chars = text_chars(desk)
    short = desk.settings.prompts.profile == "short"
    told = {"feedback": feedback, "short": short, "chars": chars, "tools": offers_tools(desk, overlay)}
    cue = desk.render.render("days/reflect.j2", told)
    fields = ("summary",) if short else ("summary", "reflection")
    text = {"type": "string", "minLength": 1, "maxLength": chars}
    answer = await ask_agent(
        desk,
        overlay,
        name,
        step="reflection",
        template=template,
        values=values,
        output=OutputFormat(kind="json", schema=closed(dict.fromkeys(fields, text))),
        parse=lambda value: [" ".join(str(value[field]).split())[:chars] for field in fields],
        default=[feedback],
        length="short" if short else "medium",
        tools=True,
        history=(*history, Message(role="user", parts=(cue,))),
    )
    note(desk, overlay, name, answer.value, record)


def note(desk: Desk, overlay: Overlay, name: str, texts: Sequence[str], record: Mapping[str, Any]) -> None:
    """The activity record of the day."""
    slot = slot_of(overlay)
    text = desk.render.render("days/record.j2", {**record, "texts": [text for text in texts if text]})
    overlay.cause(name, Noted(note=Note(year=slot.year, week=slot.week, day=slot.day, kind="record", text=text)))


def text_chars(desk: Desk) -> int:
    """Longest text of a summary, a reflection, an intention or an action of one's own."""
    return chars_for(desk, full=_FULL_CHARS, short=_SHORT_CHARS)
