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
    """A command of this Python, the seconds it may take, and the lines of its log to print."""

    name: str
    arguments: tuple[str, ...]
    seconds: float
    tail_lines: int


def make_steps(folder: Path, options: Sequence[str]) -> list[Step]:
    pytest = ("-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", "--tb=short")
    benchmarks = ("-m", "benchmarks.gpu", str(folder / "gpu.json"), *options)
    return [Step("tests", pytest, 200, 60), Step("benchmarks", benchmarks, 320, 70)]


def run_step(step: Step, log: Path) -> int:
    """Return the exit status, 124 when time ran out; everything it started is ended with it."""
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, *step.arguments],
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
        try:
            return process.wait(step.seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return 124


def main() -> int:
    words = sys.argv[1:]
    folder = Path(words.pop(0) if words and not words[0].startswith("-") else "gpu_check")
    folder.mkdir(parents=True, exist_ok=True)
    status = 0
    for step in make_steps(folder, words):
        log = folder / f"{step.name}.log"
        found = run_step(step, log)
        print(f"=== {step.name}: exit status {found}")
        print("\n".join(log.read_text().splitlines()[-step.tail_lines :]), flush=True)
        status = status or found
    return status


if __name__ == "__main__":
    sys.exit(main())
