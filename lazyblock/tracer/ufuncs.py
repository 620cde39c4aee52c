"""Calls of NumPy's ufuncs on lazy arrays, SciPy's among them: fused where there is a form for it.

NumPy resolves the dtypes (`ufunc.resolve_dtypes`), so that `dtype`, `casting`, `signature` and
`out` mean what they mean there. A ufunc without a fused form is a host function. Array `where=` and
`out=` are a choice and an update of the recorded result.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.errors import DTypeError, ShapeError, ValueRangeError
from lazyblock.shapes import Shape, broadcast_shapes
from lazyblock.tracer.array import (
    Array,
    Cell,
    common_device,
    from_host,
    operand_of,
    record,
    recorder,
)
from lazyblock.tracer.functions import FUNCTIONS
from lazyblock.tracer.host_calls import host_call
from lazyblock.tracer.operands import Kind, as_node, check_cast, is_out_of_range, resolve_loop
from lazyblock.tracer.protocols import namespace
from lazyblock.tracer.stages import pipeline

NDArray = npt.NDArray[Any]
Out = tuple[Any, ...]

_SETTINGS = {"dtype", "signature", "sig", "casting", "order", "subok"}  # of elementwise calls
_CORE_SETTINGS = _SETTINGS | {"axes", "axis", "keepdims"}
# SciPy's names of functions that have others here
_SPECIAL = {"gamma": "tgamma", "gammaln": "lgamma"}


def call(ufunc: np.ufunc, inputs: tuple[Any, ...], out: Out, where: Any, settings: Any) -> Any:
    """Record `ufunc(*inputs, out=out, where=where, **settings)`."""
    _check_settings(ufunc, settings)
    if len(out) != ufunc.nout:
        raise ValueRangeError("The 'out' tuple must have exactly one entry per ufunc output")
    check_out(*out)
    if ufunc.signature is not None:
        results = _call_core(ufunc, inputs, out, settings)
    elif settings or any(target is not None for target in out):
        results = _call_in_loop(ufunc, inputs, out, settings)
    else:
        results = _call_plainly(ufunc, inputs)
    casting = settings.get("casting", "same_kind")
    if where is not True:
        results = _choose(as_mask(where), results, out, ufunc.__name__, casting)
    return store(ufunc, results, out, casting)


def _check_settings(ufunc: np.ufunc, settings: Any) -> None:
    known = _SETTINGS if ufunc.signature is None else _CORE_SETTINGS
    for name in settings:
        if name not in known:
            raise DTypeError(f"{ufunc.__name__}() got an unexpected keyword argument '{name}'")


_COMPARISONS = frozenset(
    (np.less, np.less_equal, np.greater, np.greater_equal, np.equal, np.not_equal)
)


@functools.cache
def find_form(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """What records a ufunc in fused form; None if that is for the host."""
    name = ufunc.__name__
    if getattr(np, name, None) is not ufunc:
        special = sys.modules.get("scipy.special")
        if special is None or getattr(special, name, None) is not ufunc:
            return None
        name = _SPECIAL.get(name, name)
    if name in FUNCTIONS:
        return recorder(name)
    form = getattr(namespace(), name, None)
    return None if hasattr(form, "is_on_host") else form


# What records the ufuncs of NumPy's that are fused, from any operands.
PLAIN_FORMS: dict[np.ufunc, Callable[..., Any]] = {
    ufunc: recorder(name)
    for name in FUNCTIONS
    if isinstance(ufunc := getattr(np, name, None), np.ufunc)
}


def _call_plainly(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    form = find_form(ufunc)
    if form is None or getattr(np, ufunc.__name__, None) is not ufunc:
        return _call_in_loop(ufunc, inputs, (None,) * ufunc.nout, {})
    return _as_tuple(form(*inputs))


def _call_in_loop(
    ufunc: np.ufunc, inputs: tuple[Any, ...], out: Out, settings: Any
) -> tuple[Any, ...]:
    """Call it in the dtypes that NumPy finds for these settings."""
    targets = tuple(None if target is None else target.dtype for target in out)
    loop = find_loop(ufunc, (*map(_kind_of, inputs), *targets), settings)
    form = find_form(ufunc)
    if form is None:
        operands = to_dtypes(inputs, loop)
        shape = broadcast_shapes(*(x.shape for x in operands), operation=ufunc.__name__)
        return (*call_on_host(ufunc, operands, [(shape, t) for t in loop[ufunc.nin :]]),)
    if ufunc in _COMPARISONS and any(map(is_out_of_range, inputs, loop)):
        results = _as_tuple(form(*inputs))  # by value
    else:
        results = _as_tuple(form(*to_dtypes(inputs, loop)))
    return tuple(x.astype(t, copy=False) for x, t in zip(results, loop[ufunc.nin :], strict=True))


def find_loop(ufunc: np.ufunc, kinds: tuple[Kind | None, ...], settings: Any) -> tuple[DType, ...]:
    """The dtypes of a call's operands and results. Raises: DTypeError in NumPy's words."""
    signature = settings.get("signature", settings.get("sig"))
    dtype = settings.get("dtype")
    if dtype is not None:
        signature = (*[None] * ufunc.nin, *[np.dtype(dtype)] * ufunc.nout)
    casting = settings.get("casting", "same_kind")
    return tuple(map(dtypes.as_dtype, resolve_loop(ufunc, kinds, signature, casting)))


def _kind_of(value: Any) -> Kind:
    """A value's dtype, or its type for a weak scalar."""
    if isinstance(value, (Array, np.ndarray, np.generic)):
        return dtypes.as_dtype(value.dtype)
    if isinstance(value, (list, tuple)):
        return dtypes.as_dtype(np.asarray(value).dtype)
    return type(value)


