"""NumPy's objects that make arrays when they are indexed: `lb.mgrid[0:3]`, `lb.r_[x, 0, 1:4]`.

Lazy arrays among the keys evaluate.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyblock.tracer.host_functions import evaluate_in_numpy

__all__ = ["c_", "mgrid", "ogrid", "r_"]


class Grid:
    """One of NumPy's, with lazy arrays for its results."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getitem__(self, key: Any) -> Any:
        def pick(key: Any) -> Any:
            return getattr(np, self._name)[key]

        pick.__name__ = self._name
        return evaluate_in_numpy(pick, key)


c_, mgrid, ogrid, r_ = map(Grid, __all__)
