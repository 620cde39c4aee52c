"""Products of matrices: types, shapes, accumulators, precisions, the MX formats."""

import ml_dtypes
import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock import config
from lazyblock.errors import SemanticError
from lazyblock.language.context import use_builder
from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from tests.helpers.cpu import assert_same_bits
from tests.helpers.kernel_bodies import ALL, DEVICES, evaluate
from tests.language.rules import NUMPY

RESULTS = [
    ("int8", None, "int32"),
    ("uint8", None, "int32"),
    ("fp16", None, "fp32"),
    ("fp16", "fp16", "fp16"),
    ("fp16", "fp32", "fp32"),
    ("bf16", None, "fp32"),
    ("fp32", None, "fp32"),
    ("fp64", None, "fp64"),
    # with one result to give, `out_dtype` is not looked at
    ("int8", "int8", "int32"),
    ("bf16", "fp16", "fp32"),
    ("fp64", "fp32", "fp64"),
]


def matrix(name, *shape, seed=0):
    """Small integers: every product and sum is exact."""
    low = 0 if name == "uint8" else -4
    return np.random.default_rng(seed).integers(low, 5, shape).astype(NUMPY[name])


def product(a, b):
    return a.astype(np.float64) @ b.astype(np.float64)


@pytest.mark.parametrize(("name", "wanted", "result"), RESULTS)
def test_types_of_products(name, wanted, result):
    a, b = matrix(name, 16, 32), matrix(name, 32, 16, seed=1)
    out = None if wanted is None else tl.dtype(wanted)
    found = evaluate(lambda x, y: tl.dot(x, y, out_dtype=out), a, b, ways=DEVICES)
    assert found.type == result
    assert_same_bits(found.data, product(a, b).astype(NUMPY[result]))


SHAPES = [((1, 1), (1, 1)), ((4, 8), (8, 2)), ((1, 64), (64, 16)), ((16, 1), (1, 16))]
SHAPES += [((2, 4, 8), (2, 8, 4)), ((2, 4, 2, 8), (2, 4, 8, 4)), ((1, 2, 1, 4, 4), (1, 2, 1, 4, 2))]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_shapes_of_products(left, right):
    a, b = matrix("fp32", *left), matrix("fp32", *right, seed=1)
    assert_same_bits(evaluate(tl.dot, a, b, ways=DEVICES).data, product(a, b).astype(np.float32))


@pytest.mark.parametrize(
    ("name", "result"), [("fp16", "fp32"), ("fp16", "fp16"), ("int8", "int32")]
)
def test_products_add_to_an_accumulator(name, result):
    a, b, acc = matrix(name, 16, 32), matrix(name, 32, 16, seed=1), matrix(result, 16, 16, seed=2)

    def body(x, y, z):
        first = tl.dot(x, y, z)
        return first, tl.dot(x, y, acc=z, out_dtype=z.dtype)

    expected = (product(a, b) + acc).astype(NUMPY[result])
    for found in evaluate(body, a, b, acc, ways=DEVICES):
        assert found.type == result
        assert_same_bits(found.data, expected)


def test_devices_multiply_in_loops():
    a, b = matrix("fp16", 16, 64), matrix("fp16", 64, 16, seed=1)

    def body(x, y):
        total = tl.zeros((16, 16), tl.float32)
        for k in range(0, 64, 16):
            total += tl.dot(x[:, k : k + 16], y[k : k + 16])
        return total

    assert_same_bits(evaluate(body, a, b, ways=ALL).data, product(a, b).astype(np.float32))


FLOAT8 = ["float8e5", "float8e4nv", "float8e4b15", "float8e4b8", "float8e5b16"]


@pytest.mark.parametrize("left", FLOAT8)
@pytest.mark.parametrize("right", FLOAT8)
def test_any_float8_multiply(left, right):
    a, b = matrix("fp32", 8, 32) * 0.25, matrix("fp32", 32, 8, seed=1) * 0.25

    def body(x, y):
        return tl.dot(x.to(getattr(tl, left)), y.to(getattr(tl, right)))

    found = evaluate(body, a, b)
    assert found.type == "fp32"
    assert_same_bits(found.data, product(a, b).astype(np.float32))


# --- precision -----------------------------------------------------------------------------------


def precision_of(**settings):
    """The precision that the dot in a kernel is built with."""
    builder = Builder()
    with use_builder(builder):
        x = tl.zeros((16, 16), tl.float32)
        tl.dot(x, x, **settings)
    return next(op for op in builder.program.body.ops if isinstance(op, ops.Dot)).precision


@pytest.mark.parametrize("precision", ["ieee", "tf32", "tf32x3", "bf16x3", "bf16x6"])
def test_precision_is_per_call_or_one_for_all(precision):
    assert precision_of() == "ieee"
    assert precision_of(input_precision=precision) == precision
    with config.scope(dot_precision=precision):
        assert precision_of() == precision
        assert precision_of(input_precision="ieee") == "ieee"
    assert precision_of(allow_tf32=True) == "tf32" and precision_of(allow_tf32=False) == "ieee"


@pytest.mark.parametrize("name", ["fp32", "int8", "bf16"])
def test_operands_may_be_computed_from_transposed_blocks(name):
    a, b = matrix(name, 16, 32), matrix(name, 16, 32, seed=1)
    body = lambda x, y: tl.dot(x.to(tl.float16), y.T.to(tl.float16))  # noqa: E731
    assert_same_bits(evaluate(body, a, b, ways=ALL).data, product(a, b.T).astype(np.float32))


def test_products_are_exact_unless_told_otherwise():
    a = np.full((16, 16), 1 + 2**-20, np.float32)
    b = np.eye(16, dtype=np.float32)
    assert_same_bits(evaluate(tl.dot, a, b, ways=DEVICES).data, a)


