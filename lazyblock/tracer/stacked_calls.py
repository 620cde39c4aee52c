"""NumPy's functions of stacked matrices or signals, recorded as host calls.

What they give, and which mistakes they refuse, NumPy itself is asked when they are recorded: for a
stack of none, which takes no time.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from lazyblock.tracer.array import Array
from lazyblock.tracer.host_calls import host_call


def stacked_call(
    function: Callable[..., Any], arrays: Sequence[Array], **settings: Hashable
) -> list[Array]:
    """Record a function of stacks: further axes in front do not change what it does.

    Raises: what it raises.
    """
    nothing = [np.empty((0, *array.shape), array.dtype) for array in arrays]
    with np.errstate(all="ignore"):
        given = function(*nothing, **settings)
    found = given if isinstance(given, tuple) else (given,)
    results = [(result.shape[1:], result.dtype) for result in found]
    return host_call(function, arrays, results, **settings)
