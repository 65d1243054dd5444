"""The command line: `python pipeline/run.py --config configs/laptop.yaml [key=value …]`, and what shows a run.

Nothing heavy is imported before the arguments are read.
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

EXAMPLES = """examples:
  python pipeline/run.py --config configs/laptop.yaml                  the whole loop on a laptop
  python pipeline/run.py --config configs/smoke.yaml run_dir=runs/x    the same with a scripted model, in a minute
  python pipeline/run.py --config configs/paper.yaml --dry-run         settings, plan, and whether it fits
  python pipeline/run.py --show runs/x --agent "Some Name" --week Y1-W2    one agent's week as a transcript
The same command on an existing run folder goes on where it stopped."""


def parser() -> argparse.ArgumentParser:
    """The command's arguments."""
    made = argparse.ArgumentParser(
        prog="run.py",
        description="Rounds of simulate → select → finetune → redeploy.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument(
        "settings", nargs="*", metavar="key=value", help="settings laid over the file, as sim.n_agents=12"
    )
    made.add_argument("--config", type=Path, help="settings file")
    made.add_argument("--dry-run", action="store_true", help="print settings and plan, start nothing")
    made.add_argument("--resume", action="store_true", help="go on with an existing run folder (always done)")
    made.add_argument("--takeover", action="store_true", help="take a run folder over from an owner that is gone")
    made.add_argument("--show", type=Path, metavar="RUN", help="print one agent's week of a run")
    made.add_argument("--agent", help="whose week (with --show)")
    made.add_argument("--week", help="which week, as Y1-W2; Y1 for the year's end, Y0 for the start (with --show)")
    made.add_argument("--round", type=int, help="which round (with --show; default: the last)")
    made.add_argument("--world", help="which world (with --show; default: the only one)")
    return made


def main(words: Sequence[str] | None = None) -> int:
    """Run the command; the exit status: 0 done, 1 it could not be done, 2 wrong arguments or settings, 130 Ctrl-C."""
    given = parser()
    arguments = given.parse_intermixed_args(words)
    if arguments.show:
        return _show(given, arguments)
    if not arguments.config:
        given.error("--config FILE is required, such as --config configs/laptop.yaml")
    from pipeline.load_settings import SettingsError, load_settings

    try:
        settings = load_settings(arguments.config, arguments.settings)
    except SettingsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    from pipeline.launch import dry_run, launch

    if arguments.dry_run:
        return dry_run(settings)
    return launch(settings, again=shlex.join([sys.executable, *sys.argv]), takeover=arguments.takeover)


def _show(given: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    if not (arguments.agent and arguments.week):
        given.error("--show RUN needs --agent NAME and --week Y1-W2")
    from pipeline.run_folder import RunFolder
    from pipeline.show import show

    try:
        text = show(
            RunFolder(arguments.show), arguments.agent, arguments.week, round=arguments.round, world=arguments.world
        )
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    try:
        print(text)
    except BrokenPipeError:
        sys.stderr.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
