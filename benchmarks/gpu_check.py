"""Everything that needs a GPU, in one call: the gpu-marked tests, then the benchmarks.

    python -m benchmarks.gpu_check [output directory]

Prints the end of each log; full logs and `gpu.json` go to the output directory.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

COMMANDS = {
    "tests": ["-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", "--tb=short"],
    "benchmarks": ["-m", "benchmarks.gpu"],
}
TAIL_LINES = {"tests": 60, "benchmarks": 30}


def main() -> int:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "gpu_check")
    folder.mkdir(parents=True, exist_ok=True)
    status = 0
    for name, arguments in COMMANDS.items():
        extra = [str(folder / "gpu.json")] if name == "benchmarks" else []
        done = subprocess.run(
            [sys.executable, *arguments, *extra], capture_output=True, text=True, check=False
        )
        log = done.stdout + done.stderr
        (folder / f"{name}.log").write_text(log)
        print(f"=== {name}: exit status {done.returncode}")
        print("\n".join(log.splitlines()[-TAIL_LINES[name] :]))
        status = status or done.returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
