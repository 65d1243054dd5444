"""The command: `python -m training.evaluation.analyses RUN [RUN …] [--out FOLDER] [--round N]`.

Nothing heavy is imported before the arguments are read.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

FOLDER = "analyses"


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; the exit status: 0 done, 2 a run, a table or a round is not there."""
    given = argparse.ArgumentParser(
        prog="python -m training.evaluation.analyses",
        description="All analyses of one or several finished runs, as CSV, PNG and an index.",
    )
    given.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="run folder")
    given.add_argument("--out", type=Path, help=f"folder for the results (default: RUN/{FOLDER})")
    given.add_argument("--round", type=int, help="which round (default: the last that has a complete year)")
    arguments = given.parse_args(words)
    if arguments.out is None and len(arguments.runs) > 1:
        given.error("several runs need --out FOLDER")
    from training.evaluation.analyses.lives import read_lives
    from training.evaluation.analyses.report import write_analyses

    try:
        lives = read_lives(arguments.runs, arguments.round)
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(write_analyses(lives, arguments.out or arguments.runs[0] / FOLDER))
    return 0


if __name__ == "__main__":
    sys.exit(main())
