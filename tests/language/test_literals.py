"""Literals: the type they have alone, and what they adapt to beside a tensor."""

import operator

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.errors import SemanticError
from tests.helpers.cpu import assert_same_bits
from tests.helpers.kernel_bodies import ALL, Scalar, evaluate
from tests.language.rules import FLOATS, INTEGERS, NAMES, NUMPY, SIGNED, convert, sample

ALONE = [
    (True, "int1"),
    (False, "int1"),
    (0, "int32"),
    (-1, "int32"),
    (2**31 - 1, "int32"),
    (-(2**31), "int32"),
    (2**31, "uint32"),
    (2**32 - 1, "uint32"),
    (2**32, "int64"),
    (-(2**31) - 1, "int64"),
    (2**63 - 1, "int64"),
    (-(2**63), "int64"),
    (2**63, "uint64"),
    (2**64 - 1, "uint64"),
    (0.0, "fp32"),
    (-0.0, "fp32"),
    (1.5, "fp32"),
    (float("inf"), "fp32"),
    (float("nan"), "fp32"),
    (3.4028234663852886e38, "fp32"),
    (3.5e38, "fp64"),
    (1.1754943508222875e-38, "fp32"),
    (1.0e-38, "fp64"),
    (1e300, "fp64"),
]


@pytest.mark.parametrize(("value", "name"), ALONE)
def test_a_literal_alone_has_the_first_type_that_holds_it(value, name):
    result = evaluate(lambda: tl.to_tensor(value))
    assert result.type == name
    assert_same_bits(result.data, np.array(value, NUMPY[name]))


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_integers_of_more_than_64_bits_are_refused(value):
    with pytest.raises(SemanticError, match="does not fit in 64 bits"):
        evaluate(lambda: tl.to_tensor(value))


# what a block of each type gives beside True, 2 and 0.5
WITH_BOOL = {name: name for name in NAMES}
WITH_INT = {**WITH_BOOL, "int1": "int32"}
WITH_FLOAT = {name: "fp32" if name in INTEGERS else name for name in NAMES}
LITERALS = [(True, WITH_BOOL), (2, WITH_INT), (0.5, WITH_FLOAT)]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("literal", "table"), LITERALS)
@pytest.mark.parametrize("symbol", ["add", "sub", "mul"])
def test_a_literal_counts_only_above_the_tensors_kind(symbol, literal, table, name):
    a = sample(name)[4:]  # without the limits: nothing wraps in NumPy
    a = np.concatenate([a, a[:4]])
    wanted, function = table[name], getattr(operator, symbol)
    with np.errstate(all="ignore"):
        value = NUMPY[wanted].type(literal)
        met = convert(a, wanted)
        if wanted == "int1":
            bits = met.astype(int)
            expected = (function(bits, 1) & 1, function(1, bits) & 1)
        else:
            expected = (function(met, value), function(value, met))
    results = evaluate(lambda x: [function(x, literal), function(literal, x)], a)
    for result, data in zip(results, expected, strict=True):
        assert result.type == wanted
        assert_same_bits(result.data, data.astype(NUMPY[wanted]))


@pytest.mark.parametrize("name", NAMES)
def test_division_by_a_literal(name):
    a = sample(name)
    wanted = "fp64" if name == "fp64" else "fp32"
    expected = convert(a, wanted) / NUMPY[wanted].type(4)
    by_integer, by_float = (lambda x: x / 4), (lambda x: x / 4.0)
    assert_same_bits(evaluate(by_float, a).data, expected)
    assert evaluate(by_float, a).type == wanted
    if name == "int1":
        with pytest.raises(SemanticError, match="only one has a sign"):
            evaluate(by_integer, a)
    else:
        assert_same_bits(evaluate(by_integer, a).data, expected)


