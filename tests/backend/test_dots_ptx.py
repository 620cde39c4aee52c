"""PTX of dots: which instructions, how operands travel, and that nothing spills."""

import re
from typing import Any, NamedTuple

import numpy as np
import pytest

from lazyblock import pipeline
from lazyblock.backend.llvm import nvptx_convert
from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.backend.llvm.ptx import to_ptx
from lazyblock.target import cuda_target
from lazyblock.tiler.types import bfloat16, float16, float32, float64, int8, int32, uint8
from tests.backend.dots import CASES, Dot, dot_case, matmul, two_dots
from tests.helpers.ptxas import assemble


def compile_case(make, arch="sm_90a"):
    program = make(np.random.default_rng(0)).program
    for run in pipeline.GPU_PASSES:
        program = run(program)
    target = cuda_target(arch)
    kernel = emit_nvptx(program, target)
    return kernel, to_ptx(kernel.llvm, target)


def count(pattern, ptx):
    return len(re.findall(pattern, ptx))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", CASES)
def test_every_kernel_assembles_without_spills(name, arch, tmp_path):
    usage = assemble(compile_case(CASES[name], arch)[1], arch, tmp_path)
    assert usage.spill_bytes == usage.stack_bytes == 0


SHAPE = {"m16n8k16": (16, 16), "m16n8k8": (16, 8), "m16n8k32": (16, 32), "m8n8k4": (8, 4)}


