"""Prints and assertions: the same words on the interpreter, the CPU and emulated GPUs."""

import numpy as np
import pytest

from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.backend.llvm.ptx import to_ptx
from lazyblock.errors import LaunchError
from lazyblock.language.unparse import unparse
from lazyblock.source import SourceLine
from lazyblock.target import cuda_target
from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.ir import walk
from lazyblock.tiler.parser import parse_program
from lazyblock.tiler.passes.eliminate_common import eliminate_common
from lazyblock.tiler.passes.eliminate_dead import eliminate_dead
from lazyblock.tiler.printer import print_program
from lazyblock.tiler.types import (
    PointerType,
    bfloat16,
    float8_e5m2,
    float32,
    float64,
    int1,
    int8,
    int32,
    int64,
    uint32,
)
from tests.helpers.emulator import emulate, run_on
from tests.helpers.ptxas import assemble


def on_cpu(program, arguments, grid=(1, 1, 1)):
    run_on("cpu", program, arguments, grid)


RUNS = {"interpreter": interpret, "cpu": on_cpu, "emulated": emulate}
every_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)


def kernel(build, num_warps=1):
    """x[0:16] of float32 given to `build`, and negated in memory."""
    b = Builder("told", num_warps=num_warps)
    x, n = b.parameter("x", PointerType(float32)), b.parameter("n", int32)
    place = b.add_pointer(x, b.add(b.arange(0, 16), b.splat(b.mul(b.program_id(0), 16), (16,))))
    value = b.load(place)
    build(b, value, n)
    b.store(place, b.neg(value))
    return b.finish()


def told(capfd, run, build, grid=(1, 1, 1), n=0):
    """Lines that a kernel prints, without an order where threads have none."""
    data = np.arange(16 * grid[0], dtype=np.float32) - 3
    run(kernel(build), [data, n], grid)
    assert data[0] == 3
    return sorted(capfd.readouterr().out.splitlines())


@every_run
def test_every_element_is_a_line(run, capfd):
    lines = told(capfd, run, lambda b, v, n: b.print_("v", [v]), (2, 1, 1))
    expected = [
        f"pid ({pid}, 0, 0) idx ({i:2}) v: {16 * pid + i - 3:.6f}"
        for pid in range(2)
        for i in range(16)
    ]
    assert lines == sorted(expected)


@every_run
def test_words_alone_are_one_line(run, capfd):
    lines = told(capfd, run, lambda b, v, n: b.print_("100% hello, well", []), (2, 1, 1))
    assert lines == ["pid (0, 0, 0) 100% hello, well", "pid (1, 0, 0) 100% hello, well"]


@every_run
def test_several_values_are_numbered(run, capfd):
    def build(b, v, n):
        b.print_("a%d: ", [b.reshape(v, (1, 16)), n])

    lines = told(capfd, run, build, n=-7)
    assert "pid (0, 0, 0) idx (0,  5) a%d: (operand 0) 2.000000" in lines
    assert "pid (0, 0, 0) idx () a%d: (operand 1) -7" in lines
    assert len(lines) == 17


@pytest.mark.parametrize(
    "element, hex, text",
    [
        (int8, False, "-3"),
        (int8, True, "0xfd"),
        (int64, True, "0xfffffffffffffffd"),
        (uint32, False, "4294967293"),
        (int1, False, "1"),
        (bfloat16, False, "-3.000000"),
        (float8_e5m2, True, "-3.000000"),
        (float64, False, "-3.000000"),
    ],
    ids=str,
)
@every_run
def test_numbers_of_every_kind(run, element, hex, text, capfd):
    def build(b, v, n):
        whole = v if element.is_floating else b.cast(v, int64)
        b.print_("x", [b.cast(whole, element)], hex)

    assert f"pid (0, 0, 0) idx ( 0) x: {text}" in told(capfd, run, build)


def test_lines_keep_their_order(capfd):
    def build(b, v, n):
        def body(i):
            b.print_("round", [i])
            b.if_(b.compare("gt", i, 1), lambda: b.print_("large", []) or ())
            return []

        b.print_("first", [])
        b.for_(0, 3, 1, [], body)
        b.print_("last", [n])

    expected = ["first", "idx () round: 0", "idx () round: 1", "idx () round: 2", "large"]
    for run in RUNS.values():
        run(kernel(build), [np.zeros(16, np.float32), 5])
        lines = capfd.readouterr().out.splitlines()
        assert lines == [f"pid (0, 0, 0) {text}" for text in [*expected, "idx () last: 5"]]


