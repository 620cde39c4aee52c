"""Casts between every two types, in range, out of range and bit by bit."""

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.errors import SemanticError
from tests.helpers.cpu import assert_same_bits
from tests.helpers.kernel_bodies import ALL, evaluate
from tests.language.rules import FLOATS, INTEGERS, NAMES, NUMPY, convert, exactly, sample, wrap


@pytest.mark.parametrize("source", NAMES)
@pytest.mark.parametrize("target", NAMES)
def test_casts_convert_values(source, target):
    a = sample(source)
    if source in FLOATS and target in INTEGERS:
        a = np.abs(a) if target.startswith("u") else a
    result = evaluate(lambda x: x.to(tl.dtype(target)), a)
    assert result.type == target
    if target == "int1":
        expected = a != 0
    elif source in INTEGERS and target in INTEGERS:
        expected = wrap(exactly(a), target)
    else:
        expected = convert(a, target)
    assert_same_bits(result.data, expected)


@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("target", INTEGERS[1:])
def test_floats_out_of_range_saturate(source, target):
    a = np.array([np.inf, -np.inf, np.nan, -0.75, 0.75, 3.9], NUMPY[source])
    a = np.concatenate([a, a[:2]])
    limits = np.iinfo(NUMPY[target])
    result = evaluate(lambda x: x.to(tl.dtype(target)), a)
    assert result.data[:5].tolist() == [limits.max, limits.min, 0, 0, 0]
    assert result.data[5] == 3


@pytest.mark.parametrize("target", ["int8", "uint8", "int32", "uint32", "int64"])
def test_devices_saturate_too(target):
    a = np.array([1e30, -1e30, np.nan, 300.7, -300.7, 127.9, np.inf, -0.0], np.float32)
    evaluate(lambda x: x.to(tl.dtype(target)), a, ways=ALL)


WIDTHS = [(a, b) for a in NAMES for b in NAMES if a != "int1" != b]


@pytest.mark.parametrize(("source", "target"), WIDTHS)
def test_bitcasts_keep_the_bits(source, target):
    a = sample(source)
    if NUMPY[source].itemsize != NUMPY[target].itemsize:
        with pytest.raises(SemanticError, match="keeps the width"):
            evaluate(lambda x: x.to(tl.dtype(target), bitcast=True), a)
        return
    result = evaluate(lambda x: x.to(tl.dtype(target), bitcast=True), a)
    assert result.type == target
    assert_same_bits(result.data, a.view(NUMPY[target]))


TIES = np.array(
    [1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-8, 1 + 3 * 2**-8, -1 - 2**-11, 65519.0], np.float32
)
TIES = np.concatenate([TIES, np.array([np.inf, np.nan], np.float32)])


@pytest.mark.parametrize("target", ["fp16", "bf16"])
def test_narrower_floats_round_to_even(target):
    result = evaluate(lambda x: x.to(tl.dtype(target)), TIES, ways=ALL)
    assert_same_bits(result.data, convert(TIES, target))


@pytest.mark.parametrize(
    ("source", "target"), [("fp32", "fp16"), ("fp32", "bf16"), ("fp64", "fp32"), ("fp64", "fp16")]
)
def test_rounding_toward_zero_never_grows(source, target):
    rng = np.random.default_rng(0)
    values = rng.normal(size=60) * 10.0 ** rng.integers(-9, 5, 60)
    a = np.concatenate([values, [np.inf, -np.inf, np.nan, 1e30]]).astype(NUMPY[source])
    result = evaluate(lambda x: x.to(tl.dtype(target), fp_downcast_rounding="rtz"), a)
    wide = result.data.astype(np.float64)
    numbers = np.isfinite(a)
    assert (np.abs(wide[numbers]) <= np.abs(a[numbers].astype(np.float64))).all()
    with np.errstate(over="ignore"):
        up = np.nextafter(result.data, np.copysign(np.inf, a).astype(NUMPY[target]))
    beyond = np.abs(up.astype(np.float64)[numbers]) > np.abs(a[numbers].astype(np.float64))
    assert (beyond | ~np.isfinite(up.astype(np.float64)[numbers])).all()
    assert result.data[60] == np.inf and result.data[61] == -np.inf and np.isnan(wide[62])


@pytest.mark.parametrize(
    ("target", "largest"),
    [("float8e4nv", 448), ("float8e5", 57344), ("float8e4b8", 240), ("float8e5b16", 57344)],
)
@pytest.mark.parametrize("source", FLOATS)
def test_casts_to_float8_saturate(source, target, largest):
    with np.errstate(over="ignore"):
        a = np.array([1e6, -np.inf, np.nan, np.inf, largest, -2, 0, 1.5]).astype(NUMPY[source])
    result = evaluate(lambda x: x.to(getattr(tl, target)).to(tl.float32), a, ways=ALL)
    expected = np.array([largest, -largest, np.nan, largest, largest, -2, 0, 1.5], np.float32)
    np.testing.assert_array_equal(result.data, expected)


def test_roundings_are_checked():
    a = sample("fp32")
    evaluate(lambda x: x.to(tl.float16, fp_downcast_rounding="rtne"), a)
    evaluate(lambda x: x.to(tl.float32, fp_downcast_rounding="rtne"), a)
    with pytest.raises(SemanticError, match="expected 'rtne' or 'rtz'"):
        evaluate(lambda x: x.to(tl.float16, fp_downcast_rounding="up"), a)
    with pytest.raises(SemanticError, match="for casts to narrower floats"):
        evaluate(lambda x: x.to(tl.float64, fp_downcast_rounding="rtz"), a)
    with pytest.raises(SemanticError, match="for casts to narrower floats"):
        evaluate(lambda x: x.to(tl.int8, fp_downcast_rounding="rtz"), a)


@pytest.mark.parametrize("name", NAMES)
def test_a_cast_to_the_own_type_is_nothing(name):
    a = sample(name)
    assert_same_bits(evaluate(lambda x: tl.cast(x, tl.dtype(name)), a).data, a)


def test_casts_take_types_of_the_language_only():
    with pytest.raises(SemanticError, match="is no type of the language"):
        evaluate(lambda x: x.to(np.float32), sample("int8"))


@pytest.mark.parametrize("name", NAMES)
def test_full_and_zeros(name):
    results = evaluate(
        lambda x: [
            tl.full((4, 2), 1, tl.dtype(name)),
            tl.zeros([8], tl.dtype(name)),
            tl.zeros_like(x),
            tl.full((2,), x[3], tl.dtype(name)),
        ],
        sample(name),
    )
    assert [r.type for r in results] == [name] * 4
    assert_same_bits(results[0].data, np.ones((4, 2), NUMPY[name]))
    assert_same_bits(results[1].data, np.zeros(8, NUMPY[name]))
    assert_same_bits(results[2].data, np.zeros(16, NUMPY[name]))
    assert_same_bits(results[3].data, np.repeat(sample(name)[3], 2))


def test_full_of_a_float_in_integers_truncates_and_minus_one_wraps():
    results = evaluate(lambda: [tl.full((2,), 2.9, tl.int32), tl.full((2,), -1, tl.uint8)])
    assert [r.data.tolist() for r in results] == [[2, 2], [255, 255]]
