"""What kernels on the host print, and which of their assertions failed.

They call back: with a line's format and its values one behind the other in memory, or with an
assertion's text, the instance's coordinates and the element's number. Nothing is raised into them.
"""

from __future__ import annotations

import ctypes
import re
import struct
import sys
import threading

from lazyblock.backend.llvm.reports import FAIL, PRINT
from lazyblock.errors import LaunchError
from lazyblock.tiler.ops.debug import CONVERSION, describe_failure, format_line

_Callback = ctypes.CFUNCTYPE(None, ctypes.c_char_p, ctypes.c_void_p)
_lock = threading.Lock()
_failures: list[str] = []


def read_line(line: str, address: int) -> str:
    """A line with values that lie in memory, each aligned to its size."""
    values: list[int | float] = []
    offset = 0
    for match in CONVERSION.finditer(line):
        if match[0] == "%%":
            continue
        code = _code(match)
        nbytes = struct.calcsize(code)
        offset = -(-offset // nbytes) * nbytes
        values.append(struct.unpack(code, ctypes.string_at(address + offset, nbytes))[0])
        offset += nbytes
    return format_line(line, values)


def _code(match: re.Match[str]) -> str:
    wide, kind = match.groups()
    if kind == "f":
        return "d"
    code = "q" if wide else "i"
    return code if kind == "i" else code.upper()


def raise_failures(kernel: str) -> None:
    """Raise LaunchError for the first failure that a kernel has told."""
    start = f"Kernel '{kernel}':"
    with _lock:
        found = [text for text in _failures if text.startswith(start)]
        _failures[:] = [text for text in _failures if not text.startswith(start)]
    if found:
        raise LaunchError(found[0])


# --- what code for the host calls ----------------------------------------------------------------


def _print(line: bytes, arguments: int) -> None:
    sys.stdout.write(read_line(line.decode(), arguments))


def _fail(text: bytes, arguments: int) -> None:
    *place, element = struct.unpack("4i", ctypes.string_at(arguments, 16))
    with _lock:
        _failures.append(describe_failure(text.decode(), place, element))


_CALLBACKS = {PRINT: _Callback(_print), FAIL: _Callback(_fail)}


def host_symbols() -> dict[str, int]:
    """Addresses of what kernels on the host may call."""
    addresses = {name: ctypes.cast(f, ctypes.c_void_p).value for name, f in _CALLBACKS.items()}
    return {name: address for name, address in addresses.items() if address}
