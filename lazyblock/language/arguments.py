"""Arguments of a launch: their kinds, and the numbers for a kernel's slots.

A reader per parameter turns an argument into its kind and into *leaves*, one number per parameter
of the program. Reading is all that a repeated launch does in Python, so it is kept short.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from lazyblock.errors import ArgumentRangeError, DTypeError
from lazyblock.language import dtypes
from lazyblock.language.array_arguments import (
    PROTOCOLS,
    Leaves,
    Reader,
    dtype_named,
    read_host_array,
)
from lazyblock.language.constexpr import constexpr
from lazyblock.language.function import KernelFunction, Parameter
from lazyblock.language.kinds import (
    ALIGNMENT,
    ANYWHERE,
    CONSTANT,
    TUPLE,
    Kind,
    is_pointer,
    plain_constant,
)
from lazyblock.tiler.call import ArrayNumber
from lazyblock.tiler.types import to_numpy

Bound = tuple[tuple[Any, ...], tuple[Kind, ...], Leaves, dict[str, Any]]


# --- numbers -------------------------------------------------------------------------------------


def _read_int(value: int, leaves: Leaves) -> Kind:
    leaves.slots.append(value)
    leaves.values.append(value)
    if -0x80000000 <= value < 0x80000000:
        return "i32" if value % ALIGNMENT else "i32 16"
    return _wide_kind(value)


def _wide_kind(value: int) -> str:
    suffix = "" if value % ALIGNMENT else " 16"
    if -(1 << 63) <= value < 1 << 63:
        return f"i64{suffix}"
    if 0 <= value < 1 << 64:
        return f"u64{suffix}"
    raise ArgumentRangeError(f"The argument {value} does not fit into 64 bits.")


def _read_float(value: float, leaves: Leaves) -> Kind:
    leaves.add(value, value)
    return "fp32"


def _read_bool(value: bool, leaves: Leaves) -> Kind:
    leaves.add(value, value)
    return "i1"


def _read_numpy_scalar(value: Any, leaves: Leaves) -> Kind:
    """NumPy's numbers count as Python's."""
    return find_reader(type(value.item()))(value.item(), leaves)


# --- what a kernel is compiled for ---------------------------------------------------------------


def read_constant(value: Any, leaves: Leaves) -> Kind:
    """A value that the kernel is compiled for. Raises: DTypeError if it cannot be part of a key."""
    kind = value.__class__
    if kind is int or kind is bool or value is None or kind is str:
        return CONSTANT, kind, value
    return _constant_kind(value)


def _constant_kind(value: Any) -> Kind:
    while isinstance(value, constexpr):
        value = value.value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return CONSTANT, float, value.hex()  # tells -0.0 from 0.0, finds NaN again
    if isinstance(value, (list, tuple)):
        return CONSTANT, type(value), tuple(map(_constant_kind, value))
    if isinstance(value, (np.ndarray, dict, set)) or hasattr(value, "__lazyblock_memory__"):
        raise DTypeError(f"A {type(value).__name__} cannot be a constexpr argument.")
    try:
        hash(value)
    except TypeError:
        raise DTypeError(f"A {type(value).__name__} cannot be a constexpr argument.") from None
    return CONSTANT, type(value), value


def _read_tuple(value: Any, leaves: Leaves) -> Kind:
    kinds = tuple([find_reader(type(item))(item, leaves) for item in value])
    is_named = hasattr(value, "_fields")  # lists, torch.Size: as plain tuples
    return TUPLE, type(value) if is_named else tuple, kinds


class Example:
    """Stands for an array of `dtype` where a kernel is only compiled."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype


def as_example(value: Any) -> Any:
    """What stands for an argument of `warmup`: dtypes for arrays of them, mocks without memory."""
    kind = type(value)
    if isinstance(value, (dtypes.dtype, np.dtype)) or str(kind) == "<class 'torch.dtype'>":
        return Example(value)
    if isinstance(value, type) and issubclass(value, np.generic):
        return Example(np.dtype(value))
    has_memory = kind in _readers or any(hasattr(kind, name) for name in PROTOCOLS)
    if hasattr(value, "dtype") and not has_memory and not isinstance(value, np.generic):
        return Example(value.dtype)
    return value


def _read_example(example: Example, leaves: Leaves) -> Kind:
    dtype = example.dtype
    if isinstance(dtype, dtypes.dtype):
        dtype = to_numpy(dtype.ir)
    if not isinstance(dtype, np.dtype):
        dtype = dtype_named(dtype)
    leaves.add(0, example)
    return dtype, True, ANYWHERE


def _read_array_number(argument: ArrayNumber, leaves: Leaves) -> Kind:
    leaves.add(argument, argument)
    return argument.dtype, True, ANYWHERE


def _read_parts(value: Any, leaves: Leaves) -> Kind:
    """An argument that a kernel makes of others, such as a tensor descriptor."""
    make, parts = value.__lazyblock_parts__()
    return TUPLE, make, tuple([find_reader(type(item))(item, leaves) for item in parts])


# --- readers by type -----------------------------------------------------------------------------

_readers: dict[type, Reader] = {
    np.ndarray: read_host_array,
    int: _read_int,
    float: _read_float,
    bool: _read_bool,
    type(None): read_constant,
    str: read_constant,
    tuple: _read_tuple,
    list: _read_tuple,
    constexpr: read_constant,
    Example: _read_example,
    ArrayNumber: _read_array_number,
}


