"""Sorting by bitonic networks, with other blocks carried along; and flipping.

A network has a power of two of places: behind other numbers of elements it has keys that come last.

Floats sort by their bits made integers, so the order is total: -0.0 before 0.0, NaN last. Equal
elements keep their order where a payload is carried along.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin
from lazyblock.language.context import current_builder, mark_extension
from lazyblock.language.dtypes import dtype
from lazyblock.language.semantics.convert import cast, retype, to_tensor
from lazyblock.language.semantics.reduce import index_along
from lazyblock.language.semantics.shapes import (
    check_axis,
    check_static_int,
    is_odd,
    mark_odd,
    refuse_odd,
    stretch,
)
from lazyblock.language.tensor import describe, tensor
from lazyblock.shapes import next_power_of_2
from lazyblock.tiler.ir import Value
from lazyblock.tiler.types import SCALARS, ScalarType


@builtin
def flip(x: Any, dim: Any = None) -> tensor:
    """Elements in reverse order along `dim` (None: the last axis)."""
    value = to_tensor(x)
    if not value.ndim:
        raise SemanticError(f"tl.flip needs a block, got {describe(value)}.")
    b, axis = current_builder(), check_axis(-1 if dim is None else dim, value.ndim, "dim")
    last = value.handle.shape[axis] - 1
    if any(map(is_odd, value.handle.shape)):
        places = b.sub(last, index_along(value, axis).handle)
        return retype(b.gather(value.handle, places, axis), value.dtype)
    return retype(b.exchange(value.handle, axis, last), value.dtype)


@builtin
def sort(x: Any, dim: Any = None, descending: bool = False, payload: Any = None) -> Any:
    """Elements in order along `dim`, the last axis.

    payload: a block, or several, whose elements move as those of `x` do; given too then.
    """
    value, others = _prepare(x, dim, payload, "tl.sort")
    results = _Network(value, others).sort(bool(descending))
    return results[0] if payload is None else tuple(results)


@builtin
def argsort(x: Any, dim: Any = None, descending: bool = False) -> tensor:
    """Places of the elements in sorted order along the last axis, int32; equal ones in order."""
    mark_extension("tl.argsort")
    value, _ = _prepare(x, dim, None, "tl.argsort")
    place: tensor = sort(value, dim, descending, index_along(value, value.ndim - 1))[1]
    return place


@builtin
def topk(x: Any, k: Any, dim: Any = None, descending: bool = True, payload: Any = None) -> Any:
    """The k largest elements along the last axis, the largest first.

    descending: False for the smallest, the smallest first.
    """
    value, others = _prepare(x, dim, payload, "tl.topk")
    count = check_static_int(k, "'k'")
    extent = value.handle.shape[-1]
    if not 1 <= count <= extent:
        raise SemanticError(f"tl.topk needs 1 to {extent} as k, got {count}.")
    mark_odd((count,))
    results = [_take_first(v, count) for v in _Network(value, others).sort(bool(descending))]
    return results[0] if payload is None else tuple(results)


@builtin
def bitonic_merge(x: Any, dim: Any = None, descending: bool = False) -> tensor:
    """A bitonic sequence (one that rises and falls at most once around) put in order."""
    value, _ = _prepare(x, dim, None, "tl.bitonic_merge")
    refuse_odd(value, "tl.bitonic_merge")
    return _Network(value, []).merge(bool(descending))[0]


def _prepare(x: Any, dim: Any, payload: Any, function: str) -> tuple[tensor, list[tensor]]:
    value = to_tensor(x)
    if not value.ndim or value.dtype.is_ptr():
        raise SemanticError(f"{function} needs a block of numbers, got {describe(value)}.")
    axis = value.ndim - 1 if dim is None else check_axis(dim, value.ndim, "dim")
    if axis != value.ndim - 1:
        raise SemanticError(
            f"{function} works along the last axis, got dim {axis} of {value.ndim}.",
            hint="transpose with tl.trans or tl.permute.",
        )
    if payload is not None:
        mark_extension(f"A payload of {function}")
    items = () if payload is None else payload if isinstance(payload, tuple) else (payload,)
    others = [to_tensor(item) for item in items]
    return value, [stretch(other, value.handle.shape, "a payload") for other in others]


def _take_first(value: tensor, count: int) -> tensor:
    """The first elements along the last axis."""
    shape = value.handle.shape
    if count == shape[-1]:
        return value
    b = current_builder()
    index = b.broadcast_to(b.arange(0, count), (*shape[:-1], count))
    return retype(b.gather(value.handle, index, value.ndim - 1), value.dtype)


class _Network:
    """Compare-and-exchange steps along the last axis; keys are integers.

    With a payload, the places at first are carried along and decide between equal keys.
    """

    def __init__(self, value: tensor, payload: Sequence[tensor]) -> None:
        self.type = value.dtype
        self.payload_types = [other.dtype for other in payload]
        self.axis = value.ndim - 1
        self.extent = value.handle.shape[-1]
        size = next_power_of_2(self.extent)
        self.levels = int(math.log2(size))
        self.place = self._places(value.handle.shape[:-1], size)
        self.has_ranks = bool(payload)
        given = [_to_key(value), *(other.handle for other in payload)]
        ranks = [self.place] if payload else []
        self.columns = [*map(self._lengthen, given), *ranks]

    @staticmethod
    def _places(rows: tuple[int, ...], size: int) -> Value:
        """Each place's number along the last axis."""
        b = current_builder()
        return b.broadcast_to(b.arange(0, size), (*rows, size))

    def _lengthen(self, column: Value) -> Value:
        """A column with as many places as the network, behind the last the last element again."""
        if not is_odd(self.extent):
            return column
        b = current_builder()
        return b.gather(column, b.binary("min", self.place, self.extent - 1), self.axis)

    def sort(self, descending: bool) -> list[tensor]:
        if is_odd(self.extent):
            self._end_with_last_keys(descending)
        for level in range(self.levels):
            turn = 2 ** (level + 1) if level + 1 < self.levels else None
            for step in reversed(range(level + 1)):
                self._exchange(2**step, turn, descending)
        return self._results()

    def _end_with_last_keys(self, descending: bool) -> None:
        """Behind the last element come keys that no other comes after."""
        b, key = current_builder(), self.columns[0]
        low, high = _limits_of(key.type.scalar)
        is_element = b.compare("lt", self.place, self.extent)
        self.columns[0] = b.select(is_element, key, low if descending else high)

    def merge(self, descending: bool) -> list[tensor]:
        for step in reversed(range(self.levels)):
            self._exchange(2**step, None, descending)
        return self._results()

    def _exchange(self, distance: int, turn: int | None, descending: bool) -> None:
        """Order pairs `distance` apart; every `turn` elements the direction changes."""
        b = current_builder()
        partners = [b.exchange(column, self.axis, distance) for column in self.columns]
        wants_last = self._has_bit(distance)
        if turn is not None:
            wants_last = b.xor(wants_last, self._has_bit(turn))
        if not self.has_ranks:
            self.columns = [self._extreme(partners[0], b.xor(wants_last, descending))]
            return
        first = self._is_ordered(partners, self.columns, descending)
        last = self._is_ordered(self.columns, partners, descending)
        exchange = b.select(wants_last, last, first)
        self.columns = [
            b.select(exchange, partner, column)
            for column, partner in zip(self.columns, partners, strict=True)
        ]

    def _extreme(self, partner: Value, wants_larger: Value) -> Value:
        b, (key,) = current_builder(), self.columns
        pair = b.binary("max", key, partner), b.binary("min", key, partner)
        return b.select(wants_larger, *pair)

    def _has_bit(self, bit: int) -> Value:
        b = current_builder()
        return b.compare("ne", b.and_(self.place, bit), 0)

    @staticmethod
    def _is_ordered(left: list[Value], right: list[Value], descending: bool) -> Value:
        """Whether `left` stands before: by the key, then by the place at first."""
        b = current_builder()
        is_before = b.compare("gt" if descending else "lt", left[0], right[0])
        is_equal = b.compare("eq", left[0], right[0])
        return b.or_(is_before, b.and_(is_equal, b.compare("lt", left[-1], right[-1])))

    def _results(self) -> list[tensor]:
        carried = zip(self.columns[1:], self.payload_types, strict=False)
        key = _from_key(self.columns[0], self.type)
        results = [key, *(retype(column, type) for column, type in carried)]
        return [_take_first(result, self.extent) for result in results]


