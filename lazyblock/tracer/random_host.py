"""Distributions that NumPy draws, on the host, for a generator: see random_source.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import ValueRangeError
from lazyblock.tracer.array import Array
from lazyblock.tracer.host_functions import to_host
from lazyblock.tracer.random_source import Size, Source, check_parameters


class HostDistributions(Source):
    """The distributions of NumPy's Generator that need rejection."""

    def _numbers(self, name: str, parameters: tuple[Any, ...], size: Size, is_count: bool) -> Array:
        check_parameters(name, *parameters)
        dtype = dtypes.int64 if is_count else dtypes.float64
        return self._on_host(name, parameters, size, dtype)

    def standard_gamma(self, shape: Any, size: Size = None) -> Array:
        return self._numbers("standard_gamma", (shape,), size, False)

    def gamma(self, shape: Any, scale: Any = 1.0, size: Size = None) -> Array:
        return self._numbers("gamma", (shape, scale), size, False)

    def beta(self, a: Any, b: Any, size: Size = None) -> Array:
        return self._numbers("beta", (a, b), size, False)

    def chisquare(self, df: Any, size: Size = None) -> Array:
        return self._numbers("chisquare", (df,), size, False)

    def noncentral_chisquare(self, df: Any, nonc: Any, size: Size = None) -> Array:
        return self._numbers("noncentral_chisquare", (df, nonc), size, False)

    def f(self, dfnum: Any, dfden: Any, size: Size = None) -> Array:
        return self._numbers("f", (dfnum, dfden), size, False)

    def noncentral_f(self, dfnum: Any, dfden: Any, nonc: Any, size: Size = None) -> Array:
        return self._numbers("noncentral_f", (dfnum, dfden, nonc), size, False)

    def standard_t(self, df: Any, size: Size = None) -> Array:
        return self._numbers("standard_t", (df,), size, False)

    def vonmises(self, mu: Any, kappa: Any, size: Size = None) -> Array:
        return self._numbers("vonmises", (mu, kappa), size, False)

    def wald(self, mean: Any, scale: Any, size: Size = None) -> Array:
        return self._numbers("wald", (mean, scale), size, False)

    def poisson(self, lam: Any = 1.0, size: Size = None) -> Array:
        return self._numbers("poisson", (lam,), size, True)

    def binomial(self, n: Any, p: Any, size: Size = None) -> Array:
        return self._numbers("binomial", (n, p), size, True)

    def negative_binomial(self, n: Any, p: Any, size: Size = None) -> Array:
        return self._numbers("negative_binomial", (n, p), size, True)

    def hypergeometric(self, ngood: Any, nbad: Any, nsample: Any, size: Size = None) -> Array:
        return self._numbers("hypergeometric", (ngood, nbad, nsample), size, True)

    def logseries(self, p: Any, size: Size = None) -> Array:
        return self._numbers("logseries", (p,), size, True)

    def zipf(self, a: Any, size: Size = None) -> Array:
        return self._numbers("zipf", (a,), size, True)

    # of rows

    def dirichlet(self, alpha: Any, size: Size = None) -> Array:
        """Rows of shares that sum to 1."""
        alpha = np.asarray(to_host(alpha, "random"), np.float64)
        return self._on_host("dirichlet", (alpha,), size, dtypes.float64, alpha.shape)

    def multinomial(self, n: int, pvals: Any, size: Size = None) -> Array:
        """Rows of counts that sum to `n`."""
        shares = np.asarray(to_host(pvals, "random"), np.float64)
        return self._on_host("multinomial", (n, shares), size, dtypes.int64, shares.shape)

    def multivariate_hypergeometric(
        self, colors: Any, nsample: int, size: Size = None, method: str = "marginals"
    ) -> Array:
        """Rows of counts of each color among `nsample` items that are taken away."""
        items = np.asarray(to_host(colors, "random"))
        if method not in ("marginals", "count"):
            raise ValueRangeError('method must be "count" or "marginals".')
        given = items, nsample
        return self._on_host("multivariate_hypergeometric", given, size, dtypes.int64, items.shape)

    def multivariate_normal(self, mean: Any, cov: Any, size: Size = None) -> Array:
        """Rows of normal numbers with these means and covariances."""
        centre, spread = (np.asarray(to_host(x, "random"), np.float64) for x in (mean, cov))
        given = centre, spread
        return self._on_host("multivariate_normal", given, size, dtypes.float64, centre.shape)
