"""Types and constexprs: names, predicates, equality, Python's operators."""

import operator

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin, constexpr_function, unwrap, wrap
from lazyblock.language.dtypes import parse_name
from tests.helpers.cpu import assert_same_bits
from tests.helpers.kernel_bodies import ALL, evaluate
from tests.language.rules import NAMES, NUMPY, SIGNED, sample

SHORT = {
    **{"int1": "i1", "fp16": "fp16", "bf16": "bf16", "fp32": "fp32", "fp64": "fp64"},
    **{f"int{n}": f"i{n}" for n in (8, 16, 32, 64)},
    **{f"uint{n}": f"u{n}" for n in (8, 16, 32, 64)},
}
LONG = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", "fp64": "float64"}
FLOAT8 = ["float8e5", "float8e5b16", "float8e4nv", "float8e4b8", "float8e4b15"]


@pytest.mark.parametrize("name", NAMES)
def test_number_types(name):
    type = getattr(tl, LONG.get(name, name))
    assert str(type) == name and type == tl.dtype(name) == tl.dtype(SHORT[name])
    assert type.short_name == type.mangle() == SHORT[name]
    assert repr(type) == f"lazyblock.language.{LONG.get(name, name)}"
    assert hash(type) == hash(tl.dtype(name)) and type != tl.void and type.scalar is type
    width = 1 if name == "int1" else NUMPY[name].itemsize * 8
    assert type.primitive_bitwidth == width and type.itemsize == NUMPY[name].itemsize
    assert type.is_floating() == type.is_standard_floating() == ("int" not in name)
    assert type.is_int() == ("int" in name)
    assert type.is_int_signed() == (name in SIGNED)
    assert type.is_int_unsigned() == ("int" in name and name not in SIGNED)
    assert type.is_bool() == (name == "int1")
    assert not (type.is_ptr() or type.is_block() or type.is_void() or type.is_fp8())
    assert getattr(type, f"is_{name}")() and not type.is_fp8e5()
    if type.is_int():
        limits = (
            (0, 1) if name == "int1" else (np.iinfo(NUMPY[name]).min, np.iinfo(NUMPY[name]).max)
        )
        assert (type.get_int_min_value(), type.get_int_max_value()) == limits


def test_pointer_types():
    pointer = tl.pointer_type(tl.float16)
    assert pointer.is_ptr() and pointer.element_ty == tl.float16 and pointer.scalar is pointer
    assert not (pointer.is_floating() or pointer.is_int() or pointer.is_const())
    assert pointer == tl.pointer_type(tl.float16) != tl.pointer_type(tl.float16, const=True)
    assert pointer != tl.pointer_type(tl.int16) and pointer != tl.float16
    assert (str(pointer), pointer.short_name) == ("pointer<fp16>", "*fp16")
    assert parse_name("*kbf16") == tl.pointer_type(tl.bfloat16, const=True)
    assert parse_name("*u8") == tl.pointer_type(tl.uint8) and parse_name("i1") == tl.int1
    assert pointer.primitive_bitwidth == 64
    with pytest.raises(SemanticError, match="A pointer needs an element type"):
        tl.pointer_type("fp16")


def test_block_types():
    block = tl.block_type(tl.float32, [4, tl.constexpr(8)])
    assert block.is_block() and block.scalar == block.element_ty == tl.float32
    assert block.shape == block.get_block_shapes() == (4, 8) and block.numel == 32
    assert block == tl.block_type(tl.float32, (4, 8)) != tl.block_type(tl.float32, (8, 4))
    assert str(block) == "<[4, 8], fp32>" and block.nbytes == 128


def test_unknown_types_are_refused():
    with pytest.raises(SemanticError, match="There is no type 'fp12'"):
        tl.dtype("fp12")


# --- float8 --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FLOAT8)
def test_float8_converts_both_ways(name):
    type = getattr(tl, name)
    assert type.is_fp8() and type.is_floating() and type.primitive_bitwidth == 8
    a = np.array([0.0, 0.25, -0.5, 1.0, 1.5, -1.75, 0.125, 0.0625], np.float32)
    result = evaluate(lambda x: x.to(type).to(tl.float32), a, ways=ALL)
    assert_same_bits(result.data, a)


@pytest.mark.parametrize("name", FLOAT8)
def test_float8_computes_and_promotes(name):
    type = getattr(tl, name)
    a = np.array([0.25, -0.5, 1.0, 0.5], np.float32)
    b = np.array([0.5, 0.25, -0.5, 0.25], np.float32)

    def body(x, y):
        p, q = x.to(type), y.to(type)
        assert (p + q).dtype == (p * 2.0).dtype == type and (-p).dtype == type
        assert (p / q).dtype == tl.float32 and (p + x).dtype == tl.float32
        assert (p + x.to(tl.float16)).dtype == tl.float16
        assert (p + x.to(tl.bfloat16)).dtype == tl.float32
        results = [p + q, p - q, p * q, -p, tl.abs(p), tl.where(x > 0, p, q), tl.maximum(p, q)]
        return [*(r.to(tl.float32) for r in results), p / q, p < q, p == q]

    results = [r.data for r in evaluate(body, a, b)]
    expected = [a + b, a - b, a * b, -a, abs(a), np.where(a > 0, a, b), np.maximum(a, b), a / b]
    for ours, theirs in zip(results, [*expected, a < b, a == b], strict=True):
        assert_same_bits(ours, theirs)


