"""A reasoning model's long thoughts → about 200 words that go before its answer in later context (SPEC section 3)."""

from sim.context.budget import clip
from sim.llm.outcome import Refusal
from sim.llm.protocol import Message, OutputFormat
from sim.mind.answer import Answer
from sim.mind.desk import Desk
from sim.mind.invoke import ask_agent
from sim.mind.overlay import Overlay

_TOKENS = 320
"""Longest compact form: about 200 words."""


async def compact(desk: Desk, overlay: Overlay, agent: str, answer: Answer[object], *, step: str) -> str:
    """The compact form of an answer's reasoning, or "" where there is none or the switch is off.

    Nothing waits for it but the agent's own next turn: run it beside the environment's next call.
    """
    if not desk.settings.answers.thinking or not answer.reasoning.strip():
        return ""

    def parse(text: str) -> str | Refusal:
        return clip(text.strip(), _TOKENS, desk.count) or Refusal(kind="empty", text="")

    compacted = await ask_agent(
        desk,
        overlay,
        agent,
        step=f"{step}.thought",
        duty="compaction",
        template="compaction.j2",
        values={"reasoning": answer.reasoning},
        output=OutputFormat(kind="text", text_chars=desk.settings.answers.text_chars),
        parse=parse,
        default="",
        length="medium",
    )
    return compacted.value


def own_turn(text: str, thought: str) -> Message:
    """The agent's own earlier answer in later context, with the compact thought before it."""
    parts = (f"({thought})\n\n", text) if thought else (text,)
    return Message(role="assistant", parts=parts)
