"""Memory of this process around an address, for kernels that Python runs on tables of addresses.

What array an address came from is not known, so bounds are those of the mapped region: accesses
beyond an array may go unnoticed, but none brings the process down.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_MAPS = Path("/proc/self/maps")


def find_mapped_memory(address: int) -> npt.NDArray[Any] | None:
    """The bytes of the mapped region that `address` lies in; None where there is none."""
    if not _MAPS.exists():
        return None
    for line in _MAPS.read_text().splitlines():
        extent, permissions, *_ = line.split()
        start, end = (int(text, 16) for text in extent.split("-"))
        if start <= address < end and "r" in permissions:
            region = (ctypes.c_uint8 * (end - start)).from_address(start)
            return np.ctypeslib.as_array(region)
    return None