# --- what is refused -----------------------------------------------------------------------------

REFUSED = [
    (lambda x, h: tl.dot(x, h), "operands of one type, got fp32 and fp16"),
    (lambda x, h: tl.dot(x, x[:4]), r"shapes \(8, 8\) and \(4, 8\)"),
    (lambda x, h: tl.dot(x[0], x[0]), "two blocks of two axes or more"),
    (lambda x, h: tl.dot(x[None], x[:, None]), r"shapes \(1, 8, 8\) and \(8, 1, 8\)"),
    (lambda x, h: tl.dot(x.to(tl.int32), x.to(tl.int32)), "tl.dot is not for int32"),
    (
        lambda x, h: tl.dot(h, h, out_dtype=tl.bfloat16),
        "tl.dot of fp16 gives fp32 or fp16, not bf16",
    ),
    (lambda x, h: tl.dot(x, x, out_dtype=tl.bfloat16), "tl.dot of fp32 gives fp32, not bf16"),
    (lambda x, h: tl.dot(h, h, out_dtype=tl.int32), "tl.dot of fp16 gives fp32 or fp16, not int32"),
    (lambda x, h: tl.dot(x, x, x[:4]), r"adds to a block of shape \(8, 8\)"),
    (lambda x, h: tl.dot(h, h, h, out_dtype=tl.float32), "adds to a block of fp32"),
    (lambda x, h: tl.dot(x, x, input_precision="fast"), "input_precision is 'fast'"),
    (lambda x, h: tl.dot(x, x, input_precision="ieee", allow_tf32=True), "not both"),
    (lambda x, h: tl.dot_scaled(x, None, "e9", x, None, "e4m3"), "knows no format 'e9'"),
    (lambda x, h: tl.dot_scaled(x, None, "e2m1", x, None, "e4m3"), "e2m1 comes two per byte"),
    (lambda x, h: tl.dot_scaled(h, x, "fp16", h, None, "fp16"), "'lhs_scale' has a byte per 32"),
]


@pytest.mark.parametrize(("body", "message"), REFUSED)
def test_what_has_no_meaning_is_refused(body, message):
    x = np.zeros((8, 8), np.float32)
    with pytest.raises(SemanticError, match=message):
        evaluate(body, x, x.astype(np.float16))


# --- MX formats ----------------------------------------------------------------------------------

E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def scales(rows, depth, seed):
    """Exponents around 127, and one row's as small and large as they get."""
    return np.random.default_rng(seed).integers(120, 134, (rows, depth // 32)).astype(np.uint8)


def scaled(values, factor):
    powers = 2.0 ** (np.repeat(factor, 32, axis=-1).astype(np.float64) - 127)
    return values * powers


def encoded(format, rows, depth, seed):
    """Random elements of a format: what they are, and their bytes."""
    rng = np.random.default_rng(seed)
    if format == "e2m1":
        codes = rng.integers(0, 16, (rows, depth)).astype(np.uint8)
        return E2M1[codes], (codes[:, ::2] | codes[:, 1::2] << 4).astype(np.uint8)
    type = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2}.get(format)
    type = type or {"bf16": ml_dtypes.bfloat16, "fp16": np.float16}[format]
    values = rng.integers(-8, 9, (rows, depth)).astype(type)
    raw = values.view(np.uint8) if type not in (ml_dtypes.bfloat16, np.float16) else values
    return values.astype(np.float64), raw


FORMATS = ["e2m1", "e4m3", "e5m2", "bf16", "fp16"]


@pytest.mark.parametrize("left", FORMATS)
@pytest.mark.parametrize("right", FORMATS)
def test_dot_scaled(left, right):
    a, a_bytes = encoded(left, 16, 64, 1)
    b, b_bytes = encoded(right, 16, 64, 2)  # columns of the right operand, as rows
    a_scale, b_scale = scales(16, 64, 3), scales(16, 64, 4)

    def body(x, x_scale, y, y_scale):
        return tl.dot_scaled(x, x_scale, left, y.T, y_scale, right)

    found = evaluate(body, a_bytes, a_scale, b_bytes, b_scale, exact=False)
    assert found.type == "fp32"
    expected = scaled(a, a_scale) @ scaled(b, b_scale).T
    np.testing.assert_allclose(found.data, expected, rtol=1e-5, atol=1e-3)


def test_dot_scaled_without_scales_adds_to_an_accumulator():
    a, a_bytes = encoded("e4m3", 16, 32, 5)
    acc = matrix("fp32", 16, 16)

    def body(x, z):
        return tl.dot_scaled(x, None, "e4m3", x.T, None, "e4m3", acc=z)

    found = evaluate(body, a_bytes, acc, ways=DEVICES)
    assert_same_bits(found.data, (a @ a.T + acc).astype(np.float32))


def test_scales_reach_the_ends_of_their_range():
    values, raw = encoded("e2m1", 2, 64, 6)
    factor = np.array([[0, 252], [255, 127]], np.uint8)
    one = np.eye(64, dtype=np.float32).astype(ml_dtypes.bfloat16)

    def body(x, s, y):
        return tl.dot_scaled(x, s, "e2m1", y, None, "bf16")

    found = evaluate(body, raw, factor, one, ways=DEVICES).data
    np.testing.assert_array_equal(found[0], scaled(values[0], factor[0]))
    assert np.isnan(found[1]).all()


def test_packing_along_the_other_axis():
    values, raw = encoded("e2m1", 32, 16, 7)  # neighbours along N
    a = matrix("bf16", 16, 32)

    def body(x, y):
        return tl.dot_scaled(x, None, "bf16", y, None, "e2m1", rhs_k_pack=False)

    found = evaluate(body, a, raw)
    assert_same_bits(found.data, product(a, values).astype(np.float32))
