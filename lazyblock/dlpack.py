"""DLPack capsules, in ctypes: arrays in memory handed from one library to another.

Both kinds are made and read: "dltensor_versioned" (DLPack 1.x) and "dltensor" (before). A capsule
that nobody took frees what it holds. Strides and offsets count elements, as in the whole library.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from lazyblock.shapes import Shape, Strides, contiguous_strides

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13  # device types
MAX_VERSION = (1, 0)
_READ_ONLY, _IS_COPIED = 1, 2  # flags
_INT, _UINT, _FLOAT, _BFLOAT, _COMPLEX, _BOOL = 0, 1, 2, 4, 5, 6
_CODES = {"i": _INT, "u": _UINT, "f": _FLOAT, "c": _COMPLEX, "b": _BOOL}
_EXTENDED = {  # code: a dtype of ml_dtypes
    _BFLOAT: "bfloat16",
    10: "float8_e4m3fn",
    11: "float8_e4m3fnuz",
    12: "float8_e5m2",
    13: "float8_e5m2fnuz",
}
_EXTENDED_CODES = {np.dtype(getattr(ml_dtypes, name)): code for code, name in _EXTENDED.items()}


class _Device(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int32), ("id", ctypes.c_int32)]


class _DataType(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("ndim", ctypes.c_int32),
        ("dtype", _DataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32)]


class _ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("version", _Version),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


_KINDS: dict[bytes, type[_Managed | _ManagedVersioned]] = {
    b"dltensor": _Managed,
    b"dltensor_versioned": _ManagedVersioned,
}


@dataclass(frozen=True)
class Memory:
    """An array in memory. owner: keeps the memory alive. address: of the first element."""

    address: int
    shape: Shape
    strides: Strides
    dtype: np.dtype[Any]
    device: tuple[int, int]
    owner: Any
    is_read_only: bool = False
    is_copied: bool = False


# Python's C functions that take a capsule as an object or, in a destructor, as an address.

_api = ctypes.pythonapi


def _prototype(name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    return ctypes.PYFUNCTYPE(result, *arguments)((name, _api))


_Destructor = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_new_capsule = _prototype(
    "PyCapsule_New", ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)
_is_valid = _prototype("PyCapsule_IsValid", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_get_pointer = _prototype(
    "PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p
)
_set_name = _prototype("PyCapsule_SetName", ctypes.c_int, ctypes.py_object, ctypes.c_char_p)
_is_valid_at = _prototype("PyCapsule_IsValid", ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)
_pointer_at = _prototype("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)
_increment = _prototype("Py_IncRef", None, ctypes.py_object)

# Making capsules

_exported: dict[int, Any] = {}  # what capsules hold, by the address of their structure


def _drop(address: int) -> None:
    _exported.pop(address, None)


def _destroy(capsule: int) -> None:
    """Free what a capsule holds that nobody took."""
    for name, kind in _KINDS.items():
        if _is_valid_at(capsule, name):
            managed = kind.from_address(_pointer_at(capsule, name))
            if managed.deleter:
                _Deleter(managed.deleter)(ctypes.addressof(managed))


_drop_function, _destroy_function = _Deleter(_drop), _Destructor(_destroy)
_increment(_drop_function)  # consumers may call them when this module is gone
_increment(_destroy_function)


def make_capsule(memory: Memory, is_versioned: bool) -> Any:
    """A capsule for a consumer. Raises: BufferError for what it cannot say."""
    if memory.is_read_only and not is_versioned:
        raise BufferError("Read-only memory needs a consumer of DLPack 1.0 (max_version).")
    ndim = len(memory.shape)
    numbers = (ctypes.c_int64 * max(2 * ndim, 1))(*memory.shape, *memory.strides)
    start = ctypes.cast(numbers, ctypes.POINTER(ctypes.c_int64))
    behind = ctypes.cast(ctypes.addressof(numbers) + 8 * ndim, ctypes.POINTER(ctypes.c_int64))
    data = memory.address if math.prod(memory.shape) else None
    dtype = _DataType(*_describe(memory.dtype), 1)
    tensor = _Tensor(data, _Device(*memory.device), ndim, dtype, start, behind, 0)
    deleter = ctypes.cast(_drop_function, ctypes.c_void_p).value
    managed: _Managed | _ManagedVersioned
    if is_versioned:
        flags = _READ_ONLY * memory.is_read_only + _IS_COPIED * memory.is_copied
        managed = _ManagedVersioned(_Version(*MAX_VERSION), None, deleter, flags, tensor)
    else:
        managed = _Managed(tensor, None, deleter)
    address = ctypes.addressof(managed)
    _exported[address] = managed, numbers, memory.owner
    name = b"dltensor_versioned" if is_versioned else b"dltensor"
    return _new_capsule(address, name, ctypes.cast(_destroy_function, ctypes.c_void_p))


def _describe(dtype: np.dtype[Any]) -> tuple[int, int]:
    """DLPack's code and bits. Raises: BufferError."""
    code = _EXTENDED_CODES.get(dtype, _CODES.get(dtype.kind))
    if code is None:
        raise BufferError(f"DLPack has no dtype '{dtype}'.")
    return code, 8 * dtype.itemsize


