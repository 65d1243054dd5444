"""The messages of one call in prefix-cache order (SPEC section 3): system = shared head, profile, weekly part; then the
stage prompt; then the history. What is the same for everybody comes first; nothing that changes inside a week is in the
system message. Fits everything into the context.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sim.context.budget import (
    MESSAGE_MARGIN,
    PROMPT_MARGIN,
    Count,
    clip,
    clip_all,
    clip_middle,
    fit_diaries,
    fit_memory,
)
from sim.core.agent import TALENTS, TRAITS, AgentState, MemoryLine, Profile, Remembered
from sim.core.clock import week_text
from sim.core.facts import remembered
from sim.llm.protocol import Message
from sim.llm.structured import GROWTH, SHOWN_CHARS
from sim.settings import SimSettings

if TYPE_CHECKING:
    from sim.mind.desk import Desk

FEEDBACK_TOKENS = 60
"""Longest detail in the feedback on a refused answer, and room for the sentence around it."""

_GAP = "\n\n"
_PEOPLE = "characters/"
_SHORT_LINE = 14
"""Tokens of a memory summary that has dropped to one line."""
_PROSE = ("appearance", "details", "conflicts", "motivation", "values", "preferences")


def system_message(desk: "Desk", state: AgentState) -> Message:
    """The agent's system message: three blocks that change with the world, the profile and the week."""
    weekly = state.remembered or remembered(state)
    parts = desk.render.memo(
        ("system", desk.scope, state.name),
        (state.profile, weekly, desk.settings, desk.world),
        lambda: (
            head(desk) + _GAP,
            profile_part(desk, state.profile) + _GAP,
            weekly_part(desk, weekly),
        ),
    )
    return Message(role="system", parts=parts)


def head(desk: "Desk") -> str:
    """What every call of every agent begins with; ValueError if the world's text is longer than its budget."""
    return desk.render.memo(("head", desk.scope), (desk.world, desk.settings), lambda: _shared(desk, "head.j2"))


def environment_head(desk: "Desk") -> str:
    """What every call of the environment model begins with."""
    return desk.render.memo(
        ("environment_head", desk.scope), (desk.world, desk.settings), lambda: _shared(desk, "environment_head.j2")
    )


def _shared(desk: "Desk", template: str) -> str:
    """A head within its budget. For weak models the worldview is shortened; else too long a text is refused."""
    world, budget, short = desk.world, desk.settings.budgets.head, desk.settings.prompts.profile == "short"
    prose = [world.worldview, world.rules]
    values = {
        "world": world,
        "worldview": prose[0],
        "rules": prose[1],
        "short": short,
        "tools": desk.settings.prompts.tools != "none",
        "clock": desk.clock,
        "settings": desk.settings,
    }
    text = desk.render.render(template, values)
    over = desk.count(text) - budget
    if over <= 0:
        return text
    room = sum(desk.count(part) for part in prose) - over - MESSAGE_MARGIN
    if not short or room <= 0:
        raise ValueError(
            f"world {world.name!r}: the shared head ({template}) has {budget + over} tokens, budgets.head is {budget}; "
            "shorten worldview or rules, or raise budgets.head"
        )
    worldview, rules = clip_all(prose, room, desk.count)
    return desk.render.render(template, {**values, "worldview": worldview, "rules": rules})


def profile_part(desk: "Desk", profile: Profile) -> str:
    """The persona within its budget; long prose shares what the fixed lines leave."""
    short = desk.settings.prompts.profile == "short"
    fixed = {
        "name": profile.name,
        "gender": profile.gender,
        "birthday": str(profile.birthday),
        "traits": {name: profile.traits.get(name, 50) for name in TRAITS},
        "talents": {name: profile.talents.get(name, 50) for name in TALENTS},
        "short": short,
    }
    empty = desk.render.render("profile.j2", {**fixed, **dict.fromkeys(_PROSE, "")})
    room = desk.settings.budgets.profile - desk.count(empty) - MESSAGE_MARGIN * len(_PROSE)
    prose = clip_all([getattr(profile, name) for name in _PROSE], room, desk.count)
    text = desk.render.render("profile.j2", {**fixed, **dict(zip(_PROSE, prose, strict=True))})
    return clip(text, desk.settings.budgets.profile, desk.count)


