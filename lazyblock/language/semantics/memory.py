"""Loads, stores and atomics through pointers.

Masks and `other` broadcast to the pointers' shape, values convert to the element type. Lanes that
are masked off read 0 unless `other` says what. bool memory is one byte per element.
"""

from __future__ import annotations

from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin, unwrap
from lazyblock.language.context import current_builder
from lazyblock.language.dtypes import bfloat16, dtype, float16
from lazyblock.language.semantics.convert import cast, to_tensor
from lazyblock.language.semantics.shapes import refuse_odd, stretch, stretch_together
from lazyblock.language.tensor import composite, describe, tensor
from lazyblock.tiler.ir import Value

LOAD_CACHES = ("", ".ca", ".cg", ".cs", ".cv")
STORE_CACHES = ("", ".wb", ".cg", ".cs", ".wt")
EVICTIONS = ("", "evict_first", "evict_last", "evict_normal", "no_allocate")
ORDERS = ("relaxed", "acquire", "release", "acq_rel")
SCOPES = ("gpu", "cta", "sys")


@builtin
def load(
    pointer: Any,
    mask: Any = None,
    other: Any = None,
    boundary_check: Any = (),
    padding_option: str = "",
    cache_modifier: str = "",
    eviction_policy: str = "",
    volatile: bool = False,
) -> tensor:
    """What `pointer` points to, where `mask` holds; elsewhere `other`, or 0.

    A block pointer takes `boundary_check` (axes to mask) and `padding_option` ("zero" or "nan")
    instead. The other settings are hints.
    """
    hints = _hints(cache_modifier, LOAD_CACHES, eviction_policy)
    if volatile:  # another thread may write it at any time
        hints |= {"sem": "relaxed", "scope": "sys"}
    if isinstance(pointer, composite):
        _refuse_masks(pointer, mask, other)
        loaded: tensor = pointer.load_block(boundary_check, padding_option, hints)  # type: ignore[attr-defined]
        return loaded
    place = _pointer(pointer, "tl.load")
    _refuse_checks(boundary_check, padding_option)
    if mask is None and other is not None:
        raise SemanticError("tl.load got 'other' without 'mask'.", hint="give mask too.")
    return load_where(place, mask, other, hints)


def load_where(place: tensor, mask: Any, other: Any, hints: dict[str, str]) -> tensor:
    """A load whose mask and other (or None) broadcast with the pointers."""
    place, lanes = _broadcast_mask(place, mask)
    type = place.dtype.element_ty
    fill = None
    if other is not None:
        filling = to_tensor(other)
        if place.handle.shape:
            place, filling = stretch_together(place, filling, operation="tl.load's 'other'")
            lanes = lanes if lanes is None else stretch(lanes, place.handle.shape, "the mask")
        _refuse_block_at_scalar(place, filling, "other")
        fill = cast(filling, type).handle
    handle = None if lanes is None else lanes.handle
    return tensor(current_builder().load(place.handle, handle, fill, **hints))


@builtin
def store(
    pointer: Any,
    value: Any,
    mask: Any = None,
    boundary_check: Any = (),
    cache_modifier: str = "",
    eviction_policy: str = "",
) -> None:
    """Write `value`, converted to the element type, where `mask` holds."""
    hints = _hints(cache_modifier, STORE_CACHES, eviction_policy)
    if isinstance(pointer, composite):
        _refuse_masks(pointer, mask, None)
        pointer.store_block(to_tensor(value), boundary_check, hints)  # type: ignore[attr-defined]
        return
    place = _pointer(pointer, "tl.store")
    _refuse_checks(boundary_check, "")
    if place.dtype.is_const():
        raise SemanticError(f"tl.store to a pointer to constants, {place.dtype}.")
    store_where(place, to_tensor(value), mask, hints)


def store_where(place: tensor, value: tensor, mask: Any, hints: dict[str, str]) -> None:
    """A store whose value and mask broadcast to the pointers' shape."""
    value, lanes = _fit(place, value, mask)
    value = cast(value, place.dtype.element_ty)
    current_builder().store(place.handle, value.handle, lanes, **hints)


