"""Says before any installation whether this machine can run the demo and the tests: Python, processor, memory, disk.

Standard library only, since it runs before the virtual environment exists: `python3.11 pipeline/check_machine.py`.
"""

import os
import platform
import shutil
import sys
from pathlib import Path

NEEDED_PYTHON = (3, 11)
NEEDED_MEMORY_GIB = 11.0
NEEDED_DISK_GIB = 8.0


def problems(*, python: tuple[int, int], system: str, cpu_flags: str, memory_gib: float, disk_gib: float) -> list[str]:
    """What the machine lacks, each with its remedy; empty if it will do."""
    found = []
    if python != NEEDED_PYTHON:
        found.append(
            f"Python 3.11 is needed, this is {python[0]}.{python[1]}: install it (pyenv, uv or your system's packages) "
            "and call `make … PYTHON=/path/to/python3.11`"
        )
    if system != "Linux":
        found.append(f"Linux is needed (vLLM's CPU build), this is {system}: use Linux, WSL2 or a container")
    if cpu_flags and "avx2" not in cpu_flags.split():
        found.append("a processor with AVX2 is needed (vLLM's CPU build): use a machine made after about 2015")
    if memory_gib < NEEDED_MEMORY_GIB:
        found.append(
            f"{NEEDED_MEMORY_GIB:.0f} GiB of memory are needed, {memory_gib:.1f} are there: close programs, or run "
            "`configs/smoke.yaml`, which needs no real engine"
        )
    if disk_gib < NEEDED_DISK_GIB:
        found.append(f"{NEEDED_DISK_GIB:.0f} GiB of free disk are needed here, {disk_gib:.1f} are there: free some")
    return found


def _cpu_flags() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2] for line in lines if line.startswith("flags")), "")


def memory_gib() -> float:
    """Main memory of this machine (a container's limit, where there is one) in GiB."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(path).read_text(encoding="utf-8").strip()
        except OSError:
            continue
        if text.isdigit():
            total = min(total, int(text))
    return total / 2**30


def main() -> int:
    """Print what is lacking; 1 if anything is."""
    installed = Path(".venv").exists()
    found = problems(
        python=sys.version_info[:2],
        system=platform.system(),
        cpu_flags=_cpu_flags(),
        memory_gib=memory_gib(),
        disk_gib=shutil.disk_usage(".").free / 2**30 + (NEEDED_DISK_GIB if installed else 0.0),
    )
    for problem in found:
        print(f"this machine can't run it: {problem}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
