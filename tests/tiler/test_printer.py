"""Programs as text: what it looks like, and that it says all."""

import dataclasses
import math
import os
import struct
import subprocess
import sys

import pytest

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.parser import parse_program
from lazyblock.tiler.printer import print_program, write_attribute
from lazyblock.tiler.types import BlockType, PointerType, float32, float64, int32
from tests.helpers.programs import ZOO


def test_text_of_a_small_program():
    b = Builder("scale", num_warps=2)
    x = b.parameter("x", PointerType(float32), 16)
    n = b.parameter("n", int32)
    address = b.add_pointer(x, b.arange(0, 4))
    mask = b.compare("lt", b.arange(0, 4), b.splat(n, (4,)))
    b.store(address, b.mul(b.load(address, mask, 0.5), 2.0), cache=".cg")
    text = print_program(b.finish())
    assert text.startswith("program scale(%x: *f32 divisibility=16, %n: i32) num_warps=2")
    assert text.splitlines()[1:] == [
        "  %0 = arange 0, 4 : <4xi32>",
        "  %1 = splat %x, [4] : <4x*f32>",
        "  %2 = add_pointer %1, %0 : <4x*f32>",
        "  %3 = arange 0, 4 : <4xi32>",
        "  %4 = splat %n, [4] : <4xi32>",
        "  %5 = compare lt, %3, %4 : <4xi1>",
        "  %6 = constant 0.5, !<4xf32> : <4xf32>",
        "  %7 = load %2, mask=%5, other=%6 : <4xf32>",
        "  %8 = constant 2.0, !<4xf32> : <4xf32>",
        "  %9 = binary mul, %7, %8 : <4xf32>",
        '  store %2, %9, cache=".cg"',
        "}",
    ]


def test_regions_are_indented():
    text = print_program(ZOO["branch"]())
    assert "\n  %14 = if %13 then {\n    %15 = " in text
    assert "\n  } otherwise {\n" in text
    assert "\n  } : <16xf32>\n" in text


def test_names_are_hints_numbered_where_taken():
    b = Builder()
    values = [b.program_id(0) for _ in range(4)]
    for value, hint in zip(values, ["row", "row", "", "odd name!"], strict=True):
        value.hint = hint
    text = print_program(b.finish())
    names = [line.split(" = ")[0].strip() for line in text.splitlines()[1:-1]]
    assert names == ["%row", "%row_1", "%0", "%odd_name_"]


@pytest.mark.parametrize(
    "value, text",
    [
        *((True, "true"), (None, "none"), (7, "7"), (-(2**63), "-9223372036854775808")),
        *((0.1, "0.1"), (-0.0, "-0.0"), (math.inf, "inf"), (math.nan, "nan"), (1e300, "1e+300")),
        *((5e-324, "5e-324"), ((4, 8), "[4, 8]"), ((), "[]"), (BlockType(int32, (4,)), "!<4xi32>")),
        *(
            ("add", "add"),
            ("", '""'),
            ("true", '"true"'),
            ("inf", '"inf"'),
            ('a "b"', r'"a \"b\""'),
        ),
    ],
)
def test_attributes(value, text):
    assert write_attribute(value) == text


@pytest.mark.parametrize(
    "number",
    [
        *(0.1, -0.0, 1e16, 1e-7, 5e-324, math.inf, -math.inf, math.nan, -math.nan),
        *struct.unpack("<d", bytes([1, 2, 3, 4, 5, 6, 0xF8, 0x7F])),  # a NaN with a payload
    ],
)
def test_floats_keep_every_bit(number):
    b = Builder()
    b.constant(0.0, float64).owner.value = number
    program = parse_program(print_program(b.finish()))
    assert struct.pack("<d", program.body.ops[0].value) == struct.pack("<d", number)


def test_text_does_not_depend_on_the_hash_seed():
    code = (
        "from tests.helpers.programs import *\n"
        "from lazyblock.tiler.printer import print_program\n"
        "from lazyblock.language.unparse import unparse\n"
        "for make in ZOO.values(): print(print_program(make()), unparse(make()))\n"
        "print(print_program(random_program(np.random.default_rng(3))))"
    )
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(texts) == 1


def test_settings_are_kept():
    program = dataclasses.replace(ZOO["vector_add"](), num_warps=8, num_ctas=2, num_stages=3)
    again = parse_program(print_program(program))
    assert (again.num_warps, again.num_ctas, again.num_stages) == (8, 2, 3)