def read_argument(value: Any, leaves: Leaves) -> Kind:
    """Read an argument of a parameter that is not annotated."""
    reader = _readers.get(value.__class__)
    return (find_reader(value.__class__) if reader is None else reader)(value, leaves)


def find_reader(kind: type) -> Reader:
    """How arguments of a type are read. Raises: DTypeError for types no kernel takes."""
    reader = _readers.get(kind)
    if reader is None:
        reader = _readers[kind] = _choose_reader(kind)
    return reader


def _choose_reader(kind: type) -> Reader:
    by_class: dict[Any, Reader] = {
        np.ndarray: read_host_array,
        np.generic: _read_numpy_scalar,
        bool: _read_bool,
        int: _read_int,
        float: _read_float,
        (tuple, list): _read_tuple,
        (KernelFunction, dtypes.dtype, np.dtype, type, str, constexpr): read_constant,
    }
    for base, reader in by_class.items():
        if issubclass(kind, base):
            return reader
    if hasattr(kind, "__lazyblock_parts__"):
        return _read_parts
    for name, reader in PROTOCOLS.items():
        if hasattr(kind, name):
            return reader
    if hasattr(kind, "__qualname__") and "__call__" in dir(kind):  # a function
        return read_constant
    raise DTypeError(
        f"A kernel cannot take an argument of type {kind.__name__}.",
        note="arguments are arrays, numbers, None, tuples, dtypes, functions and constexprs.",
    )


# --- readers by annotation -----------------------------------------------------------------------


def make_reader(parameter: Parameter, is_specialised: bool) -> Reader:
    """How the arguments of one parameter are read.

    is_specialised: whether kernels may rely on the alignment of its arguments.
    """
    if parameter.is_constexpr:
        return read_constant
    forced = parameter.dtype
    read: Reader
    if forced is None:
        read = read_argument
    else:
        read = _unless_none((_read_as_pointer if forced.is_ptr() else _read_as_number)(forced))
    return read if is_specialised else _without_alignment(read)


def _unless_none(read: Reader) -> Reader:
    """None stands for an argument that is not there, whatever its annotation."""
    return lambda value, leaves: (
        read_constant(value, leaves) if value is None else read(value, leaves)
    )


def _read_as_number(type: dtypes.dtype) -> Reader:
    name = type.short_name
    is_whole = type.is_int() and not type.is_bool()
    convert: Any = bool if type.is_bool() else (operator.index if is_whole else float)

    def read(value: Any, leaves: Leaves) -> Kind:
        value = plain_constant(value)
        try:
            number = convert(value)
        except TypeError:
            raise DTypeError(
                f"A {value.__class__.__name__} cannot be an argument of type {type}."
            ) from None
        leaves.add(number, value)
        return f"{name} 16" if is_whole and not number % ALIGNMENT else name

    return read


def _read_as_pointer(type: dtypes.dtype) -> Reader:
    element = type.element_ty  # type: ignore[attr-defined]

    def read(value: Any, leaves: Leaves) -> Kind:
        kind = read_argument(value, leaves)
        if not is_pointer(kind):
            raise DTypeError(f"A {value.__class__.__name__} cannot be an argument of type {type}.")
        _, is_aligned, device = kind  # type: ignore[misc]
        return element, is_aligned, device  # type: ignore[has-type]

    return read


def _without_alignment(read: Reader) -> Reader:
    def read_plainly(value: Any, leaves: Leaves) -> Kind:
        kind = read(value, leaves)
        if isinstance(kind, str):
            return kind.removesuffix(" 16")
        if is_pointer(kind):
            dtype, _, device = kind  # type: ignore[misc]
            return dtype, False, device  # type: ignore[has-type]
        return kind

    return read_plainly


def make_binder(name: str, parameters: Sequence[Parameter], plain: Collection[Any]) -> Any:
    """A function that binds and reads the arguments of a launch.

    Takes what the kernel takes. Gives the arguments, their kinds, the leaves, and what else was
    passed by name; Python's own error if an argument is missing. It is written as text: a loop over
    parameters would take longer than reading them. plain: names and positions of parameters whose
    alignment kernels may not rely on.
    """
    name = name if name.isidentifier() else "kernel"  # a lambda's is not
    scope: dict[str, Any] = {"Leaves": Leaves, "known": _readers.get, "find": find_reader}
    takes, reads = [], []
    for number, parameter in enumerate(parameters):
        scope[f"default{number}"] = parameter.default
        is_optional = parameter.default is not inspect.Parameter.empty
        star = "*" if parameter.is_variadic else ""
        takes.append(f"{star}{parameter.name}" + f"=default{number}" * is_optional)
        reader = make_reader(parameter, number not in plain and parameter.name not in plain)
        scope[f"read{number}"] = reader
        read, kind = f"read{number}", f"{parameter.name}.__class__"
        if reader is read_argument:
            read = f"(known({kind}) or find({kind}))"
        reads.append(f"{read}({parameter.name}, _leaves), ")
    values = "".join(f"{parameter.name}, " for parameter in parameters)
    text = f"""def {name}({", ".join([*takes, "**_options"])}):
    _leaves = Leaves()
    return ({values}), ({"".join(reads)}), _leaves, _options"""
    exec(text, scope)
    return scope[name]
