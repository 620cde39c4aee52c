"""What kernels loop over; the front end gives it its meaning, Python iterates in interpreter mode.

Settings other than the bounds are hints.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import unwrap


class range:
    """`for i in tl.range(start, end, step)`: as Python's range, with hints on the loop."""

    def __init__(
        self,
        arg1: Any,
        arg2: Any = None,
        step: Any = None,
        num_stages: Any = None,
        loop_unroll_factor: Any = None,
        disallow_acc_multi_buffer: bool = False,
        flatten: bool = False,
        warp_specialize: bool = False,
        disable_licm: bool = False,
    ) -> None:
        self.start: Any = 0 if arg2 is None else arg1
        self.stop: Any = arg1 if arg2 is None else arg2
        self.step = 1 if step is None else step
        self.num_stages = unwrap(num_stages)
        self.loop_unroll_factor = unwrap(loop_unroll_factor)
        self.disallow_acc_multi_buffer = unwrap(disallow_acc_multi_buffer)
        self.flatten = unwrap(flatten)
        self.warp_specialize = unwrap(warp_specialize)
        self.disable_licm = unwrap(disable_licm)

    def __iter__(self) -> Iterator[int]:
        return iter(builtins.range(*(_as_int(v) for v in (self.start, self.stop, self.step))))


class static_range(range):
    """`for i in tl.static_range(start, end, step)`: unrolled, `i` is a constexpr."""

    def __init__(self, arg1: Any, arg2: Any = None, step: Any = None) -> None:
        super().__init__(arg1, arg2, step)
        for bound in (self.start, self.stop, self.step):
            if not hasattr(unwrap(bound), "__index__") or hasattr(bound, "handle"):
                raise SemanticError(
                    "tl.static_range needs bounds known at compile time.",
                    hint="use tl.range, or make the bounds tl.constexpr parameters.",
                )


class condition:
    """`while tl.condition(test)`: as `while test`, with hints on the loop."""

    def __init__(self, arg1: Any, disable_licm: bool = False) -> None:
        self.condition = arg1
        self.disable_licm = unwrap(disable_licm)

    def __bool__(self) -> bool:
        return bool(self.condition)


def _as_int(value: Any) -> int:
    plain: int = unwrap(value).__index__()
    return plain
