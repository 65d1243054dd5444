"""Runs the benchmarks, all or those named: `python -m benchmarks.run [NAME …] [--long]`."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence

from benchmarks import memory, schedule

BENCHMARKS: Mapping[str, Callable[[Sequence[str]], int]] = {"memory": memory.main, "schedule": schedule.main}
"""Each takes its own words, `--long` among them, prints what it measured, and returns 1 if a claim failed."""


def main(words: Sequence[str] | None = None) -> int:
    """Run them one after the other; 1 if one failed."""
    given = argparse.ArgumentParser(prog="benchmarks.run", description=__doc__)
    given.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(sorted(BENCHMARKS))}; none: all")
    given.add_argument("--long", action="store_true", help="the long form, which takes minutes")
    arguments = given.parse_args(words)
    unknown = sorted(set(arguments.names) - set(BENCHMARKS))
    if unknown:
        given.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(sorted(BENCHMARKS))}")
    failed = [
        name for name in arguments.names or sorted(BENCHMARKS) if BENCHMARKS[name](["--long"] if arguments.long else [])
    ]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
