"""Old diaries become yearly summaries, those the story of a life, told by the agent itself (SPEC sections 2, 3)."""

from collections.abc import Sequence

from sim.context.budget import Count, Fold, clip, fold_plan
from sim.context.memory_files import summary_of
from sim.core.agent import Note
from sim.core.clock import week_text
from sim.core.facts import Folded
from sim.llm.outcome import Refusal
from sim.llm.protocol import OutputFormat
from sim.mind.desk import Desk
from sim.mind.invoke import ask_agent
from sim.mind.overlay import Overlay
from sim.settings import SimSettings

_MOST_FOLDS = 4
"""Folds of one agent in one unit: what is still too much waits for the next review."""
_TEMPLATES = {"year_summary": "fold_year.j2", "life_summary": "fold_life.j2"}
_WORDS_PER_TOKEN = 0.7
_FEWEST_WORDS = 20


def summary_tokens(settings: SimSettings, *, alone: bool = False) -> int:
    """Longest summary: a year's and a life's together take half of the diaries' budget.

    The first year's stands alone and may be as long as both, so that the second year's prompts are no shorter than
    those of later years.
    """
    each = min(settings.answers.medium, settings.budgets.diaries // 4)
    return min(settings.answers.long, 2 * each) if alone else each


async def fold_diaries(desk: Desk, overlay: Overlay, agent: str) -> None:
    """Fold what is beyond the window or the budget; nothing is asked where nothing is. To be called at a week's end."""
    for number in range(1, _MOST_FOLDS + 1):
        plan = fold_plan(overlay.state(agent), desk.settings, desk.count)
        if plan is None:
            return
        await _fold(desk, overlay, agent, plan, step=f"fold{number}")


async def _fold(desk: Desk, overlay: Overlay, agent: str, plan: Fold, *, step: str) -> None:
    """One summary in place of some entries."""
    notes = overlay.state(agent).diaries
    entries = notes[plan.first : plan.first + plan.count]
    others = (*notes[: plan.first], *notes[plan.first + plan.count :])
    alone = plan.kind == "year_summary" and all(note.kind == "diary" for note in others)
    tokens = summary_tokens(desk.settings, alone=alone)

    def parse(text: str) -> str | Refusal:
        return clip(text.strip(), tokens, desk.count) or Refusal(kind="empty", text="")

    answer = await ask_agent(
        desk,
        overlay,
        agent,
        step=step,
        duty="fold",
        template=_TEMPLATES[plan.kind],
        values={
            "entries": [
                {"time": week_text(note.year, note.week), "kind": note.kind, "text": note.text} for note in entries
            ],
            "words": max(_FEWEST_WORDS, int(tokens * _WORDS_PER_TOKEN)),
        },
        output=OutputFormat(kind="text", text_chars=desk.settings.answers.text_chars * (2 if alone else 1)),
        parse=parse,
        default=lambda: _shortened(entries, tokens, desk.count),
        length="long" if alone else "medium",
    )
    last = entries[-1]
    summary = Note(year=last.year, week=last.week, kind=plan.kind, text=answer.value)
    overlay.cause(agent, Folded(first=plan.first, n_replaced=plan.count, summary=summary))


def _shortened(entries: Sequence[Note], tokens: int, count: Count) -> str:
    """The entries' first sentences, where no summary could be had."""
    each = max(1, tokens // len(entries))
    return clip("\n".join(summary_of(note.text, each, count) for note in entries), tokens, count)
