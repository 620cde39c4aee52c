"""PTX made machine code by the driver's compiler and loaded; the machine code is kept on disk.

Loading a kept cubin takes about 3 ms, compiling PTX 10 to 900. All functions need a current context
and a `check` that turns the driver's answers into values or errors.
"""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from lazyblock.backend import cache
from lazyblock.backend.runtime.cuda_driver import STICKY_ERRORS, driver, make_error
from lazyblock.errors import CompileError

Check = Callable[[Sequence[Any], str], Any]  # (status, values...), what was tried -> values

_CUBIN_START = b"\x7fELF"
_LOST_BY_LINKING = b"setmaxnreg"
_LOG_BYTES = 1 << 16


class _Jit:
    """Options of the driver's compiler, and the logs it writes."""

    def __init__(self) -> None:
        option = driver.CUjit_option
        self._log, self._errors = bytearray(_LOG_BYTES), bytearray(_LOG_BYTES)
        options = {
            option.CU_JIT_INFO_LOG_BUFFER: self._log,
            option.CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
            option.CU_JIT_ERROR_LOG_BUFFER: self._errors,
            option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
            option.CU_JIT_LOG_VERBOSE: 1,
        }
        self.arguments = len(options), list(options), list(options.values())

    @property
    def log(self) -> str:
        return _read_log(self._log)

    def check(self, answer: Sequence[Any], action: str, check: Check) -> Any:
        """As `check`; errors come with the compiler's log."""
        if answer[0] and int(answer[0]) not in STICKY_ERRORS:
            raise make_error(int(answer[0]), action, _read_log(self._errors))
        return check(answer, action)


def _read_log(buffer: bytearray) -> str:
    return buffer.split(b"\0", 1)[0].decode(errors="replace").strip()


def load(image: bytes, name: str, arch: str, check: Check) -> tuple[Any, str]:
    """The module of a cubin or of PTX, which is compiled once for all processes, and its log.

    Raises: CompileError with the driver's log.
    """
    if image.startswith(_CUBIN_START) or _LOST_BY_LINKING in image:
        return _load_image(image, name, check)
    key = _cubin_key(image, arch, check)
    found = cache.find_image(key)
    if found:
        try:
            return _load_image(found.data, name, check)[0], found.log
        except CompileError:
            pass  # not for this driver after all
    cubin, log = link(image, name, check)
    cache.keep_image(key, cache.Image(cubin, log))
    return _load_image(cubin, name, check)[0], log


def _cubin_key(ptx: bytes, arch: str, check: Check) -> str:
    version = check(driver.cuDriverGetVersion(), "tell the driver's version")
    return hashlib.sha256(f"cubin\0{version}\0{arch}\0".encode() + ptx).hexdigest()


def _load_image(image: bytes, name: str, check: Check) -> tuple[Any, str]:
    jit = _Jit()
    answer = driver.cuModuleLoadDataEx(_terminated(image), *jit.arguments)
    module = jit.check(answer, f"load kernel '{name}'", check)
    return module, jit.log


def link(ptx: bytes, name: str, check: Check) -> tuple[bytes, str]:
    """The cubin of a PTX text and the compiler's log.

    Not for kernels that use setmaxnreg, which linking may lose.
    Raises: CompileError with the driver's log.
    """
    jit = _Jit()
    action = f"compile kernel '{name}'"
    text = _terminated(ptx)
    state = check(driver.cuLinkCreate(*jit.arguments), action)
    try:
        kind = driver.CUjitInputType.CU_JIT_INPUT_PTX
        added = driver.cuLinkAddData(state, kind, text, len(text), name.encode(), 0, [], [])
        jit.check(added, action, check)
        address, size = jit.check(driver.cuLinkComplete(state), action, check)
        return ctypes.string_at(int(address), int(size)), jit.log
    finally:
        driver.cuLinkDestroy(state)


def _terminated(image: bytes) -> bytes:
    """PTX text must end with a zero byte; a cubin is taken as it is."""
    is_whole = image.startswith(_CUBIN_START) or image.endswith(b"\0")
    return image if is_whole else image + b"\0"
