"""Gives tensors their operators and methods: functions of the language that take a tensor first."""

from __future__ import annotations

from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.language import sorting, standard
from lazyblock.language.constexpr import builtin, unwrap
from lazyblock.language.semantics import arithmetic, convert, elementwise, indexing, memory, shapes
from lazyblock.language.semantics import reduce as reductions
from lazyblock.language.tensor import describe, tensor

_METHODS = {
    arithmetic: ("logical_and", "logical_or"),
    elementwise: (
        *("abs", "ceil", "cdiv", "cos", "erf", "exp", "exp2", "fdiv", "floor", "log", "log2"),
        *("rsqrt", "sigmoid", "sin", "sqrt", "sqrt_rn"),
    ),
    shapes: (
        *("broadcast_to", "expand_dims", "item", "permute", "ravel", "reshape", "split"),
        *("squeeze", "trans", "unsqueeze", "view"),
    ),
    reductions: ("associative_scan", "reduce"),
    indexing: ("gather", "histogram"),
    memory: (
        *("atomic_add", "atomic_and", "atomic_cas", "atomic_max", "atomic_min", "atomic_or"),
        *("atomic_xchg", "atomic_xor", "store"),
    ),
    standard: (
        *("argmax", "argmin", "cumprod", "cumsum", "max", "min", "reduce_or", "softmax", "sum"),
        "xor_sum",
    ),
    sorting: ("flip", "sort"),
}


def _transposed(value: tensor) -> tensor:
    if value.ndim != 2:
        raise SemanticError(f".T is of blocks of two axes, got {describe(value)}.")
    return shapes.trans(value)


@builtin
def _getitem(value: tensor, index: Any) -> tensor:
    return indexing.subscript(value, index)


def _setitem(value: tensor, index: Any, item: Any) -> None:
    raise SemanticError(
        "Elements of a block cannot be assigned.", hint="choose elements with tl.where."
    )


def attach() -> None:
    """Set operators and methods on `tensor`."""
    for name, function in arithmetic.operators().items():
        setattr(tensor, name, _operator(function))
    for module, names in _METHODS.items():
        for name in names:
            setattr(tensor, name, getattr(module, name))
    methods = {
        "to": convert.cast_function,
        "cast": convert.cast_function,
        "T": property(_transposed),
    }
    methods |= {"__getitem__": _getitem, "__setitem__": _setitem}
    for name, method in methods.items():
        setattr(tensor, name, method)


def _operator(function: Any) -> Any:
    """As a method it leaves operands it does not know to their own operators."""

    def method(self: tensor, *others: Any) -> Any:
        return function(self, *map(unwrap, others))

    return method


attach()