def test_differing_float8_meet_in_float16():
    def body(x):
        return x.to(tl.float8e5) + x.to(tl.float8e4nv)

    assert evaluate(body, sample("fp32")).type == "fp16"


def test_float8_and_integers_do_not_meet():
    with pytest.raises(SemanticError, match="fp8e5 and int32 have no common type"):
        evaluate(lambda x: x.to(tl.float8e5) + x.to(tl.int32), sample("fp32"))


# --- constexpr -----------------------------------------------------------------------------------

OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "lshift", "rshift", "xor", "and_"]
OPERATORS += ["or_", "eq", "ne", "lt", "le", "gt", "ge", "pow"]


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize(("a", "b"), [(7, 2), (-7, 2), (7, 3)])
def test_constexprs_compute_by_pythons_rules(name, a, b):
    function = getattr(operator, name)
    expected = function(a, b)
    for left, right in (
        (tl.constexpr(a), tl.constexpr(b)),
        (a, tl.constexpr(b)),
        (tl.constexpr(a), b),
    ):
        result = function(left, right)
        assert isinstance(result, tl.constexpr) and result.value == expected
        assert type(result.value) is type(expected)


def test_constexprs_stand_for_their_values():
    n = tl.constexpr(6)
    assert n == 6 and n != 5 and bool(n) and int(n) == 6 and float(n) == 6.0 and list(range(n))
    assert -n == -6 and +n == 6 and ~n == -7 and abs(-n) == 6 and hash(n) == hash(6)
    assert f"{n:03d}" == "006" and str(n) == "6" and repr(n) == "constexpr[6]"
    assert tl.constexpr(tl.constexpr(3)).value == 3
    assert tl.constexpr("relu") == "relu" and tl.constexpr(None).value is None
    assert tl.constexpr([1, 2])[1] == 2 and tl.constexpr(tl.float16).is_floating()
    assert tl.float16 == tl.constexpr(tl.float16) and tl.constexpr(tl.float16) == tl.float16
    assert (n.logical_and(0), n.logical_or(0)) == (0, 6)


def test_builtins_take_constexprs_as_plain_values():
    @builtin
    def types(*values, **named):
        return [type(v) for v in (*values, *named.values())]

    assert types(tl.constexpr(1), (tl.constexpr(2.0),), a=tl.constexpr("x")) == [int, tuple, str]
    assert types.is_builtin and unwrap([tl.constexpr(1), 2]) == [1, 2]
    assert wrap(3).value == 3 and wrap(tl.constexpr(3)).value == 3


def test_constexpr_functions_give_constexprs():
    @constexpr_function
    def double(x):
        assert type(x) is int
        return 2 * x

    assert isinstance(double(tl.constexpr(4)), tl.constexpr) and double(4) == 8


def test_types_are_listed_by_kind():
    listed = tl.dtype.SINT_TYPES + tl.dtype.UINT_TYPES + tl.dtype.FP_TYPES
    assert sorted(tl.dtype(name).name for name in listed) == sorted(
        [*SHORT, *(n.replace("float", "fp") for n in FLOAT8)]
    )
    assert tl.dtype.STANDARD_FP_TYPES == ["fp16", "bf16", "fp32", "fp64"]


# --- iterators -----------------------------------------------------------------------------------


def test_iterators():
    loop = tl.range(2, 9, 3, num_stages=4, flatten=True)
    assert (loop.start, loop.stop, loop.step, loop.num_stages) == (2, 9, 3, 4)
    assert list(loop) == [2, 5, 8] and list(tl.range(3)) == [0, 1, 2] and loop.flatten
    assert list(tl.static_range(4, 0, -2)) == [4, 2]
    assert list(tl.static_range(tl.constexpr(2))) == [0, 1]
    assert tl.condition(True) and not tl.condition(False, disable_licm=True)
    with pytest.raises(SemanticError, match="bounds known at compile time"):
        evaluate(lambda x: tl.static_range(tl.max(x, 0)), sample("int32"))


# --- where kernels take names from ---------------------------------------------------------------


def test_core_has_every_name():
    assert tl.core.load is tl.load and tl.core.constexpr is tl.constexpr
    assert tl.core.builtin is builtin and callable(tl.core._aggregate)
    with pytest.raises(AttributeError):
        _ = tl.core.no_such_name


@pytest.mark.parametrize("name", sorted(set(tl.__all__) - {"TRITON_MAX_TENSOR_NUMEL"}))
def test_every_public_name_is_documented(name):
    value = getattr(tl, name)
    assert value.__doc__, name
