"""Complex arrays through every stage: NumPy's values on the CPU and on an emulated GPU."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazyblock as lb
from tests.helpers.arrays import (
    assert_equal_values,
    assert_kernel_count,
    expm1,
    interpret_array,
)

EMULATED = "emulated:sm_90a"
DEVICES = ["cpu", EMULATED]
PARTS = [0.0, -0.0, 1.0, -2.5, 1e-3, np.inf, -np.inf, np.nan]
UNARY = """
    negative absolute sign reciprocal conjugate sqrt exp exp2 log log2 log10 log1p
    sin cos tan sinh cosh tanh rint isnan isinf isfinite logical_not
    arcsin arccos arctan arcsinh arccosh arctanh
"""
BINARY = """
    add subtract divide equal not_equal less less_equal greater greater_equal
    maximum minimum fmax fmin logical_and
"""

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def grid(dtype):
    """Every pair of PARTS."""
    return np.array([complex(*pair) for pair in itertools.product(PARTS, PARTS)]).astype(dtype)


def whole(shape, dtype=np.complex128, seed=0):
    """Small whole numbers: sums and products of them are exact."""
    rng = np.random.default_rng(seed)
    return (rng.integers(-3, 4, shape) + 1j * rng.integers(-3, 4, shape)).astype(dtype)


def assert_close(actual, expected):
    """Equal NaNs, infinities and signs; finite parts to a few ULP."""
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    if expected.dtype.kind == "c":
        assert_close(actual.real, expected.real)
        assert_close(actual.imag, expected.imag)
    elif expected.dtype.kind == "b":
        np.testing.assert_array_equal(actual, expected)
    else:
        rtol = 8 * np.finfo(expected.dtype).eps
        np.testing.assert_allclose(actual, expected, rtol=rtol, atol=0)
        known = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(actual[known]), np.signbit(expected[known]))


def check(functions, *arrays, device, compare=assert_equal_values):
    """All `functions` of the module and the arrays give NumPy's values; one evaluation for all."""
    with np.errstate(all="ignore"):
        expected = [np.asarray(function(np, *arrays)) for function in functions]
    lazy = [lb.asarray(array, device=device) for array in arrays]
    results = [function(lb, *lazy) for function in functions]
    lb.eval(*results)
    for result, reference in zip(results, expected, strict=True):
        compare(result.numpy(), reference)


def named(names):
    return [lambda m, *arrays, name=name: getattr(m, name)(*arrays) for name in names.split()]


@pytest.mark.parametrize(
    ("dtype", "device"),
    [*itertools.product(["complex64", "complex128"], ["cpu"]), ("complex64", EMULATED)],
)
def test_functions_of_special_values(dtype, device):
    x = grid(dtype)
    check(
        [*named(UNARY), lambda m, x: (expm1 if m is np else m.expm1)(x)],
        x,
        device=device,
        compare=assert_close,
    )
    x, y = np.repeat(x, len(x)), np.tile(x, len(x))
    check(named(BINARY), x, y, device=device, compare=assert_close)


REDUCTIONS = {
    "sum": lambda m, x: m.sum(x),
    "sum of columns": lambda m, x: m.sum(x, axis=0),
    "sum of rows": lambda m, x: m.sum(x, axis=1, keepdims=True),
    "prod": lambda m, x: m.prod(x, axis=1),
    "max": lambda m, x: m.max(x, axis=1),
    "min": lambda m, x: m.min(x, axis=0, keepdims=True),
    "max of all": lambda m, x: m.max(x),
    "argmax": lambda m, x: m.argmax(x),
    "argmin": lambda m, x: m.argmin(x, axis=1),
    "cumsum": lambda m, x: m.cumsum(x, axis=1),
    "cumprod": lambda m, x: m.cumprod(x, axis=0),
    "any": lambda m, x: m.any(x, axis=0),
    "all": lambda m, x: m.all(x, axis=1),
}


@pytest.mark.parametrize(
    ("shape", "device"), [((1, 1), "cpu"), ((5, 7), "cpu"), ((3, 70), "cpu"), ((5, 7), EMULATED)]
)
def test_reductions(shape, device):
    x = whole(shape)
    if shape == (3, 70):  # products stay exact
        x[...] = np.array([1, 1j, -1, -1j])[np.random.default_rng(0).integers(0, 4, shape)]
    check(REDUCTIONS.values(), x, device=device)