def to_dtypes(inputs: Sequence[Any], loop: Sequence[DType]) -> list[Array]:
    """Operands as arrays of one device, in the dtypes of a loop."""
    device = common_device(*inputs)
    return [_to_dtype(x, dtype, device) for x, dtype in zip(inputs, loop, strict=False)]


def _to_dtype(value: Any, dtype: DType, device: str | None) -> Array:
    if isinstance(value, Array):
        return value.astype(dtype, copy=False)
    if isinstance(value, (np.ndarray, list, tuple)):
        place = device or pipeline.default_device()
        return Array(Cell(from_host(np.asarray(value).astype(dtype), place), place))
    return Array(Cell(as_node(operand_of(value, device), dtype), device))  # type: ignore[arg-type]


def call_on_host(
    ufunc: np.ufunc, operands: Sequence[Array], results: Sequence[tuple[Shape, DType]]
) -> list[Array]:
    """Record a call in NumPy."""
    return host_call(_apply, operands, results, ufunc=ufunc)


def _apply(*arrays: NDArray, ufunc: np.ufunc) -> Any:
    return ufunc(*arrays)


# Results


def _as_tuple(results: Any) -> tuple[Any, ...]:
    return results if isinstance(results, tuple) else (results,)


def as_mask(where: Any) -> Array:
    """The argument `where=`. Raises: DTypeError for what is not bool."""
    if isinstance(where, (list, tuple)):
        where = np.asarray(where, np.bool_)
    mask: Array = namespace().asarray(where)
    if mask.dtype != dtypes.bool_:
        raise DTypeError(
            f"Cannot cast array data from {mask.dtype!r} to dtype('bool') according to the rule "
            "'safe'"
        )
    return mask


def _choose(
    mask: Array, results: tuple[Any, ...], out: Out, name: str, casting: str
) -> tuple[Any, ...]:
    """Results where the mask holds; else what is in `out`, in whose dtype they are, or zeros."""
    chosen = []
    for result, target in zip(results, out, strict=True):
        if target is not None and casting != "unsafe":
            check_cast(result.dtype, target.dtype, name)
        dtype = result.dtype if target is None else dtypes.as_dtype(target.dtype)
        other = _to_dtype(0 if target is None else target, dtype, None)
        chosen.append(record(FUNCTIONS["where"], mask, result.astype(dtype, copy=False), other))
    return tuple(chosen)


