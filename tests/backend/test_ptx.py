"""PTX of emitted kernels: it assembles without spills, and has the accesses we want."""

import re
from typing import Any, NamedTuple

import numpy as np
import pytest

from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.backend.llvm.ptx import to_ptx
from lazyblock.errors import CompileError
from lazyblock.target import cuda_target
from lazyblock.tiler.types import bfloat16, float16, float32
from tests.backend.kernels import (
    CASES,
    argmax,
    axpy,
    gelu_like,
    half_to_float,
    layer_norm,
    reduce_axis,
    row_softmax,
    transpose_values,
    transposed_add,
)
from tests.helpers.ptxas import assemble


def compile_case(make, arch="sm_90a"):
    program = make(np.random.default_rng(0)).program
    target = cuda_target(arch)
    return to_ptx(emit_nvptx(program, target).llvm, target)


def count(pattern, ptx):
    return len(re.findall(pattern, ptx))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_every_kernel_assembles_without_spills(name, arch, tmp_path):
    usage = assemble(compile_case(CASES[name], arch), arch, tmp_path)
    assert usage.spill_bytes == 0
    assert usage.stack_bytes == 0


@pytest.mark.parametrize("divisibility", [16, 1])
def test_map_kernel_moves_16_bytes_per_thread_and_operand(divisibility):
    ptx = compile_case(axpy(1 << 20, 1024, 8, divisibility=divisibility))
    assert count(r"ld\.global\.v4\.b32", ptx) == 2
    assert count(r"st\.global\.v4\.b32", ptx) == 1
    single = 0 if divisibility == 16 else 4
    assert count(r"ld\.global\.b32", ptx) == 2 * single
    assert count(r"st\.global\.b32", ptx) == single


def test_unmasked_map_kernel_has_no_branch():
    ptx = compile_case(gelu_like())
    assert count(r"ld\.global\.v4\.b32", ptx) == 1
    assert count(r"st\.global\.v4\.b32", ptx) == 1
    assert count(r"\bbra\b", ptx) == 2  # one test for all its divisions


def test_four_divisions_take_one_test(tmp_path):
    ptx = compile_case(gelu_like())
    assert count(r"rcp\.approx", ptx) == 4
    assert count(r"div\.rn\.f32", ptx) == 4
    assert count("setp", ptx) <= 9  # four of them for dividends that are zero
    assert assemble(ptx, "sm_90a", tmp_path).spill_bytes == 0


@pytest.mark.parametrize("num_warps", [8, 16])
def test_row_softmax_reads_once_and_waits_twice(num_warps, tmp_path):
    ptx = compile_case(row_softmax(4096, 4096, num_warps, 16))
    assert count(r"ld\.global", ptx) == count(r"ld\.global\.v4", ptx) == 32 // num_warps
    assert count(r"st\.global", ptx) == count(r"st\.global\.v4", ptx) == 32 // num_warps
    assert count(r"bar\.sync", ptx) == 2
    assert assemble(ptx, "sm_90a", tmp_path).registers <= 64


def test_all_loads_of_a_row_come_before_their_use():
    ptx = compile_case(row_softmax(4096, 4096, 8, 16))
    assert ptx.rindex("ld.global") < ptx.index("max.")


def test_transposed_operand_is_read_along_its_own_axis():
    ptx = compile_case(transposed_add(32, 2))
    assert count(r"ld\.global", ptx) == count(r"ld\.global\.v4", ptx) == 8
    assert count(r"bar\.sync", ptx) == 1


def test_transposed_value_is_read_and_written_coalesced():
    ptx = compile_case(transpose_values(32, 32))
    assert count(r"ld\.global", ptx) == count(r"ld\.global\.v4", ptx)
    assert count(r"st\.global", ptx) == count(r"st\.global\.v4", ptx)


