"""Functions of libdevice beyond the ordinary: rounding modes exactly, special functions in ulps.

Bounds in ulps are those of the CUDA documentation for the functions of these names.
"""

import math
import operator
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from lazyblock.errors import SemanticError
from lazyblock.language.extra import libdevice
from tests.helpers.cpu import assert_same_bits
from tests.helpers.kernel_bodies import DEVICES, evaluate

TYPES = {"f32": np.float32, "f64": np.float64}
MODES = ["rd", "ru", "rz"]


def floats(type, seed, size=64):
    """Floats of all sizes, some close to each other, some at the ends."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**63, size, np.uint64) * 2 + rng.integers(0, 2, size, np.uint64)
    values = bits.astype(f"u{TYPES[type]().itemsize}").view(TYPES[type])
    values[:16] = rng.integers(-8, 8, 16) / 4
    values[16:32] = rng.standard_normal(16)
    info = np.finfo(TYPES[type])
    values[32:36] = info.max, -info.max, info.smallest_subnormal, -info.smallest_subnormal
    values[36:40] = info.tiny, 0.0, -0.0, np.inf
    return rng.permutation(values)


def directed(exact, near, mode):
    """The float that `exact`, a fraction, is rounded to, from one next to it."""
    type, is_over = near.dtype.type, math.isinf(near)
    above = near < 0 if is_over else exact > Fraction(float(near))
    below = near > 0 if is_over else exact < Fraction(float(near))
    if below and (mode == "rd" or (mode == "rz" and near > 0)):
        return np.nextafter(near, type(-np.inf))
    if above and (mode == "ru" or (mode == "rz" and near < 0)):
        return np.nextafter(near, type(np.inf))
    return near


def expected_of(operation, mode, nearest, *arrays):
    """What each element is rounded to; where an operand or result is special, IEEE's own."""
    found = nearest.copy()
    for place, near in enumerate(nearest):
        values = [float(array[place]) for array in arrays]
        if all(map(math.isfinite, values)) and not math.isnan(near):
            try:
                exact = operation(*map(Fraction, values))
            except ZeroDivisionError:
                continue
            found[place] = directed(exact, near, mode)
    return found


OPERATIONS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations_round_as_they_say(name, mode, type):
    a, b = floats(type, 1), floats(type, 2)
    b[:8] = a[:8] * np.array([1, -1, 3, 1 / 3, 1, -1, 7, 0.1], a.dtype)
    with np.errstate(all="ignore"):
        nearest = OPERATIONS[name](a, b)
    expected = expected_of(OPERATIONS[name], mode, nearest, a, b)
    if mode == "rd" and name in ("add", "sub"):  # exactly nothing is -0, unless of two +0
        other = b if name == "add" else -b
        both = (a == 0) & (other == 0) & ~np.signbit(a) & ~np.signbit(other)
        expected = np.where((expected == 0) & ~both & ~np.isnan(a), -0.0, expected).astype(a.dtype)
    result = evaluate(getattr(libdevice, f"{name}_{mode}"), a, b, ways=DEVICES)
    assert_same_bits(result.data, expected)


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("mode", MODES)
def test_products_are_added_and_rounded_once(mode, type):
    a, b, c = (floats(type, seed) for seed in (3, 4, 5))
    with np.errstate(all="ignore"):
        c[:24] = -(a * b)[:24]
        c[24:32] = (a * b)[24:32] * TYPES[type](1e-20)
    c[~np.isfinite(c)] = 1
    nearest = evaluate(libdevice.fma, a, b, c).data
    expected = expected_of(lambda x, y, z: x * y + z, mode, nearest, a, b, c)
    result = evaluate(getattr(libdevice, f"fma_{mode}"), a, b, c, ways=DEVICES).data
    is_zero = (expected == 0) & (result == 0)  # of either sign
    assert_same_bits(np.where(is_zero, 0, result), np.where(is_zero, 0, expected))


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("mode", MODES)
def test_reciprocals_and_roots_round_as_they_say(mode, type):
    a = floats(type, 6)
    with np.errstate(all="ignore"):
        quotients, roots = 1 / a, np.sqrt(a)
    names = [f"rcp_{mode}", f"sqrt_{mode}"]
    found = evaluate(lambda x: [getattr(libdevice, n)(x) for n in names], a, ways=DEVICES)
    assert_same_bits(found[0].data, expected_of(lambda x: 1 / x, mode, quotients, a))
    for x, near, root in zip(a, roots, found[1].data, strict=True):
        if not 0 < x < math.inf:
            np.testing.assert_equal(root, near)
            continue
        low = root if Fraction(float(root)) ** 2 <= Fraction(float(x)) else np.nextafter(root, 0)
        is_exact = Fraction(float(low)) ** 2 == Fraction(float(x))
        high = low if is_exact else np.nextafter(low, low.dtype.type(np.inf))
        assert Fraction(float(high)) ** 2 >= Fraction(float(x))
        assert root == (high if mode == "ru" else low)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("source", "target"),
    [
        *(("int32", "f32"), ("uint32", "f32"), ("int64", "f32"), ("uint64", "f32")),
        *(("int64", "f64"), ("uint64", "f64"), ("float64", "f32")),
    ],
)
def test_conversions_round_as_they_say(source, target, mode):
    if source == "float64":
        a = np.concatenate([floats("f32", 7).astype(source), floats("f64", 8)])
        name = f"double2float_{mode}"
    else:
        info, rng = np.iinfo(source), np.random.default_rng(9)
        a = rng.integers(info.min, info.max, 64, source)
        a[:8] = [info.min, info.max, info.max - 1, 0, 1, 2**24 + 1, 2**25 - 1, 2**31 - 1]
        prefix = {"int32": "int", "uint32": "uint", "int64": "ll", "uint64": "ull"}[source]
        name = f"{prefix}2{'float' if target == 'f32' else 'double'}_{mode}"
    with np.errstate(all="ignore"):
        nearest = a.astype(TYPES[target])
    expected = nearest.copy()
    for place, value in enumerate(a.tolist()):
        if math.isfinite(value):
            expected[place] = directed(Fraction(value), nearest[place], mode)
    assert_same_bits(evaluate(getattr(libdevice, name), a, ways=DEVICES).data, expected)


