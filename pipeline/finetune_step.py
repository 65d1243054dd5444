"""The select and finetune steps of a round: whose years are learned from, the data set, the fine-tune."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.atomic import read_json, write_json
from pipeline.casting import played_by_others
from pipeline.launch import world_folder
from pipeline.run_folder import RunFolder
from pipeline.settings import RunSettings, world_label
from pipeline.tables import selection_of_round
from pipeline.trainer_job import run_trainer
from sim.core.facts import Verdict
from sim.core.keys import Scope
from sim.journal.reading import JournalReader
from sim.world.loader import cast_of, load_world
from training.general import Prompt, open_prompts
from training.prepare import Content, Inputs, Prepared, card_facts, prepare
from training.samples import Call, Rater, Sample
from training.self_distil import DistilAsk
from training.sft_spec import spec_of
from training.tiny_model import make_tiny_model
from training.tokens import load_tokenizer

log = logging.getLogger(__name__)
SELECTED_FILE = "selected.json"
Ask = Callable[[DistilAsk], Any]
Detail = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class FinetuneInputs:
    """What the finetune step works with."""

    settings: RunSettings
    folder: RunFolder
    round_number: int
    base: str
    """Model to start from."""
    served_name: str
    """Served name of the policy without version; "" where the policy is no engine of ours."""
    ask: Ask
    """Self-distillation through the policy endpoint."""


async def select_step(settings: RunSettings, folder: RunFolder, round_number: int, target: Path) -> Mapping[str, Any]:
    """Rank every period's agents by advantage and keep the best; their advantages go into a file."""
    chosen = selection_of_round(folder, round_number, settings)
    used = sorted((line.world, line.agent, line.year, line.advantage) for line in chosen.selection if line.used)
    write_json(target / SELECTED_FILE, [list(entry) for entry in used])
    return {
        "selected": sum(line.selected for line in chosen.selection),
        "used": len(used),
        "of": len(chosen.selection),
    }


async def data_step(inputs: FinetuneInputs, target: Path) -> Prepared:
    """Make the round's data set."""
    settings, folder, number = inputs.settings, inputs.folder, inputs.round_number
    scope = Scope(run_seed=settings.seed, round=number, world="")
    with ExitStack() as stack:
        journals = {
            world: stack.enter_context(closing(JournalReader(folder.journal(number, world))))
            for world in folder.worlds_of(number)
        }
        made = await prepare(
            Inputs(
                calls=_calls(journals, _played_by_others(settings)),
                verdicts=_verdicts(journals),
                advantages=_advantages(folder, number),
                content_of=_content_of(journals),
                open_pass=_open_pass(settings),
                ask=inputs.ask,
                tokenizer=load_tokenizer(inputs.base, settings.sim.answers.template_options),
                years_before=(number - 1) * settings.sim.time.n_year if settings.world == "continue" else 0,
                model=inputs.served_name,
            ),
            settings.training,
            target,
            scope,
        )
    return made


async def train_step(inputs: FinetuneInputs, prepared: Prepared, target: Path, detail: Detail) -> Mapping[str, Any]:
    """Fine-tune on the data set in a process of its own; the metrics."""
    spec = spec_of(
        inputs.settings.training.sft,
        base=inputs.base,
        data=target / prepared.data,
        checkpoint=inputs.folder.checkpoint(inputs.round_number),
        work=target / "trainer",
        seed=inputs.settings.seed,
        template_options=inputs.settings.sim.answers.template_options,
        facts={**card_facts(prepared), **_round_facts(inputs)},
    )
    trained = await run_trainer(spec, inputs.settings.training.sft, progress=lambda row: detail(_loss_text(row)))
    return {"weights_digest": trained.weights_digest, "metrics": dict(trained.metrics)}


def make_base_model(settings: RunSettings, folder: RunFolder) -> None:
    """Make the small random model where the settings ask for it."""
    if settings.training.base_model == "tiny":
        target = folder.base_model("tiny")
        if not (target / "config.json").exists():
            make_tiny_model(target, settings.seed)


def _loss_text(row: Mapping[str, float]) -> str:
    parts = [f"{key} {row[key]:.3g}" for key in ("step", "loss") if key in row]
    return "fine-tune " + " ".join(parts)


def _round_facts(inputs: FinetuneInputs) -> Mapping[str, Any]:
    selected = read_json(inputs.folder.step(inputs.round_number, "select") / SELECTED_FILE)
    return {
        "title": f"{inputs.folder.root.name}, round {inputs.round_number}",
        "base": Path(inputs.base).name if Path(inputs.base).is_dir() else inputs.base,
        "round": inputs.round_number,
        "worlds": list(inputs.settings.worlds),
        "agents": inputs.settings.sim.n_agents,
        "years": inputs.settings.sim.time.n_year,
        "selected_agent_years": len(selected),
        "seed": inputs.settings.seed,
    }


def _played_by_others(settings: RunSettings) -> dict[str, dict[str, str]]:
    """By world the agents who are played by another model than the one that is trained."""
    if not settings.serving.others:
        return {}
    played = {}
    for name in settings.worlds:
        world = cast_of(load_world(world_folder(name)), settings.sim.n_agents, world_folder(name))
        names = tuple(character.name for character in world.characters)
        played[world_label(name)] = played_by_others(settings, names, world_label(name))
    return played


def _calls(journals: Mapping[str, JournalReader], played: Mapping[str, Mapping[str, str]]) -> Iterator[Call]:
    for world in sorted(journals):
        others = played.get(world, {})
        for row in journals[world].calls():
            yield Call(
                world=world,
                key=row.key,
                unit=row.unit,
                agent=row.agent,
                duty=row.duty,
                finish=row.reply.finish,
                answer=row.reply.text,
                fallback=row.reply.fallback,
                other_model=row.agent in others,
                prompt_tokens=row.reply.usage.prompt_tokens,
                output_tokens=row.reply.usage.output_tokens,
                prompt_digest=row.reply.prompt_digest,
                model=row.reply.model,
            )


def _verdicts(journals: Mapping[str, JournalReader]) -> dict[tuple[str, str], Verdict]:
    return {
        (world, verdict.key): verdict
        for world in sorted(journals)
        for facts in journals[world].units()
        for verdict in facts.verdicts
    }


def _advantages(folder: RunFolder, round_number: int) -> dict[Rater, float]:
    rows = read_json(folder.step(round_number, "select") / SELECTED_FILE)
    return {(world, agent, year): advantage for world, agent, year, advantage in rows}


def _content_of(journals: Mapping[str, JournalReader]) -> Callable[[Sample], Content]:
    def content(sample: Sample) -> Content:
        reader = journals[sample.world]
        unit = "/".join(sample.key.split("/")[:3])
        row = next(row for row in reader.calls_of(unit) if row.key == sample.key)
        messages = tuple({"role": message.role, "content": message.text} for message in reader.messages_of(row))
        return Content(messages=messages, answer=row.reply.text, token_ids=row.reply.token_ids)

    return content


def _open_pass(settings: RunSettings) -> Callable[[int], Iterator[Prompt]]:
    source, seed = settings.training.mixture.source, settings.seed
    return lambda number: open_prompts(source, seed + number)
