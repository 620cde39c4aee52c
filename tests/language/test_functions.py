"""Functions of elements: tl's own, tl.math and tl.extra.libdevice, compared with NumPy and math."""

import math

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.errors import SemanticError, UnsupportedError
from tests.helpers.cpu import assert_same_bits
from tests.helpers.kernel_bodies import ALL, DEVICES, Scalar, evaluate
from tests.language.rules import NUMPY, exactly, sample, wrap

libdevice = tl.extra.libdevice

POINTS = np.linspace(-3.9, 3.9, 32)
FLOAT_TYPES = ["fp32", "fp64"]
ULPS = 4  # libraries differ by as much


def near(result, expected):
    """Within some units in the last place of the wide result."""
    expected = np.asarray(expected, np.float64)
    tolerance = ULPS * np.finfo(result.data.dtype).eps
    np.testing.assert_allclose(result.data.astype(np.float64), expected, tolerance, tolerance / 8)


EXACT = {"floor": np.floor, "ceil": np.ceil, "sqrt": np.sqrt, "sqrt_rn": np.sqrt}
CLOSE = {
    **{"exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2},
    **{"sin": np.sin, "cos": np.cos, "rsqrt": lambda x: 1 / np.sqrt(x)},
    "erf": np.vectorize(math.erf),
}
OF_POSITIVE = {"sqrt", "sqrt_rn", "log", "log2", "rsqrt"}


def points_for(name, type):
    a = POINTS.astype(NUMPY[type])
    return np.abs(a) if name in OF_POSITIVE else a


@pytest.mark.parametrize("type", FLOAT_TYPES)
@pytest.mark.parametrize("name", EXACT)
def test_exact_functions(name, type):
    a = points_for(name, type)
    result = evaluate(getattr(tl, name), a, ways=DEVICES)
    assert result.type == type
    assert_same_bits(result.data, EXACT[name](a))


@pytest.mark.parametrize("type", FLOAT_TYPES)
@pytest.mark.parametrize("name", CLOSE)
def test_approximated_functions(name, type):
    a = points_for(name, type)
    result = evaluate(getattr(tl, name), a, ways=DEVICES)
    assert result.type == type
    near(result, CLOSE[name](a.astype(np.float64)))
    assert getattr(tl.math, name) is getattr(tl, name)


@pytest.mark.parametrize("type", ["fp16", "bf16", "int32", "int1"])
@pytest.mark.parametrize("name", [*EXACT, *CLOSE])
def test_functions_are_of_float32_and_float64(name, type):
    with pytest.raises(SemanticError, match=f"tl.{name} is of fp32 and fp64"):
        evaluate(getattr(tl, name), sample(type))


def test_functions_are_methods_too():
    a = np.abs(POINTS).astype(np.float32)
    results = evaluate(lambda x: [x.exp(), tl.exp(x), x.sqrt(), tl.sqrt(x), x.abs(), x], a)
    for method, function in zip(results[::2], results[1::2], strict=True):
        assert_same_bits(method.data, function.data)


@pytest.mark.parametrize("type", ["fp16", "bf16", "fp32", "fp64"])
def test_fma_rounds_once(type):
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=16).astype(NUMPY[type]) for _ in range(3))
    result = evaluate(tl.fma, a, b, c, ways=DEVICES)
    assert result.type == type
    if type != "fp64":
        exact = a.astype(np.longdouble) * b.astype(np.longdouble) + c.astype(np.longdouble)
        near_bits = exact.astype(np.float64).astype(NUMPY[type])
        np.testing.assert_array_equal(result.data, near_bits)


def test_divisions():
    a, b = sample("fp32"), np.where(sample("fp32", seed=1) == 0, 1, 3).astype(np.float32)
    results = evaluate(lambda x, y: [tl.fdiv(x, y), tl.div_rn(x, y), x / y], a, b, ways=DEVICES)
    for result in results:
        assert_same_bits(result.data, a / b)
    half = a.astype(np.float16)
    assert evaluate(lambda x: tl.fdiv(x, x + 1), half).type == "fp16"
    with pytest.raises(SemanticError, match=r"tl\.fdiv is of floats"):
        evaluate(lambda x: tl.fdiv(x, x), sample("int32"))
    with pytest.raises(SemanticError, match=r"tl\.div_rn is of fp32 and fp64"):
        evaluate(lambda x: tl.div_rn(x, x), half)


