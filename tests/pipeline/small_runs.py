"""Run folders for tests: small lives with the scripted model where a run would have put them."""

from pathlib import Path

from pipeline.run_folder import RunFolder
from pipeline.settings import EndpointSettings, RunSettings, ServingSettings
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
