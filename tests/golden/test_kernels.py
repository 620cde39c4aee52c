"""Kernels of common expressions: their text as golden files, their PTX assembled by ptxas.

`pytest tests/golden --update-golden` writes the files anew; read the difference before committing.
"""

import re
from pathlib import Path

import pytest

from lazyblock import dtypes, pipeline
from lazyblock.graph import build
from lazyblock.graph.ops import Op
from lazyblock.language.unparse import unparse
from lazyblock.target import Target, cuda_target
from tests.helpers.expressions import apply, array, scalar, softmax, standardise, total
from tests.helpers.language import meaning_of, read_text
from tests.helpers.ptxas import assemble

GOLDEN = Path(__file__).parent / "kernels"
CPU = Target("cpu", "generic", vector_bytes=32, num_units=2)


def axpy(dtype):
    x, y = array((1 << 20,), dtype), array((1 << 20,), dtype)
    return [apply(Op.ADD, apply(Op.MULTIPLY, x, scalar(2.5, dtype)), y)]


def gelu(dtype):
    x = array((1 << 20,), dtype)
    inner = apply(Op.MULTIPLY, x, apply(Op.MULTIPLY, x, x))
    bent = apply(Op.TANH, apply(Op.ADD, x, inner))
    return [apply(Op.MULTIPLY, x, apply(Op.ADD, bent, scalar(1.0, dtype)))]


def two_results(dtype):
    x = array((1 << 20,), dtype)
    return [apply(Op.SQRT, x), apply(Op.LESS, x, scalar(0.5, dtype))]


def add_row(dtype):
    row = build.broadcast_to(array((1024,), dtype), (4096, 1024))
    return [apply(Op.ADD, array((4096, 1024), dtype), row)]


def long_row_sum(dtype):
    return [total(array((2048, 1 << 18), dtype), (1,))]


# name: expression, and the 16-byte loads and stores its PTX must have at least
CASES = {
    "axpy": (axpy, 2, 1),
    "gelu": (gelu, 1, 1),
    "two_results": (two_results, 1, 1),
    "add_row": (add_row, 2, 1),
    "softmax": (lambda dtype: [softmax(array((4096, 4096), dtype))], 4, 4),
    "row_norm": (lambda dtype: [standardise(array((4096, 1000), dtype), (1,))], 1, 1),
    "long_row_sum": (long_row_sum, 1, 0),
}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.bfloat16, dtypes.float64], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_ptx_assembles_without_spills(name, dtype, arch, tmp_path):
    expression, loads, stores = CASES[name]
    _, _, kernels = pipeline.compile_for(expression(dtype), cuda_target(arch))
    (kernel,) = kernels
    ptx = kernel.stages["ptx"]
    usage = assemble(ptx, arch, tmp_path)
    assert usage.spill_bytes == 0
    if dtype != dtypes.float64:  # ptxas keeps a return address for the division of float64
        assert usage.stack_bytes == 0
    if dtype == dtypes.float32:
        assert len(re.findall(r"ld\.global\S*\.v4\.", ptx)) >= loads
        assert len(re.findall(r"st\.global\S*\.v4\.", ptx)) >= stores


@pytest.mark.parametrize("target", [CPU, cuda_target("sm_90a")], ids=lambda target: target.kind)
@pytest.mark.parametrize("name", CASES)
def test_source_text_is_golden_and_means_the_kernel(name, target, update_golden):
    expression, _, _ = CASES[name]
    _, lowered, _ = pipeline.compile_for(expression(dtypes.float32), target)
    text = "\n".join(unparse(kernel.program) for kernel in lowered)
    path = GOLDEN / f"{name}_{target.kind}.py"
    if update_golden:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text
    for kernel in lowered:
        read = read_text(unparse(kernel.program), kernel.program)
        assert meaning_of(read) == meaning_of(kernel.program)