def _fit(place: tensor, value: tensor, mask: Any) -> tuple[tensor, Value | None]:
    shape = place.handle.shape
    _refuse_block_at_scalar(place, value, "value")
    lanes = None
    if mask is not None:
        given = _mask(mask)
        _refuse_block_at_scalar(place, given, "mask")
        lanes = stretch(given, shape, "a mask").handle
    return stretch(value, shape, "a value"), lanes


# --- checks --------------------------------------------------------------------------------------


def _pointer(value: Any, function: str) -> tensor:
    place = value if isinstance(value, tensor) else None
    if place is None or not place.dtype.is_ptr():
        raise SemanticError(
            f"{function} needs pointers, got {describe(value)}.",
            hint="add offsets to a pointer argument of the kernel.",
        )
    return place


def _mask(mask: Any) -> tensor:
    lanes = to_tensor(mask)
    if not lanes.dtype.is_bool():
        raise SemanticError(
            f"A mask is of int1, got {describe(lanes)}.", hint="compare: mask=(x != 0)."
        )
    return lanes


def _broadcast_mask(place: tensor, mask: Any) -> tuple[tensor, tensor | None]:
    if mask is None:
        return place, None
    lanes = _mask(mask)
    _refuse_block_at_scalar(place, lanes, "mask")
    if place.handle.shape:
        place, lanes = stretch_together(place, lanes, operation="tl.load's mask")
    return place, lanes


def _refuse_block_at_scalar(place: tensor, value: tensor, name: str) -> None:
    if not place.handle.shape and value.handle.shape:
        raise SemanticError(
            f"The {name} is {describe(value)}, but the pointer is a scalar.",
            hint="add a block of offsets to the pointer.",
        )


def _refuse_checks(boundary_check: Any, padding_option: str) -> None:
    if unwrap(boundary_check) or padding_option:
        raise SemanticError(
            "boundary_check and padding_option are for block pointers.",
            hint="give mask and other instead.",
        )


def _refuse_masks(pointer: composite, mask: Any, other: Any) -> None:
    if mask is not None or other is not None:
        raise SemanticError(
            "mask and other are not for block pointers.",
            hint="give boundary_check and padding_option instead.",
        )


def _hints(cache: str, caches: tuple[str, ...], eviction: str) -> dict[str, str]:
    cache, eviction = cache or "", eviction or ""
    check_choice(cache, caches, "cache_modifier")
    check_choice(eviction, EVICTIONS, "eviction_policy")
    return {"cache": cache, "eviction": "" if eviction == "evict_normal" else eviction}


def check_choice(value: Any, choices: tuple[str, ...], name: str) -> None:
    """A setting must be one of `choices`."""
    if value not in choices:
        listed = ", ".join(repr(choice) for choice in choices if choice)
        raise SemanticError(f"{name} is {value!r}, expected one of {listed}.")


# --- atomics -------------------------------------------------------------------------------------

_ATOMIC_BITS = {"add": (16, 32, 64), "xchg": (32, 64), "max": (32, 64), "min": (32, 64)}


def _check_order(sem: Any, scope: Any, default: str) -> tuple[str, str]:
    order, reach = sem or default, scope or "gpu"
    check_choice(order, ORDERS, "sem")
    check_choice(reach, SCOPES, "scope")
    return order, reach


def _check_atomic(name: str, type: dtype) -> None:
    is_half = type in (float16, bfloat16)
    widths = (32, 64) if name in ("and", "or", "xor") else _ATOMIC_BITS[name]
    fits = type.primitive_bitwidth in widths and (type.primitive_bitwidth != 16 or is_half)
    if name in ("and", "or", "xor") and not type.is_int():
        fits = False
    if not fits:
        raise SemanticError(
            f"tl.atomic_{name} is not for elements of {type}.",
            hint="32 and 64 bits are, and half types for atomic_add.",
        )


