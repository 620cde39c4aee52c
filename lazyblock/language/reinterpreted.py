"""`reinterpret`: a tensor that kernels see with another type of its elements."""

from __future__ import annotations

from typing import Any

from lazyblock.errors import LaunchError
from lazyblock.language.dtypes import dtype as Type


class TensorWrapper:
    """`base` with elements of `dtype`; other attributes are the base's."""

    def __init__(self, base: Any, dtype: Type) -> None:
        self.base = base
        self.dtype = dtype

    def data_ptr(self) -> int:
        return int(self.base.data_ptr())

    def __getattr__(self, name: str) -> Any:
        if name == "base":
            raise AttributeError(name)
        return getattr(self.base, name)

    def __repr__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor: Any, dtype: Type) -> Any:
    """The same memory with elements of `dtype`, for kernel launches; of torch's tensors.

    Raises: LaunchError for what has no `data_ptr`.
    """
    base = tensor.base if isinstance(tensor, TensorWrapper) else tensor
    if not hasattr(base, "data_ptr"):
        raise LaunchError(
            f"'reinterpret' takes tensors with a data_ptr, got a {type(base).__name__}.",
            hint="NumPy arrays have x.view(dtype).",
        )
    return base if dtype == base.dtype else TensorWrapper(base, dtype)