@pytest.mark.parametrize("type", ["int32", "uint32", "int64", "uint64"])
def test_umulhi_takes_bits_as_they_are(type):
    bits = NUMPY[type].itemsize * 8
    a, b = sample(type, seed=1), sample(type, seed=2)
    products = [(int(x) % 2**bits) * (int(y) % 2**bits) >> bits for x, y in zip(a, b, strict=True)]
    result = evaluate(tl.umulhi, a, b)
    assert result.type == type
    assert_same_bits(result.data, wrap(products, type))


def test_umulhi_is_of_wide_integers():
    with pytest.raises(SemanticError, match="32 and 64-bit integers"):
        evaluate(tl.umulhi, sample("int16"), sample("int16"))


@pytest.mark.parametrize(("x", "d"), [(0, 4), (7, 4), (8, 4), (9, 4), (1, 1000)])
def test_cdiv_rounds_up(x, d):
    assert tl.cdiv(x, d) == -(-x // d)
    assert tl.cdiv(tl.constexpr(x), d) == -(-x // d)
    results = evaluate(lambda n: [tl.cdiv(n, d), n.cdiv(d)], Scalar(x, tl.int32), ways=DEVICES)
    assert [r.data.item() for r in results] == [-(-x // d)] * 2


def test_cdiv_is_wrong_for_negative_numbers_as_upstream():
    assert evaluate(lambda n: tl.cdiv(n, 4), Scalar(-5, tl.int32)).data == 0  # (-5 + 3) / 4


def test_clamp():
    a = np.array([-5, -1, 0, 3, 9, np.inf, -np.inf, 2], np.float32)
    result = evaluate(lambda x: tl.clamp(x, -1.0, 3.0), a, ways=ALL)
    assert_same_bits(result.data, np.clip(a, -1, 3))
    assert evaluate(lambda x: tl.clamp(x, 0.0, 1.0), a.astype(NUMPY["bf16"])).type == "fp32"
    with pytest.raises(SemanticError, match=r"tl\.clamp is of floats"):
        evaluate(lambda x: tl.clamp(x, 0, 1), sample("int32"))


# --- map_elementwise -----------------------------------------------------------------------------


def test_map_elementwise():
    a, b = sample("int32"), sample("int32", seed=1)
    results = evaluate(
        lambda x, y: tl.map_elementwise(lambda p, q: (p + q, p - q), x, y), a, b, ways=ALL
    )
    assert_same_bits(results[0].data, a + b)
    assert_same_bits(results[1].data, a - b)


def test_map_elementwise_broadcasts_and_uses_what_is_outside():
    a = np.arange(32, dtype=np.int32).reshape(4, 8)

    def body(x):
        largest = tl.max(x)
        return tl.map_elementwise(lambda p, q: tl.where(p > q, largest, p), x, x[0])

    result = evaluate(body, a, ways=DEVICES)
    assert_same_bits(result.data, np.where(a > a[0], 31, a).astype(np.int32))


@pytest.mark.parametrize("pack", [2, 4])
def test_map_elementwise_takes_neighbours_at_once(pack):
    a = np.arange(16, dtype=np.int32).reshape(2, 8)

    def rotate(*elements):
        return (*elements[1:], elements[0])

    result = evaluate(lambda x: tl.map_elementwise(rotate, x, pack=pack), a, ways=DEVICES)
    expected = np.roll(a.reshape(-1, pack), -1, axis=1).reshape(2, 8)
    assert_same_bits(result.data, expected)


def branching(builder_of):
    """Collatz steps by the builder's own control flow, as the front end would write it."""

    def function(n):
        b = builder_of()
        half = lambda: [b.div(n.handle, 2)]  # noqa: E731
        other = lambda: [b.add(b.mul(n.handle, 3), 1)]  # noqa: E731
        is_even = b.compare("eq", b.and_(n.handle, 1), 0)
        return tl.tensor(b.if_(is_even, half, other)[0])

    return function


def test_branches_in_mapped_functions_choose_per_element():
    from lazyblock.language.context import current_builder

    a = np.arange(16, dtype=np.int32)
    function = branching(current_builder)
    result = evaluate(lambda x: tl.map_elementwise(function, x), a, ways=ALL)
    assert_same_bits(result.data, np.where(a % 2 == 0, a // 2, 3 * a + 1).astype(np.int32))
    reduced = evaluate(lambda x: tl.reduce(x, 1, lambda p, q: function(p) + q), a.reshape(8, 2))
    expected = np.where(a % 2 == 0, a // 2, 3 * a + 1)[::2] + a[1::2]
    assert_same_bits(reduced.data, expected.astype(np.int32))


def test_mapped_functions_do_not_touch_memory():
    with pytest.raises(UnsupportedError, match="a function that uses 'reduce'"):
        evaluate(lambda x: tl.map_elementwise(lambda p: tl.sum(tl.zeros((2,), p.dtype)), x), X_INT)


X_INT = np.arange(8, dtype=np.int32)


def test_code_of_one_device_is_refused():
    with pytest.raises(UnsupportedError, match=r"tl\.inline_asm_elementwise is text for one kind"):
        evaluate(lambda x: tl.inline_asm_elementwise("", "", [x], tl.int32, True, 1), X_INT)
    with pytest.raises(UnsupportedError, match=r"tl\.extern_elementwise calls a library"):
        evaluate(lambda x: tl.extern_elementwise("", "", [x], {}), X_INT)


# --- libdevice -----------------------------------------------------------------------------------

OF_ONE = {
    **{"acos": np.arccos, "asin": np.arcsin, "atan": np.arctan, "tan": np.tan},
    **{"sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh},
    **{"acosh": np.arccosh, "atanh": np.arctanh, "cbrt": np.cbrt, "exp": np.exp},
    **{"expm1": np.expm1, "log1p": np.log1p, "log10": np.log10, "exp10": lambda x: 10.0**x},
    **{"erf": np.vectorize(math.erf), "erfc": np.vectorize(math.erfc)},
    **{"lgamma": np.vectorize(math.lgamma), "tgamma": np.vectorize(math.gamma)},
    **{"rcbrt": lambda x: 1 / np.cbrt(x), "rcp_rn": lambda x: 1 / x},
    "normcdf": np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2))),
}
IN = {"acos": 0.25, "asin": 0.25, "atanh": 0.25}  # scale of the arguments
ABOVE = {"acosh": 1.1, "log1p": 0.0, "log10": 0.1, "lgamma": 0.1, "tgamma": 0.1, "rcbrt": 0.1}


@pytest.mark.parametrize("type", FLOAT_TYPES)
@pytest.mark.parametrize("name", OF_ONE)
def test_libdevice_of_one(name, type):
    a = POINTS * IN.get(name, 1.0)
    a = np.abs(a) + ABOVE[name] if name in ABOVE else a
    a = a.astype(NUMPY[type])
    result = evaluate(getattr(libdevice, name), a)
    assert result.type == type
    expected = OF_ONE[name](a.astype(np.float64))
    scale = 16 * np.finfo(NUMPY[type]).eps
    np.testing.assert_allclose(result.data, expected, scale, scale)


OF_TWO = {
    **{"atan2": np.arctan2, "hypot": np.hypot, "fmod": np.fmod, "copysign": np.copysign},
    **{"nextafter": np.nextafter, "fdim": lambda x, y: np.maximum(x - y, 0)},
    **{"max": np.fmax, "min": np.fmin, "add_rn": np.add, "sub_rn": np.subtract},
    **{"mul_rn": np.multiply, "div_rn": np.divide, "fast_dividef": np.divide},
}


@pytest.mark.parametrize("type", FLOAT_TYPES)
@pytest.mark.parametrize("name", OF_TWO)
def test_libdevice_of_two(name, type):
    rng = np.random.default_rng(7)
    a, b = (rng.normal(size=32).astype(NUMPY[type]) for _ in range(2))
    b[:4] = a[:4]
    result = evaluate(getattr(libdevice, name), a, b)
    np.testing.assert_allclose(result.data, OF_TWO[name](a, b), 1e-6 if type == "fp32" else 1e-14)
    if name in ("nextafter", "copysign", "div_rn", "fdim"):
        np.testing.assert_array_equal(result.data, OF_TWO[name](a, b))


def test_nextafter_at_the_ends():
    tiny, top = np.float32(1e-45), np.finfo(np.float32).max
    a = np.array([0.0, -0.0, top, np.inf, np.nan, tiny, -tiny, np.inf], np.float32)
    b = np.array([1.0, -1.0, np.inf, 0.0, 1.0, -1.0, 1.0, -np.inf], np.float32)
    result = evaluate(libdevice.nextafter, a, b, ways=DEVICES)
    with np.errstate(over="ignore"):
        expected = np.nextafter(a, b)
    assert_same_bits(result.data, expected)


@pytest.mark.parametrize("type", FLOAT_TYPES)
def test_rounding(type):
    a = np.array([0.5, 1.5, -0.5, -1.5, 2.4, -2.6, 0.49999997, 1e10], NUMPY[type])
    names = ["rint", "nearbyint", "trunc", "floor", "ceil", "round"]
    results = evaluate(lambda x: [getattr(libdevice, name)(x) for name in names], a, ways=DEVICES)
    away = np.trunc(a) + np.where(np.abs(a - np.trunc(a)) >= 0.5, np.copysign(1, a), 0)
    expected = [np.rint(a), np.rint(a), np.trunc(a), np.floor(a), np.ceil(a), away]
    for result, data in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result.data, data)
    whole = evaluate(lambda x: [libdevice.llrint(x), libdevice.llround(x)], a)
    assert whole[0].data.tolist() == np.rint(a).astype(int).tolist()
    assert whole[1].data.tolist() == away.astype(int).tolist()


MODES = [("rn", np.rint), ("rz", np.trunc), ("rd", np.floor), ("ru", np.ceil)]


@pytest.mark.parametrize(("mode", "function"), MODES)
def test_conversions_say_how_they_round(mode, function):
    a = np.array([0.5, 1.5, 2.7, 7.2, 1e12, 3.0, 0.1, 9.5], np.float32)
    results = evaluate(
        lambda x: [
            getattr(libdevice, f"float2int_{mode}")(x),
            getattr(libdevice, f"float2ull_{mode}")(x),
        ],
        a,
    )
    assert [r.type for r in results] == ["int32", "uint64"]
    assert results[0].data.tolist() == [min(int(v), 2**31 - 1) for v in function(a)]
    assert results[1].data.tolist() == function(a).astype(int).tolist()


def test_classes_of_floats():
    a = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -1.5, -np.nan], np.float32)
    results = evaluate(
        lambda x: [
            libdevice.isnan(x),
            libdevice.isinf(x),
            libdevice.finitef(x),
            libdevice.signbit(x),
            libdevice.saturatef(x),
        ],
        a,
        ways=DEVICES,
    )
    assert_same_bits(results[0].data, np.isnan(a))
    assert_same_bits(results[1].data, np.isinf(a))
    assert_same_bits(results[2].data, np.isfinite(a))
    assert_same_bits(results[3].data, np.signbit(a).astype(np.int32))
    assert results[4].data.tolist() == [0, 1, 0, 0, 0, 1, 0, 0]


@pytest.mark.parametrize("type", ["int32", "uint32", "int64", "uint64"])
def test_bits_of_integers(type):
    bits = NUMPY[type].itemsize * 8
    a = sample(type, seed=3)
    patterns = [int(v) % 2**bits for v in a]
    results = evaluate(
        lambda x: [libdevice.popc(x), libdevice.clz(x), libdevice.ffs(x), libdevice.brev(x)], a
    )
    assert results[0].data.tolist() == [p.bit_count() for p in patterns]
    assert results[1].data.tolist() == [bits - p.bit_length() for p in patterns]
    assert results[2].data.tolist() == [(p & -p).bit_length() for p in patterns]
    reversed_bits = [int(f"{p:0{bits}b}"[::-1], 2) for p in patterns]
    assert_same_bits(results[3].data, wrap(reversed_bits, type))
    assert [r.type for r in results] == ["int32", "int32", "int32", type]


@pytest.mark.parametrize("type", ["int32", "uint32"])
def test_integer_averages_and_differences(type):
    a, b = sample(type, seed=1), sample(type, seed=2)
    x, y = exactly(a), exactly(b)
    results = evaluate(
        lambda x, y: [
            libdevice.hadd(x, y),
            libdevice.rhadd(x, y),
            libdevice.sad(x, y, x),
            libdevice.mul24(x, y),
        ],
        a,
        b,
    )
    low = [wrap([v << 8], type)[0] >> 8 for v in (*x, *y)]
    products = [int(p) * int(q) for p, q in zip(low[:16], low[16:], strict=True)]
    expected = [(x + y) // 2, (x + y + 1) // 2, abs(x - y) + x, products]
    for result, data in zip(results, expected, strict=True):
        assert_same_bits(result.data, wrap(data, type))


@pytest.mark.parametrize("type", FLOAT_TYPES)
def test_ldexp_and_pow_take_integer_powers(type):
    a = np.array([1.0, -1.5, 3.0, 0.0, np.inf, 1e-30, 7.0, 0.5], NUMPY[type])
    powers = np.array([0, 3, -4, 100, -3, 20, -140, 127], np.int32)
    result = evaluate(libdevice.ldexp, a, powers)
    np.testing.assert_array_equal(result.data, np.ldexp(a, powers))
    result = evaluate(lambda x: libdevice.pow(x, 3), a)
    np.testing.assert_allclose(result.data, a.astype(float) ** 3, 1e-6, 1e-40)


def test_sinpi_and_cospi():
    a = np.array([0.0, 0.25, 0.5, 1.0, 1.5, -0.75, 100.25, 7.0], np.float64)
    results = evaluate(lambda x: [libdevice.sinpi(x), libdevice.cospi(x)], a)
    np.testing.assert_allclose(results[0].data, np.sin(np.pi * (a % 2)), atol=1e-14)
    np.testing.assert_allclose(results[1].data, np.cos(np.pi * (a % 2)), atol=1e-14)


def test_libdevice_computes_the_same_on_devices():
    a = (POINTS * 0.25).astype(np.float32)
    names = ["asin", "tan", "cbrt", "expm1", "erfc", "round", "exp10", "normcdf"]
    evaluate(lambda x: [getattr(libdevice, name)(x) for name in names], a, ways=DEVICES)
    evaluate(lambda x: [libdevice.popc(x), libdevice.brev(x)], sample("uint32"), ways=ALL)


def test_libdevice_promotes_and_refuses():
    a = sample("fp32")
    assert evaluate(lambda x: libdevice.hypot(x, 2.0), a).type == "fp32"
    assert evaluate(lambda x, y: libdevice.atan2(x, y), a, sample("fp64")).type == "fp64"
    with pytest.raises(SemanticError, match=r"tl.extra.libdevice.asin is of fp32 and fp64"):
        evaluate(libdevice.asin, sample("fp16"))
    with pytest.raises(SemanticError, match="popc is of 32 and 64-bit integers"):
        evaluate(libdevice.popc, sample("int8"))


def test_libdevice_is_where_kernels_import_it_from():
    assert tl.extra.cuda.libdevice is libdevice
    tl.extra.cuda.gdc_wait()
    tl.extra.cuda.gdc_launch_dependents()