def atomic(
    name: str, pointer: Any, value: Any, mask: Any, sem: Any = None, scope: Any = None
) -> tensor:
    """Read, combine and write back in one step; gives what was there before."""
    place = _pointer(pointer, f"tl.atomic_{name}")
    if place.dtype.is_const():
        raise SemanticError(f"tl.atomic_{name} on a pointer to constants, {place.dtype}.")
    type = place.dtype.element_ty
    _check_atomic(name, type)
    order, reach = _check_order(sem, scope, "acq_rel")
    fitted, lanes = _fit(place, to_tensor(value), mask)
    handle = cast(fitted, type).handle
    b = current_builder()
    return tensor(b.atomic(name, place.handle, handle, lanes, sem=order, scope=reach))


def _atomic_function(name: str, does: str) -> Any:
    def function(
        pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
    ) -> tensor:
        return atomic(name, pointer, val, mask, sem, scope)

    function.__name__ = function.__qualname__ = f"atomic_{name}"
    function.__doc__ = f"{does}, in one step; gives the elements as they were before."
    return builtin(function)


atomic_add = _atomic_function("add", "Add `val` to memory")
atomic_max = _atomic_function("max", "Keep the larger of memory and `val`")
atomic_min = _atomic_function("min", "Keep the smaller of memory and `val`")
atomic_and = _atomic_function("and", "Keep the bits that memory and `val` share")
atomic_or = _atomic_function("or", "Set the bits of `val` in memory")
atomic_xor = _atomic_function("xor", "Flip the bits of `val` in memory")
atomic_xchg = _atomic_function("xchg", "Write `val` to memory")


@builtin
def atomic_cas(pointer: Any, cmp: Any, val: Any, sem: Any = None, scope: Any = None) -> tensor:
    """Write `val` where memory equals `cmp`, in one step; gives the elements as they were."""
    place = _pointer(pointer, "tl.atomic_cas")
    type = place.dtype.element_ty
    if type.primitive_bitwidth not in (16, 32, 64):
        raise SemanticError(f"tl.atomic_cas is of 16, 32 and 64 bits, got elements of {type}.")
    refuse_odd(place, "tl.atomic_cas")
    order, reach = _check_order(sem, scope, "acq_rel")
    shape = place.handle.shape
    old, new = (cast(stretch(to_tensor(v), shape, "a value"), type).handle for v in (cmp, val))
    b = current_builder()
    return tensor(b.compare_and_swap(place.handle, old, new, sem=order, scope=reach))


@builtin
def atomic_load(pointer: Any, mask: Any = None, sem: Any = None, scope: Any = None) -> tensor:
    """A load that other threads' atomic stores are ordered with."""
    order, reach = _check_order(sem, scope, "acquire")
    place, lanes = _broadcast_mask(_pointer(pointer, "tl.atomic_load"), mask)
    handle = None if lanes is None else lanes.handle
    return tensor(current_builder().load(place.handle, handle, sem=order, scope=reach))


@builtin
def atomic_store(
    pointer: Any, val: Any, mask: Any = None, sem: Any = None, scope: Any = None
) -> None:
    """A store that other threads' atomic loads are ordered with."""
    order, reach = _check_order(sem, scope, "release")
    place = _pointer(pointer, "tl.atomic_store")
    store_where(place, to_tensor(val), mask, {"sem": order, "scope": reach})


@builtin
def atomic_poll(
    pointer: Any, expected: Any, sem: Any = None, scope: Any = None, timeout: Any = None
) -> tensor:
    """Wait until the scalar at `pointer` equals `expected`; gives it."""
    order, reach = _check_order(sem, scope, "acquire")
    place, b = _pointer(pointer, "tl.atomic_poll"), current_builder()
    wanted = cast(to_tensor(expected), place.dtype.element_ty).handle

    def differs(value: Value) -> Value:
        return b.compare("ne", value, wanted)

    def again(value: Value) -> list[Value]:
        return [b.load(place.handle, sem=order, scope=reach)]

    (value,) = b.while_([b.load(place.handle, sem=order, scope=reach)], differs, again)
    return tensor(value)


@builtin
def debug_barrier() -> None:
    """What threads of this program instance wrote before, all of them see behind it."""
    current_builder().barrier()
