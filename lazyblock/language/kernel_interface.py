"""What all that launches has in common: `kernel[grid](...)` is `kernel.run(..., grid=grid)`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class KernelInterface:
    """Base of kernels and of what wraps them; other people's wrappers define `run` only."""

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launch, or with `warmup` compile only."""
        raise NotImplementedError

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return functools.partial(self.run, grid=grid, warmup=False)


@dataclass(frozen=True)
class KernelParam:
    """A parameter of a kernel; default: inspect.Parameter.empty where there is none."""

    num: int
    name: str
    default: Any
    annotation: Any
    is_constexpr: bool
    do_not_specialize: bool

    @property
    def has_default(self) -> bool:
        return self.default is not inspect.Parameter.empty
