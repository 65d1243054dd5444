"""The page that a run ends with: what happened in each round, what was capped and left out, where everything is.

Made from the tables and the steps' reports alone, so it can be written again at any time. At most 100 columns wide.
"""

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from pipeline.atomic import write_text
from pipeline.load_settings import flat_settings
from pipeline.report.call_counts import count_calls
from pipeline.report.finetune_report import metrics_of, prepared_of
from pipeline.report.screen_text import PAGE, block, clipped, table, width, wrapped
from pipeline.report.summary_cells import CELLS, NONE, RoundFacts
from pipeline.run_folder import TABLES, RunFolder
from pipeline.settings import RunSettings
from pipeline.steps import finished
from pipeline.tables import read_lines
from sim.settings import SimSettings

MOST_NAMES = 12
MOST_SIDE_BY_SIDE = 5


def write_summary(folder: RunFolder, settings: RunSettings) -> str:
    """The page; it is also put into the run folder. The tables must be there."""
    text = summary_text(folder, settings)
    write_text(folder.summary, f"# What happened in {folder.root.name}\n\n```text\n{text}\n```\n")
    return text


def summary_text(folder: RunFolder, settings: RunSettings) -> str:
    """The page as plain text."""
    rounds = _rounds(folder)
    sections = [
        _head(folder, settings, rounds),
        *_round_tables(rounds),
        _models(rounds),
        _selected(rounds),
        _smaller(settings),
        _capped(rounds, settings),
        _left_out(rounds),
        _where(folder, settings, rounds),
    ]
    return "\n\n".join("\n".join(lines) for lines in sections if lines)


def _rounds(folder: RunFolder) -> list[RoundFacts]:
    calls = count_calls(folder.table("calls"))
    lines = {name: read_lines(folder, name) for name in ("agent_years", "rewards", "selection", "drops")}
    facts: list[RoundFacts] = []
    for number in folder.rounds_present():
        of_round = {name: [line for line in lines[name] if line["round"] == number] for name in lines}
        facts.append(
            RoundFacts(
                number=number,
                calls=[group for group in calls if group.round == number],
                years=of_round["agent_years"],
                rewards=of_round["rewards"],
                selection=of_round["selection"],
                drops=of_round["drops"],
                prepared=prepared_of(folder, number),
                metrics=metrics_of(folder, number),
                redeployed=finished(folder, number, "redeploy"),
            )
        )
    return facts


def _head(folder: RunFolder, settings: RunSettings, rounds: Sequence[RoundFacts]) -> list[str]:
    lines = wrapped(
        f"{folder.root.name}: {len(rounds)} of {settings.rounds} rounds of {' > '.join(settings.steps)}; "
        f"worlds {', '.join(settings.worlds)}; seed {settings.seed}",
        PAGE,
    )
    return lines if rounds else [*lines, "nothing was lived yet"]


def _round_tables(rounds: Sequence[RoundFacts]) -> list[list[str]]:
    """One column for each round, as many side by side as fit."""
    if not rounds:
        return []
    for size in range(MOST_SIDE_BY_SIDE, 0, -1):
        blocks = [_round_table(rounds[first : first + size]) for first in range(0, len(rounds), size)]
        if size == 1 or max(width(line) for block in blocks for line in block) <= PAGE:
            return blocks
    raise AssertionError("one column always comes")


def _round_table(rounds: Sequence[RoundFacts]) -> list[str]:
    rows = [[label, *(cell(one) for one in rounds)] for label, cell in CELLS]
    head = ["", *(f"round {one.number}" for one in rounds)]
    return table([head, *(row for row in rows if set(row[1:]) != {NONE})])


def _models(rounds: Sequence[RoundFacts]) -> list[str]:
    """Who answered, by the ids that the calls carry."""
    lines: list[str] = []
    for one in rounds:
        policy, environment = (
            ", ".join(sorted({g.model for g in one.calls if g.role == role and g.model})) or "nobody"
            for role in ("policy", "environment")
        )
        lines += block(f"  round {one.number}: ", [f"role-play {policy}; environment {environment}"])
    return ["models that answered", *lines] if lines else []


