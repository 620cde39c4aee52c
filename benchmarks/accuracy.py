"""Errors of the elementary functions against mpmath, in units in the last place.

`SPECIFICATIONS`, `ARITHMETIC` and `FAST_SPECIFICATIONS` (numerics="fast") hold what the tests
demand; `draw` gives arguments, hard ones included, `errors_of` how far results are from the truth.
`benchmarks.accuracy_page` writes the tables of docs/accuracy.md with them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import mpmath
import numpy as np

import lazyblock as lb

Array = np.ndarray[Any, Any]
Range = tuple[float, float]

mpmath.mp.dps = 40


@dataclass(frozen=True)
class Specification:
    """A function: its true value, the errors allowed, and where it is sampled.

    limits: float32's and float64's, in units in the last place. even: ranges sampled evenly.
    near: points approached closely from both sides. Random bit patterns are always among the
    samples; `domain` bounds those of the first argument.
    """

    exact: Callable[..., Any]
    limits: tuple[float, float]
    even: tuple[Range, ...]
    near: tuple[float, ...] = (0.0,)
    domain: Range = (-np.inf, np.inf)
    arity: int = 1


def _real_log_gamma(x: Any) -> Any:
    return mpmath.re(mpmath.loggamma(x))


def _cbrt(x: Any) -> Any:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


_POSITIVE = (0.0, np.inf)
_UNIT = (-1.0, 1.0)
_LINE = ((-1.0, 1.0), (-5.0, 5.0))
_TURNS = ((-8.0, 8.0), (-1e5, 1e5))
_HALF_PI = (0.0, np.pi / 2, np.pi, 11 * np.pi / 2, 6381956970095103 * 2.0**797)

SPECIFICATIONS: dict[str, Specification] = {
    "exp": Specification(mpmath.exp, (2, 1), ((-1, 1), (-103, 88), (-745, 709))),
    "exp2": Specification(lambda x: mpmath.power(2, x), (2, 1), ((-1, 1), (-149, 127))),
    "expm1": Specification(mpmath.expm1, (2, 1), ((-1, 1), (-20, 88))),
    "log": Specification(mpmath.log, (2, 1), ((0.3, 3),), (1.0,), _POSITIVE),
    "log1p": Specification(mpmath.log1p, (2, 1), ((-1, 2),), (0.0, -1.0), (-1.0, np.inf)),
    "log2": Specification(lambda x: mpmath.log(x, 2), (2, 1.5), ((0.3, 3),), (1.0,), _POSITIVE),
    "log10": Specification(mpmath.log10, (2, 1.5), ((0.3, 3),), (1.0,), _POSITIVE),
    "sin": Specification(mpmath.sin, (2, 2), _TURNS, _HALF_PI),
    "cos": Specification(mpmath.cos, (2, 2), _TURNS, _HALF_PI),
    "tan": Specification(mpmath.tan, (4, 2), _TURNS, _HALF_PI),
    "asin": Specification(mpmath.asin, (4, 2), (_UNIT,), (0.0, 0.5, 1.0), _UNIT),
    "acos": Specification(mpmath.acos, (4, 2), (_UNIT,), (0.0, 0.5, 1.0, -1.0), _UNIT),
    "atan": Specification(mpmath.atan, (2, 2), _LINE, (0.0, 1.0)),
    "sinh": Specification(mpmath.sinh, (3, 2), (*_LINE, (-89, 89), (-710, 710))),
    "cosh": Specification(mpmath.cosh, (3, 2), (*_LINE, (-89, 89), (-710, 710))),
    "tanh": Specification(mpmath.tanh, (2, 2), (*_LINE, (-20, 20))),
    "asinh": Specification(mpmath.asinh, (4, 2), _LINE),
    "acosh": Specification(mpmath.acosh, (4, 2), ((1, 3),), (1.0,), (1.0, np.inf)),
    "atanh": Specification(mpmath.atanh, (3, 2), (_UNIT,), (0.0, 1.0, -1.0), _UNIT),
    "rsqrt": Specification(lambda x: 1 / mpmath.sqrt(x), (2, 1.5), ((0, 4),), (), _POSITIVE),
    "cbrt": Specification(_cbrt, (2, 2), _LINE),
    "erf": Specification(mpmath.erf, (2, 2), _LINE, (0.0, 1.0)),
    "erfc": Specification(
        mpmath.erfc, (4, 5), (*_LINE, (0, 10), (0, 26.5)), (0.0, 0.25), (-30.0, 30.0)
    ),
    "lgamma": Specification(  # it has zeros below -2
        _real_log_gamma, (6, 4), ((-2, 0), (0, 20)), (0.0, 1.0, 2.0), (-2.0, np.inf)
    ),
    "tgamma": Specification(
        mpmath.gamma, (11, 10), ((-5, 5), (-40, 35), (-184, 171)), (0.0,), (-190.0, 180.0)
    ),
    "pow": Specification(mpmath.power, (4, 2), ((0.1, 10), (0.9, 1.1)), (1.0,), _POSITIVE, 2),
    "atan2": Specification(mpmath.atan2, (3, 2), _LINE, (0.0,), arity=2),
    "hypot": Specification(mpmath.hypot, (3, 2), _LINE, (0.0,), arity=2),
}


# What IEEE 754 rounds correctly; every device computes these itself
ARITHMETIC: dict[str, Specification] = {
    "add": Specification(lambda x, y: x + y, (0.5, 0.5), _LINE, arity=2),
    "subtract": Specification(lambda x, y: x - y, (0.5, 0.5), _LINE, arity=2),
    "multiply": Specification(lambda x, y: x * y, (0.5, 0.5), _LINE, arity=2),
    "divide": Specification(lambda x, y: x / y, (0.5, 0.5), _LINE, arity=2),
    "sqrt": Specification(mpmath.sqrt, (0.5, 0.5), ((0, 4),), (), _POSITIVE),
    "reciprocal": Specification(lambda x: 1 / x, (0.5, 0.5), _LINE),
}

_FAST_LIMITS = {
    **{"exp": 4, "exp2": 4, "log": 2, "log2": 3, "log10": 3, "tanh": 4},
    **{"erf": 4, "erfc": 8, "pow": 40, "rsqrt": 3},
}

# float32; subnormal arguments and results do not count
FAST_SPECIFICATIONS: dict[str, Specification] = {
    **{n: replace(SPECIFICATIONS[n], limits=(limit, 0)) for n, limit in _FAST_LIMITS.items()},
    "sin": Specification(mpmath.sin, (2, 0), _TURNS, _HALF_PI[:-1], (-1e5, 1e5)),
    "cos": Specification(mpmath.cos, (2, 0), _TURNS, _HALF_PI[:-1], (-1e5, 1e5)),
    "sqrt": Specification(mpmath.sqrt, (3, 0), ((0, 4),), (), _POSITIVE),
    "divide": Specification(
        lambda x, y: x / y, (3, 0), _LINE, (0.0,), (-(2.0**126), 2.0**126), arity=2
    ),
}


def specification_of(name: str) -> Specification:
    """What strict numerics promise of a function."""
    return ARITHMETIC.get(name) or SPECIFICATIONS[name]


def draw(name: str, dtype: Any, count: int, seed: int = 0) -> list[Array]:
    """Arguments for a function: `count` or a few more, finite and in its domain."""
    return _draw(name, specification_of(name), dtype, count, seed)


def draw_fast(name: str, count: int, seed: int = 0) -> list[Array]:
    """Arguments for a function of numerics="fast"."""
    drawn = _draw(name, FAST_SPECIFICATIONS[name], np.float32, count, seed)
    usable = np.all([(x == 0) | (abs(x) >= np.finfo(np.float32).tiny) for x in drawn], axis=0)
    return [x[usable] for x in drawn]


def _draw(
    name: str, specification: Specification, dtype: Any, count: int, seed: int
) -> list[Array]:
    rng = np.random.default_rng(seed)
    parts = 1 + len(specification.even) + len(specification.near)
    first = _draw_one(specification, dtype, -(-count // parts), rng)
    if specification.arity == 1:
        return [first]
    if name != "pow":
        return [first, rng.permutation(first)]
    with np.errstate(all="ignore"):  # results spread over all exponents
        exponents = rng.uniform(np.finfo(dtype).minexp, np.finfo(dtype).maxexp, first.size)
        second = (exponents / np.log2(first.astype(np.float64))).astype(dtype)
    usable = np.isfinite(second)
    return [first[usable], second[usable]]


def _draw_one(
    specification: Specification, dtype: Any, count: int, rng: np.random.Generator
) -> Array:
    kind = np.dtype(dtype)
    bits = rng.integers(0, 1 << 8 * kind.itemsize, count, dtype=f"u{kind.itemsize}").view(kind)
    evenly = [rng.uniform(*bounds, count) for bounds in specification.even]
    steps = 2.0 ** rng.uniform(np.finfo(kind).minexp // 8, -2, count) * rng.choice([-1, 1], count)
    closely = [point + np.where(point, abs(point), 1.0) * steps for point in specification.near]
    with np.errstate(all="ignore"):
        drawn = np.concatenate([bits, *evenly, *closely, specification.near]).astype(kind)
    low, high = specification.domain
    kept: Array = drawn[np.isfinite(drawn) & (drawn >= low) & (drawn <= high)]
    return kept


def errors_of(name: str, results: Array, arguments: list[Array]) -> Array:
    """Distance of every result from the true value, in units in the last place of that."""
    return _errors(specification_of(name).exact, results, arguments)


def fast_errors_of(name: str, results: Array, arguments: list[Array]) -> Array:
    """The same for numerics="fast", where subnormal values may become zeros."""
    smallest = np.finfo(np.float32).tiny.item()
    return _errors(FAST_SPECIFICATIONS[name].exact, results, arguments, smallest)


def _errors(
    exact: Callable[..., Any], results: Array, arguments: list[Array], smallest: float = 0.0
) -> Array:
    pairs = zip(results.tolist(), *(argument.tolist() for argument in arguments), strict=True)
    found = [_error(result, exact, values, results.dtype, smallest) for result, *values in pairs]
    return np.array(found)


def _error(result: float, exact: Any, values: list[float], dtype: Any, smallest: float) -> float:
    try:
        true = exact(*map(mpmath.mpf, values))
    except (ValueError, ZeroDivisionError):
        return 0.0  # a pole: the tests of special values see to it
    if not mpmath.isfinite(true) or isinstance(true, mpmath.mpc):
        return 0.0
    info = np.finfo(dtype)
    if abs(true) < smallest:
        return 0.0 if abs(result) <= smallest else np.inf
    if np.isinf(result):  # right if the true value rounds to it, wrong by all otherwise
        return 0.0 if abs(true) > mpmath.mpf(float(info.max)) * (1 - info.eps) else np.inf
    exponent = max(int(mpmath.frexp(true)[1]) - 1, info.minexp) if true else info.minexp
    return float(abs(true - mpmath.mpf(result)) / mpmath.ldexp(1, exponent - info.nmant))


_NUMPY_NAMES = {"asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh"} | {
    "acosh": "arccosh",
    "atanh": "arctanh",
}


def dense_error(name: str, device: str) -> float:
    """Worst error of float32 on every 256th bit pattern; NaN where NumPy lacks the function."""
    reference = getattr(np, _NUMPY_NAMES.get(name, name), None)
    if reference is None or specification_of(name).arity > 1:
        return np.nan
    x = np.arange(85, 1 << 32, 256, dtype=np.uint64).astype(np.uint32).view(np.float32)
    x = x[np.isfinite(x)]
    with np.errstate(all="ignore"):
        true = reference(x.astype(np.float64))
        result = getattr(lb, name)(lb.asarray(x, device=device)).numpy()
        unit = np.ldexp(1.0, np.maximum(np.frexp(true)[1] - 1, -126) - 23)
        error = np.abs(result - true) / unit
        same = (result == true.astype(np.float32)) | (np.isnan(result) & np.isnan(true))
    return float(np.where(same, 0.5, error).max())
