"""Loops that wait, atomic updates and their order: interpreter = CPU = emulated GPUs."""

import numpy as np
import pytest

from lazyblock import config
from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.backend.runtime import emulated
from lazyblock.errors import LaunchError, SanitizerError
from lazyblock.language.unparse import unparse
from lazyblock.source import SourceLine
from lazyblock.target import cuda_target
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.interpret import regions as interpreter
from lazyblock.tiler.parser import parse_program
from lazyblock.tiler.passes.eliminate_common import eliminate_common
from lazyblock.tiler.passes.eliminate_dead import eliminate_dead
from lazyblock.tiler.passes.fold_constants import fold_constants
from lazyblock.tiler.passes.version_masks import version_masks
from lazyblock.tiler.printer import print_program
from lazyblock.tiler.types import (
    float32,
    int32,
)
from lazyblock.tiler.verify import verify_program
from tests.backend.kernels import Case, pointer
from tests.backend.waiting import (
    WAITING,
    assert_agrees,
    decoupled_look_back,
    histogram,
    look_back,
    make,
    on,
    ptx_of,
    run_case,
    scalar_update,
    spin_lock,
)
from tests.helpers.cpu import run_on_cpu
from tests.helpers.language import read_text
from tests.helpers.ptxas import assemble

DEVICES = ["cpu", "emulated:sm_80", "emulated:sm_90a"]
TARGET = cuda_target("sm_90a")


def count_barriers(build):
    program = build if not callable(build) else make(build).program
    return emit_nvptx(program, TARGET).llvm.count("call void @lazyblock.barrier()")


# --- the same results ----------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", WAITING)
def test_programs_that_wait_agree_with_the_interpreter(name, device):
    assert_agrees(make(WAITING[name]), on(device))


@pytest.mark.parametrize("name", WAITING)
def test_checked_kernels_agree_with_the_interpreter(name):
    with config.scope(sanitize=True):
        assert_agrees(make(WAITING[name]), on("cpu"))


@pytest.mark.parametrize("name", WAITING)
def test_text_and_passes_keep_the_program(name):
    case = make(WAITING[name])
    text = print_program(case.program)
    assert print_program(parse_program(text)) == text
    program = case.program
    for change in (fold_constants, eliminate_common, version_masks, eliminate_dead):
        program = change(program)
        verify_program(program)
    assert_agrees(case, lambda _, *rest: interpret(program, *rest))
    assert_agrees(case, lambda p, *rest: interpret(read_text(unparse(p), p), *rest))


def test_what_the_programs_compute():
    data, out, sums, flags = run_case(make(look_back()), interpret)
    np.testing.assert_array_equal(out, np.cumsum(data))
    assert flags.all() and sums[-1] == data.sum()
    data, out, words = run_case(make(decoupled_look_back()), interpret)
    np.testing.assert_array_equal(out, np.cumsum(data))
    assert (words & 3 == 2).all()
    data, total, _ = run_case(make(spin_lock()), interpret)
    np.testing.assert_array_equal(total, data.reshape(-1, total.size).sum(axis=0))
    data, counts = run_case(make(histogram()), interpret)
    np.testing.assert_array_equal(counts, np.bincount(data[data >= 0], minlength=counts.size))
    (x,), found = run_case(make(scalar_update()), interpret)
    assert sorted(set(found)) == [x - 9, x - 6, x - 3]


def test_instances_on_several_threads_wait_for_each_other():
    def run(program, arguments, grid):
        with config.scope(num_threads=4):
            run_on_cpu(program, arguments, grid, work=1 << 30)

    for build in (look_back(60), decoupled_look_back(60), spin_lock(60), histogram(60)):
        assert_agrees(make(build), run)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("name", WAITING)
def test_programs_that_wait_assemble(name, arch, tmp_path):
    usage = assemble(ptx_of(WAITING[name], arch), arch, tmp_path)
    assert usage.spill_bytes == usage.stack_bytes == 0


# --- barriers ------------------------------------------------------------------------------------


def ordered(*steps):
    """Accesses of one instance in turn: "load", "store", or an order of a scalar update."""
    b = Builder("ordered", num_warps=4)
    x, y, flag = pointer(b, "x"), pointer(b, "y"), pointer(b, "flag", int32)
    lanes = b.arange(0, 512)
    for step in steps:
        if step == "load":
            b.store(b.add_pointer(y, lanes), b.load(b.add_pointer(x, lanes)))
        elif step == "used":
            place = b.atomic("add", flag, 1, sem="relaxed")
            b.store(b.add_pointer(y, place), b.constant(1.0, float32))
        elif step == "acquire":
            b.load(flag, sem="acquire", scope="gpu")
        elif step == "barrier":
            b.barrier()
        else:
            b.atomic("add", flag, 1, sem=step)
    return b.finish()


