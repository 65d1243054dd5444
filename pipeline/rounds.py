"""The outer loop: every round lives, selects, fine-tunes, redeploys; a finished step is skipped. One line per step."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.distil_ask import open_asking
from pipeline.evaluate import evaluate_step
from pipeline.finetune_step import FinetuneInputs, data_step, select_step, train_step
from pipeline.launch import world_folder
from pipeline.life_step import live_round
from pipeline.load_settings import results_settings
from pipeline.progress import Progress
from pipeline.run_folder import RunFolder
from pipeline.serving import Serving, weights_of_round
from pipeline.settings import RunSettings, world_label
from pipeline.steps import finished, run_step
from sim.context.render import prompts_digest
from sim.core.keys import digest_of
from sim.world.loader import world_digest
from training.redeploy import redeploy

log = logging.getLogger(__name__)
DEPLOY_SECONDS = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run at work."""

    settings: RunSettings
    folder: RunFolder
    serving: Serving
    progress: Progress


async def run_rounds(run: Run) -> None:
    """All rounds, each step done once."""
    for number in range(1, run.settings.rounds + 1):
        for name in run.settings.steps:
            await _STEPS[name](run, number)


async def _simulate(run: Run, number: int) -> None:
    async def work(target: Path) -> Mapping[str, Any]:
        run.progress.begin_step(number, "simulate", years_before=_years_before(run.settings, number))
        return await live_round(run.settings, run.folder, number, run.serving, run.progress)

    await run_step(run.folder, number, "simulate", _life_inputs(run, number), work)


async def _select(run: Run, number: int) -> None:
    async def work(target: Path) -> Mapping[str, Any]:
        run.progress.begin_step(number, "select")
        return await select_step(run.settings, run.folder, number, target)

    await run_step(run.folder, number, "select", _after(run, number, "simulate"), work)


async def _finetune(run: Run, number: int) -> None:
    async def work(target: Path) -> Mapping[str, Any]:
        run.progress.begin_step(number, "finetune")
        inputs = _finetune_inputs(run, number)
        run.progress.detail("self-distillation")
        async with open_asking(run.settings, run.folder, number, run.serving, run.progress) as ask:
            prepared = await data_step(inputs(ask), target)
        if not prepared.enough:
            run.progress.note(f"round {number}: too few rows to train on; the weights stay as they are")
            return {"trained": False, "rows": prepared.rows}
        async with run.serving.released():
            run.progress.detail("fine-tune")
            trained = await train_step(inputs(ask), prepared, target, run.progress.detail)
        return {"trained": True, "rows": prepared.rows, **trained}

    await run_step(run.folder, number, "finetune", _after(run, number, "select"), work)


async def _redeploy(run: Run, number: int) -> None:
    async def work(target: Path) -> Mapping[str, Any]:
        run.progress.begin_step(number, "redeploy")
        made = finished(run.folder, number, "finetune")
        if not made or not made["trained"]:
            return {"redeployed": False, "version": run.serving.weights.version}
        version = f"r{number + 1}"
        proof = await redeploy(run.serving, run.folder.checkpoint(number), version, timeout_s=DEPLOY_SECONDS)
        return {
            "redeployed": True,
            "version": proof.version,
            "weights_digest": proof.weights_digest,
            "models": list(proof.models),
            "engines": proof.engines,
        }

    await run_step(run.folder, number, "redeploy", _after(run, number, "finetune"), work)


async def _evaluate(run: Run, number: int) -> None:
    async def work(target: Path) -> Mapping[str, Any]:
        run.progress.begin_step(number, "evaluate")
        return evaluate_step(run.folder, run.settings, number, target)

    await run_step(run.folder, number, "evaluate", _after(run, number, "redeploy"), work)


_STEPS = {
    "simulate": _simulate,
    "select": _select,
    "finetune": _finetune,
    "redeploy": _redeploy,
    "evaluate": _evaluate,
}


def _life_inputs(run: Run, number: int) -> dict[str, Any]:
    """What decides a round's lives: settings, weights, worlds, prompts. A change of any would mix two lives."""
    weights = weights_of_round(run.settings, run.folder, number)
    worlds = {world_label(name): world_digest(world_folder(name)) for name in run.settings.worlds}
    return {
        "settings": _settings_digest(run.settings),
        "weights": weights.version,
        "prompts": prompts_digest(),
        **{f"world {name}": digest for name, digest in worlds.items()},
    }


def _finetune_inputs(run: Run, number: int) -> Any:
    policy = run.settings.serving.policy
    served = policy.engine if policy.kind == "engine" else ""
    return lambda ask: FinetuneInputs(
        settings=run.settings,
        folder=run.folder,
        round_number=number,
        base=run.serving.weights.model,
        served_name=served,
        ask=ask,
    )


def _years_before(settings: RunSettings, number: int) -> int:
    return (number - 1) * settings.sim.time.n_year if settings.world == "continue" else 0


def _after(run: Run, number: int, step: str) -> dict[str, Any]:
    """Inputs of a step: the digest of the step before it."""
    manifest = run.folder.manifest(number, step)
    return {step: digest_of(manifest.read_bytes())}


def _settings_digest(settings: RunSettings) -> str:
    return digest_of(repr(sorted(results_settings(settings).items())).encode())
