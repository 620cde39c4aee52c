"""cuLaunchKernel as a builtin of the interpreter, made by LLVM.

A launch through cuda-python costs a microsecond more than the driver asks for. The builtin takes
two bytes objects: a launch's configuration, packed once, and the slots, at which it points the
driver (the grid's too: the driver reads as many parameters as the kernel has). It holds the GIL: a
launch is shorter than getting that back would be.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from functools import cache

from lazyblock.backend.runtime.builtin import ARGUMENTS, Builtin, address_of
from lazyblock.backend.runtime.device import Grid

Launcher = Callable[[bytes, bytes], int]  # configuration, slots -> CUresult

_CONFIGURATION = struct.Struct("<QQ5I")  # as %configuration below
_MODULE = """
%configuration = type {{ i64, i64, i32, i32, i32, i32, i32 }}

define ptr @launch(ptr %self, ptr %arguments, i64 %count) {{
entry:
  %second = getelementptr ptr, ptr %arguments, i64 1
  %configuration.object = load ptr, ptr %arguments
  %slots.object = load ptr, ptr %second
  %fields = call ptr inttoptr (i64 {as_string} to ptr)(ptr %configuration.object)
  %slots = call ptr inttoptr (i64 {as_string} to ptr)(ptr %slots.object)
  %bytes = call i64 inttoptr (i64 {size} to ptr)(ptr %slots.object)
  %num_slots = udiv i64 %bytes, 8
  %c = load %configuration, ptr %fields, align 1
  %function = extractvalue %configuration %c, 0
  %stream = extractvalue %configuration %c, 1
  %x = extractvalue %configuration %c, 2
  %y = extractvalue %configuration %c, 3
  %z = extractvalue %configuration %c, 4
  %threads = extractvalue %configuration %c, 5
  %shared = extractvalue %configuration %c, 6
  %array = alloca ptr, i64 %num_slots
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp ult i64 %i, %num_slots
  br i1 %more, label %body, label %call
body:
  %slot = getelementptr i64, ptr %slots, i64 %i
  %place = getelementptr ptr, ptr %array, i64 %i
  store ptr %slot, ptr %place
  %next = add i64 %i, 1
  br label %head
call:
  %status = call i32 inttoptr (i64 {launch} to ptr)(i64 %function, i32 %x, i32 %y, i32 %z,
    i32 %threads, i32 1, i32 1, i32 %shared, i64 %stream, ptr %array, ptr null)
  %wide = sext i32 %status to i64
  %result = call ptr inttoptr (i64 {from_long} to ptr)(i64 %wide)
  ret ptr %result
}}
"""


@cache
def make_launcher(driver_function: int) -> Launcher:
    """A builtin around cuLaunchKernel, or one that takes the same, which lies at this address.

    cuLaunchCooperativeKernel does; it has no last parameter, which is not missed.
    """
    text = _MODULE.format(
        as_string=address_of(ctypes.pythonapi.PyBytes_AsString),
        size=address_of(ctypes.pythonapi.PyBytes_Size),
        from_long=address_of(ctypes.pythonapi.PyLong_FromLong),
        launch=driver_function,
    )
    launcher: Launcher = Builtin(text, "launch", ARGUMENTS).bind(None)
    return launcher


def find_driver_functions() -> tuple[int, int]:
    """Where cuLaunchKernel and cuLaunchCooperativeKernel lie."""
    library = ctypes.CDLL("libcuda.so.1")
    return address_of(library.cuLaunchKernel), address_of(library.cuLaunchCooperativeKernel)


def pack_configuration(
    function: int, stream: int, grid: Grid, num_threads: int, shared_bytes: int
) -> bytes:
    """What a launcher takes first: the CUfunction, the CUstream, and the launch's shape."""
    return _CONFIGURATION.pack(function, stream, *grid, num_threads, shared_bytes)
