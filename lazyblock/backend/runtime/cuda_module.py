"""PTX or cubins loaded by the driver, which compiles PTX and keeps the machine code itself.

Its own disk cache (CUDA_CACHE_PATH, keyed on text and driver) makes the next process load in less
than a millisecond. Cubins of ours, linked through the driver, are worse code: docs/decisions/0007.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazyblock.backend.runtime.cuda_driver import STICKY_ERRORS, driver, make_error

Check = Callable[[Sequence[Any], str], Any]  # (status, values...), what was tried -> values

_CUBIN_START = b"\x7fELF"
_LOG_BYTES = 1 << 16


def load(image: bytes, name: str, check: Check) -> tuple[Any, str]:
    """The module of a cubin or of PTX, and what the compiler said ("" for code it had kept).

    Needs a current context and a `check` that turns the driver's answers into values or errors.
    Raises: CompileError with the driver's log.
    """
    option = driver.CUjit_option
    log, errors = bytearray(_LOG_BYTES), bytearray(_LOG_BYTES)
    options = {
        option.CU_JIT_INFO_LOG_BUFFER: log,
        option.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
        option.CU_JIT_ERROR_LOG_BUFFER: errors,
        option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
        option.CU_JIT_LOG_VERBOSE: 1,
    }
    action = f"load kernel '{name}'"
    arguments = len(options), list(options), list(options.values())
    answer = driver.cuModuleLoadDataEx(_terminated(image), *arguments)
    if answer[0] and int(answer[0]) not in STICKY_ERRORS:
        raise make_error(int(answer[0]), action, _read_log(errors))
    return check(answer, action), _read_log(log)


def _read_log(buffer: bytearray) -> str:
    return buffer.split(b"\0", 1)[0].decode(errors="replace").strip()


def _terminated(image: bytes) -> bytes:
    """PTX text must end with a zero byte; a cubin is taken as it is."""
    is_whole = image.startswith(_CUBIN_START) or image.endswith(b"\0")
    return image if is_whole else image + b"\0"
