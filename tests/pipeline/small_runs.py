"""Run folders for tests: small lives with the scripted model where a run would have put them."""

import asyncio
from pathlib import Path

from pipeline.run_folder import RunFolder
from pipeline.settings import EndpointSettings, RunSettings, ServingSettings
from sim.journal.log import JournalFile
from sim.journal.tables import JournalId
from sim.llm.protocol import LLM
from sim.settings import SimSettings
from tests.whole.lives import SMALL, Life, lived, small_life


def run_settings(**fields) -> RunSettings:
    """Settings of a simulate-and-select run with the scripted model."""
    scripted = EndpointSettings(kind="scripted")
    values = {
        "run_dir": "runs/test",
        "steps": ("simulate", "select"),
        "sim": SimSettings.model_validate(SMALL),
        "serving": ServingSettings(policy=scripted, environment=scripted),
    }
    return RunSettings.model_validate({**values, **fields})


def live_round(
    root: Path, number: int = 1, model: LLM | None = None, *, world: str = "apartment", seed: int = 1, **changes
) -> RunFolder:
    """Live one world in one round of a run folder."""
    folder, life = RunFolder(root), small_life(seed=seed, **changes)
    life = Life(settings=life.settings, world=life.world, seed=seed, round=number)
    lived(folder.journal(number, world).parent, life, model)
    return folder


def journal_of(folder: RunFolder, calls=(), units=(), *, number: int = 1, world: str = "苑") -> RunFolder:
    """A journal with these rows."""

    async def record() -> None:
        for call in calls:
            await file.record_call(call)
        for unit in units:
            await file.record_unit(unit)

    file = JournalFile(folder.journal(number, world), JournalId(run="test", world=world, round=number))
    try:
        asyncio.run(record())
    finally:
        file.close()
    return folder
