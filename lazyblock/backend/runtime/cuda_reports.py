"""What a kernel on a GPU tells: lines that it prints, and the assertion that failed first.

Failures lie in a variable of the module, the texts of its assertions in another. A kernel that may
tell something is waited for: its lines come out then, and its failure is raised.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lazyblock.backend.llvm.reports import ASSERTIONS, FAILURE, FAILURE_FIELDS
from lazyblock.backend.runtime.cuda_module import Check
from lazyblock.errors import LaunchError
from lazyblock.lazy_imports import lazy_import
from lazyblock.tiler.ops.debug import describe_failure

driver = lazy_import("cuda.bindings.driver")

_PRINTS = b"vprintf"
Synchronize = Callable[[], None]


@dataclass(frozen=True)
class Reports:
    """A loaded kernel's texts of assertions, and where it writes down which failed (or 0)."""

    texts: tuple[str, ...]
    failure: int

    def take(self, stream: Any, check: Check, synchronize: Synchronize) -> None:
        """Wait for the kernel. Raises: LaunchError for the assertion that failed."""
        synchronize()
        ctypes.CDLL(None).fflush(None)  # the driver prints as C programs do
        if not self.failure:
            return
        fields = (ctypes.c_int32 * FAILURE_FIELDS)()
        _copy(fields, self.failure, stream, check, synchronize)
        number, *place, element = fields
        if number:
            check(
                driver.cuMemsetD8Async(self.failure, 0, ctypes.sizeof(fields), stream),
                "forget a failed assertion",
            )
            raise LaunchError(describe_failure(self.texts[number - 1], place, element))


def find_reports(
    image: bytes, module: Any, stream: Any, check: Check, synchronize: Synchronize
) -> Reports | None:
    """What a loaded module may tell; None if nothing."""
    if FAILURE.encode() not in image:
        return Reports((), 0) if _PRINTS in image else None
    failure, _ = _find(module, FAILURE, check)
    address, nbytes = _find(module, ASSERTIONS, check)
    table = ctypes.create_string_buffer(nbytes)
    _copy(table, address, stream, check, synchronize)
    return Reports(tuple(table.value.decode().split("\n")), failure)


def _find(module: Any, name: str, check: Check) -> Sequence[int]:
    """Address and bytes of a module's variable."""
    address, nbytes = check(driver.cuModuleGetGlobal(module, name.encode()), f"find '{name}'")
    return int(address), int(nbytes)


def _copy(target: Any, address: int, stream: Any, check: Check, synchronize: Synchronize) -> None:
    nbytes = ctypes.sizeof(target)
    copied = driver.cuMemcpyDtoHAsync(ctypes.addressof(target), address, nbytes, stream)
    check(copied, f"copy {nbytes} bytes from the device")
    synchronize()
