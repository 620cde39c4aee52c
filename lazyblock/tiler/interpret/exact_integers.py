"""What wrapped integers would be without their type's ends, for the checks of the interpreter.

Followed through sums, differences, products, shifts to the left, wider types and moves of elements,
into the offsets of pointers; any other op takes the wrapped value for what is meant, as hashes and
random numbers do. Data are known by identity, so loops and branches carry them along.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lazyblock.tiler import ops
from lazyblock.tiler.interpret.memory import Addresses, Array
from lazyblock.tiler.ir import Op

Datum = Array | Addresses
_EXACT: dict[str, Callable[[Array, Array], Array]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "shl": np.left_shift,
}
_MOVES = (ops.Splat, ops.Broadcast, ops.ExpandDims, ops.Reshape, ops.Transpose, ops.Select)


class Wrapped(NamedTuple):
    """What a datum would be (of pointers: their offsets), and the op that wrapped first."""

    exact: Array
    op: Op


class ExactIntegers:
    """The wrapped data of one program instance.

    evaluate: computes an op that moves elements, from arrays.
    """

    def __init__(self, evaluate: Callable[[Op, Sequence[Array]], Array]) -> None:
        self._evaluate = evaluate
        self._wrapped: dict[int, Wrapped] = {}  # by id of the datum
        self._data: dict[int, Any] = {}  # references to them: entries go when arrays do

    def __len__(self) -> int:
        return len(self._wrapped)

    def find(self, datum: Datum) -> Wrapped | None:
        """What is known of a datum; None where it is exact."""
        return self._wrapped.get(id(datum))

    def follow(self, op: Op, operands: Sequence[Datum], results: Sequence[Datum]) -> None:
        """Note what the results of an op would be."""
        if isinstance(op, ops.Binary):
            if op.kind in _EXACT and op.result.type.scalar.is_integer:
                self._compute(op, operands, results[0])
            return
        found = [wrapped for datum in operands if (wrapped := self.find(datum))]
        if not found:
            return
        exact = [self._exact_of(datum) for datum in operands]
        if isinstance(op, ops.AddPointer):
            self._note(results[0], exact[0] + exact[1], found[0].op)
        elif isinstance(op, ops.Cast) and _is_wider(op):
            self._note(results[0], exact[0], found[0].op)
        elif isinstance(op, _MOVES):
            self._note(results[0], self._evaluate(op, exact), found[0].op)

    def _compute(self, op: ops.Binary, operands: Sequence[Datum], result: Datum) -> None:
        found = [wrapped for datum in operands if (wrapped := self.find(datum))]
        if op.result.type.scalar.bits == 1 or (op.result.type.scalar.bits == 64 and not found):
            return
        exact = _EXACT[op.kind](*(self._exact_of(datum) for datum in operands))
        if (exact != np.asarray(result).astype(np.int64)).any():
            self._note(result, exact, found[0].op if found else op)

    def _exact_of(self, datum: Datum) -> Array:
        wrapped = self.find(datum)
        if wrapped is not None:
            return wrapped.exact
        array = datum.offset if isinstance(datum, Addresses) else datum
        return array if array.dtype == bool else array.astype(np.int64)

    def _note(self, datum: Datum, exact: Array, op: Op) -> None:
        key = id(datum)
        self._wrapped[key] = Wrapped(exact, op)
        is_array = isinstance(datum, np.ndarray)
        self._data[key] = weakref.ref(datum, lambda _: self._forget(key)) if is_array else datum

    def _forget(self, key: int) -> None:
        del self._wrapped[key], self._data[key]


def _is_wider(op: Any) -> bool:
    before, after = op.value.type.scalar, op.result.type.scalar
    return bool(before.is_integer and after.is_integer and after.bits > before.bits)