def test_arithmetic_is_ieee_and_is_not_contracted():
    ptx = compile_case(axpy(1 << 20, 1024, 8, divisibility=16))
    assert "mul.rn.f32" in ptx and "add.rn.f32" in ptx
    assert "fma" not in ptx
    assert "approx" not in ptx
    assert ".ftz" not in ptx


@pytest.mark.parametrize("element", [float16, bfloat16])
def test_halves_are_read_16_bytes_at_once(element, tmp_path):
    ptx = compile_case(half_to_float(element))
    assert count(r"ld\.global\.v4\.b32", ptx) == 1
    assert count(r"st\.global\.v4\.b32", ptx) == 3  # two of floats, one of halves
    assert assemble(ptx, "sm_90a", tmp_path).spill_bytes == 0


class Expected(NamedTuple):
    """What a kernel's PTX must be: most registers, bytes of shared memory, number of waits, and the
    accesses of global memory, all of 16 bytes unless `narrow` says how many are not."""

    make: Any
    registers: int
    shared_bytes: int
    waits: int
    loads: int
    stores: int
    narrow: int = 0


TABLE = {
    "map": Expected(gelu_like(1024, 8), 32, 0, 0, 1, 1),
    "map_cut": Expected(axpy(1 << 20, 1024, 8, divisibility=16), 32, 0, 0, 2, 1),
    "map_ragged": Expected(axpy((1 << 20) - 1, 1024, 8), 40, 0, 0, 2, 1, 12),
    "halves": Expected(half_to_float(float16), 40, 0, 0, 1, 3),
    "row_4096": Expected(row_softmax(4096, 4096, 8, 16), 64, 64, 2, 4, 4),
    "row_16384": Expected(row_softmax(16384, 16384, 16, 16), 96, 128, 2, 8, 8),
    "row_in_warp": Expected(row_softmax(1024, 1024, 1, 16), 72, 0, 0, 8, 8),
    "row_norm": Expected(layer_norm(8, 1024, 8), 80, 0, 0, 16, 8, 1),
    "argmax": Expected(argmax(4096, 8), 64, 96, 1, 4, 0, 1),
    "sum_columns": Expected(reduce_axis((256, 32), 0, "add", float32, 8), 40, 1024, 1, 8, 1),
    "transposed_add": Expected(transposed_add(64, 8), 40, 16384, 1, 8, 4),
    "transpose": Expected(transpose_values(64, 64, float32, 4), 48, 16384, 1, 8, 16),
    "transpose_128_kib": Expected(transpose_values(256, 128, float32, 32), 64, 131072, 1, 8, 16),
}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", TABLE)
def test_kernels_use_what_they_may(name, arch, tmp_path):
    expected, target = TABLE[name], cuda_target(arch)
    kernel = emit_nvptx(expected.make(np.random.default_rng(0)).program, target)
    ptx = to_ptx(kernel.llvm, target)
    usage = assemble(ptx, arch, tmp_path)
    assert usage.spill_bytes == usage.stack_bytes == 0
    assert usage.registers <= expected.registers
    assert kernel.shared_bytes == expected.shared_bytes
    assert count(r"bar\.sync", ptx) == expected.waits
    assert count(r"ld\.global\S*\.v[24]\.b(32|64)\s", ptx) == expected.loads
    assert count(r"st\.global\.v[24]\.b(32|64)\s", ptx) == expected.stores
    everything = count(r"(ld|st)\.global", ptx)
    assert everything == expected.loads + expected.stores + expected.narrow


def test_equal_programs_give_equal_text():
    assert compile_case(axpy(300)) == compile_case(axpy(300))


def test_faulty_text_raises():
    with pytest.raises(CompileError, match="LLVM refuses"):
        to_ptx("define void @f( {", cuda_target("sm_80"))


def test_element_types_share_one_layout():
    assert float32.nbytes == 4  # the widest of CASES["comparison_to_bool"]: bools move 8 at once
    ptx = compile_case(CASES["comparison_to_bool"])
    assert count(r"ld\.global\.v4\.b32", ptx) == 1
