"""Sums of products of labelled arrays: what every function of linear algebra is written in.

A term is a node with a label for each axis. Axes of one label run together; extents of 1 broadcast.
Terms are multiplied two at a time: what only one has is summed first, what both have is a stack or
contracted, so that each step is a product of stacks of matrices, or elementwise. Half types stay in
float32 until the end.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import ShapeError
from lazyblock.graph import build, index_map
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.shapes import Shape, size_of

Label = Hashable
Labels = tuple[Label, ...]
Path = tuple[tuple[int, ...], ...]  # which terms meet; what they give becomes the last one

_MOST_LABELS = 52  # that NumPy finds an order for


class Term(NamedTuple):
    """A factor; no label twice, no axis of extent 1."""

    node: Node
    labels: Labels


def contract(
    factors: Sequence[tuple[Node, Sequence[Label]]],
    out: Sequence[Label],
    dtype: DType,
    optimize: Any = "greedy",
) -> Node:
    """The sum, over all labels that `out` lacks, of the product of the factors.

    Parameters: optimize, how to find the order of three and more, as `np.einsum_path` takes it.
    Raises: ShapeError for a label of two extents.
    """
    extents = find_extents(factors)
    if any(not extent for label, extent in extents.items() if label not in out):
        # sums of nothing, also where a factor without this label is no number
        shape = tuple(extents[label] for label in out)
        return build.broadcast_to(build.constant(0, dtype), shape)
    terms = [_tidy(node, tuple(labels), extents) for node, labels in factors]
    for chosen in _find_path(tuple(t.labels for t in terms), tuple(out), extents, optimize):
        first, *others = [terms[place] for place in chosen]
        terms = [term for place, term in enumerate(terms) if place not in chosen]
        for position, other in enumerate(others):
            waiting = [*others[position + 1 :], *terms]
            kept = set(out).union(*(term.labels for term in waiting))
            first = _multiply(first, other, kept, _running_dtype(dtype, bool(waiting)))
        terms.append(first)
    term = _sum_out(terms[0], set(out), dtype)
    return _spread(build.cast(term.node, dtype), term.labels, tuple(out), extents)


def find_extents(factors: Sequence[tuple[Node, Sequence[Label]]]) -> dict[Label, int]:
    """The extent of every label. Raises: ShapeError."""
    extents: dict[Label, int] = {}
    for node, labels in factors:
        for extent, label in zip(node.shape, labels, strict=True):
            known = extents.get(label, 1)
            if extent != known and 1 not in (extent, known):
                shown = f"subscript '{label}' is {known} and {extent}"
                raise ShapeError(f"operands could not be broadcast together: {shown}.")
            extents[label] = extent if known == 1 else known
    return extents


def _running_dtype(dtype: DType, is_more_to_come: bool) -> DType:
    return dtypes.accumulator_dtype(dtype) if is_more_to_come else dtype


def _tidy(node: Node, labels: Labels, extents: dict[Label, int]) -> Term:
    """The diagonal of axes with one label; axes of extent 1 left out."""
    long = [label for n, label in zip(node.shape, labels, strict=True) if n != 1]
    kept = tuple(dict.fromkeys(long))
    return Term(_spread(node, labels, kept, extents), kept)


def _spread(node: Node, labels: Labels, out: Labels, extents: dict[Label, int]) -> Node:
    """Axes in the order of `out`; those that the node lacks repeat it."""
    place = {label: position for position, label in enumerate(out)}
    axes = [place.get(label) for label in labels]
    shape = tuple(extents[label] for label in out)
    return build.view(node, index_map.from_axes(axes, len(out)), shape)


def _sum_out(term: Term, kept: set[Label], dtype: DType) -> Term:
    """Sum over axes that nobody needs, in what sums of `dtype` are kept in."""
    axes = tuple(axis for axis, label in enumerate(term.labels) if label not in kept)
    if not axes:
        return term
    wide = dtypes.accumulator_dtype(dtype)
    kind = ReduceKind.ANY if dtypes.is_bool(wide) else ReduceKind.SUM
    node = build.reduce(kind, build.cast(term.node, wide), axes)
    return Term(node, tuple(label for label in term.labels if label in kept))


def _multiply(left: Term, right: Term, kept: set[Label], dtype: DType) -> Term:
    """The product of two terms, in `dtype`, summed over what they share and nobody needs."""
    left = _sum_out(left, kept.union(right.labels), dtype)
    right = _sum_out(right, kept.union(left.labels), dtype)
    shared = [label for label in left.labels if label in right.labels]
    stack = tuple(label for label in shared if label in kept)
    depth = tuple(label for label in shared if label not in kept)
    rows = tuple(label for label in left.labels if label not in shared)
    columns = tuple(label for label in right.labels if label not in shared)
    meet = dtypes.promote(left.node.dtype, right.node.dtype)
    a, b = (Term(build.cast(term.node, meet), term.labels) for term in (left, right))
    labels = (*stack, *rows, *columns)
    if not depth:
        return Term(_multiply_elements(a, b, labels, dtype), labels)
    matrices = _as_matrices(a, stack, rows, depth), _as_matrices(b, stack, depth, columns)
    product = build.contract(*matrices, dtype)
    extents = _extents_of(a) | _extents_of(b)
    return Term(build.reshape(product, tuple(extents[label] for label in labels)), labels)


def _multiply_elements(a: Term, b: Term, labels: Labels, dtype: DType) -> Node:
    extents = _extents_of(a) | _extents_of(b)
    wide = dtypes.promote(a.node.dtype, dtype)
    factors = [_spread(build.cast(t.node, wide), t.labels, labels, extents) for t in (a, b)]
    return build.cast(build.elementwise(Op.MULTIPLY, *factors), dtype)


def _as_matrices(term: Term, *groups: Labels) -> Node:
    """Three axes: the labels of each group in one."""
    extents = _extents_of(term)
    order = tuple(label for group in groups for label in group)
    shape = tuple(size_of([extents[label] for label in group]) for group in groups)
    return build.reshape(_spread(term.node, term.labels, order, extents), shape)


def _extents_of(term: Term) -> dict[Label, int]:
    return dict(zip(term.labels, term.node.shape, strict=True))


def _find_path(
    labels: tuple[Labels, ...], out: Labels, extents: dict[Label, int], optimize: Any
) -> Path:
    if len(labels) < 3:
        return (tuple(range(len(labels))),)
    known = dict.fromkeys(label for term in labels for label in term)
    numbers = {label: number for number, label in enumerate(known)}
    if len(numbers) > _MOST_LABELS:
        return (tuple(range(len(labels))),)
    shapes = tuple(tuple(extents[label] for label in term) for term in labels)
    numbered = tuple(tuple(numbers[label] for label in term) for term in labels)
    asked = tuple(numbers[label] for label in out if label in numbers)
    if isinstance(optimize, list):
        optimize = tuple(optimize)
    return _ask_numpy(shapes, numbered, asked, optimize or "greedy")


@lru_cache(maxsize=512)
def _ask_numpy(
    shapes: tuple[Shape, ...], labels: tuple[tuple[int, ...], ...], out: tuple[int, ...], how: Any
) -> Path:
    """The order that `np.einsum_path` finds for arrays of these shapes."""
    nothing = np.zeros(())
    operands: list[Any] = []
    for shape, numbers in zip(shapes, labels, strict=True):
        operands += [np.broadcast_to(nothing, shape), list(numbers)]
    optimize = list(how) if isinstance(how, tuple) and how[0] == "einsum_path" else how
    path, _ = np.einsum_path(*operands, list(out), optimize=optimize)
    return tuple(tuple(step) for step in path[1:])
