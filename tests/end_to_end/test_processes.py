"""Several processes: kernels found on disk, cold starts at once, no driver, import cost."""

import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest

import lazyblock as lb

PROGRAM = """
import numpy as np, lazyblock as lb
from lazyblock import events
found = []
events.add_listener(lambda e: found.append(e.found) if isinstance(e, events.CacheLookup) else None)
values = []
for k in range(3):
    x = lb.asarray(np.arange(12.0).reshape(3, 4) + k, device="cpu")
    y = lb.exp(x - x.max(axis=1, keepdims=True))
    z = [y / y.sum(axis=1, keepdims=True), x.sum(axis=0), lb.sqrt(x) * 2][k]
    values.append(np.asarray(z).tobytes().hex())
print(*found)
print(*values)
import sys
print("llvmlite.binding" in sys.modules)
"""


def start(cache_dir, program=PROGRAM, **environment):
    variables = {**os.environ, "LAZYBLOCK_CACHE_DIR": str(cache_dir), **environment}
    return subprocess.Popen(
        [sys.executable, "-c", program], env=variables, stdout=subprocess.PIPE, text=True
    )


def finish(process):
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return output.splitlines()


def test_second_process_finds_every_kernel_on_disk(tmp_path):
    cold, warm = (finish(start(tmp_path / "c")) for _ in range(2))
    assert (cold[0], warm[0]) == ("none none none", "disk disk disk")
    assert cold[1] == warm[1]


def test_hash_seed_does_not_change_keys(tmp_path):
    finish(start(tmp_path / "c", PYTHONHASHSEED="1"))
    assert finish(start(tmp_path / "c", PYTHONHASHSEED="2"))[0] == "disk disk disk"


@pytest.mark.case("BR-74")
def test_processes_starting_cold_at_once_all_succeed(tmp_path):
    processes = [start(tmp_path / "c") for _ in range(4)]
    outputs = [finish(process) for process in processes]
    assert all(set(found.split()) <= {"none", "disk"} for found, *_ in outputs)
    assert len({values for _, values, *_ in outputs}) == 1


def test_unwritable_directory_still_computes(tmp_path):
    (tmp_path / "file").write_text("")
    process = start(tmp_path / "file", PYTHONWARNINGS="ignore")
    assert finish(process)[0] == "none none none"


IMPORT = """
import sys, time
import numpy, ml_dtypes
start = time.perf_counter()
import lazyblock
print(time.perf_counter() - start)
print(*[m for m in ("llvmlite.binding", "cuda.bindings", "networkx") if m in sys.modules])
"""


def test_import_loads_nothing_heavy(tmp_path):
    assert finish(start(tmp_path, IMPORT))[1] == ""


NO_GPU = """
import lazyblock as lb
try:
    lb.asarray([1.0], device="cuda")
except lb.errors.DeviceError as error:
    print(error)
"""


@pytest.mark.skipif(os.path.exists("/dev/nvidia0"), reason="needs a machine without a GPU")
def test_missing_gpu_says_what_is_missing(tmp_path):
    (line,) = finish(start(tmp_path, NO_GPU))
    assert "libcuda" in line


@pytest.mark.case("BR-83")
def test_a_forked_child_evaluates():
    x = lb.asarray(np.arange(1 << 18, dtype=np.float64), device="cpu")
    assert (x + 1).sum().item() == (np.arange(1 << 18) + 1.0).sum()
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def work():
        queue.put((x * 2).sum().item())

    child = context.Process(target=work)
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert queue.get() == (np.arange(1 << 18) * 2.0).sum()
