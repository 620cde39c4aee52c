"""What the namespace tells about itself, by the array API standard."""

from __future__ import annotations

from typing import Any

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.tracer.data_types import isdtype
from lazyblock.tracer.stages import pipeline

__all__ = ["__array_api_version__", "__array_namespace_info__"]

__array_api_version__ = "2025.12"

_NAMES = """
    bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128
"""
_MOST_AXES = 64  # NumPy's limit, which host functions and results have


class NamespaceInfo:
    """Capabilities, devices and dtypes. `lb.__array_namespace_info__()` gives one."""

    def capabilities(self) -> dict[str, Any]:
        """What depends on the library: boolean masks, shapes that depend on data, axes."""
        return {
            "boolean indexing": True,
            "data-dependent shapes": True,
            "max dimensions": _MOST_AXES,
        }

    def default_device(self) -> str:
        """Name of the device that new arrays go to."""
        return pipeline.default_device()

    def devices(self) -> tuple[str, ...]:
        """Names of the devices of this machine."""
        return pipeline.device_names()

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """Dtypes of new arrays, by kind."""
        return {
            "real floating": dtypes.float64,
            "complex floating": dtypes.complex128,
            "integral": dtypes.int64,
            "indexing": dtypes.int64,
        }

    def dtypes(
        self, *, device: str | None = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, DType]:
        """The standard's dtypes (of a kind, as `isdtype` has it), by name."""
        supported = {dtype.name: dtype for dtype in dtypes.SUPPORTED}
        found = {name: supported[name] for name in _NAMES.split() if name in supported}
        return {n: dtype for n, dtype in found.items() if kind is None or isdtype(dtype, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """Capabilities, devices and dtypes of this namespace."""
    return NamespaceInfo()