# --- keys ----------------------------------------------------------------------------------------


def _to_bits(value: tensor) -> Value:
    """An integer of the same width."""
    b, type = current_builder(), value.dtype
    return b.bitcast(value.handle, SCALARS[f"i{type.primitive_bitwidth}"])


def _from_bits(bits: Value, type: dtype) -> tensor:
    return retype(current_builder().bitcast(bits, type.ir), type)


def _to_key(value: tensor) -> Value:
    """An integer that orders as `value` does: of floats the bits, flipped where negative."""
    if not value.dtype.is_floating():
        return value.handle
    b = current_builder()
    bits = _to_bits(value)
    is_nan = b.is_nan(cast(value, dtype("fp32")).handle if value.dtype.is_fp8() else value.handle)
    return b.select(is_nan, _largest(bits), _flip_negative(bits))


def _limits_of(scalar: ScalarType) -> tuple[int, int]:
    """The smallest and the largest integer of a type."""
    if not scalar.is_signed:
        return 0, 2**scalar.bits - 1
    return -(2 ** (scalar.bits - 1)), 2 ** (scalar.bits - 1) - 1


def _largest(bits: Value) -> int:
    return int(2 ** (bits.type.scalar.bits - 1)) - 1


def _flip_negative(bits: Value) -> Value:
    b = current_builder()
    return b.select(b.compare("lt", bits, 0), b.xor(bits, _largest(bits)), bits)


def _from_key(key: Value, type: dtype) -> tensor:
    if not type.is_floating():
        return retype(key, type)
    return _from_bits(_flip_negative(key), type)
