"""The smallest valid rows and facts; any field can be set."""

from typing import Any

from sim.core.facts import UnitFacts
from sim.core.keys import UnitKey, call_key
from sim.journal.blocks import digest
from sim.journal.rows import CallRow, MessageRow, Timing
from sim.journal.tables import JournalId
from sim.llm.protocol import Reply, Usage

THIS = JournalId(run="run-1", world="apartment", round=1)
HEAD = "You live in an old house with many neighbours. " * 40


def a_unit(week: int = 1, stage: str = "plan", who: str = "Zoë 小雨", index: int = 0, year: int = 1) -> UnitKey:
    return UnitKey(year=year, week=week, stage=stage, index=index, who=who)


def a_row(
    unit: UnitKey | None = None, step: str = "plan", attempt: int = 0, text: str = "…", **changes: Any
) -> CallRow:
    unit = unit or a_unit()
    parts = {digest(part): part for part in (HEAD, f"Now plan {unit}.")}
    fields: dict[str, Any] = {
        "key": call_key(unit, unit.who, step, attempt),
        "unit": str(unit),
        "agent": unit.who,
        "duty": step,
        "role": "policy",
        "seed": 2**63 - 1,
        "max_tokens": 100,
        "temperature": 1.0,
        "top_p": 0.9,
        "messages": (MessageRow("system", (digest(HEAD),)), MessageRow("user", (digest(f"Now plan {unit}."),))),
        "reply": Reply(text=text, finish="stop", usage=Usage(prompt_tokens=9, output_tokens=3), model="scripted@1"),
        "timing": Timing(started=1.5, seconds=0.25, cached_tokens=4, host="host-1"),
        "blocks": parts,
    }
    return CallRow(**{**fields, **changes})


def some_facts(unit: UnitKey | None = None, **outputs: Any) -> UnitFacts:
    unit = unit or a_unit()
    return UnitFacts(unit=unit, by_agent={unit.who: ()}, outputs=outputs)
