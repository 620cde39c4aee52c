"""What the builder adds to making ops: constants of the right type, broadcasting, checks."""

import pytest

from lazyblock.errors import VerifyError
from lazyblock.source import SourceLine
from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.types import (
    BlockType,
    PointerType,
    float16,
    float32,
    int1,
    int8,
    int32,
    int64,
    uint8,
)


@pytest.mark.parametrize(
    "number, element, value",
    [
        *((300, int8, 44), (200, int8, -56), (-1, uint8, 255), (2, int1, True), (0, int1, False)),
        *((1, float32, 1.0), (0.1, float16, 0.0999755859375), (True, int32, 1), (2.7, int32, 2)),
    ],
)
def test_constants_hold_what_their_type_can(number, element, value):
    constant = Builder().constant(number, element).owner
    assert constant.value == value
    assert type(constant.value) is type(value)


def test_numbers_take_the_other_operands_type():
    b = Builder()
    block = b.cast(b.arange(0, 8), int64)
    assert b.add(block, 1).type == BlockType(int64, (8,))
    assert b.sub(1, block).owner.lhs.type == BlockType(int64, (8,))
    assert b.select(b.compare("lt", block, 3), block, 0).type == BlockType(int64, (8,))


def test_broadcasting_follows_numpy():
    b = Builder()
    row = b.arange(0, 8)
    assert b.broadcast_to(row, (4, 8)).shape == (4, 8)
    assert b.broadcast_to(b.program_id(0), (4, 8)).owner.shape == (4, 8)
    assert b.broadcast_to(row, (8,)) is row
    with pytest.raises(VerifyError, match="cannot broadcast"):
        b.broadcast_to(row, (8, 4))


def test_trivial_ops_are_not_made():
    b = Builder()
    tile = b.reshape(b.arange(0, 8), (2, 4))
    assert b.reshape(tile, (2, 4)) is tile
    assert b.transpose(tile, (0, 1)) is tile
    assert b.cast(tile, int32) is tile
    assert b.bitcast(tile, int32) is tile
    assert b.splat(b.program_id(0), ()).shape == ()
    assert isinstance(b.splat(b.constant(1, int32), (4,)).owner, ops.Constant)


def test_scalar_pointers_follow_the_offsets_shape():
    b = Builder()
    pointer = b.parameter("x", PointerType(float32))
    assert b.add_pointer(pointer, b.arange(0, 4)).type == BlockType(PointerType(float32), (4,))


@pytest.mark.parametrize(
    "build, message",
    [
        (lambda b, i, f: b.add(i, f), "operands of different types"),
        (lambda b, i, f: b.and_(f, f), "'and' is not defined on f32"),
        (lambda b, i, f: b.unary("sqrt", i), "'sqrt' is not defined on i32"),
        (lambda b, i, f: b.compare("spaceship", i, i), "unknown comparison"),
        (lambda b, i, f: b.select(i, i, i), "select needs an i1 condition"),
        (lambda b, i, f: b.fma(i, i, i), "'fma' is not defined on i32"),
        (lambda b, i, f: b.math("exp", f, f), "'exp' takes 1 arguments"),
        (lambda b, i, f: b.math("frob", f), "unknown function 'frob'"),
        (lambda b, i, f: b.bitcast(i, int8), "bitcast needs equal widths"),
        (lambda b, i, f: b.load(i), "is no pointer"),
        (lambda b, i, f: b.reshape(i, (3,)), "reshape keeps the element count"),
        (lambda b, i, f: b.transpose(i, (1, 0)), "not a permutation"),
        (lambda b, i, f: b.reduce_with("add", i, 1), "reduce over axis 1"),
        (lambda b, i, f: b.scan_with("add", i, 1), "scan over axis 1"),
        (lambda b, i, f: b.arange(3, 3), "arange of 0 elements"),
        (lambda b, i, f: b.program_id(3), "axis 3"),
        (lambda b, i, f: b.if_(i, list, list), "an if needs a scalar i1"),
        (lambda b, i, f: b.for_(0, i, 1, [], lambda i: []), "operands of different types"),
    ],
)
def test_operands_that_do_not_fit_are_refused(build, message):
    b = Builder()
    integers = b.arange(0, 4)
    with pytest.raises(VerifyError, match=message):
        build(b, integers, b.cast(integers, float32))


def test_loops_and_branches_carry_values():
    b = Builder()
    n = b.parameter("n", int64)
    total, count = b.for_(0, n, 1, [n, n], lambda i, total, count: [b.add(total, i), count])
    assert (total.type, count.type) == (BlockType(int64), BlockType(int64))
    loop = total.owner
    assert loop.lower.type == BlockType(int64)
    assert loop.body.arguments[0].hint == "i"
    (either,) = b.if_(b.compare("lt", n, 3), lambda: [n], lambda: [total])
    assert either.type == BlockType(int64)


def test_ops_remember_the_users_line():
    b = Builder()
    b.line = SourceLine("kernel.py", 7)
    assert str(b.program_id(0).owner.line) == "kernel.py:7"


def test_reductions_know_their_kind():
    b = Builder()
    row = b.arange(0, 8)
    assert b.reduce_with("max", row, 0).owner.kind == "max"
    assert b.reduce([row], 0, lambda x, y: [x])[0].owner.kind == ""


def test_scans_keep_the_shape():
    b = Builder()
    tile = b.reshape(b.arange(0, 8), (2, 4))
    scanned = b.scan_with("add", tile, 1, reverse=True)
    assert scanned.type == tile.type
    assert (scanned.owner.kind, scanned.owner.reverse) == ("add", True)
