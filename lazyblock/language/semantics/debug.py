"""What kernels check and print: at compile time, and on the device."""

from __future__ import annotations

from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin
from lazyblock.language.context import current, current_builder
from lazyblock.language.dtypes import int1, int64
from lazyblock.language.semantics.convert import cast, to_tensor
from lazyblock.language.semantics.shapes import refuse_odd, stretch
from lazyblock.language.tensor import tensor


class StaticAssertionError(SemanticError, AssertionError):
    """A `tl.static_assert` that does not hold."""


@builtin
def static_assert(cond: Any, msg: str = "") -> None:
    """Refuse to compile unless `cond`, which is known at compile time."""
    if isinstance(cond, tensor) and not hasattr(cond.handle, "datum"):
        raise SemanticError(
            "tl.static_assert needs a condition known at compile time.",
            hint="use tl.device_assert for values of the device.",
        )
    if not cond:
        raise StaticAssertionError(
            f"The static assertion does not hold{f': {msg}' if msg else '.'}"
        )


@builtin
def static_print(
    *values: Any, sep: str = " ", end: str = "\n", file: Any = None, flush: bool = False
) -> None:
    """Python's print, once, when the kernel is compiled."""
    print(*values, sep=sep, end=end, file=file, flush=flush)


@builtin
def device_print(prefix: str, *args: Any, hex: bool = False) -> None:
    """Print `prefix` and each element of `args` where and when the kernel runs."""
    if not isinstance(prefix, str) or not prefix.isascii():
        raise SemanticError(f"tl.device_print needs an ASCII text first, got {prefix!r}.")
    values = [to_tensor(value) for value in args]
    for value in values:
        refuse_odd(value, "tl.device_print")
    current_builder().print_(prefix, [value.handle for value in values], hex)


@builtin
def device_assert(cond: Any, msg: str = "", mask: Any = None) -> None:
    """Fail the launch where `cond` does not hold (and `mask` does); inert unless debug."""
    if not current().debug:
        return
    condition = cast(to_tensor(cond), int1)
    if mask is None:
        lanes = None
    else:
        lanes = stretch(cast(to_tensor(mask), int1), condition.handle.shape, "the mask").handle
    current_builder().assert_(condition.handle, msg, lanes)


@builtin
def expect_zero(value: Any) -> Any:
    """`value`, which is asserted to be zero in debug mode."""
    operand = to_tensor(value)
    zero = current_builder().full_like(operand.handle, 0)
    device_assert(tensor(current_builder().compare("eq", operand.handle, zero)), "expected zero")
    return value


def check_overflow(operator: Any, left: tensor, right: tensor) -> None:
    """Assert that a sum, difference or product below 64 bits is what integers without end give."""
    type = left.dtype
    if type.primitive_bitwidth in (1, 64):
        return
    b = current_builder()
    wide = b.binary(operator.kind, *(b.cast(value.handle, int64.ir) for value in (left, right)))
    fits = b.and_(
        b.compare("ge", wide, type.get_int_min_value()),
        b.compare("le", wide, type.get_int_max_value()),
    )
    b.assert_(fits, f"'{operator.sign}' of {type} overflows", None)
