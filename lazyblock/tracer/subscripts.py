"""`einsum`: its subscripts, in all of NumPy's forms, read into labels."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lazyblock import dtypes
from lazyblock.errors import DTypeError, ValueRangeError
from lazyblock.graph import build, index_map
from lazyblock.shapes import Shape
from lazyblock.tracer.array import Array, Cell, common_device
from lazyblock.tracer.contractions import Label, Labels, contract, find_extents
from lazyblock.tracer.creation import to_array
from lazyblock.tracer.ufuncs import write_out

__all__ = ["einsum"]

_LETTERS = string.ascii_uppercase + string.ascii_lowercase  # in the order of subscript numbers
_ELLIPSIS = Ellipsis


class _Subscripts(NamedTuple):
    """A label or an Ellipsis for each axis of every operand; out None: as NumPy derives it."""

    operands: tuple[tuple[Any, ...], ...]
    out: tuple[Any, ...] | None


def einsum(
    *operands: Any,
    out: Any = None,
    dtype: Any = None,
    order: str = "K",
    casting: str = "safe",
    optimize: Any = False,
) -> Array:
    """NumPy's sum of products over subscripts, as "ij,jk->ik", or as lists of numbers.

    Half types are added up in float32. A diagonal or transposition of one array is a view of it.
    order: accepted. Three and more operands always meet in an order that saves work.
    Raises: ValueRangeError for subscripts that do not fit, ShapeError.
    """
    given, subscripts = _read(operands)
    arrays = [to_array(operand) for operand in given]
    if len(arrays) != len(subscripts.operands):
        which = "more" if len(arrays) < len(subscripts.operands) else "fewer"
        raise ValueRangeError(
            f"{which} operands provided to einstein sum function than specified in the subscripts "
            "string"
        )
    labels = _fill_ellipses(subscripts, [array.ndim for array in arrays])
    result = _compute(arrays, labels, _choose_dtype(arrays, dtype, casting), optimize)
    if out is None:
        return result._as_number()
    delivered: Array = write_out(result, out, "einsum", casting)
    return delivered


def _choose_dtype(arrays: Sequence[Array], dtype: Any, casting: str) -> dtypes.DType:
    target = dtypes.result_type(*(array.dtype for array in arrays))
    if dtype is None:
        return target
    asked = dtypes.as_dtype(dtype)
    for number, array in enumerate(arrays):
        if not np.can_cast(array.dtype, asked, casting):  # type: ignore[arg-type]
            raise DTypeError(
                f"Iterator operand {number} dtype could not be cast from {array.dtype!r} to "
                f"{asked!r} according to the rule '{casting}'"
            )
    return asked


def _compute(
    arrays: Sequence[Array], labels: Sequence[Labels], dtype: dtypes.DType, optimize: Any
) -> Array:
    *of_operands, out = labels
    factors = [(array.node, of) for array, of in zip(arrays, of_operands, strict=True)]
    for number, (node, of) in enumerate(factors):
        _check_diagonals(node.shape, of, number)
    if len(arrays) == 1 and set(of_operands[0]) == set(out) and arrays[0].dtype == dtype:
        extents = find_extents(factors)
        axes = [out.index(label) for label in of_operands[0]]
        shape = tuple(extents[label] for label in out)
        return arrays[0].see(index_map.from_axes(axes, len(out)), shape)
    converted = [(build.cast(node, dtype), of) for node, of in factors]
    node = contract(converted, out, dtype, optimize)
    return Array(Cell(node, common_device(*arrays)))


def _check_diagonals(shape: Shape, labels: Labels, number: int) -> None:
    known: dict[Label, int] = {}
    for extent, label in zip(shape, labels, strict=True):
        if known.setdefault(label, extent) != extent:
            raise ValueRangeError(
                f"dimensions in operand {number} for collapsing index '{label}' don't match "
                f"({known[label]} != {extent})"
            )


# --- reading -------------------------------------------------------------------------------------


def _read(operands: Sequence[Any]) -> tuple[list[Any], _Subscripts]:
    """The arrays and their subscripts, from a string in front or lists in between."""
    if not operands:
        raise ValueRangeError(
            "must specify the einstein sum subscripts string and at least one operand, or at least "
            "one operand and its corresponding subscripts list"
        )
    if isinstance(operands[0], str):
        if len(operands) < 2:
            raise ValueRangeError(
                "must specify the einstein sum subscripts string and at least one operand"
            )
        return list(operands[1:]), _read_text(operands[0])
    lists = [_read_list(item) for item in operands[1::2]]
    arrays = list(operands[: 2 * len(lists) : 2])
    out = _read_list(operands[-1]) if len(operands) % 2 else None
    return arrays, _Subscripts(tuple(lists), out)


def _read_list(items: Any) -> tuple[Any, ...]:
    found: list[Any] = []
    for item in items:
        if item is not _ELLIPSIS and not 0 <= int(item) < len(_LETTERS):
            raise ValueRangeError("subscript is not within the valid range [0, 52)")
        found.append(item if item is _ELLIPSIS else _LETTERS[int(item)])
    return tuple(found)


def _read_text(text: str) -> _Subscripts:
    left, arrow, right = text.partition("->")
    if "-" in left or ">" in left:
        raise ValueRangeError(
            "einstein sum subscript string does not contain proper '->' output specified"
        )
    terms = tuple(_read_term(term, f"in operand {n}") for n, term in enumerate(left.split(",")))
    return _Subscripts(terms, _read_term(right, "in the output") if arrow else None)


def _read_term(text: str, where: str) -> tuple[Any, ...]:
    before, dots, after = text.replace(" ", "").partition("...")
    for letter in before + after:
        if letter == ".":
            raise ValueRangeError(
                "einstein sum subscripts string contains a '.' that is not part of an ellipsis "
                f"('...') {where}"
            )
        if letter not in _LETTERS:
            raise ValueRangeError(
                f"invalid subscript '{letter}' in einstein sum subscripts string, subscripts must "
                "be letters"
            )
    return (*before, *([_ELLIPSIS] if dots else []), *after)


# --- ellipses and the output ---------------------------------------------------------------------


def _fill_ellipses(subscripts: _Subscripts, ranks: Sequence[int]) -> list[Labels]:
    """Labels of the operands' axes, then of the result's; axes of ellipses are numbered."""
    labels: list[Labels] = []
    most = 0
    for number, (term, rank) in enumerate(zip(subscripts.operands, ranks, strict=True)):
        extra = rank - (len(term) - term.count(_ELLIPSIS))
        if extra < 0:
            raise ValueRangeError(
                f"einstein sum subscripts string contains too many subscripts for operand {number}"
            )
        if extra and _ELLIPSIS not in term:
            raise ValueRangeError(
                "operand has more dimensions than subscripts given in einstein sum, but no '...' "
                "ellipsis provided to broadcast the extra dimensions."
            )
        labels.append(_fill(term, range(-extra, 0)))
        most = max(most, extra)
    everywhere = range(-most, 0)
    out = subscripts.out
    if out is None:
        letters = [label for term in labels for label in term if isinstance(label, str)]
        single = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        return [*labels, (*everywhere, *single)]
    _check_output(out, labels, most)
    return [*labels, _fill(out, everywhere)]


def _fill(term: Sequence[Any], numbers: range) -> Labels:
    filled: list[Label] = []
    for label in term:
        filled.extend(numbers if label is _ELLIPSIS else (label,))
    return tuple(filled)


def _check_output(out: tuple[Any, ...], labels: Sequence[Labels], num_extra: int) -> None:
    known = {label for term in labels for label in term}
    for label in out:
        if label is not _ELLIPSIS and label not in known:
            raise ValueRangeError(
                f"einstein sum subscripts string included output subscript '{label}' which never "
                "appeared in an input"
            )
        if out.count(label) > 1:
            raise ValueRangeError(
                f"einstein sum subscripts string includes output subscript '{label}' multiple times"
            )
    if num_extra and _ELLIPSIS not in out:
        raise ValueRangeError(
            "output has more dimensions than subscripts given in einstein sum, but no '...' "
            "ellipsis provided to broadcast the extra dimensions."
        )
