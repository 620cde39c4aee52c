"""Small launches on the CPU as builtins of the interpreter: calling the kernel, nothing else."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from functools import cache

from lazyblock.backend.runtime.builtin import ONE_ARGUMENT, Builtin, address_of

_MODULE = """
define ptr @launch(ptr %own, ptr %slots.object) {{
  %fields = call ptr inttoptr (i64 {as_string} to ptr)(ptr %own)
  %slots = call ptr inttoptr (i64 {as_string} to ptr)(ptr %slots.object)
  %total.place = getelementptr i64, ptr %fields, i64 1
  %entry = load ptr, ptr %fields, align 1
  %total = load i64, ptr %total.place, align 1
  call void %entry(ptr %slots, i64 0, i64 %total)
  call void inttoptr (i64 {hold} to ptr)(ptr inttoptr (i64 {none} to ptr))
  ret ptr inttoptr (i64 {none} to ptr)
}}
"""


@cache
def _launcher() -> Builtin:
    text = _MODULE.format(
        as_string=address_of(ctypes.pythonapi.PyBytes_AsString),
        hold=address_of(ctypes.pythonapi.Py_IncRef),
        none=id(None),
    )
    return Builtin(text, "launch", ONE_ARGUMENT)


def bind_launch(entry: int, total: int) -> Callable[[bytes], None]:
    """What runs all `total` program instances of the kernel at address `entry` on its slots."""
    launch: Callable[[bytes], None] = _launcher().bind(struct.pack("<Qq", entry, total))
    return launch
