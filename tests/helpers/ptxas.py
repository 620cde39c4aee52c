"""The ptxas assembler of the test extra: does a PTX text assemble, and what does it use."""

import importlib.util
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest


class Usage(NamedTuple):
    """What ptxas says of a kernel."""

    registers: int
    spill_bytes: int
    stack_bytes: int


def find_ptxas():
    """Path of the binary from the nvidia-cuda-nvcc package, or None."""
    spec = importlib.util.find_spec("nvidia")
    for place in spec.submodule_search_locations if spec else ():
        for path in sorted(Path(place).glob("*/bin/ptxas")):
            return path
    return None


def assemble(ptx, arch, directory):
    """Assemble a text with one kernel; skips the test when there is no ptxas."""
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("needs ptxas (package nvidia-cuda-nvcc)")
    source = Path(directory) / "kernel.ptx"
    source.write_text(ptx)
    command = [ptxas, f"-arch={arch}", "-v", source, "-o", source.with_suffix(".cubin")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"{result.stderr}\n{ptx}"
    assert not re.search(r"\bC7\d{3}\b", result.stderr), result.stderr  # code worse than asked for
    return Usage(
        int(re.search(r"Used (\d+) registers", result.stderr)[1]),
        sum(int(n) for n in re.findall(r"(\d+) bytes spill", result.stderr)),
        int(re.search(r"(\d+) bytes stack frame", result.stderr)[1]),
    )
