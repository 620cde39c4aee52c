"""Common array expressions are one kernel each, and right, at any size, dtype and layout."""

import math

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import events

# Allowed distance from float64 NumPy on the same inputs, relative to the largest result: a few
# roundings of each dtype per operation of the expression.
TOLERANCE = {"float16": 1e-2, "bfloat16": 8e-2, "float32": 3e-6, "float64": 1e-14}
SHAPES = [(0, 5), (4, 1), (1, 1), (1, 7), (13, 31), (17, 127), (16, 128), (5, 129), (3, 1009)]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


def softmax(xp, x):
    e = xp.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def layernorm(xp, x):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / xp.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-3)


def logsumexp(xp, x):
    highest = x.max(axis=1, keepdims=True)
    return xp.log(xp.exp(x - highest).sum(axis=1, keepdims=True)) + highest


def gelu(xp, x):
    return 0.5 * x * (1 + xp.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def variance(xp, x):
    return x.var(axis=1)


def total_variance(xp, x):
    return x.var()


def standardise_columns(xp, x):
    return (x - x.mean(0)) / (x.std(0) + 1)


EXPRESSIONS = [
    softmax,
    layernorm,
    logsumexp,
    gelu,
    variance,
    total_variance,
    standardise_columns,
]


def draw(shape, dtype):
    """Return a normally distributed array."""
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32).astype(dtype)


def assert_close(result, expected, dtype):
    if expected.size == 0:
        assert result.shape == expected.shape
        return
    scale = max(np.nanmax(np.abs(expected)), 1.0)
    np.testing.assert_allclose(
        np.asarray(result, np.float64), expected, rtol=0, atol=TOLERANCE[dtype] * scale
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("expression", EXPRESSIONS, ids=lambda f: f.__name__)
def test_one_kernel(expression, dtype, device):
    for shape in SHAPES:
        if 0 in shape and expression is total_variance:
            continue
        host = draw(shape, dtype)
        y = expression(lb, lb.asarray(host, device=device))
        assert len(y.kernels) == 1
        assert y.dtype == host.dtype
        with np.errstate(all="ignore"):
            expected = expression(np, host.astype(np.float64))
        assert_close(y.numpy(), expected, dtype)
        assert len(y.kernels) == 1


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("expression", EXPRESSIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("view", ["x[::2, ::2]", "x[::-1, ::-1]", "x.T", "x[1:, 3:]", "x[:, ::-3]"])
def test_one_kernel_on_views(expression, view, device):
    host = np.random.default_rng(1).standard_normal((34, 45)).astype(np.float32)
    y = expression(lb, eval(view, {"x": lb.asarray(host, device=device)}))
    assert len(y.kernels) == 1
    expected = expression(np, eval(view, {"x": host.astype(np.float64)}))
    assert_close(y.numpy(), expected, "float32")


def normal_distribution(xp, x):
    """Cumulative normal distribution (Abramowitz and Stegun 26.2.17, error 7.5e-8)."""
    t = 1 / (1 + 0.2316419 * xp.abs(x))
    series = t * (
        0.319381530 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429)))
    )
    tail = xp.exp(-0.5 * x * x) / math.sqrt(2 * math.pi) * series
    return xp.where(x > 0, 1 - tail, tail)


def black_scholes(xp, price, strike, years):
    rate, volatility = 0.02, 0.3
    spread = volatility * xp.sqrt(years)
    d1 = (xp.log(price / strike) + (rate + volatility * volatility / 2) * years) / spread
    discounted = strike * xp.exp(-rate * years)
    call = price * normal_distribution(xp, d1) - discounted * normal_distribution(xp, d1 - spread)
    return call, call - price + discounted


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("size", [1, 2, 1000, 4097])
def test_black_scholes_gives_two_results_from_one_kernel(size, dtype, device):
    rng = np.random.default_rng(2)
    host = [
        rng.uniform(low, high, size).astype(dtype) for low, high in [(5, 30), (1, 100), (0.3, 9)]
    ]
    call, put = black_scholes(lb, *(lb.asarray(array, device=device) for array in host))
    launched = []
    with events.listen(launched.append):
        lb.eval(call, put)
    launches = [event for event in launched if isinstance(event, events.KernelLaunch)]
    assert len(launches) == 1
    expected = black_scholes(np, *(array.astype(np.float64) for array in host))
    assert_close(call.numpy(), expected[0], dtype)
    assert_close(put.numpy(), expected[1], dtype)
