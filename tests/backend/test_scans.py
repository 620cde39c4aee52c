"""Scans of blocks: interpreter, CPU and emulated GPUs agree; the PTX assembles."""

import numpy as np
import pytest

from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.backend.llvm.ptx import to_ptx
from lazyblock.target import cuda_target
from lazyblock.tiler.interpret import interpret
from tests.backend.scans import CASES, carried_scan, scan_axis
from tests.helpers.cpu import assert_same_as_interpreter, assert_same_bits
from tests.helpers.emulator import emulate
from tests.helpers.programs import copy_arguments
from tests.helpers.ptxas import assemble


@pytest.mark.parametrize("name", CASES)
def test_cpu_agrees_with_the_interpreter(name):
    case = CASES[name](np.random.default_rng(1))
    assert_same_as_interpreter(case.program, case.arguments, case.grid)


@pytest.mark.parametrize("name", CASES)
def test_emulated_gpus_agree_with_the_interpreter(name):
    case = CASES[name](np.random.default_rng(1))
    actual, expected = copy_arguments(case.arguments), copy_arguments(case.arguments)
    interpret(case.program, expected, case.grid)
    emulate(case.program, actual, case.grid)
    for left, right in zip(actual, expected, strict=True):
        assert_same_bits(np.asarray(left), np.asarray(right))


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_ptx_assembles_without_spills(name, arch, tmp_path):
    target = cuda_target(arch)
    program = CASES[name](np.random.default_rng(0)).program
    usage = assemble(to_ptx(emit_nvptx(program, target).llvm, target), arch, tmp_path)
    assert usage.spill_bytes == usage.stack_bytes == 0


def count_barriers(make):
    program = make(np.random.default_rng(0)).program
    return emit_nvptx(program, cuda_target("sm_90a")).llvm.count("call void @lazyblock.barrier()")


def test_scans_wait_only_where_warps_share_a_row():
    assert count_barriers(scan_axis((4096,), 0, num_warps=4)) == 1
    assert count_barriers(scan_axis((8, 64), 1, num_warps=8)) == 0
    assert count_barriers(scan_axis((128, 8), 0, num_warps=1)) == 0


def test_a_loop_with_a_scan_waits_once_per_exchange():
    assert count_barriers(carried_scan()) == 2  # the wait for the sum also parts scan from scan
