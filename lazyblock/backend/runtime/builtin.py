"""Functions made by LLVM as builtins of the interpreter: calling them takes a fraction of ctypes.

Their code is LLVM's text and refers to CPython's functions by address. They hold the GIL.
"""

from __future__ import annotations

import ctypes
from typing import Any

from lazyblock.backend.llvm import optimize

ONE_ARGUMENT, ARGUMENTS = 0x8, 0x80  # METH_O, METH_FASTCALL


class _MethodDef(ctypes.Structure):
    """CPython's PyMethodDef."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


class Builtin:
    """The function `name` of an LLVM module, called as CPython calls its own with `flags`."""

    def __init__(self, text: str, name: str, flags: int) -> None:
        image = optimize.to_object(text, optimize.host_target())
        addresses, library = optimize.link(image, [name])
        self._definition = _MethodDef(name.encode(), addresses[name], flags, None)
        _kept.append((self._definition, library))

    def bind(self, own: Any) -> Any:
        """The callable whose first parameter is `own`."""
        return _make(ctypes.addressof(self._definition), own, None)


_kept: list[Any] = []  # what callables point at
_make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
    ("PyCFunction_NewEx", ctypes.pythonapi)
)


def address_of(function: Any) -> int:
    """Where a function of a library lies."""
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address
    return address
