"""Atomic accesses to global and shared memory as PTX says them.

LLVM forgets the ordering of its atomic updates on NVPTX, so each is one instruction of inline
assembly, which tells LLVM that it touches any memory. An update whose result nobody reads is a
`red`, which cannot acquire.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock.backend.llvm.atomics import Atomic, add_half, extremum_of_floats
from lazyblock.backend.llvm.emit import Emitter
from lazyblock.backend.llvm.nvptx_functions import SHARED_POINTER
from lazyblock.backend.llvm.types import llvm_scalar
from lazyblock.target import Target
from lazyblock.tiler.types import ScalarType, bfloat16, int1

_CONSTRAINTS = {"i16": "h", "i32": "r", "i64": "l", "float": "f", "double": "d"}
_FIRST_WITH_BFLOAT_SUMS = 90  # compute capability
_BITWISE = {"and": "and", "or": "or", "xor": "xor", "xchg": "exch"}
_WITHOUT_RED = ("xchg", "cas")


def emit_ptx_atomic(
    emitter: Emitter, target: Target, access: Atomic, address: str, values: Sequence[str]
) -> str:
    """One access at `address` (with its type); gives what lay there before, "" if nothing reads it.

    Values are as registers hold them.
    """

    def emit(part: Atomic, *values: str) -> str:
        return emit_ptx_atomic(emitter, target, part, address, values)

    scalar = access.element
    assert isinstance(scalar, ScalarType)
    if access.kind in ("max", "min") and scalar.is_floating:
        return extremum_of_floats(emitter, access, values[0], emit)
    if access.is_half_sum and scalar == bfloat16 and not _has_bfloat_sums(target):
        return add_half(emitter, target, access, values[0], emit)
    return _instruction(emitter, access, address, values)


def _has_bfloat_sums(target: Target) -> bool:
    return int("".join(filter(str.isdigit, target.arch))) >= _FIRST_WITH_BFLOAT_SUMS


def _instruction(emitter: Emitter, access: Atomic, address: str, values: Sequence[str]) -> str:
    scalar = access.element
    assert isinstance(scalar, ScalarType)
    type = llvm_scalar(scalar)
    register = "i16" if scalar.bits < 16 else type
    wide = [_to_register(emitter, scalar, value, register) for value in values]
    has_result = access.kind != "store" and (access.is_used or access.kind in _WITHOUT_RED)
    name = _name(access, scalar, _space_of(address), has_result)
    first = 1 if has_result else 0
    operands = ["$0"] if has_result and access.kind != "store" else []
    operands += [f"[${first}]", *(f"${first + 1 + number}" for number in range(len(wide)))]
    letters = ["=" + _CONSTRAINTS[register]] if has_result else []
    letters += ["l", *(_CONSTRAINTS[register] for _ in wide), "~{memory}"]
    listed = ", ".join([address, *(f"{register} {value}" for value in wide)])
    result = register if has_result else "void"
    text = (
        f'call {result} asm sideeffect "{name} {", ".join(operands)};", '
        f'"{",".join(letters)}"({listed})'
    )
    if not has_result:
        emitter.line(text)
        return ""
    return _from_register(emitter, scalar, emitter.value(text), register)


def _space_of(address: str) -> str:
    return "shared" if address.startswith(f"{SHARED_POINTER} ") else "global"


def _name(access: Atomic, scalar: ScalarType, space: str, has_result: bool) -> str:
    """The instruction with its order, scope and type."""
    sem, kind = access.sem, access.kind
    if kind == "load":
        return f"ld.{sem}.{access.scope}.{space}.b{8 * access.nbytes}"
    if kind == "store":
        return f"st.{sem}.{access.scope}.{space}.b{8 * access.nbytes}"
    if not has_result:
        sem = {"acquire": "relaxed", "acq_rel": "release"}.get(sem, sem)
    head = f"{'atom' if has_result else 'red'}.{sem}.{access.scope}.{space}"
    if kind in _BITWISE or kind == "cas":
        return f"{head}.{_BITWISE.get(kind, kind)}.b{scalar.bits}"
    if scalar.is_half:
        return f"{head}.{kind}.noftz.{scalar.name}"
    is_signed_sum = kind == "add" and scalar.is_signed  # wraps: the same as the unsigned one
    name = f"u{scalar.bits}" if is_signed_sum else scalar.name
    letter = {"i": "s"}.get(name[0], name[0])
    return f"{head}.{kind}.{letter}{name[1:]}"


def _to_register(emitter: Emitter, scalar: ScalarType, value: str, register: str) -> str:
    type = llvm_scalar(scalar)
    return value if type == register else emitter.value(f"zext {type} {value} to {register}")


def _from_register(emitter: Emitter, scalar: ScalarType, value: str, register: str) -> str:
    if scalar == int1:
        return emitter.value(f"icmp ne {register} {value}, 0")  # any byte but 0 is true
    type = llvm_scalar(scalar)
    return value if type == register else emitter.value(f"trunc {register} {value} to {type}")