@pytest.mark.parametrize(
    ("element", "acc", "precision", "instruction", "products"),
    [
        (float16, float32, "ieee", "m16n8k16.row.col.f32.f16.f16.f32", 1),
        (float16, float16, "ieee", "m16n8k16.row.col.f32.f16.f16.f32", 1),
        (bfloat16, float32, "ieee", "m16n8k16.row.col.f32.bf16.bf16.f32", 1),
        (int8, int32, "ieee", "m16n8k32.row.col.s32.s8.s8.s32", 1),
        (uint8, int32, "ieee", "m16n8k32.row.col.s32.u8.u8.s32", 1),
        (float64, float64, "ieee", "m8n8k4.row.col.f64.f64.f64.f64", 1),
        (float32, float32, "tf32", "m16n8k8.row.col.f32.tf32.tf32.f32", 1),
        (float32, float32, "tf32x3", "m16n8k8.row.col.f32.tf32.tf32.f32", 3),
        (float32, float32, "bf16x3", "m16n8k16.row.col.f32.bf16.bf16.f32", 3),
        (float32, float32, "bf16x6", "m16n8k16.row.col.f32.bf16.bf16.f32", 6),
    ],
    ids=str,
)
def test_every_type_has_its_instruction(element, acc, precision, instruction, products):
    dot = Dot(64, 32, 32, element=element, acc=acc, precision=precision, num_warps=4)
    _, ptx = compile_case(dot_case(dot))
    rows, depth = SHAPE[instruction.partition(".")[0]]
    expected = products * (64 // rows) * (32 // 8) * (32 // depth) // dot.num_warps
    assert count(rf"mma\.sync\.aligned\.{re.escape(instruction)}\b", ptx) == expected
    assert count(r"mma\.sync", ptx) == expected


@pytest.mark.parametrize(
    ("dot", "product"),
    [
        (Dot(64, 32, 16), "fma.rn.f32"),  # IEEE products of float32
        (Dot(64, 32, 8, element=float16), "fma.rn.f32"),  # too shallow for an instruction
        (Dot(64, 32, 16, element=int8, acc=int32), "mul.wide.s16"),
        (Dot(64, 32, 2, element=float64, acc=float64), "fma.rn.f64"),
    ],
)
def test_what_no_instruction_takes_is_multiplied_by_threads(dot, product):
    _, ptx = compile_case(dot_case(dot))
    assert count(r"mma\.sync", ptx) == 0
    assert count(re.escape(product), ptx) == dot.m * dot.n * dot.k // 128


def test_long_products_of_threads_run_in_a_loop():
    short, long = (compile_case(dot_case(Dot(64, 64, k)))[1] for k in (16, 128))
    assert count(r"fma\.rn\.f32", short) == count(r"fma\.rn\.f32", long) == 64 * 64 * 8 // 128


def test_few_rows_and_columns_use_instructions_too():
    _, ptx = compile_case(dot_case(Dot(1, 1, 64, element=float16, num_warps=1)))
    assert count(r"mma\.sync", ptx) == 4


# --- how operands travel -------------------------------------------------------------------------


class Expected(NamedTuple):
    """Most registers; shared bytes; instructions of a loop whose accesses are all as wide as can
    be: products, loads and stores of 16 bytes of global and of shared memory."""

    make: Any
    registers: int
    shared_bytes: int
    products: int
    loads: int
    stores: int
    shared_loads: int
    shared_stores: int


def square(extent, tile, *types, num_warps):
    return matmul((extent,) * 3, tile, *types, num_warps=num_warps)


TABLE = {
    "f16": Expected(
        square(1024, (128, 128, 32), float16, float32, num_warps=8), 144, 16384, 32, 4, 16, 12, 4
    ),
    "f16_4_warps": Expected(
        square(1024, (128, 128, 32), float16, float32, num_warps=4), 232, 16384, 64, 8, 32, 16, 8
    ),
    "bf16_large": Expected(
        square(1024, (128, 256, 64), bfloat16, num_warps=8), 255, 49152, 128, 12, 32, 32, 12
    ),
    "f16_sums": Expected(
        square(1024, (128, 128, 32), float16, float16, num_warps=8), 144, 16384, 32, 4, 8, 12, 4
    ),
    "f32": Expected(square(1024, (64, 64, 16), num_warps=4), 96, 8192, 256, 4, 8, 24, 4),
}


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", TABLE)
def test_products_of_tiles_use_what_they_may(name, arch, tmp_path):
    expected = TABLE[name]
    kernel, ptx = compile_case(expected.make, arch)
    usage = assemble(ptx, arch, tmp_path)
    assert usage.spill_bytes == usage.stack_bytes == 0
    assert usage.registers <= expected.registers
    assert kernel.shared_bytes == expected.shared_bytes
    assert count(r"mma\.sync|fma\.rn\.f32", ptx) == expected.products
    accesses = ("ld.global", expected.loads), ("st.global", expected.stores)
    in_shared = ("ld.shared", expected.shared_loads), ("st.shared", expected.shared_stores)
    for access, wanted in (*accesses, *in_shared):
        assert count(rf"{access}\.v4\.b32", ptx) == count(access, ptx) == wanted, access
    assert count(r"bar\.sync", ptx) == 2  # between writing and reading, and before the next round


@pytest.fixture
def exchanges(monkeypatch):
    """What goes through shared memory from now on: placement, source and target layout."""
    choose, seen = nvptx_convert.choose_layout, []

    def choose_and_look(source, target, nbytes):
        seen.append((choose(source, target, nbytes), source, target))
        return seen[-1][0]

    monkeypatch.setattr(nvptx_convert, "choose_layout", choose_and_look)
    return seen


@pytest.mark.parametrize("element", [float16, float32, float64, int8], ids=str)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (False, True)])
def test_operands_meet_in_no_bank(element, turned, exchanges):
    acc = {int8: int32, float16: float32}.get(element, element)
    compile_case(dot_case(Dot(64, 64, 32, 0, element, acc, turned=turned)))
    assert len(exchanges) >= 2
    for shared, *layouts in exchanges:
        assert [shared.wavefronts(layout) for layout in layouts] == [1, 1]


def test_a_result_is_the_operand_of_another_dot_where_it_is(exchanges):
    _, ptx = compile_case(two_dots(64, 32, 32, 2, float16, 4))
    assert [source.shape for _, source, _ in exchanges] == [(64, 32), (32, 32), (32, 32)]  # q, k, v
    assert count(r"shfl", ptx) == 0
    assert count(r"mma\.sync", ptx) == 8 + 8
    assert count(r"bar\.sync", ptx) == 3  # q; k and v in every round
