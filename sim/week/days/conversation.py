"""The turns that joint activities and encounters share: analyses, directions, speech, gifts, leaving, principle checks.

Every prompt is built from what its reader could perceive. Checks run beside the following turns and only mark verdicts.
"""

import asyncio
from typing import Any, cast

from sim.core.deeds import Deed, ExitActivity, Gift, check_deeds
from sim.core.facts import Got, Lost
from sim.core.invitations import Objection
from sim.core.visibility import parse_segments
from sim.environment.direction import direct
from sim.environment.forms import chars_for, closed
from sim.environment.principles import check_response
from sim.llm.outcome import Refusal
from sim.llm.protocol import OutputFormat, Tag
from sim.mind.action_tags import TAG, Reading, read_actions
from sim.mind.actions import ACTIVITY_KINDS, drop_reason, explain, read_action
from sim.mind.answer import Answer
from sim.mind.desk import Desk
from sim.mind.invoke import ask_agent
from sim.mind.overlay import Overlay
from sim.week.days.occasion import Occasion, open_values, together_values
from sim.week.days.thoughts import Thoughts
from sim.week.days.transcript import Event, Transcript

TEMPLATE = "days/together.j2"
"""The stage prompt of all calls of one participant; what each call asks for comes as the last message."""
_FULL_CHARS, _SHORT_CHARS = 1500, 160
_ANALYSIS = ("position", "goals", "plan", "risks", "strategy")
_ANALYSIS_CHARS = 300
_MAX_ACTIONS = 2


