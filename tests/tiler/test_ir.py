"""Declared fields, walking and cloning."""

import numpy as np
import pytest

from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import (
    clone_region,
    map_operands,
    substitute,
    users_of,
    walk,
    with_body,
)
from lazyblock.tiler.printer import print_program
from lazyblock.tiler.types import BlockType, PointerType, bfloat16, float32, int32, parse_type
from lazyblock.tiler.verify import verify_program
from tests.helpers.programs import ZOO, random_program


def test_fields_are_told_apart_by_role():
    assert ops.Load.declared("operand") == ("pointer", "mask", "other")
    assert ops.Load.declared("attribute") == ("cache", "eviction", "sem", "scope")
    assert ops.For.declared("region") == ("body",)
    assert ops.For.declared("operands") == ("initial",)


def test_operands_come_in_field_order_without_what_is_left_out():
    b = Builder()
    pointer = b.parameter("x", PointerType(float32))
    load = b.load(pointer).owner
    assert load.operands_flat == (pointer,)
    assert map_operands(load, lambda value: value)["mask"] is None


def test_walk_goes_outermost_first_and_in_order():
    names = [op.name for op in walk(ZOO["branch"]().body)]
    inside = names[names.index("if") :]
    assert inside[:8] == [
        "if",
        "binary",
        "yield",
        "add_pointer",
        "constant",
        "store",
        "unary",
        "yield",
    ]


def test_users_are_listed_once_per_use():
    b = Builder()
    n = b.parameter("n", int32)
    square = b.mul(n, n).owner
    assert users_of(b.finish().body)[n] == [square, square]


@pytest.mark.parametrize("seed", range(10))
def test_clones_say_the_same_and_share_no_op(seed):
    program = random_program(np.random.default_rng(seed))
    copy = with_body(program, clone_region(program.body, {}))
    verify_program(copy)
    assert print_program(copy) == print_program(program)
    assert not set(walk(copy.body)) & set(walk(program.body))


def test_with_body_gives_the_same_program_for_the_same_body():
    program = ZOO["argmax"]()
    assert with_body(program, program.body) is program


def test_substitute_tells_whether_anything_changed():
    b = Builder()
    n, m = b.parameter("n", int32), b.parameter("m", int32)
    total = b.add(n, n).owner
    assert substitute(total, {n: m})
    assert (total.lhs, total.rhs) == (m, m)
    assert not substitute(total, {n: m})


@pytest.mark.parametrize(
    "type, text",
    [
        (BlockType(float32), "f32"),
        (BlockType(PointerType(bfloat16)), "*bf16"),
        (BlockType(int32, (128, 64)), "<128x64xi32>"),
        (BlockType(PointerType(float32), (8,)), "<8x*f32>"),
    ],
)
def test_types_are_read_back(type, text):
    assert str(type) == text
    assert parse_type(text) == type
