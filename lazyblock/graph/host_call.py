"""A call of a NumPy function as a value: what HOST nodes of the graph hold."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock.dtypes import DType
from lazyblock.errors import VerifyError
from lazyblock.shapes import Shape

NDArray = npt.NDArray[Any]


@dataclass(frozen=True)
class HostCall:
    """`function(*operands, **settings)`. shown: the settings in words, which tell 1 from True."""

    function: Callable[..., Any]
    settings: tuple[tuple[str, Hashable], ...]
    shown: str

    @property
    def name(self) -> str:
        """The function's module and name."""
        function = self.function
        module = getattr(function, "__module__", None) or "numpy"  # ufuncs have none
        return f"{module}.{getattr(function, '__qualname__', function.__name__)}"

    def __repr__(self) -> str:
        return f"{self.name}({self.shown})"

    def run(
        self, operands: Sequence[NDArray], results: Sequence[tuple[Shape, DType]]
    ) -> list[NDArray]:
        """Call it on arrays that it only reads.

        Raises: VerifyError when it gives other shapes or dtypes than `results`; what it raises.
        """
        with np.errstate(all="ignore"):
            given = self.function(*operands, **dict(self.settings))
        arrays = [*map(np.asarray, given if isinstance(given, tuple) else (given,))]
        found = [(array.shape, array.dtype) for array in arrays]
        if found != list(results):
            raise VerifyError(f"{self!r} gave {found}, {list(results)} was recorded.")
        return arrays


def make_host_call(function: Callable[..., Any], settings: Mapping[str, Hashable]) -> HostCall:
    """The call of a function with settings by name. Raises: TypeError for what has no hash."""
    items = tuple(sorted(settings.items()))
    hash(items)
    return HostCall(function, items, ", ".join(f"{name}={value!r}" for name, value in items))