# --- assertions ----------------------------------------------------------------------------------


def masked(b, v, n):
    lanes = b.compare("ge", b.arange(0, 16), b.splat(n, (16,)))
    b.assert_(b.compare("gt", v, -2.0), "is\npositive", lanes)


@every_run
def test_a_failed_assertion_names_what_failed(run):
    def build(b, v, n):
        b.line = SourceLine("user.py", 12)
        masked(b, v, n)

    message = (
        r"'told': assertion 'is positive' failed at user.py:12; program \(0, 0, 0\), lane \({}"
    )
    for n, lane in ((0, 0), (1, 1)):
        data = np.arange(16, dtype=np.float32) - 3
        with pytest.raises(LaunchError, match=message.format(lane)):
            run(kernel(build), [data, n])
        assert data[0] == -3  # what follows does not run
    run(kernel(build), [data, 2])
    assert data[0] == 3


@every_run
def test_assertions_on_scalars_of_any_instance(run):
    def build(b, v, n):
        b.assert_(b.compare("lt", b.program_id(0), n), "")

    program, data = kernel(build), np.zeros(48, np.float32)
    with pytest.raises(LaunchError, match=r"an assertion failed; program \(2, 0, 0\)\."):
        run(program, [data, 2], (3, 1, 1))


@every_run
def test_assertions_inside_loops_and_branches(run):
    """Lane 7 is the first that grows too large."""

    def build(b, v, n):
        def grow(value):
            b.assert_(b.compare("lt", value, 20.0), "small")
            return [b.add(value, 1.0)]

        def body(i, value):
            is_late = b.compare("gt", i, 1)
            return b.if_(is_late, lambda: grow(value), lambda: [value])

        b.for_(0, n, 1, [v], body)

    data = np.arange(16, dtype=np.float32) % 8
    with pytest.raises(LaunchError, match=r"'small' failed; program \(0, 0, 0\), lane \(7,\)"):
        run(kernel(build), [data, 40])


def test_both_survive_passes_and_text():
    def build(b, v, n):
        for _ in range(2):
            b.print_("twice", [n], hex=True)
            b.assert_(b.compare("gt", n, 0), 'says "no"')

    program = eliminate_dead(eliminate_common(kernel(build)))
    kinds = [type(op) for op in walk(program.body) if isinstance(op, (ops.Print, ops.Assert))]
    assert kinds == [ops.Print, ops.Assert] * 2
    text = print_program(program)
    assert print_program(parse_program(text)) == text
    written = unparse(program)
    assert written.count('tl.device_print("twice", n, hex=True)') == 2
    assert written.count('tl.device_assert(flag, "says \\"no\\"")') == 2


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_ptx_assembles(arch, tmp_path):
    def build(b, v, n):
        b.print_("v", [v, n, b.cast(v, int8)])
        masked(b, v, n)

    target = cuda_target(arch)
    ptx = to_ptx(emit_nvptx(kernel(build, num_warps=4), target).llvm, target)
    assert assemble(ptx, arch, tmp_path).spill_bytes == 0
    assert ptx.count("vprintf,") == 3 and "bar.red.or.pred" in ptx
    assert ".global .align 4 .b8 lazyblock_failure[20]" in ptx


@pytest.mark.gpu
def test_a_gpu_prints_and_fails(capfd):
    def build(b, v, n):
        b.print_("v", [v, b.cast(v, int8)])
        masked(b, v, n)

    program, data = kernel(build, num_warps=4), np.arange(16, dtype=np.float32) - 3
    with pytest.raises(LaunchError, match=r"assertion 'is positive' failed; .* lane \([01],\)"):
        run_on("cuda", program, [data.copy(), 0])
    run_on("cuda", program, [data, 2])
    assert data[0] == 3
    lines = capfd.readouterr().out.splitlines()
    assert lines.count("pid (0, 0, 0) idx ( 5) v: (operand 0) 2.000000") == 2 and len(lines) == 64