@pytest.mark.parametrize("device", DEVICES)
def test_extremes_are_lexicographic_and_the_first_nan_wins(device):
    x = whole((6, 9))
    x[1, 4], x[1, 6], x[2, 3] = complex(np.nan, 1), complex(0, np.nan), complex(2, np.nan)
    x[3] = [0, -0.0, 1j, complex(-0.0, 1), 0, 1j, 1j, 0, 0]
    names = ("max", "min", "argmax", "argmin")
    for axis in (0, 1, None) if device == "cpu" else (0,):
        check(
            [lambda m, a, n=n, axis=axis: getattr(m, n)(a, axis=axis) for n in names],
            x,
            device=device,
        )


@pytest.mark.parametrize("device", DEVICES)
def test_statistics(device):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(6, 9)) + 1j * rng.normal(size=(6, 9))

    def close(actual, expected):
        assert actual.dtype == expected.dtype
        np.testing.assert_allclose(actual, expected, rtol=1e-13)

    functions = [
        lambda m, a, n=n, axis=axis: getattr(m, n)(a, axis=axis)
        for n in ("mean", "var", "std")
        for axis in (None, 0, 1)
    ]
    check(functions, x, device=device, compare=close)


MIXED = [
    lambda m, z, x, n: z + x,
    lambda m, z, x, n: n - z,
    lambda m, z, x, n: z * n,
    lambda m, z, x, n: x * 1j,
    lambda m, z, x, n: n * (1 + 2j),
    lambda m, z, x, n: z == x,
    lambda m, z, x, n: m.where(n > 0, z, x),
    lambda m, z, x, n: m.where(n > 0, x, 1j),
    lambda m, z, x, n: z.astype(m.complex128),
    lambda m, z, x, n: n.astype(m.complex64) + z,
    lambda m, z, x, n: z.astype(m.bool),
    lambda m, z, x, n: m.angle(z) > m.angle(n),
    lambda m, z, x, n: m.iscomplex(z),
    lambda m, z, x, n: m.isreal(x),
    lambda m, z, x, n: z**3 + z**0,
]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_other_dtypes_and_python_numbers(dtype, device):
    x, n = np.arange(-4, 4, dtype=np.float32), np.arange(8, dtype=np.int16) % 3
    check(MIXED, whole((8,), dtype), x, n, device=device)


VIEWS = [
    lambda m, x: x.T,
    lambda m, x: x[::2, 4:1:-1],
    lambda m, x: x[1],
    lambda m, x: x.T.reshape(-1),
    lambda m, x: x.reshape(3, 10).imag,
    lambda m, x: x.real.T,
    lambda m, x: x.imag[1:3] + x.T.real.T[1:3],
    lambda m, x: x[:0].sum(axis=0),
    lambda m, x: x[2:2],
    lambda m, x: x.conj().imag,
]


@pytest.mark.parametrize("device", DEVICES)
def test_views(device):
    check(VIEWS, whole((5, 6)), device=device)


def write_parts(x):
    x = x.copy()
    flipped = x.T[::-1]
    flipped.real[...] = 3
    x.imag += 1
    doubled = x * 2
    x.imag = x.real * 2
    x.reshape(-1).real[...] = x.imag.reshape(-1) - 1
    return x, flipped, doubled, x.imag


def write_whole(x):
    x = x.copy()
    real = x.real
    x += 1j
    x *= 2
    x -= real
    real *= 3
    return x, real, x.imag


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("function", [write_parts, write_whole])
def test_writes_are_seen_through_parts(function, device):
    x = whole((4, 5))
    results = function(lb.asarray(x, device=device))
    for result, expected in zip(results, function(x), strict=True):
        assert_equal_values(result.numpy(), expected)


