"""Everything that needs a GPU, in one call: the gpu-marked tests, then the benchmarks.

    python -m benchmarks.gpu_check [output directory] [options of benchmarks.gpu]

Prints the end of each log; full logs and `gpu.json` go to the output directory. A command that
takes too long is ended, and what it had written until then is kept: both end within nine minutes.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Step:
    """A command, the seconds it may take, and the lines of its log to print."""

    name: str
    command: tuple[str, ...]
    seconds: float
    tail_lines: int


def run_steps(steps: Sequence[Step], folder: Path) -> int:
    """Run all, logs into `folder`, and print their ends; return the first bad exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    status = 0
    for step in steps:
        log = folder / f"{step.name}.log"
        found = _run(step, log)
        print(f"=== {step.name}: {_STATUS.get(found, f'exit status {found}')}")
        print("\n".join(log.read_text().splitlines()[-step.tail_lines :]), flush=True)
        status = status or found
    return status


_OUT_OF_TIME = 124
_STATUS = {0: "passed", _OUT_OF_TIME: "ended, out of time"}


def _run(step: Step, log: Path) -> int:
    """Return the exit status; whatever the command started ends with it."""
    with log.open("w") as output:
        process = subprocess.Popen(
            step.command,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
            start_new_session=True,
        )
        try:
            return process.wait(step.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return _OUT_OF_TIME


PYTEST = (sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", "--tb=short")


def main() -> int:
    options = sys.argv[1:]
    has_folder = bool(options) and not options[0].startswith("-")
    folder = Path(options.pop(0) if has_folder else "gpu_check")
    benchmarks = (sys.executable, "-m", "benchmarks.gpu", str(folder / "gpu.json"), *options)
    return run_steps(
        [Step("tests", PYTEST, 200, 60), Step("benchmarks", benchmarks, 320, 70)], folder
    )


if __name__ == "__main__":
    sys.exit(main())
