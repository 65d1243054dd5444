"""Every path of a run, and no path is built anywhere else. Model text never becomes part of a path."""

from dataclasses import dataclass
from pathlib import Path

TABLES = (
    "calls",
    "timings",
    "agent_years",
    "agent_weeks",
    "profiles",
    "ratings",
    "rewards",
    "advantages",
    "selection",
    "drops",
)


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run."""

    root: Path

    @property
    def settings(self) -> Path:
        """The resolved settings of the run."""
        return self.root / "settings.yaml"

    @property
    def lease(self) -> Path:
        """Who writes here now."""
        return self.root / "lease.json"

    @property
    def log(self) -> Path:
        """The run's log."""
        return self.root / "run.log"

    @property
    def status(self) -> Path:
        """Where a live run is; written while it works."""
        return self.root / "status.json"

    @property
    def summary(self) -> Path:
        """What happened, as printed at the end."""
        return self.root / "summary.md"

    @property
    def tables(self) -> Path:
        """Parquet tables over all rounds."""
        return self.root / "tables"

    def table(self, name: str) -> Path:
        """One table."""
        return self.tables / f"{name}.parquet"

    def step(self, round_number: int, step: str) -> Path:
        """Folder of one step of one round."""
        return self.root / "rounds" / f"{round_number:02d}" / step

    def manifest(self, round_number: int, step: str) -> Path:
        """The step's manifest; it is there when the step is done."""
        return self.step(round_number, step) / "manifest.json"

    def journal(self, round_number: int, world: str) -> Path:
        """The journal of one world's life in one round."""
        return self.step(round_number, "simulate") / world / "journal.db"

    def distil_journal(self, round_number: int) -> Path:
        """The journal of a round's self-distillation."""
        return self.step(round_number, "finetune") / "distil.db"

    def checkpoint(self, round_number: int) -> Path:
        """The fine-tuned model of a round."""
        return self.step(round_number, "finetune") / "checkpoint"

    def base_model(self, name: str) -> Path:
        """A model that the run prepared for itself."""
        return self.root / "models" / name

    def rounds_present(self) -> list[int]:
        """Rounds that have a folder, in order."""
        folder = self.root / "rounds"
        return sorted(int(path.name) for path in folder.iterdir() if path.name.isdigit()) if folder.is_dir() else []

    def worlds_of(self, round_number: int) -> list[str]:
        """Worlds that have a journal in a round, sorted."""
        folder = self.step(round_number, "simulate")
        return sorted(path.parent.name for path in folder.glob("*/journal.db")) if folder.is_dir() else []