def store(ufunc: np.ufunc, results: tuple[Any, ...], out: Out, casting: str) -> Any:
    """Write results into the arrays given as `out=`, and give those."""
    stored = tuple(
        value if target is None else write_out(value, target, ufunc.__name__, casting)
        for value, target in zip(results, out, strict=True)
    )
    return stored if ufunc.nout > 1 else stored[0]


def check_out(*targets: Any) -> None:
    """Raises: DTypeError for what is given as `out=` and is no array, ValueRangeError."""
    for target in targets:
        if target is not None and not isinstance(target, (Array, np.ndarray)):
            raise DTypeError("return arrays must be of ArrayType")
        if isinstance(target, Array) and not target._cell.is_writeable:
            raise ValueRangeError("output array is read-only")


def check_shape_of_out(result: Array, out: Any, name: str) -> None:
    """Raises: ShapeError for an `out=` of another shape than a result that does not broadcast."""
    check_out(out)
    if out is not None and out.shape != result.shape:
        raise ShapeError(
            f"non-broadcastable output operand with shape {out.shape} doesn't match the result of "
            f"'{name}', of shape {result.shape}"
        )


def write_out(value: Array, target: Any, name: str, casting: str = "same_kind") -> Any:
    """Write into `target`, a lazy array or (evaluating) a NumPy array, and give it.

    casting: "unsafe" writes what 'same_kind' forbids.
    Raises: ShapeError, UFuncTypeError, DTypeError where it is no array.
    """
    check_out(target)
    if casting == "unsafe":
        value = value.astype(target.dtype, copy=False)
    if isinstance(target, Array):
        return target.update(value, name)
    check_cast(value.dtype, target.dtype, name)
    if broadcast_shapes(value.shape, target.shape, operation=name) != target.shape:
        raise ShapeError(
            f"non-broadcastable output operand with shape {target.shape} doesn't match the "
            f"broadcast shape {value.shape}"
        )
    np.copyto(target, value._values(name), casting="unsafe")
    return target


# Functions of core dimensions


def _call_core(
    ufunc: np.ufunc, inputs: tuple[Any, ...], out: Out, settings: Any
) -> tuple[Any, ...]:
    """Matrix products and the like: by the function of the same name."""
    targets = tuple(None if target is None else target.dtype for target in out)
    loop = find_loop(ufunc, (*map(_kind_of, inputs), *targets), settings)
    operands: Sequence[Any] = to_dtypes(inputs, loop)
    axes = settings.get("axes")
    if axes is not None:
        operands = [_move_core(x, a, False) for x, a in zip(operands, axes, strict=False)]
    axis = {name: settings[name] for name in ("axis",) if name in settings}
    form = find_form(ufunc)
    if form is None:
        raise DTypeError(f"'{ufunc.__name__}' of lazy arrays is not offered.")
    result = form(*operands, **axis)
    if settings.get("keepdims"):  # only of functions whose results have no core axes
        place = axis.get("axis", -1) if axes is None else (axes[ufunc.nin :] or axes)[0]
        result = namespace().expand_dims(result, place)
    elif axes is not None and len(axes) > ufunc.nin:
        result = _move_core(result, axes[ufunc.nin], True)
    return (result,)


def _move_core(x: Any, axes: Any, back: bool) -> Any:
    """Core axes to the end, or from there to where they are wanted."""
    wanted = tuple(axes) if isinstance(axes, (tuple, list)) else (axes,)
    last = tuple(range(-len(wanted), 0))
    return namespace().moveaxis(x, last, wanted) if back else namespace().moveaxis(x, wanted, last)
