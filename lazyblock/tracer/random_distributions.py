"""Distributions that are expressions of uniform numbers, by inversion where there is an inverse.

Each fuses into what reads it. Parameters are numbers or arrays that broadcast.
"""

from __future__ import annotations

import math
from typing import Any

from lazyblock import dtypes
from lazyblock.tracer.arguments import deliver
from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.elementwise import cos, exp, floor, log, log1p, maximum, sqrt, tan, where
from lazyblock.tracer.random_source import Size, Source, check_parameters, float_dtype, shape_of


class Distributions(Source):
    """Continuous distributions of NumPy's Generator, and the geometric one."""

    def random(self, size: Size = None, dtype: Any = "float64", out: Any = None) -> Any:
        """Uniform in [0, 1)."""
        target = float_dtype(dtype, "random")
        drawn, _ = self._uniforms(_size_or_out(size, out), target)
        return deliver(drawn, out, "random")

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Size = None) -> Array:
        """Uniform in [low, high)."""
        check_parameters("uniform", low, high)
        drawn, _ = self._uniforms(shape_of("uniform", size, (low, high)))
        return _array(low + (high - low) * drawn)

    def standard_normal(self, size: Size = None, dtype: Any = "float64", out: Any = None) -> Any:
        """Normal with mean 0 and deviation 1 (Box and Muller's transform)."""
        target = float_dtype(dtype, "standard_normal")
        first, second = self._uniforms(_size_or_out(size, out), target)
        distance = sqrt(-2 * log1p(-first))
        return deliver(distance * cos(2 * math.pi * second), out, "standard_normal")

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Array:
        """Normal with mean `loc` and deviation `scale`."""
        check_parameters("normal", loc, scale)
        return _array(loc + scale * self.standard_normal(shape_of("normal", size, (loc, scale))))

    def lognormal(self, mean: Any = 0.0, sigma: Any = 1.0, size: Size = None) -> Array:
        """The exponential of a normal distribution."""
        check_parameters("lognormal", mean, sigma)
        drawn = self.standard_normal(shape_of("lognormal", size, (mean, sigma)))
        return exp(mean + sigma * drawn)

    def standard_exponential(
        self, size: Size = None, dtype: Any = "float64", method: str = "zig", out: Any = None
    ) -> Any:
        """Exponential with mean 1; `method` is NumPy's affair."""
        target = float_dtype(dtype, "standard_exponential")
        drawn, _ = self._uniforms(_size_or_out(size, out), target)
        return deliver(-log1p(-drawn), out, "standard_exponential")

    def exponential(self, scale: Any = 1.0, size: Size = None) -> Array:
        """Exponential with mean `scale`."""
        check_parameters("exponential", scale)
        drawn = self.standard_exponential(shape_of("exponential", size, (scale,)))
        return _array(scale * drawn)

    def _inverted(self, name: str, size: Size, *parameters: Any) -> Array:
        """Uniform numbers in (0, 1], in the shape of a distribution of `parameters`."""
        check_parameters(name, *parameters)
        drawn, _ = self._uniforms(shape_of(name, size, parameters))
        return _array(1 - drawn)

    def laplace(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Array:
        """Two exponentials back to back."""
        drawn = self._inverted("laplace", size, loc, scale)
        below, above = log(2 * drawn), -log(2 * maximum(1 - drawn, 2.0**-54))
        return _array(loc + scale * where(drawn < 0.5, below, above))

    def logistic(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Array:
        drawn = self._inverted("logistic", size, loc, scale)
        return _array(loc + scale * (log(drawn) - log(maximum(1 - drawn, 2.0**-54))))

    def gumbel(self, loc: Any = 0.0, scale: Any = 1.0, size: Size = None) -> Array:
        drawn = self._inverted("gumbel", size, loc, scale)
        return _array(loc - scale * log(maximum(-log(drawn), 2.0**-54)))

    def rayleigh(self, scale: Any = 1.0, size: Size = None) -> Array:
        return _array(scale * sqrt(-2 * log(self._inverted("rayleigh", size, scale))))

    def weibull(self, a: Any, size: Size = None) -> Array:
        return _array((-log(self._inverted("weibull", size, a))) ** (1 / _array_of(a)))

    def pareto(self, a: Any, size: Size = None) -> Array:
        """Pareto's second kind, from 0."""
        return _array(exp(-log(self._inverted("pareto", size, a)) / a) - 1)

    def power(self, a: Any, size: Size = None) -> Array:
        return _array((1 - self._inverted("power", size, a)) ** (1 / _array_of(a)))

    def standard_cauchy(self, size: Size = None) -> Array:
        drawn, _ = self._uniforms(shape_of("standard_cauchy", size, ()))
        return _array(tan(math.pi * (drawn - 0.5)))

    def triangular(self, left: Any, mode: Any, right: Any, size: Size = None) -> Array:
        check_parameters("triangular", left, mode, right)
        drawn, _ = self._uniforms(shape_of("triangular", size, (left, mode, right)))
        left, mode, right = map(_array_of, (left, mode, right))
        base = right - left
        rising = left + sqrt(drawn * base * (mode - left))
        falling = right - sqrt((1 - drawn) * base * (right - mode))
        return where(drawn * base < mode - left, rising, falling)

    def geometric(self, p: Any, size: Size = None) -> Array:
        """How many trials until the first success, as int64."""
        drawn = self._inverted("geometric", size, p)
        trials = _array(floor(log(drawn) / log1p(-_array_of(p))) + 1)
        return trials.astype(dtypes.int64)


def _array_of(value: Any) -> Any:
    """A parameter as a number or an array, never a list."""
    return value if isinstance(value, (int, float)) else to_array(value)


def _array(value: Any) -> Array:
    assert isinstance(value, Array)
    return value


def _size_or_out(size: Size, out: Any) -> Any:
    if size is None and out is not None:
        return out.shape
    return shape_of("out", size, ())
