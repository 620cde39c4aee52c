"""GPU tests under NVIDIA's compute-sanitizer: memory errors and races inside kernels.

    python -m benchmarks.sanitizer_check [compute-sanitizer] [--tools memcheck,racecheck]
                                         [--seconds 130] [--folder sanitizer_check]

The program comes with the CUDA toolkit, or with `pip install nvidia-cuda-sanitizer-api`, as
`nvidia/cu13/bin/compute-sanitizer`. Checked are the tests that launch kernels: blocks by
themselves, whole expressions, and the example kernels. Logs go to the folder, their ends are
printed.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from benchmarks.gpu_check import PYTEST, Step, run_steps

_FOUND_ERRORS = 99
_BLOCKS = ("tests/backend/test_cuda.py", "-k", "not refuses")
_EXPRESSIONS = tuple(
    f"tests/end_to_end/test_{name}.py" for name in ("one_kernel", "scans", "tails")
)
_FEW = (*_EXPRESSIONS, "-k", "float32 or launch")
_EXAMPLES = ("tests/examples/test_kernels.py",)
# Racecheck follows every access to shared memory: few expressions are enough for it.
SELECTIONS = {
    "memcheck": {"expressions": _FEW, "examples": _EXAMPLES, "blocks": _BLOCKS},
    "racecheck": {"expressions": _FEW, "examples": _EXAMPLES, "blocks": _BLOCKS},
    "synccheck": {"blocks": _BLOCKS},
    "initcheck": {"blocks": _BLOCKS},
}
# Errors that the driver returns are no findings: lazyblock asks and looks at the answer.
_OPTIONS = {"memcheck": ("--report-api-errors", "no")}


def make_steps(sanitizer: str, tools: list[str], seconds: float) -> list[Step]:
    return [
        Step(f"{tool}_{name}", _command(sanitizer, tool, selection), seconds, 40)
        for tool in tools
        for name, selection in SELECTIONS[tool].items()
    ]


def _command(sanitizer: str, tool: str, selection: tuple[str, ...]) -> tuple[str, ...]:
    checked = (sanitizer, "--tool", tool, "--error-exitcode", str(_FOUND_ERRORS))
    only_tests = ("--target-processes", "application-only")
    return (*checked, *only_tests, *_OPTIONS.get(tool, ()), *PYTEST, *selection)


def main() -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.sanitizer_check")
    parser.add_argument("sanitizer", nargs="?", default=shutil.which("compute-sanitizer"))
    parser.add_argument("--tools", default="memcheck,racecheck", help=f"of {list(SELECTIONS)}")
    parser.add_argument("--seconds", type=float, default=130, help="for one of six runs")
    parser.add_argument("--folder", type=Path, default=Path("sanitizer_check"))
    arguments = parser.parse_args()
    if arguments.sanitizer is None:
        parser.error("there is no compute-sanitizer on the PATH; name one")
    tools = arguments.tools.split(",")
    return run_steps(make_steps(arguments.sanitizer, tools, arguments.seconds), arguments.folder)


if __name__ == "__main__":
    sys.exit(main())