class Conversation:
    """One conversation while it goes on: who is still there, and what happened."""

    def __init__(self, desk: Desk, overlay: Overlay, occasion: Occasion) -> None:
        """Everybody is there; nothing has happened yet."""
        self._desk = desk
        self._overlay = overlay
        self._occasion = occasion
        self._short = desk.settings.prompts.profile == "short"
        self.present: tuple[str, ...] = tuple(sorted(occasion.participants))
        self.left: list[str] = []
        self.transcript = Transcript(render=desk.render.render)

    async def run(self, scene: str) -> None:
        """Analyses, then turns until the environment, the limit or too few people end them."""
        async with asyncio.TaskGroup() as beside:
            thoughts = Thoughts(desk=self._desk, overlay=self._overlay, transcript=self.transcript, beside=beside)
            if not self._short:
                await self._analyse(thoughts)
            self._happen(scene)
            await self._take_turns(thoughts)

    async def _take_turns(self, thoughts: Thoughts) -> None:
        limits = self._desk.settings.limits
        speaker = self.present[-1]
        for turn in range(1, limits.turns_max + 1):
            direction = await direct(
                self._desk,
                self._overlay,
                turn=turn,
                present=self.present,
                in_turn=self._after(speaker),
                may_end=turn > limits.turns_min,
                lines=self.transcript.open_lines(),
                values=open_values(self._occasion),
            )
            self._happen(direction.description)
            if direction.ended:
                break
            speaker = direction.next_speaker
            await self._turn(turn, speaker, thoughts)
            if len(self.present) < 2:
                break

    def _render(self, template: str, **values: Any) -> str:
        return self._desk.render.render(template, values)

    def _happen(self, text: str) -> None:
        """Something around that everybody present perceives."""
        if text:
            line = self._render("days/scene.j2", text=text)
            self.transcript.add(Event(kind="scene", readers=self.present, text=line))

    def _notice(self, readers: tuple[str, ...], code: str, **values: Any) -> None:
        """Tell some people what happened to them, in a sentence of the template."""
        text = self._render("days/notice.j2", code=code, **values)
        self.transcript.add(Event(kind="notice", readers=readers, text=text, open=set(readers) >= set(self.present)))

    def _cue(self, name: str, template: str) -> None:
        """Ask one participant for its next words."""
        text = self._render(template, name=name, short=self._short)
        self.transcript.ask(name, text)

    def _after(self, speaker: str) -> str:
        """Who acts next by the order of seats."""
        return next((name for name in self.present if name > speaker), self.present[0])

    async def _analyse(self, thoughts: Thoughts) -> None:
        """Everybody thinks the occasion over, side by side; only its own thought enters anybody's history."""
        for name in self.present:
            self._cue(name, "days/analyse.j2")
        async with asyncio.TaskGroup() as group:
            tasks = {name: group.create_task(self._thought(name)) for name in self.present}
        for name in self.present:
            answer = tasks[name].result()
            if answer.text:
                self.transcript.think(name, answer.text)
                thoughts.keep(name, answer, "analysis")

    async def _thought(self, name: str) -> Answer[Any]:
        chars = chars_for(self._desk, full=_ANALYSIS_CHARS, short=_ANALYSIS_CHARS, length="medium")
        properties = {field: {"type": "string", "maxLength": chars} for field in _ANALYSIS}
        return await ask_agent(
            self._desk,
            self._overlay,
            name,
            step="analysis",
            template=TEMPLATE,
            values=together_values(self._desk, self._overlay, self._occasion, name),
            output=OutputFormat(kind="json", schema=closed(properties)),
            parse=lambda value: value,
            default=dict[str, str],
            length="medium",
            history=self.transcript.history_for(name),
        )

    async def _turn(self, turn: int, name: str, thoughts: Thoughts) -> None:
        """One participant speaks and acts."""
        desk, overlay = self._desk, self._overlay
        await thoughts.ready(name)
        self._cue(name, "days/your_turn.j2")
        seen = self.transcript.lines_for(name)
        answer = await ask_agent(
            desk,
            overlay,
            name,
            step=f"turn{turn}",
            duty="turn",
            template=TEMPLATE,
            values=together_values(desk, overlay, self._occasion, name),
            output=self._form(name),
            parse=_spoken,
            default=lambda: self._render("days/silence.j2"),
            length="short",
            history=self.transcript.history_for(name),
        )
        if answer.status != "fallback" and desk.settings.prompts.check_principles:
            thoughts.beside.create_task(
                check_response(
                    desk,
                    overlay,
                    key=answer.key,
                    step=f"check{turn}",
                    name=name,
                    response=answer.value,
                    lines=seen,
                    values=open_values(self._occasion),
                )
            )
        self.say(name, answer)
        thoughts.keep(name, answer, f"turn{turn}")
        self.act(name, answer)

    def _form(self, name: str) -> OutputFormat:
        """Speech with tags for who may read what and for actions; weak models give one plain line."""
        most = chars_for(self._desk, full=_FULL_CHARS, short=_SHORT_CHARS)
        if self._short:
            line = {"type": "string", "minLength": 1, "maxLength": most}
            return OutputFormat(kind="json", schema=closed({"say": line}))
        items = sorted({item.name for item in self._overlay.state(name).possessions})
        others = [other for other in self.present if other != name]
        return OutputFormat(
            kind="tagged",
            tags=(Tag(name=TAG, schema=_action_schema(items, others), at_most=_MAX_ACTIONS),),
            spans=("private", "visible_to"),
            text_chars=most,
        )

    def say(self, name: str, answer: Answer[str]) -> None:
        """The speech as everybody perceives it."""
        segments = parse_segments(_taken_apart(answer).speech, self.present)
        written = answer.text or answer.value
        self.transcript.add(Event(kind="speech", readers=self.present, text=written, speaker=name, segments=segments))

    def act(self, name: str, answer: Answer[str]) -> None:
        """The speech's actions in their order; the speaker alone is told why one does not happen."""
        found = _taken_apart(answer).found
        results = check_deeds(
            cast(list[Deed | Objection], [read_action(one, ACTIVITY_KINDS) for one in found]),
            me=name,
            owned=[item.name for item in self._overlay.state(name).possessions],
            others=[other for other in self.present if other != name],
            limit=_MAX_ACTIONS,
        )
        for original, result in zip(found, results, strict=True):
            match result:
                case Gift():
                    self._give(name, result)
                case ExitActivity():
                    self._leave(name)
                case Objection():
                    self.transcript.tell(name, explain(self._desk, original, result))
                    self._overlay.drop(answer.key, drop_reason(result))

    def _give(self, name: str, gift: Gift) -> None:
        """Move a possession at once and tell the two."""
        item = next(item for item in self._overlay.state(name).possessions if item.name == gift.item)
        self._overlay.cause(name, Lost(item_id=item.id, reason=f"gift to {gift.to}"))
        self._overlay.cause(gift.to, Got(item=item, source=f"gift from {name}"))
        self._notice((name, gift.to), "gift", name=name, item=item.name, to=gift.to)

    def _leave(self, name: str) -> None:
        """Somebody goes; the others see it, and nothing that follows reaches who left."""
        self._notice(self.present, "left", name=name, item="", to="")
        self.present = tuple(other for other in self.present if other != name)
        self.left.append(name)


def _taken_apart(answer: Answer[str]) -> Reading:
    """Speech and actions; a default has no actions."""
    return read_actions(answer.value) if answer.text else Reading(speech=answer.value, found=())


def _spoken(value: Any) -> str | Refusal:
    """Any words are a turn; weak models give theirs as one line."""
    text = " ".join(value["say"].split()) if isinstance(value, dict) else str(value)
    return text if text.strip() else Refusal(kind="empty", text="")


def _action_schema(items: list[str], others: list[str]) -> dict[str, Any]:
    """A gift of something owned to somebody present, or leaving."""
    leaving = closed({"action": {"type": "string", "enum": ["exit_activity"]}})
    if not items or not others:
        return leaving
    gift = closed(
        {
            "action": {"type": "string", "enum": ["gift"]},
            "item": {"type": "string", "enum": items},
            "to": {"type": "string", "enum": others},
        }
    )
    return {"anyOf": [gift, leaving]}
