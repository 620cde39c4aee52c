"""Products of matrices as block programs: their text, their meaning, what they use on a GPU."""

import numpy as np
import pytest

from lazyblock import dtypes, pipeline
from lazyblock.graph import build, index_map
from lazyblock.graph.attrs import Placeholder
from lazyblock.target import cuda_target
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.lowered import ArrayArgument
from lazyblock.tiler.types import int32, int64
from tests.helpers.ptxas import assemble

HOPPER = cuda_target("sm_90a")
DTYPES = ["float16", "bfloat16", "float32", "float64", "int8", "uint8"]


def array(*shape, dtype="float32"):
    return build.input_array(Placeholder(), shape, getattr(dtypes, dtype))


def turned(node):
    return build.permute(node, (0, 2, 1))


def lower(node):
    _, (low,), (kernel,) = pipeline.compile_for([node], HOPPER)
    return low, kernel


def run(low, memory):
    """Interpret a lowered product; `memory` gives the elements of its operands."""
    out = {}
    values = []
    for argument in low.arguments:
        if not isinstance(argument, ArrayArgument):
            values.append(argument.value)
        elif argument.is_written:
            out[argument.base] = np.zeros(argument.base.shape, argument.base.dtype)
            values.append(out[argument.base])
        else:
            values.append(memory[argument.base].reshape(-1)[argument.offset :])
    interpret(low.program, values, low.grid)
    (result,) = out.values()
    return result


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 16, 16, 16), (2, 33, 70, 37), (3, 20, 17, 130)])
def test_it_means_a_product(shape, dtype):
    batch, rows, columns, depth = shape
    a, b = array(batch, rows, depth, dtype=dtype), array(batch, depth, columns, dtype=dtype)
    rng = np.random.default_rng(0)
    memory = {n: rng.integers(-8, 8, n.shape).astype(n.dtype) for n in (a, b)}
    low, _ = lower(build.contract(a, b, a.dtype))
    exact = np.matmul(*(memory[n].astype(np.int64) for n in (a, b)))
    np.testing.assert_array_equal(run(low, memory), exact.astype(a.dtype))


def test_operands_are_read_where_they_lie():
    a, b = array(2, 50, 40), array(60, 90)
    picked = build.view(b, index_map.slices([3, 5], [1, 2]), (40, 42))
    memory = {n: np.random.default_rng(1).integers(-8, 8, n.shape).astype(n.dtype) for n in (a, b)}
    low, _ = lower(build.contract(a, build.broadcast_to(picked, (2, 40, 42)), a.dtype))
    expected = memory[a] @ memory[b][3:43, 5:89:2]
    np.testing.assert_array_equal(run(low, memory), expected)
    low, _ = lower(build.contract(turned(a), a, a.dtype))
    expected = memory[a].swapaxes(1, 2) @ memory[a]
    np.testing.assert_array_equal(run(low, {a: memory[a]}), expected)


def test_new_sizes_are_not_new_kernels():
    first, second = (
        lower(build.contract(array(1, n, 1024), array(1, 1024, 256), dtypes.float32))[1]
        for n in (512, 2048)
    )
    assert first.key == second.key
    odd = lower(build.contract(array(1, 511, 1024), array(1, 1024, 256), dtypes.float32))[1]
    assert odd.key != first.key


def test_large_operands_are_counted_in_int64():
    small, _ = lower(build.contract(array(1, 4096, 4096), array(1, 4096, 512), dtypes.float32))
    large, _ = lower(build.contract(array(1, 65536, 65536), array(1, 65536, 512), dtypes.float32))
    kinds = [{p.value.type.element for p in low.program.parameters} for low in (small, large)]
    assert int32 in kinds[0] and int64 not in kinds[0]
    assert int64 in kinds[1] and int32 not in kinds[1]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_nothing_spills(dtype, arch, tmp_path):
    a, b = array(4, 1024, 512, dtype=dtype), array(4, 512, 768, dtype=dtype)
    odd = array(1, 1001, 555, dtype=dtype), turned(array(1, 777, 555, dtype=dtype))
    for left, right in ((a, b), odd):
        product = build.contract(left, right, left.dtype)
        _, _, (kernel,) = pipeline.compile_for([product], cuda_target(arch))
        usage = assemble(kernel.stages["ptx"], arch, tmp_path)
        assert (usage.spill_bytes, usage.stack_bytes) == (0, 0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8"])
def test_matrix_units_multiply(dtype):
    a, b = array(1, 256, 256, dtype=dtype), array(1, 256, 256, dtype=dtype)
    assert "mma.sync" in lower(build.contract(a, b, a.dtype))[1].stages["ptx"]


def test_float32_is_not_rounded_to_less():
    a, b = array(1, 256, 256), array(1, 256, 256)
    text = lower(build.contract(a, b, a.dtype))[1].stages["ptx"]
    assert "fma.rn.f32" in text and "mma.sync" not in text