@pytest.mark.parametrize("name", INTEGERS[1:])
def test_integer_division_by_a_literal_stays_in_the_type(name):
    a = sample(name)[2:10]
    results = evaluate(lambda x: [x // 3, x % 3], a)
    assert [r.type for r in results] == [name, name]
    assert_same_bits(results[0].data, np.trunc(a.astype(float) / 3).astype(NUMPY[name]))
    assert_same_bits(results[1].data, np.fmod(a, NUMPY[name].type(3)))


@pytest.mark.parametrize("name", INTEGERS[1:])
def test_literals_out_of_range_are_refused(name):
    a = sample(name)
    limits = np.iinfo(NUMPY[name])
    assert evaluate(lambda x: x + limits.max, a).type == name
    message = f"out of range for {name}|has no sign|does not fit in 64 bits"
    with pytest.raises(SemanticError, match=message):
        evaluate(lambda x: x + (limits.max + 1), a)
    with pytest.raises(SemanticError, match=message):
        evaluate(lambda x: (limits.min - 1) + x, a)


@pytest.mark.parametrize("name", [n for n in INTEGERS[1:] if n not in SIGNED])
@pytest.mark.parametrize("symbol", ["add", "mul", "lt", "and_"])
def test_negative_literals_do_not_meet_unsigned_types(symbol, name):
    with pytest.raises(SemanticError, match="has no sign"):
        evaluate(lambda x: getattr(operator, symbol)(x, -1), sample(name))


@pytest.mark.parametrize("name", NAMES)
def test_where_takes_literals_as_they_adapt(name):
    a, chosen = sample(name), np.arange(16) % 2 == 0
    results = evaluate(lambda c, x: [tl.where(c, x, 1), tl.where(c, 0.5, x)], chosen, a)
    assert [r.type for r in results] == [WITH_INT[name], WITH_FLOAT[name]]


def test_where_of_two_literals_is_of_their_own_types():
    chosen = np.arange(4) % 2 == 0
    results = evaluate(
        lambda c: [tl.where(c, 1, 0), tl.where(c, 1.0, 0), tl.where(c, 1, 2**40)], chosen
    )
    assert [r.type for r in results] == ["int32", "fp32", "int64"]


@pytest.mark.parametrize(
    ("name", "literal", "wanted"),
    [("int8", 0, "int32"), ("fp16", 0.0, "fp32"), ("uint8", 1, "int32"), ("fp64", 1.0, "fp64")],
)
def test_maximum_takes_literals_as_scalars_of_their_own(name, literal, wanted):
    """Unlike operators do: tl.maximum makes a tensor of each operand first."""
    assert evaluate(lambda x: tl.maximum(x, literal), sample(name)).type == wanted


# what an argument of a kernel, or an assigned number, makes of a block: a scalar tensor promotes
ASSIGNED = [
    ("int8", Scalar(1, tl.int32), "int32"),
    ("int8", Scalar(1.5, tl.float32), "fp32"),
    ("fp16", Scalar(1.5, tl.float32), "fp32"),
    ("bf16", Scalar(2, tl.int32), "fp32"),
    ("fp16", Scalar(2, tl.int32), "fp16"),
    ("uint64", Scalar(2, tl.int32), "uint64"),
    ("fp32", Scalar(2, tl.int64), "fp32"),
]


@pytest.mark.parametrize(("name", "scalar", "wanted"), ASSIGNED)
def test_scalar_tensors_promote_as_blocks_do(name, scalar, wanted):
    a = sample(name)[4:12]
    result = evaluate(lambda x, s: x * s, a, scalar, ways=ALL)
    assert result.type == wanted
    with np.errstate(all="ignore"):
        expected = convert(a, wanted) * NUMPY[wanted].type(scalar.value)
    assert_same_bits(result.data, expected)


@pytest.mark.parametrize("name", ["int8", "uint8", "fp16", "bf16"])
def test_an_assigned_number_is_a_scalar_tensor(name):
    """`y = 1; x + y`: the front end makes a tensor of y."""
    a = sample(name)
    wanted = {"int8": "int32", "uint8": "int32", "fp16": "fp16", "bf16": "fp32"}[name]
    assert evaluate(lambda x: x + tl.to_tensor(1), a).type == wanted


def test_constexprs_count_as_literals():
    a = sample("int8")
    assert evaluate(lambda x: x + tl.constexpr(1), a).type == "int8"
    assert evaluate(lambda x: tl.constexpr(2.0) * x, a).type == "fp32"
    assert evaluate(lambda x: tl.constexpr(1) << x, np.arange(4, dtype=np.int8)).data.tolist() == [
        *(1, 2, 4, 8)
    ]


@pytest.mark.parametrize("name", FLOATS)
def test_float_literals_round_to_the_type(name):
    a = np.zeros(4, NUMPY[name])
    result = evaluate(lambda x: x + 0.1, a)
    assert_same_bits(result.data, np.full(4, 0.1).astype(NUMPY[name]))