@pytest.mark.parametrize(
    ("steps", "count"),
    [
        (["load", "relaxed"], 0),
        (["load", "release"], 1),
        (["load", "acq_rel"], 1),
        (["release", "load"], 0),
        (["relaxed", "relaxed"], 0),  # both add
        (["load", "barrier", "release"], 1),
        (["barrier", "barrier"], 2),
        (["used"], 1),  # to pass the old value on
    ],
    ids=str,
)
def test_barriers_stand_where_an_order_asks_for_them(steps, count):
    assert count_barriers(ordered(*steps)) == count


def test_an_acquire_is_over_when_its_value_is_passed_on():
    b = Builder("acquire", num_warps=4)
    x, y, flag = pointer(b, "x"), pointer(b, "y"), pointer(b, "flag", int32)
    lanes = b.arange(0, 512)
    seen = b.load(flag, sem="acquire", scope="gpu")
    value = b.load(b.add_pointer(x, b.add(lanes, b.splat(seen, (512,)))))
    b.store(b.add_pointer(y, lanes), value)
    assert count_barriers(b.finish()) == 1


def test_acquires_that_each_thread_makes_order_the_others():
    b = Builder("acquire", num_warps=4)
    x, y, flags = pointer(b, "x"), pointer(b, "y"), pointer(b, "flags", int32)
    lanes = b.arange(0, 128)
    seen = b.load(b.add_pointer(flags, lanes), sem="acquire", scope="gpu")
    value = b.load(b.add_pointer(x, lanes))
    b.store(b.add_pointer(y, lanes), b.add(value, b.cast(seen, float32)))
    assert count_barriers(b.finish()) == 1


def test_waiting_takes_one_barrier():
    """Besides those of the scan, the sum and the order of the flag's store."""
    assert count_barriers(waiting_for_later) == 1
    assert count_barriers(spin_lock()) == 2  # the lock's release is the other


def test_memory_that_others_change_is_not_said_to_be_apart():
    case = make(look_back())
    case.program.noalias = True
    text = emit_nvptx(case.program, TARGET).llvm
    assert text.count("noalias") == text.count("noalias readonly %p0") == 1  # what nobody writes


# --- what goes wrong -----------------------------------------------------------------------------


def waiting_for_later(rng):
    """Instance 0 waits for what instance 1 would write; the loop stands on line 7."""
    b = Builder("waiting_for_later", num_warps=1)
    flag = pointer(b, "flag", int32)
    pid = b.program_id(0)

    def wait():
        b.line = SourceLine("kernel.py", 7)
        b.while_([], lambda: b.compare("eq", b.load(flag), 0), list)
        return []

    b.if_(b.compare("eq", pid, 0), wait)
    b.atomic("add", flag, 1)
    return Case(b.finish(), [np.zeros(1, np.int32)], (2, 1, 1))


def test_loops_without_end_are_reported(monkeypatch):
    monkeypatch.setattr(emulated, "MOST_ROUNDS", 100)
    monkeypatch.setattr(interpreter, "MOST_ROUNDS", 100)
    case = make(waiting_for_later)
    with pytest.raises(LaunchError, match=r"more than 100 rounds.*'while .*kernel.py:7"):
        run_case(case, on("emulated:sm_90a"))
    with pytest.raises(LaunchError, match=r"kernel.py:7 runs for more than 100 rounds"):
        run_case(case, interpret)


def test_loads_in_a_condition_are_read_anew():
    text = ptx_of(waiting_for_later)
    assert "ld.relaxed.gpu.global.b32" in text


def message(sem):
    """Instance 0 writes and raises a flag; instance 1 waits and reads."""

    def build(rng):
        b = Builder("message", num_warps=2)
        x, out, flag = pointer(b, "x"), pointer(b, "out"), pointer(b, "flag", int32)
        places = b.add_pointer(x, b.arange(0, 64))

        def send():
            b.store(places, b.constant(2.0, float32, (64,)))
            b.store(flag, b.constant(1, int32), sem="release", scope="gpu")
            return []

        def receive():
            b.while_([], lambda: b.compare("eq", b.load(flag, sem=sem, scope="gpu"), 0), list)
            b.store(b.add_pointer(out, b.arange(0, 64)), b.load(places))
            return []

        b.if_(b.compare("eq", b.program_id(0), 0), send, receive)
        arrays = [np.zeros(64, np.float32), np.zeros(64, np.float32), np.zeros(1, np.int32)]
        return Case(b.finish(), arrays, (2, 1, 1))

    return build


@pytest.mark.parametrize("device", ["cpu", "emulated:sm_90a"])
def test_messages_need_an_acquire(device):
    with config.scope(sanitize=device == "cpu"):
        _, out, _ = run_case(make(message("acquire")), on(device))
        assert (out == 2).all()
        with pytest.raises(SanitizerError, match="race: read"):
            run_case(make(message("relaxed")), on(device))