def weekly_part(desk: "Desk", weekly: Remembered) -> str:
    """Memory summaries and diaries, each within its budget."""
    budgets, count = desk.settings.budgets, desk.count
    lines = memory_lines(weekly.files, budgets.memory_people, budgets.summary, budgets.memory - MESSAGE_MARGIN, count)
    memory = desk.render.render("memory.j2", {"lines": lines})
    notes = [
        {"time": week_text(note.year, note.week), "kind": note.kind, "text": note.text}
        for note in fit_diaries(weekly.diaries, budgets.diaries - MESSAGE_MARGIN, count)
    ]
    diaries = desk.render.render("diaries.j2", {"notes": notes})
    return _GAP.join((clip(memory, budgets.memory, count), clip(diaries, budgets.diaries, count)))


def memory_lines(files: Sequence[MemoryLine], people: int, summary: int, budget: int, count: Count) -> list[str]:
    """One line per memory file, most recently accessed first, of at most `people` people."""
    kept: list[MemoryLine] = []
    n_people = 0
    for line in files:
        n_people += line.path.startswith(_PEOPLE)
        if not line.path.startswith(_PEOPLE) or n_people <= people:
            kept.append(line)

    def told(line: MemoryLine, tokens: int) -> str:
        text = clip(" ".join(line.summary.split()), tokens, count)
        return f"{line.path}: {text}" if text else line.path

    full = [told(line, summary) for line in kept]
    return fit_memory(full, [told(line, min(summary, _SHORT_LINE)) for line in kept], budget, count)


def tokens_of(message: Message, count: Count) -> int:
    """Tokens of a message, counted block by block, with a margin."""
    return MESSAGE_MARGIN + sum(count(part) for part in message.parts)


def retry_room(settings: SimSettings, max_tokens: int) -> int:
    """Tokens kept free so that further attempts fit as well: the refused answer, the feedback, a longer answer."""
    attempts = settings.limits.structure_attempts
    if attempts == 1:
        return 0
    longest = max_tokens
    for _ in range(1, attempts):
        longest = max(longest, min(settings.answers.longest, int(longest * GROWTH)))
    return min(max_tokens, SHOWN_CHARS) + 2 * FEEDBACK_TOKENS + 2 * MESSAGE_MARGIN + longest - max_tokens


def conversation(
    desk: "Desk",
    system: Message,
    stage: str,
    history: Sequence[Message],
    *,
    max_tokens: int,
    stage_budget: int = 0,
    closing: str = "",
) -> tuple[Message, ...]:
    """System, stage prompt and as much of the newest history as fits; never above context − max_tokens.

    `stage_budget` replaces the setting where there is no history; `closing` is the last word to the model, after the
    history. Neighbours of one role become one message, since some chat templates refuse two in a row.
    """
    budgets, count = desk.settings.budgets, desk.count
    limit = budgets.context - max_tokens - retry_room(desk.settings, max_tokens) - PROMPT_MARGIN
    end = (Message(role="user", parts=(closing,)),) if closing else ()
    spent = tokens_of(system, count) + sum(tokens_of(message, count) for message in end)
    room = limit - spent - MESSAGE_MARGIN
    if room < 1:
        raise ValueError(
            f"budgets.context = {budgets.context} leaves no room for a stage prompt beside a system message of "
            f"{spent} tokens and an answer of {max_tokens}; lower budgets.head, profile, memory or diaries, or raise it"
        )
    told = clip_middle(stage, min(stage_budget or budgets.stage, room), count)
    left = min(budgets.history, room - count(told))
    return _joined((system, Message(role="user", parts=(told,)), *newest(history, left, count), *end))


def newest(history: Sequence[Message], budget: int, count: Count) -> tuple[Message, ...]:
    """The newest messages that fit; the very last is clipped rather than lost, if a useful part of it fits."""
    kept: list[Message] = []
    left = budget
    for message in reversed(history):
        size = tokens_of(message, count)
        if size > left:
            if not kept and left > 2 * MESSAGE_MARGIN:
                text = clip_middle(message.text, left - MESSAGE_MARGIN, count)
                kept.append(Message(role=message.role, parts=(text,)))
            break
        kept.append(message)
        left -= size
    return tuple(reversed(kept))


def _joined(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Messages with neighbours of one role made one."""
    joined: list[Message] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            first, *rest = message.parts
            joined[-1] = Message(role=message.role, parts=(*joined[-1].parts, _GAP + first, *rest))
        else:
            joined.append(message)
    return tuple(joined)
