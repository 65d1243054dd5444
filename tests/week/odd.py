"""Odd answers driven through the real path: reading, typed action, legality, delivery, refusal in words."""

import asyncio
import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, get_args

from sim.context.memory_files import Code
from sim.core.agent import MemoryFile
from sim.core.deeds import ExitActivity, check_deeds
from sim.core.facts import Got, Lost, Refused, Verdict, WroteFile
from sim.core.invitations import Book, Cancel, Invitation, Objection, OwnPlan, Propose, check_actions
from sim.core.visibility import seen_by
from sim.llm.outcome import Refusal
from sim.llm.protocol import OutputFormat
from sim.llm.structured import Structured
from sim.llm.tool_calls import read_calls
from sim.mind.action_tags import read_actions
from sim.mind.actions import ACTIVITY_KINDS, read_action
from sim.mind.answer import Answer
from sim.mind.calls import feedback_of
from sim.mind.desk import Desk
from sim.mind.tools import MemoryTools, schemas
from sim.week.contact import Outbox, act, readable
from sim.week.days.conversation import Conversation
from sim.week.days.occasion import Occasion
from tests.builders import a_clock, a_joint, a_slot, an_agent, an_item, known
from tests.context.desks import Answers, a_desk, a_world, an_overlay
from tests.llm.replay import a_request

ME = "Mara Voss"
KNOWN = ("Ben Okri", "Ben Adler", "Odile Roy", "José Ruiz", "林小雨", "Ida Wolf")
PRESENT = ("Ben Okri", "林小雨")
CAST = (*KNOWN, ME, "Karl Benz")
OWNED = ("blue teapot", "笔记本")
KEY = "the call"
LIMIT, MOST_IN_A_TURN = 10, 2
ANSWER_SCHEMA = {
    "type": "object",
    "properties": {
        "plan": {"type": "string", "minLength": 1, "maxLength": 60},
        "living_standard": {"type": "string", "enum": ["frugal", "moderate"]},
        "hours": {"type": "integer", "minimum": 0, "maximum": 12},
    },
    "required": ["plan", "living_standard"],
    "additionalProperties": False,
}


def _invitation(activity: str, proposer: str) -> Invitation:
    return Invitation(
        activity=activity,
        proposer=proposer,
        slot=a_slot(1, 2, 3),
        location="Courtyard",
        description="An evening.",
        invited=(ME,),
    )


