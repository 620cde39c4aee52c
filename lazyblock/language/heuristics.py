"""`@lb.heuristics`: arguments of a kernel computed from the others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lazyblock.errors import LaunchError
from lazyblock.language.compiled import CompiledKernel
from lazyblock.language.jit import JitFunction
from lazyblock.language.kernel_interface import KernelInterface


class Wrapper(KernelInterface):
    """A kernel whose launches get more arguments; other attributes are the kernel's."""

    def __init__(self, fn: Any) -> None:
        if not isinstance(fn, (JitFunction, Wrapper)):
            raise LaunchError(
                f"Expected a kernel, got a {type(fn).__name__}.",
                hint="put this decorator above @lb.jit.",
            )
        self.fn = fn
        self.base_fn: JitFunction = fn.base_fn if isinstance(fn, Wrapper) else fn
        self.arg_names = self.base_fn.arg_names
        self.__name__ = self.base_fn.name
        self.__doc__ = self.base_fn.__doc__

    def __getattr__(self, name: str) -> Any:
        if name == "fn":
            raise AttributeError(name)
        return getattr(self.fn, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn(*args, **kwargs)

    def by_name(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by parameter, with options among them."""
        return {**dict(zip(self.arg_names, args, strict=False)), **kwargs}


class Heuristics(Wrapper):
    """A kernel some of whose arguments are functions of the others."""

    def __init__(self, fn: Any, values: Mapping[str, Callable[[dict[str, Any]], Any]]) -> None:
        super().__init__(fn)
        self.values = dict(values)

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        return self.fn.run(*args, grid=grid, warmup=warmup, **self._chosen(args, kwargs))

    def warmup(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> CompiledKernel:
        """Compile for arguments like these."""
        kernel: CompiledKernel = self.fn.warmup(*args, grid=grid, **self._chosen(args, kwargs))
        return kernel

    def record(
        self, grid: Any, num_operands: int, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """A launch as a value, for `lb.call`."""
        return self.fn.record(grid, num_operands, args, self._chosen(args, kwargs))

    def _chosen(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        chosen = dict(kwargs)
        for name, choose in self.values.items():
            chosen[name] = choose(self.by_name(args, chosen))
        return chosen


def heuristics(values: Mapping[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Any], Any]:
    """Compute arguments from the others: {name: function of all arguments by name}."""
    return lambda fn: Heuristics(fn, values)