def _selected(rounds: Sequence[RoundFacts]) -> list[str]:
    lines: list[str] = []
    for one in rounds:
        names = [f"{line['agent']} (Y{line['year']})" for line in one.chosen]
        if names:
            more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
            lines += block(f"  round {one.number}: ", [f"{', '.join(names[:MOST_NAMES])}{more}"])
    return ["selected by advantage", *lines] if lines else []


def _capped(rounds: Sequence[RoundFacts], settings: RunSettings) -> list[str]:
    """Limits of the settings that left something out."""
    lines: list[str] = []
    for one in rounds:
        for (source, reason), number in sorted(_drops(one).items()):
            cause = _cause(source, reason, settings)
            if cause:
                lines += block(f"  round {one.number}: ", [f"{number} {source} answers left out by {cause}"])
        most = settings.training.mixture.distil_max_prompts
        if one.prepared is not None and one.prepared.asked >= most:
            lines.append(f"  round {one.number}: general prompts ended at mixture.distil_max_prompts = {most}")
    return ["capped by the settings", *lines] if lines else []


def _smaller(settings: RunSettings) -> list[str]:
    """Settings of the life that differ from the schema's, which are the paper's: what a small run leaves out."""
    usual, here = flat_settings(SimSettings().model_dump()), flat_settings(settings.sim.model_dump())
    changed = [f"{key} {here[key]} (of {usual[key]})" for key in here if here[key] != usual[key]]
    return ["the life, where it differs from the paper's", *block("  ", ["; ".join(changed)])] if changed else []


def _cause(source: str, reason: str, settings: RunSettings) -> str:
    """The setting that left answers out, or "" where it was the answers' own fault."""
    mixture, sft = settings.training.mixture, settings.training.sft
    if reason.endswith("too_long"):
        return f"training.sft.max_length = {sft.max_length}"
    return {
        ("roleplay", "cap"): f"training.mixture.max_roleplay_rows = {mixture.max_roleplay_rows}",
        ("general", "truncated"): f"training.mixture.distil_max_tokens = {mixture.distil_max_tokens}",
        ("environment", "not_drawn"): f"training.mixture.environment_share = {mixture.environment_share}",
    }.get((source, reason), "")


def _drops(one: RoundFacts) -> Counter[tuple[str, str]]:
    """Calls that training did not take by source and reason, over all stages."""
    counted: Counter[tuple[str, str]] = Counter()
    for line in one.drops:
        counted[line["source"], line["reason"]] += line["calls"]
    return counted


def _left_out(rounds: Sequence[RoundFacts]) -> list[str]:
    shown = rounds[-MOST_SIDE_BY_SIDE:]
    counted = {one.number: _drops(one) for one in shown}
    kinds = sorted({kind for drops in counted.values() for kind in drops})
    rows = [
        [clipped(f"  {source}: {reason}", 50), *(str(counted[one.number][source, reason]) for one in shown)]
        for source, reason in kinds
    ]
    return table([["left out of training", *(f"round {one.number}" for one in shown)], *rows]) if rows else []


def _where(folder: RunFolder, settings: RunSettings, rounds: Sequence[RoundFacts]) -> list[str]:
    """Paths, and the commands that a reader may want next."""

    def inside(path: Path) -> str:
        return str(path.relative_to(folder.root))

    lines = [
        f"everything is in {folder.root}",
        f"  {inside(folder.tables)}/*.parquet  {', '.join(TABLES[:6])},",
        f"    {', '.join(TABLES[6:])}",
    ]
    for one in rounds:
        worlds = folder.worlds_of(one.number)
        lines += [f"  {inside(folder.journal(one.number, world))}  journal of round {one.number}" for world in worlds]
        if folder.checkpoint(one.number).is_dir():
            lines.append(f"  {inside(folder.checkpoint(one.number))}  fine-tuned model of round {one.number}")
    lines.append(f"  {inside(folder.log)}, {inside(folder.settings)}, {inside(folder.summary)}")
    example = next((one.chosen[0] for one in reversed(rounds) if one.chosen), None)
    if example:
        run, name = shlex.quote(str(folder.root)), shlex.quote(example["agent"])
        world = f" --world {shlex.quote(example['world'])}" if len(settings.worlds) > 1 else ""
        lines += [
            "one agent's week as a transcript:",
            f"  python pipeline/run.py --show {run} --agent {name} --week Y{example['year']}-W1{world}",
        ]
    lines.append(f"the same command with rounds={settings.rounds + 1} adds a round")
    return lines