# Reading capsules


class _Taken:
    """Ownership of what a capsule held."""

    def __init__(self, address: int, deleter: int | None) -> None:
        self._address, self._deleter = address, deleter

    def __del__(self) -> None:
        if self._deleter:
            _Deleter(self._deleter)(self._address)


def take_capsule(capsule: Any) -> Memory:
    """Take over what a capsule holds. Raises: BufferError for what is not understood."""
    name = next((name for name in _KINDS if _is_valid(capsule, name)), None)
    if name is None:
        raise BufferError("This DLPack capsule was used before, or is none.")
    managed: Any = _KINDS[name].from_address(_get_pointer(capsule, name))
    flags = 0
    if isinstance(managed, _ManagedVersioned):
        flags = managed.flags
        if managed.version.major > MAX_VERSION[0]:
            version = f"{managed.version.major}.{managed.version.minor}"
            raise BufferError(f"DLPack version {version} is not understood.")
    tensor = managed.tensor
    dtype = _dtype_of(tensor.dtype)  # raises while the capsule is still whole
    _set_name(capsule, _USED[name])
    shape = tuple(tensor.shape[: tensor.ndim])
    strides = tuple(tensor.strides[: tensor.ndim]) if tensor.strides else contiguous_strides(shape)
    return Memory(
        (tensor.data or 0) + tensor.byte_offset,
        shape,
        strides,
        dtype,
        (tensor.device.type, tensor.device.id),
        _Taken(ctypes.addressof(managed), managed.deleter),
        bool(flags & _READ_ONLY),
        bool(flags & _IS_COPIED),
    )


_USED = {name: b"used_" + name for name in _KINDS}  # capsules keep the address of their name


def _dtype_of(described: _DataType) -> np.dtype[Any]:
    code, bits, lanes = described.code, described.bits, described.lanes
    if lanes == 1 and code in _EXTENDED:
        extended: np.dtype[Any] = np.dtype(getattr(ml_dtypes, _EXTENDED[code]))
        return extended
    letter = next((k for k, c in _CODES.items() if c == code), None)
    if letter is None or lanes != 1 or bits % 8 or (bits, code) == (8, _FLOAT):
        raise BufferError(f"DLPack dtype (code {code}, {bits} bits, {lanes} lanes) is not known.")
    try:
        return np.dtype(f"{letter}{bits // 8}")
    except TypeError:
        raise BufferError(f"DLPack dtype (code {code}, {bits} bits) is not known.") from None


def has_negative_steps(memory: Memory) -> bool:
    """Whether an axis runs backwards, which some consumers do not survive."""
    return any(n > 1 and step < 0 for n, step in zip(memory.shape, memory.strides, strict=True))