@pytest.mark.parametrize("device", DEVICES)
def test_compiled_expressions_and_functions(device):
    x, y = whole((4, 5)), whole((4, 5), seed=1)
    a, b = lb.asarray(x, device=device), lb.asarray(y, device=device)
    f = lb.compile(lambda p, q: (p * q + 1j).sum(axis=0))
    for first, second in ((a, b), (b, a)):
        expected = (first.numpy() * second.numpy() + 1j).sum(axis=0)
        assert_equal_values(f(first, second).numpy(), expected)
    g = (a.real * a.T.imag[0, 0] - 2j).compile()
    assert_equal_values(g(b).numpy(), y.real * y.T.imag[0, 0] - 2j)


def test_an_expression_is_one_kernel():
    x, y = (lb.asarray(whole((40, 50), seed=seed), device="cpu") for seed in (0, 1))
    assert_kernel_count(lb.exp(x * y - 2j) / (abs(x) + y.conj()), 1)
    assert_kernel_count(abs(x * y).sum(), 1)
    assert_kernel_count((x + y).sum(axis=0), 1)
    assert "split" not in (x * y).explain()


def test_the_compiler_and_host_data_know_views_of_parts():
    x = lb.asarray(whole((6,)), device="cpu")
    np.testing.assert_array_equal(x.imag.numpy(), x.numpy().imag)
    assert x.imag.numpy().strides == (16,)
    assert complex(x[1]) == x[1].item() == x.tolist()[1]
    assert str(x) == str(x.numpy())
    assert lb.zeros(2, dtype=complex).dtype == lb.full(2, 1j).dtype == np.complex128


def test_errors_are_numpys():
    x = lb.asarray(whole((3,)))
    for name in ("floor", "arctan2", "remainder", "cbrt"):
        with pytest.raises(TypeError, match=name):
            getattr(lb, name)(*[x] * (2 if name in ("arctan2", "remainder") else 1))
    real = lb.zeros(3)
    with pytest.raises(TypeError, match="same_kind"):
        real += x
    with pytest.raises(TypeError, match="imaginary part"):
        real.imag = 1
    with pytest.raises(TypeError, match="complex"):
        real[...] = 1j
    with pytest.warns(np.exceptions.ComplexWarning):
        x.astype(float)


# Programs


STEPS = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y.real,
    "conjugate": lambda x, y: x.conj() - y.imag,
    "turn": lambda x, y: x * 1j + y,
    "transpose": lambda x, y: x.T + y,
    "choose": lambda x, y: np.where(x == y, x.imag, y),
    "order": lambda x, y: np.maximum(x, y),
    "sums": lambda x, y: x.sum(axis=0) - y,
    "flip": lambda x, y: x[::-1] + y[:, ::-1].conj(),
    "largest": lambda x, y: x - y.max(axis=1, keepdims=True),
}


def write_real(x, y):
    x.real[...] = y.imag


def write_imag(x, y):
    x.T.imag += y.real.T


WRITES = {"real": write_real, "imag": write_imag, "all": lambda x, y: x.__iadd__(y)}


@st.composite
def programs(draw):
    """A list of steps: a name and the numbers of two arrays made before."""
    steps = []
    for count in range(2, 2 + draw(st.integers(1, 6))):
        name = draw(st.sampled_from([*STEPS, *WRITES]))
        made = count - sum(step[0] in WRITES for step in steps)
        steps.append((name, draw(st.integers(0, made - 1)), draw(st.integers(0, made - 1))))
    return steps


def run(program, arrays):
    for name, first, second in program:
        if name in WRITES:
            WRITES[name](arrays[first], arrays[second])
        else:
            arrays.append(STEPS[name](arrays[first], arrays[second]))
    return arrays


@settings(max_examples=60)
@given(programs())
def test_programs_record_what_numpy_computes(program):
    start = [whole((4, 4), seed=seed) for seed in (1, 2)]
    lazy = run(program, [lb.asarray(x, device="cpu") for x in start])
    expected = run(program, [x.copy() for x in start])
    for array, reference in zip(lazy, expected, strict=True):
        assert_equal_values(interpret_array(array) + 0.0, reference + 0.0)


@settings(max_examples=15)
@given(programs())
def test_programs_run(program):
    start = [whole((4, 4), seed=seed) for seed in (1, 2)]
    lazy = run(program, [lb.asarray(x, device="cpu") for x in start])
    lb.eval(*lazy)
    for array, reference in zip(lazy, run(program, start), strict=True):
        assert_equal_values(array.numpy() + 0.0, reference + 0.0)
