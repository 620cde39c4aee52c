"""Taking until the graph's own op lands."""

from __future__ import annotations

from typing import Any

import numpy as np

from lazyblock.tracer.array import Array
from lazyblock.tracer.creation import asarray


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Array:
    """Elements at places along an axis."""
    return asarray(np.take(x.numpy(), indices, axis=axis), device=x.device)
