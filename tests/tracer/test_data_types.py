"""Dtypes: kinds, limits, promotion and conversion, by the array API standard."""

import itertools

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import dtypes

KINDS = {
    "bool": ["bool"],
    "signed integer": ["int8", "int16", "int32", "int64"],
    "unsigned integer": ["uint8", "uint16", "uint32", "uint64"],
    "real floating": ["float16", "bfloat16", "float32", "float64"],
    "complex floating": ["complex64", "complex128"],
}
KINDS["integral"] = KINDS["signed integer"] + KINDS["unsigned integer"]
KINDS["numeric"] = KINDS["integral"] + KINDS["real floating"] + KINDS["complex floating"]


@pytest.mark.parametrize("dtype", dtypes.SUPPORTED, ids=str)
def test_every_dtype_is_of_its_kinds_alone(dtype):
    assert [kind for kind in KINDS if lb.isdtype(dtype, kind)] == [
        kind for kind, names in KINDS.items() if dtype.name in names
    ]
    assert [other for other in dtypes.SUPPORTED if lb.isdtype(dtype, other)] == [dtype]


def test_kinds_and_dtypes_are_given_together():
    assert lb.isdtype(lb.int8, ("bool", lb.int8)) and not lb.isdtype(lb.int16, ("bool", lb.int8))
    with pytest.raises(ValueError, match="'float' is not a known kind name"):
        lb.isdtype(lb.float32, "float")
    with pytest.raises(TypeError, match="must be a NumPy dtype"):
        lb.isdtype("float32", "real floating")


@pytest.mark.parametrize("dtype", dtypes.FLOATING, ids=str)
def test_limits_of_floats_are_python_numbers(dtype):
    info = lb.finfo(dtype)
    values = [info.max, info.min, info.eps, info.smallest_normal]
    assert {type(value) for value in values} == {float} and type(info.bits) is int
    assert np.isfinite(np.asarray(info.max, dtype)) and info.min == -info.max
    assert np.nextafter(dtype.type(1), dtype.type(2)) == dtype.type(1) + dtype.type(info.eps)
    assert (info.bits, info.dtype) == (8 * dtype.itemsize, dtype)
    assert float(info.tiny) == info.smallest_normal
    with pytest.raises(AttributeError):
        _ = info.nothing


def test_limits_of_complex_numbers_are_those_of_their_parts():
    assert (lb.finfo(lb.complex64).dtype, lb.finfo(lb.complex128).dtype) == (lb.float32, lb.float64)
    assert lb.finfo(lb.ones(3, dtype=lb.complex64)).eps == np.finfo(np.float32).eps


@pytest.mark.parametrize("dtype", [*dtypes.SIGNED, *dtypes.UNSIGNED], ids=str)
def test_limits_of_integers(dtype):
    for info in (lb.iinfo(dtype), lb.iinfo(lb.zeros(2, dtype=dtype))):
        found = (info.bits, info.min, info.max, info.dtype)
        expected = np.iinfo(dtype)
        assert found == (8 * dtype.itemsize, expected.min, expected.max, dtype)
        assert {type(info.min), type(info.max)} == {int}


def test_limits_are_of_their_kind():
    with pytest.raises(ValueError, match="not inexact"):
        lb.finfo(lb.int32)
    with pytest.raises(ValueError, match="Invalid integer data type"):
        lb.iinfo(lb.float32)


@pytest.mark.parametrize("source", dtypes.SUPPORTED, ids=str)
def test_casts_are_safe_where_numpys_are(source):
    for target in dtypes.SUPPORTED:
        assert lb.can_cast(source, target) is bool(np.can_cast(source, target))
        assert lb.can_cast(lb.zeros(2, dtype=source), target) is bool(np.can_cast(source, target))
    with pytest.raises(TypeError, match="does not support Python ints"):
        lb.can_cast(1, source)


def test_promotion_is_numpys_for_dtypes_arrays_and_numbers():
    known = [dtype for dtype in dtypes.SUPPORTED if dtype != dtypes.bfloat16]
    for left, right in itertools.product(known, repeat=2):
        assert lb.result_type(left, lb.zeros(1, dtype=right)) == np.result_type(left, right)
    for dtype, number in itertools.product(known, (True, 1, 1.5, 1j)):
        assert lb.result_type(number, dtype) == np.result_type(np.zeros(1, dtype), number)
    assert lb.result_type(lb.bfloat16, 1.0) == lb.bfloat16
    assert lb.result_type(lb.bfloat16, lb.float16) == lb.float32
    with pytest.raises(ValueError, match="at least one"):
        lb.result_type()


def test_astype_goes_to_a_device_and_copies_on_demand():
    x = lb.asarray([1.5, -2.5], device="cpu")
    moved = lb.astype(x, lb.int8, device="emulated:sm_90a")
    assert (moved.device, moved.dtype, moved.tolist()) == ("emulated:sm_90a", lb.int8, [1, -2])
    assert lb.astype(x, lb.float64, copy=False) is x
    copied = lb.astype(x, lb.float64)
    x += 1
    assert copied.tolist() == [1.5, -2.5]


def test_dtypes_make_numbers():
    for dtype in (lb.float32, lb.int8, lb.complex64, lb.bool, lb.bfloat16):
        number = dtype(1)
        assert (number.dtype, lb.asarray(number).dtype) == (dtype, np.dtype(dtype))
        assert lb.ones(2, dtype=dtype).dtype == dtype
