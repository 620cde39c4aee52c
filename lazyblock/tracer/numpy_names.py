"""The namespace as NumPy has it: calls in NumPy's spelling, and names beside functions of arrays.

Our functions have the standard's signatures. A call that does not fit one is a call of NumPy's
function of the same name: `lb.sum(a=x)`, `lb.eye(3, M=4)`, `lb.fft.fft(x, 8)`. Scalar types,
settings, printing and the like are NumPy's own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy import (
    False_,
    ScalarType,
    True_,
    array2string,
    array_repr,
    array_str,
    base_repr,
    binary_repr,
    broadcast,
    byte,
    cdouble,
    complexfloating,
    csingle,
    double,
    dtype,
    errstate,
    euler_gamma,
    floating,
    format_float_positional,
    format_float_scientific,
    frompyfunc,
    generic,
    get_printoptions,
    getbufsize,
    geterr,
    geterrcall,
    half,
    index_exp,
    inexact,
    int_,
    intc,
    integer,
    intp,
    isscalar,
    issubdtype,
    iterable,
    little_endian,
    long,
    longlong,
    mintypecode,
    ndenumerate,
    ndindex,
    number,
    poly1d,
    printoptions,
    promote_types,
    s_,
    save,
    savetxt,
    savez,
    savez_compressed,
    set_printoptions,
    setbufsize,
    seterr,
    seterrcall,
    short,
    signedinteger,
    single,
    typecodes,
    typename,
    ubyte,
    ufunc,
    uint,
    uintc,
    uintp,
    ulong,
    ulonglong,
    unsignedinteger,
    ushort,
    vectorize,
)

from lazyblock.lazy_imports import lazy_import
from lazyblock.tracer.array import Array

numpy_calls = lazy_import("lazyblock.tracer.numpy_calls")

__all__ = [
    "False_",
    "ScalarType",
    "True_",
    "array2string",
    "array_repr",
    "array_str",
    "base_repr",
    "binary_repr",
    "broadcast",
    "byte",
    "cdouble",
    "complexfloating",
    "csingle",
    "double",
    "dtype",
    "errstate",
    "euler_gamma",
    "floating",
    "format_float_positional",
    "format_float_scientific",
    "frompyfunc",
    "generic",
    "get_printoptions",
    "getbufsize",
    "geterr",
    "geterrcall",
    "half",
    "index_exp",
    "inexact",
    "int_",
    "intc",
    "integer",
    "intp",
    "isscalar",
    "issubdtype",
    "iterable",
    "little_endian",
    "long",
    "longlong",
    "mintypecode",
    "ndarray",
    "ndenumerate",
    "ndindex",
    "number",
    "poly1d",
    "printoptions",
    "promote_types",
    "s_",
    "save",
    "savetxt",
    "savez",
    "savez_compressed",
    "set_printoptions",
    "setbufsize",
    "seterr",
    "seterrcall",
    "short",
    "signedinteger",
    "single",
    "typecodes",
    "typename",
    "ubyte",
    "ufunc",
    "uint",
    "uintc",
    "uintp",
    "ulong",
    "ulonglong",
    "unsignedinteger",
    "ushort",
    "vectorize",
]

ndarray = Array


def accept_numpy_calls(names: dict[str, Any], theirs: ModuleType) -> None:
    """Have the functions among a module's names take calls that fit NumPy's only.

    A function that is the main namespace's too is called as that.
    """
    for name, ours in list(names.items()):
        is_main = isinstance(ours, FunctionType) and ours.__module__ in _MAIN
        model = getattr(np if is_main else theirs, name, None)
        is_theirs = callable(model) and not isinstance(model, (type, np.ufunc))
        if is_theirs and isinstance(ours, FunctionType):
            home = __name__.partition(".")[0] if is_main else names["__name__"]
            names[name] = _accepting(ours, model, home)


# Chapters whose functions other modules show as well.
_MAIN = ("lazyblock.tracer.linear_algebra", "lazyblock.tracer.manipulation")


@functools.cache
def _accepting(ours: Callable[..., Any], theirs: Any, home: str) -> Callable[..., Any]:
    @functools.wraps(ours)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            return ours(*args, **kwargs)
        except TypeError as error:
            place = error.__traceback__
            was_entered = place is not None and place.tb_next is not None
            if was_entered or not numpy_calls.fits(theirs, args, kwargs):
                raise
        return numpy_calls.call(theirs, args, kwargs)

    called.__module__ = home
    return called
