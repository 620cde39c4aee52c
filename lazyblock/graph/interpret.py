"""The graph's meaning, in NumPy: one node at a time, no fusion. The oracle of every lowering."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.graph.attrs import (
    CallAttrs,
    CastAttrs,
    GatherAttrs,
    IotaAttrs,
    ReduceAttrs,
    ReshapeAttrs,
    ScanAttrs,
    UpdateAttrs,
    ViewAttrs,
)
from lazyblock.graph.build import constant_value
from lazyblock.graph.contraction import multiply_matrices
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.graph.region_write import RegionWrite
from lazyblock.graph.traverse import topological
from lazyblock.shapes import Shape, contiguous_strides, strided_view

NDArray = npt.NDArray[Any]


def interpret(outputs: Sequence[Node], inputs: Mapping[Node, NDArray]) -> list[NDArray]:
    """Evaluate `outputs`; `inputs` gives the array of every INPUT node."""
    values: dict[Node, NDArray] = {}
    with np.errstate(all="ignore"):
        for node in topological(outputs):
            operands = [values[operand] for operand in node.inputs]
            values[node] = np.asarray(
                inputs[node] if node.op is Op.INPUT else _evaluate(node, operands)
            )
    return [values[node] for node in outputs]


def _evaluate(node: Node, operands: list[NDArray]) -> Any:
    rule = _RULES.get(node.op)
    if rule is not None:
        return rule(node, *operands)
    function = _FUNCTIONS.get(node.op) or getattr(np, node.op.value)
    if dtypes.is_half(operands[0].dtype) and node.dtype == operands[0].dtype:
        return function(*(a.astype(np.float32) for a in operands)).astype(node.dtype)
    return np.asarray(function(*operands)).astype(node.dtype, copy=False)


def _view(node: Node, operand: NDArray) -> NDArray:
    assert isinstance(node.attrs, ViewAttrs)
    if node.size == 0:
        return np.empty(node.shape, node.dtype)
    if node.attrs.may_leave:
        return _loose_view(node, operand)
    flat = np.ascontiguousarray(operand).reshape(-1)
    offset, strides = node.attrs.map.strides(contiguous_strides(operand.shape))
    return strided_view(flat[offset:], node.shape, strides)


def _gather(node: Node, operand: NDArray, *positions: NDArray) -> NDArray:
    assert isinstance(node.attrs, GatherAttrs)
    index = _indices(node.attrs.map, node.shape)
    for axis, position in zip(node.attrs.axes, positions, strict=True):
        index[axis] = position
    return _pick(node, operand, index)


def _update(node: Node, operand: NDArray, value: NDArray) -> NDArray:
    assert isinstance(node.attrs, UpdateAttrs)
    return RegionWrite(node.attrs.map, node.attrs.shape).of_copy(operand, value)


def _indices(map: IndexMap, shape: Shape) -> list[Any]:
    """Operand indices by axis."""
    places = np.indices(shape)
    return [
        offset + sum(c * place for c, place in zip(row, places, strict=True))
        for offset, row in zip(map.offsets, map.coefficients, strict=True)
    ]


def _pick(node: Node, operand: NDArray, index: Sequence[Any]) -> NDArray:
    """Elements by index along every axis; outside the operand those at its border."""
    if operand.size == 0:
        return np.zeros(node.shape, node.dtype)
    bounds = zip(index, operand.shape, strict=True)
    return np.asarray(operand[tuple(np.clip(i, 0, extent - 1) for i, extent in bounds)])


def _loose_view(node: Node, operand: NDArray) -> NDArray:
    assert isinstance(node.attrs, ViewAttrs)
    return _pick(node, operand, _indices(node.attrs.map, node.shape))


def _reduce(node: Node, operand: NDArray) -> NDArray:
    assert isinstance(node.attrs, ReduceAttrs)
    combine = _UFUNCS[node.attrs.kind].reduce
    if dtypes.is_half(operand.dtype):
        wide = operand.astype(np.float32)
        return np.asarray(combine(wide, axis=node.attrs.axes)).astype(node.dtype)
    if node.attrs.kind in (ReduceKind.SUM, ReduceKind.PROD):
        return np.asarray(combine(operand, axis=node.attrs.axes, dtype=operand.dtype))
    is_extreme = node.attrs.kind in (ReduceKind.MAX, ReduceKind.MIN)
    if is_extreme and operand.size == 0 and node.size:
        raise AssertionError("max and min of nothing are refused when recorded")
    return np.asarray(combine(operand, axis=node.attrs.axes))


def _scan(node: Node, operand: NDArray, *start: NDArray) -> NDArray:
    assert isinstance(node.attrs, ScanAttrs)
    axis, ufunc = node.attrs.axis, _UFUNCS[node.attrs.kind]
    wide = operand.astype(dtypes.accumulator_dtype(operand.dtype), copy=False)
    flipped = np.flip(wide, axis) if node.attrs.reverse else wide
    scanned = ufunc.accumulate(flipped, axis, dtype=wide.dtype)
    for first in start:
        scanned = ufunc(np.expand_dims(first, axis), scanned)
    return (np.flip(scanned, axis) if node.attrs.reverse else scanned).astype(node.dtype)


def _cast(node: Node, operand: NDArray) -> NDArray:
    assert isinstance(node.attrs, CastAttrs)
    dtype = node.attrs.dtype
    drops_part = operand.dtype.kind == "c" and dtype.kind not in "bc"
    return (operand.real if drops_part else operand).astype(dtype)


def _bitcast(node: Node, operand: NDArray) -> NDArray:
    return np.ascontiguousarray(operand).view(node.dtype).reshape(node.shape)


def _complex(node: Node, real: NDArray, imag: NDArray) -> NDArray:
    result = np.empty(node.shape, node.dtype)
    result.real, result.imag = real, imag
    return result


def _iota(node: Node) -> NDArray:
    assert isinstance(node.attrs, IotaAttrs)
    return np.arange(node.attrs.size).astype(node.dtype)


def _reshape(node: Node, operand: NDArray) -> NDArray:
    assert isinstance(node.attrs, ReshapeAttrs)
    return operand.reshape(node.attrs.shape)


def _call(node: Node, *operands: NDArray) -> NDArray:
    assert isinstance(node.attrs, CallAttrs)
    stored = [np.asarray(operand, order="C") for operand in operands]  # as evaluated arrays are
    results: list[NDArray] = node.attrs.call.run(stored, node.attrs.results)
    return results[node.attrs.index]


_RULES: dict[Op, Callable[..., Any]] = {
    Op.CONSTANT: lambda node: constant_value(node),
    Op.IOTA: _iota,
    Op.VIEW: _view,
    Op.RESHAPE: _reshape,
    Op.GATHER: _gather,
    Op.UPDATE: _update,
    Op.CAST: _cast,
    Op.BITCAST: _bitcast,
    Op.COMPLEX: _complex,
    Op.REDUCE: _reduce,
    Op.SCAN: _scan,
    Op.CONTRACT: lambda node, a, b: multiply_matrices(a, b, dtype=node.dtype),
    **dict.fromkeys((Op.CALL, Op.HOST), _call),
    Op.WHERE: lambda node, condition, a, b: np.where(condition, a, b),
    Op.NEXTAFTER: lambda node, x, y: np.nextafter(x, y),
}

_UFUNCS: dict[ReduceKind, np.ufunc] = {
    ReduceKind.SUM: np.add,
    ReduceKind.PROD: np.multiply,
    ReduceKind.MAX: np.maximum,
    ReduceKind.MIN: np.minimum,
    ReduceKind.ANY: np.logical_or,
    ReduceKind.ALL: np.logical_and,
}


def _vectorized(function: Callable[[float], float]) -> Callable[[NDArray], NDArray]:
    return np.vectorize(function, otypes=[np.float64])


def _tgamma(x: float) -> float:
    try:
        return math.gamma(x)
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 else math.nan
    except OverflowError:
        return math.inf


def _lgamma(x: float) -> float:
    try:
        return math.lgamma(x)
    except ValueError:
        return math.inf


def _power(x: NDArray, exponent: NDArray) -> NDArray:
    """NumPy refuses negative powers of integers; here they are 1 / x**n, truncated, and 0 of 0."""
    if not np.issubdtype(exponent.dtype, np.signedinteger):
        return np.asarray(np.power(x, exponent))
    is_odd, is_unit = exponent & 1 != 0, np.abs(x) == 1
    inverse = np.where(is_unit, np.where(is_odd, x, 1), 0)
    return np.where(exponent < 0, inverse, np.power(x, np.maximum(exponent, 0)))


def _expm1(x: NDArray) -> NDArray:
    """NumPy gives NaN for complex infinities; here they have C99's values."""
    result = np.asarray(np.expm1(x))
    if x.dtype.kind == "c":
        power, is_known = np.exp(x), np.isfinite(x)
        result.real = np.where(is_known, result.real, power.real - 1)
        result.imag = np.where(is_known & (x.imag != 0), result.imag, power.imag)
    return result


# Ops that NumPy has no ufunc of this name for, or another rule.
_FUNCTIONS: dict[Op, Callable[..., Any]] = {
    Op.EXPM1: _expm1,
    Op.RSQRT: lambda x: np.reciprocal(np.sqrt(x)),
    Op.ERF: _vectorized(math.erf),
    Op.ERFC: _vectorized(math.erfc),
    Op.LGAMMA: _vectorized(_lgamma),
    Op.TGAMMA: _vectorized(_tgamma),
    Op.POWER: _power,
}