BOOK = Book(
    me=ME,
    known=KNOWN,
    places=("Courtyard", "Reading room", "图书馆", f"home/{ME}"),
    others_homes=("home/Ben Okri", "home/Odile Roy"),
    window=tuple(a_clock(n_year=2, n_week=6, n_day=5).slots_ahead(1, 2, 4)),
    invitations=(
        _invitation("Chess night", "Ben Okri"),
        _invitation("Chess night", "Odile Roy"),
        _invitation("读书会", "林小雨"),
    ),
    own=(OwnPlan(activity="Dinner", invited=("Ben Okri",)), OwnPlan(activity="Old walk", invited=(), standing=False)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """What came of an answer: what took effect, the codes of what was refused, and the refusals' words."""

    gives: list[str]
    refused: list[str]
    told: list[str]
    drop: str
    heard: dict[str, str]
    named: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Everybody whom something reached, after the name as the answer had it."""
    found: int = 0


@lru_cache(maxsize=2)
def desk_of(language: str) -> Desk:
    """A desk in a world of this language."""
    return a_desk(world=a_world(language=language), names=CAST)


def _answer(text: str) -> Answer[Any]:
    return Answer(value=text, status="ok", text=text, key=KEY)


def _verdict() -> Verdict:
    return Verdict(key=KEY, agent=ME, duty="contact", status="ok")


def in_contact(text: str, language: str) -> Came:
    """One contact round."""
    desk = desk_of(language)
    overlay = an_overlay(an_agent(ME, files=known(*KNOWN)), stage="contact", index=1)
    overlay.judge(_verdict())
    outbox, reading = Outbox(unit=overlay.unit), read_actions(text)
    read: list[Any] = [readable(one, BOOK) for one in reading.found]
    results = check_actions(read, BOOK, limit=LIMIT)
    act(desk, overlay, BOOK, Answer(value=reading, status="ok", text=text, key=KEY), outbox)
    facts = overlay.finish()
    messages = [message for box in outbox.messages.values() for message in box]
    gives = [f"to {message.to}: {message.text}" for message in messages if message.kind == "message"]
    gives += [f"invite {', '.join(p.invited)}: {p.activity}, {p.slot}, {p.location}" for p in outbox.proposals]
    gives += [f"{answer['decision']} to {answer['proposer']}: {answer['activity']}" for answer in outbox.responses]
    gives += [f"cancel {cancellation.activity}" for cancellation in outbox.cancellations]
    return Came(
        gives=gives,
        refused=[result.code for result in results if isinstance(result, Objection)],
        told=[fact.text for fact in facts.by_agent[ME] if isinstance(fact, Refused)],
        drop=facts.verdicts[0].drop,
        heard={message.to: message.text for message in messages},
        named=[pair for action, result in zip(read, results, strict=True) for pair in _named(action, result)],
        found=len(reading.found),
    )


def in_turn(text: str, language: str) -> Came:
    """One turn of a conversation of three."""
    desk = desk_of(language)
    items = [an_item(f"item#{number}", name=name) for number, name in enumerate(OWNED)]
    overlay = an_overlay(an_agent(ME, possessions=tuple(items)), *map(an_agent, PRESENT), stage="joint", index=1)
    overlay.judge(_verdict())
    people = tuple(sorted((ME, *PRESENT)))
    occasion = Occasion(kind="joint", activity=a_joint(participants=people), participants=people, place=None, cards={})
    talk = Conversation(desk, overlay, occasion)
    talk.say(ME, _answer(text))
    (speech,) = talk.transcript.events
    read: list[Any] = [read_action(one, ACTIVITY_KINDS) for one in read_actions(text).found]
    results = check_deeds(read, me=ME, owned=OWNED, others=PRESENT, limit=MOST_IN_A_TURN)
    talk.act(ME, _answer(text))
    facts = overlay.finish()
    got = [
        f"gift {fact.item.name} to {name}" for name in PRESENT for fact in facts.by_agent[name] if isinstance(fact, Got)
    ]
    assert len(got) == sum(isinstance(fact, Lost) for fact in facts.by_agent[ME])
    told = [event.text for event in talk.transcript.events[1:] if event.text.startswith("Action: ")]
    assert all(event.readers == (ME,) for event in talk.transcript.events if event.text in told)
    return Came(
        gives=got + ["exit"] * len(talk.left),
        refused=[result.code for result in results if isinstance(result, Objection)],
        told=told,
        drop=facts.verdicts[0].drop,
        heard={
            name: " ".join(part.text.strip() for part in seen_by(speech.segments, name, ME) if part.text)
            for name in PRESENT
        },
        named=[pair for action, result in zip(read, results, strict=True) for pair in _named(action, result)],
        found=len(read),
    )


def _named(action: Any, result: Any) -> list[tuple[str, str]]:
    """The people whom a legal action reaches, each after the name that was written (any of them, for an invitation)."""
    if isinstance(result, Objection | Cancel | ExitActivity):
        return []
    if isinstance(result, Propose):
        return [(" | ".join((*action.invited, *action.required)), name) for name in result.invited]
    return [(action.to, result.to)]


def as_json(text: str, language: str) -> Came:
    """An answer of one JSON object."""
    desk = desk_of(language)
    outcome = asyncio.run(_asked_once(text, OutputFormat(kind="json", schema=ANSWER_SCHEMA)))
    if isinstance(outcome, Refusal):
        return Came(gives=[], refused=[outcome.kind], told=[feedback_of(desk)(outcome)], drop="", heard={})
    values = [f"{name} {outcome[name]}" for name in sorted(outcome)]
    return Came(gives=values, refused=[], told=[], drop="", heard={})


async def _asked_once(text: str, output: OutputFormat) -> Any:
    """The value of a model's one answer, or its refusal."""
    model = Structured(Answers([text]), attempts=1)
    outcome = await model.ask(a_request(output=output), lambda value: value, feedback=lambda refusal: refusal.text)
    if outcome.rejected:
        return Refusal(kind=outcome.rejected[0].kind, text=outcome.rejected[0].text)
    return outcome.value


def as_tools(text: str, language: str) -> Came:
    """Calls of memory functions."""
    desk = desk_of(language)
    files = {**known(*KNOWN), "general.txt": MemoryFile(text="Plans.", summary="Plans.")}
    state = an_agent(ME, files=files)
    overlay = an_overlay(state)
    reading = read_calls(text, schemas(desk, state))
    if isinstance(reading, Refusal):
        return Came(gives=[], refused=[reading.kind], told=[feedback_of(desk)(reading)], drop="", heard={})
    told = MemoryTools(desk, overlay, ME, create_people=True).run(reading.calls)
    facts = overlay.finish().by_agent[ME]
    written = [f"write {fact.path}" for fact in facts if isinstance(fact, WroteFile)]
    codes = [code for code in get_args(Code) if code not in ("listed", "read", "written")]
    refused = [code for code in codes if _sentence(desk, code) in told]
    return Came(gives=written, refused=refused, told=[told] if refused else [], drop="", heard={})


def _sentence(desk: Desk, code: str) -> str:
    """How a refusal of a memory function begins."""
    empty: dict[str, Any] = {"function": "f", "path": "", "text": "", "paths": (), "names": (), "size": 7, "limit": 7}
    values = {"results": [{**empty, "code": code}], "too_many": 0, "most": 6}
    lines = desk.render.render("tools/results.j2", values).strip().splitlines()
    return re.split(r"7|\d", lines[-1])[0] if code in ("too_long", "too_many") else lines[-1]


WAYS = {"contact": in_contact, "turn": in_turn, "json": as_json, "tool": as_tools}
