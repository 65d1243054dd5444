"""The command that makes a world larger, for whoever asks for more agents than a world has characters."""

from pathlib import Path

BUILT = "runs/worlds"
"""Where suggested commands put the worlds that they build."""


def builder_command(folder: Path | str, n: int, out: Path | str = "") -> str:
    """The command that extends the world of a folder to n characters, in a new folder."""
    target = out or f"{BUILT}/{Path(folder).name}{n}"
    return f"python -m sim.world.build {folder} --to {n} --out {target} --sampler"


def builder_advice(folder: Path | str, n: int, out: Path | str = "") -> str:
    """The command on a line of its own, and what may be changed in it."""
    return (
        f"\n    {builder_command(folder, n, out)}\n  (sampled characters, for load tests; for characters written by a "
        "model give --base-url URL --model NAME in place of --sampler)"
    )