# --- parts of numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize("type", TYPES)
def test_remainders_are_of_the_nearest_multiple(type):
    a, b = floats(type, 10), floats(type, 11)
    a[:8], b[:8] = [5, 7, 6, -6, -5, 2.5, 3.5, 1], [2, 2, 4, 4, 2, 1, 1, 3]
    result = evaluate(libdevice.remainder, a, b, ways=DEVICES)
    expected = [
        math.remainder(x, y) if math.isfinite(x) and y and y == y and x == x else math.nan
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    assert_same_bits(result.data, np.array(expected, a.dtype))


@pytest.mark.parametrize("type", TYPES)
def test_exponents(type):
    a = floats(type, 12)
    results = evaluate(lambda x: [libdevice.ilogb(x), libdevice.logb(x)], a, ways=DEVICES)
    special = {0.0: (-(2**31), -math.inf), math.inf: (2**31 - 1, math.inf)}
    for x, whole, real in zip(np.abs(a).tolist(), results[0].data, results[1].data, strict=True):
        if math.isnan(x):
            assert whole == -(2**31) and math.isnan(real)
        else:
            assert (whole, real) == special.get(x, (math.frexp(x)[1] - 1,) * 2)


def test_halves_of_a_double():
    a = floats("f64", 13)
    names = ["double2hiint", "double2loint"]
    high, low = evaluate(lambda x: [getattr(libdevice, n)(x) for n in names], a, ways=DEVICES)
    bits = a.view(np.int64)
    assert_same_bits(high.data, (bits >> 32).astype(np.int32))
    assert_same_bits(low.data, bits.astype(np.int32))
    back = evaluate(libdevice.hiloint2double, high.data, low.data, ways=DEVICES)
    assert_same_bits(back.data, a)
    with np.errstate(all="ignore"):
        upper = (1 / a).view(np.int64) >> 32 << 32
    found = evaluate(libdevice.rcp64h, a, ways=DEVICES)
    assert_same_bits(found.data, upper.view(np.float64))
    with pytest.raises(SemanticError, match="double2hiint is of fp64, got fp32"):
        evaluate(libdevice.double2hiint, floats("f32", 1))


def test_bytes_are_chosen_from_two_words():
    rng = np.random.default_rng(14)
    a, b, s = (rng.integers(-(2**31), 2**31, 32).astype(np.int32) for _ in range(3))
    result = evaluate(libdevice.byte_perm, a, b, s, ways=DEVICES)
    expected = []
    for x, y, selector in zip(a, b, s, strict=True):
        pool = x.tobytes() + y.tobytes()
        chosen = bytes(pool[(int(selector) >> 4 * place) & 7] for place in range(4))
        expected.append(np.frombuffer(chosen, np.int32)[0])
    assert_same_bits(result.data, np.array(expected, np.int32))


# --- special functions ---------------------------------------------------------------------------


def _erfcinv(z):
    """By its logarithm where erfinv(1 - z) would lose the digits."""
    if z > 1e-20:
        return mpmath.erfinv(1 - z)
    start = mpmath.sqrt(-mpmath.log(z)) * 0.98
    return mpmath.findroot(lambda y: mpmath.log(mpmath.erfc(y)) - mpmath.log(z), start)


def _points(*ranges):
    rng = np.random.default_rng(15)
    return np.concatenate([rng.uniform(low, high, 16) for low, high in ranges])


TINY = 2.0 ** -np.arange(1, 65, 2.0)
SPECIAL = {  # arguments, truth, ulps of f32 and f64
    "erfcx": (_points((-4, 9), (9, 30)), lambda x: mpmath.exp(x * x) * mpmath.erfc(x), 4, 4),
    "erfinv": (_points((-1, 1), (-0.1, 0.1), (0.9, 0.999), (-1, -0.99)), mpmath.erfinv, 3, 5),
    "erfcinv": (np.concatenate([_points((0, 2), (1, 2)), TINY]), _erfcinv, 4, 6),
    "normcdfinv": (
        np.concatenate([_points((0, 1), (0.4, 0.6)), TINY]),
        lambda p: -mpmath.sqrt(2) * _erfcinv(2 * p),
        5,
        8,
    ),
    "cyl_bessel_i0": (_points((-8, 8), (8, 80)), lambda x: mpmath.besseli(0, x), 6, 6),
    "cyl_bessel_i1": (_points((-8, 8), (8, 80)), lambda x: mpmath.besseli(1, x), 6, 6),
    "j0": (_points((-8, 8), (2.4, 2.41)), lambda x: mpmath.besselj(0, x), 9, 7),
    "j1": (_points((-8, 8), (3.8, 3.84)), lambda x: mpmath.besselj(1, x), 9, 10),
    "y0": (_points((0, 8), (0.89, 0.9), (3.95, 3.96)), lambda x: mpmath.bessely(0, x), 9, 7),
    "y1": (_points((0, 8), (2.19, 2.2)), lambda x: mpmath.bessely(1, x), 9, 10),
}


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions(name, type):
    points, truth, *ulps = SPECIAL[name]
    x = points.astype(TYPES[type])
    found = evaluate(getattr(libdevice, name), x, ways=DEVICES).data
    with mpmath.workdps(35):
        for argument, value in zip(x.tolist(), found, strict=True):
            exact = truth(mpmath.mpf(argument))
            unit = np.spacing(np.abs(TYPES[type](float(exact))))
            error = abs(mpmath.mpf(float(value)) - exact) / float(unit)
            assert error <= ulps[type == "f64"], (argument, value, exact)


ENDS = {
    "erfcx": ([np.inf, -np.inf, np.nan], [0, np.inf, np.nan]),
    "erfinv": ([1, -1, 0, -0.0, 1.5, np.nan], [np.inf, -np.inf, 0, -0.0, np.nan, np.nan]),
    "erfcinv": ([0, 2, 1, 3, -1, np.nan], [np.inf, -np.inf, 0, np.nan, np.nan, np.nan]),
    "normcdfinv": ([0, 1, 2, np.nan], [-np.inf, np.inf, np.nan, np.nan]),
    "cyl_bessel_i0": ([0, np.inf, -np.inf, np.nan], [1, np.inf, np.inf, np.nan]),
    "cyl_bessel_i1": ([0, np.inf, -np.inf, np.nan], [0, np.inf, -np.inf, np.nan]),
    "j0": ([0, np.inf, -np.inf, np.nan], [1, 0, 0, np.nan]),
    "j1": ([0, np.inf, -np.inf, np.nan], [0, 0, 0, np.nan]),
    "y0": ([0, np.inf, -1, np.nan], [-np.inf, 0, np.nan, np.nan]),
    "y1": ([0, np.inf, -1, np.nan], [-np.inf, 0, np.nan, np.nan]),
}


@pytest.mark.parametrize("name", ENDS)
def test_special_functions_at_their_ends(name):
    points, expected = ENDS[name]
    found = evaluate(getattr(libdevice, name), np.array(points, np.float64), ways=DEVICES)
    np.testing.assert_array_equal(found.data, expected)


FAR = {
    "j0": lambda x: mpmath.besselj(0, x),
    "j1": lambda x: mpmath.besselj(1, x),
    "y0": lambda x: mpmath.bessely(0, x),
    "y1": lambda x: mpmath.bessely(1, x),
}


@pytest.mark.parametrize("name", FAR)
def test_bessel_functions_far_out(name):
    x = _points((8, 20), (20, 1000))
    found = evaluate(getattr(libdevice, name), x, ways=DEVICES).data
    expected = [float(FAR[name](mpmath.mpf(value))) for value in x.tolist()]
    np.testing.assert_allclose(found, expected, 0, 1e-15)


@pytest.mark.parametrize(
    ("name", "truth"), [("jn", mpmath.besselj), ("yn", mpmath.bessely)], ids=["jn", "yn"]
)
def test_bessel_functions_of_any_order(name, truth):
    n = np.array([0, 1, 2, 3, 5, 10, 20, 64, 128, 2, 3, 7, 4, 50, 9, 12], np.int32)
    x = np.concatenate(
        [_points((0.1, 30)), [5, 0.5, 1, 1, 0.1, 100, 20, 64, 128, 9, 3, 7, 8, 300, 2, 1]]
    )
    n = np.concatenate([n, n])
    found = evaluate(getattr(libdevice, name), n, x, ways=DEVICES).data
    for order, argument, value in zip(n.tolist(), x.tolist(), found, strict=True):
        exact = float(truth(order, argument))
        assert value == exact or abs(value - exact) <= 1e-15 + 1e-13 * abs(exact)
    below = evaluate(getattr(libdevice, name), np.full(2, -1, np.int32), np.ones(2, np.float32))
    assert below.type == "fp32" and np.isnan(below.data).all()
