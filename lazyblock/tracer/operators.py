"""Python's operators on arrays: each records the elementwise function NumPy calls for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lazyblock.errors import DTypeError, ShapeError
from lazyblock.tracer.functions import FUNCTIONS
from lazyblock.tracer.handle import Handle, wrap
from lazyblock.tracer.protocols import namespace

_OPERANDS = (Handle, np.ndarray, np.generic, complex, float, int, list, tuple)  # of products

Unary = Callable[[Any], Any]
Binary = Callable[[Any, Any], Any]


def unary(name: str) -> Unary:
    """What applies an elementwise function to an array."""
    function = FUNCTIONS[name]

    def operator(self: Any) -> Any:
        if self._view is None:  # for speed
            cell = self._cell
            return wrap(type(self), function.of_one(cell.node), cell.device)
        return self._record(function, self)

    return operator


def binary(name: str) -> Binary:
    """What applies an elementwise function to an array and anything."""
    function = FUNCTIONS[name]

    def operator(self: Any, other: Any) -> Any:
        own, kind = type(self), type(other)
        if self._view is None:  # the usual cases, for speed
            cell = self._cell
            if kind is float or kind is int:
                return wrap(own, function.with_scalar(cell.node, other), cell.device)
            if kind is own and other._view is None and other._cell.device is cell.device:
                return wrap(own, function.of_two(cell.node, other._cell.node), cell.device)
        return self._record(function, self, other)

    return operator


def reflected(name: str) -> Binary:
    """What applies an elementwise function to anything and an array, which comes first here."""
    function = FUNCTIONS[name]

    def operator(self: Any, other: Any) -> Any:
        if self._view is None and (type(other) is float or type(other) is int):  # for speed
            cell = self._cell
            return wrap(type(self), function.with_scalar(cell.node, other, True), cell.device)
        return self._record(function, other, self)

    return operator


def _equality(name: str, of_others: bool) -> Binary:
    """`==` or `!=`: no element equals a text or None, as in NumPy."""
    compare = binary(name)

    def operator(self: Any, other: Any) -> Any:
        if other is None or isinstance(other, (str, bytes)):
            return namespace().full(self.shape, of_others, device=self._cell.device)
        return compare(self, other)

    return operator


def _in_place(name: str) -> Binary:
    compute = binary(name)

    def operator(self: Any, other: Any) -> Any:
        try:
            result = compute(self, other)
        except (DTypeError, ShapeError):
            return getattr(np, name)(self, other, out=self)  # for NumPy's order of errors
        return _put_in_place(self, result, name)

    return operator


def _put_in_place(self: Any, result: Any, name: str) -> Any:
    """What an in-place operator gives: a number does not change, its name gets another value."""
    if result is NotImplemented or self._is_number:
        return result
    return self.update(result, name)


def _multiply_matrices(left: Any, right: Any) -> Any:
    if not all(isinstance(operand, _OPERANDS) for operand in (left, right)):
        return NotImplemented
    return namespace().matmul(left, right)


def _multiply_in_place(self: Any, other: Any) -> Any:
    result = _multiply_matrices(self, other)
    if result is not NotImplemented and (self.ndim < 1 or np.ndim(other) < 2):
        raise ShapeError(
            "inplace matrix multiplication requires the first operand to have at least one and "
            "the second at least two dimensions."
        )
    if result is not NotImplemented and result.shape != self.shape:
        raise ShapeError(
            f"matmul: the product of shape {result.shape} does not fit into the first operand, of "
            f"shape {self.shape}"
        )
    return _put_in_place(self, result, "matmul")


class Operators(Handle):
    """Arithmetic, comparison and bit operators, their reflected and in-place forms."""

    __slots__ = ()

    __add__, __radd__, __iadd__ = binary("add"), reflected("add"), _in_place("add")
    __sub__, __rsub__ = binary("subtract"), reflected("subtract")
    __isub__ = _in_place("subtract")
    __mul__, __rmul__ = binary("multiply"), reflected("multiply")
    __imul__ = _in_place("multiply")
    __truediv__, __rtruediv__ = binary("divide"), reflected("divide")
    __itruediv__ = _in_place("divide")
    __matmul__, __imatmul__ = _multiply_matrices, _multiply_in_place
    __floordiv__, __rfloordiv__ = binary("floor_divide"), reflected("floor_divide")
    __ifloordiv__ = _in_place("floor_divide")
    __mod__, __rmod__ = binary("remainder"), reflected("remainder")
    __imod__ = _in_place("remainder")
    __pow__, __rpow__, __ipow__ = binary("**"), reflected("power"), _in_place("power")
    __and__, __rand__ = binary("bitwise_and"), reflected("bitwise_and")
    __iand__ = _in_place("bitwise_and")
    __or__, __ror__ = binary("bitwise_or"), reflected("bitwise_or")
    __ior__ = _in_place("bitwise_or")
    __xor__, __rxor__ = binary("bitwise_xor"), reflected("bitwise_xor")
    __ixor__ = _in_place("bitwise_xor")
    __lshift__, __rlshift__ = binary("left_shift"), reflected("left_shift")
    __ilshift__ = _in_place("left_shift")
    __rshift__, __rrshift__ = binary("right_shift"), reflected("right_shift")
    __irshift__ = _in_place("right_shift")
    __eq__ = _equality("equal", False)
    __ne__ = _equality("not_equal", True)
    __lt__, __le__ = binary("less"), binary("less_equal")
    __gt__, __ge__ = binary("greater"), binary("greater_equal")
    __neg__, __pos__ = unary("negative"), unary("positive")
    __abs__, __invert__ = unary("absolute"), unary("invert")

    def __rmatmul__(self, other: Any) -> Any:
        return _multiply_matrices(other, self)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> tuple[Any, Any]:
        return other // self, other % self
