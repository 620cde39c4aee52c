"""lazyblock and the libraries it is compared with, behind one interface.

A `Library` holds a namespace that runs the workloads, makes its arrays from NumPy's, compiles, and
times calls: by CUDA events on its own stream, or by the wall clock where it hides its stream. What
is not installed, or does not start, `open_peers` tells, with the reason.
"""

from __future__ import annotations

import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any, ClassVar

import ml_dtypes
import numpy as np

import lazyblock as lb
from benchmarks.clocks import Clock, StreamClock, WallClock
from benchmarks.workloads import FUNCTIONS, Workload
from lazyblock.backend import devices
from lazyblock.backend.runtime.cuda_driver import check, driver

Array = Any

# JAX would take three quarters of the GPU's memory at its first use.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")


class Library(ABC):
    """One contestant. is_eager: runs every operation by itself."""

    name: ClassVar[str]
    is_eager: ClassVar[bool] = False
    version: str
    xp: Any
    clock: Clock

    @abstractmethod
    def array(self, host: np.ndarray, dtype: str) -> Array:
        """Copy to the device, there converted to `dtype`."""

    @abstractmethod
    def to_numpy(self, array: Array) -> np.ndarray:
        """Wait and copy to the host."""

    def compile(self, workload: Workload) -> Callable[..., Any]:
        """Return the workload as a function of this library's arrays; eager unless overridden."""
        return functools.partial(workload.run, self.xp)

    @abstractmethod
    def trim(self) -> None:
        """Forget what was compiled and give unused memory back."""


def _namespace(module: Any, **changes: Any) -> SimpleNamespace:
    """The functions that workloads use, from a module where not given."""
    found = {name: getattr(module, name) for name in FUNCTIONS if hasattr(module, name)}
    return SimpleNamespace(**found | changes)


class LazyBlock(Library):
    """lazyblock itself, on one of its devices."""

    name = "lazyblock"
    version = lb.__version__
    xp = lb

    def __init__(self, device: str = "cuda") -> None:
        self.device: Any = devices.get_device(device)
        self._is_gpu = self.device.name.startswith("cuda")
        self.clock = _clock(int(self.device.stream)) if self._is_gpu else WallClock(self._wait)

    def array(self, host: np.ndarray, dtype: str) -> Array:
        array = lb.asarray(host, device=self.device.name).astype(dtype)
        lb.eval(array)
        return array

    def to_numpy(self, array: Array) -> np.ndarray:
        host: np.ndarray = array.numpy()
        return host

    def compile(self, workload: Workload) -> Callable[..., Any]:
        return lb.compile(functools.partial(workload.run, lb), numerics=workload.numerics)

    def make_copy(self, nbytes: int) -> Callable[[], Any]:
        """Return a copy of `nbytes` from one place of the device to another."""
        if not self._is_gpu:
            source, target = np.zeros((2, nbytes), np.uint8) + np.uint8(1)
            return functools.partial(np.copyto, target, source)
        buffers = [self.device.allocate(nbytes) for _ in range(2)]
        stream = self.device.stream

        def copy() -> None:
            target, source = (buffer.pointer for buffer in buffers)
            check(driver.cuMemcpyDtoDAsync(target, source, nbytes, stream), "copy")

        return copy

    def trim(self) -> None:
        if self._is_gpu:
            self.device.trim()

    def _wait(self, _: Any) -> None:
        self.device.synchronize()


class NumPy(Library):
    """On the host; it has no `erf`."""

    name = "NumPy"
    version = np.__version__
    is_eager = True
    xp = _namespace(np)

    def __init__(self) -> None:
        self.clock = WallClock(lambda _: None)

    def array(self, host: np.ndarray, dtype: str) -> Array:
        return host.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype, copy=False)

    def to_numpy(self, array: Array) -> np.ndarray:
        return np.asarray(array)

    def trim(self) -> None:
        """Nothing is kept."""


class Torch(Library):
    """PyTorch, one kernel per operation."""

    name = "torch"
    is_eager = True

    def __init__(self, device: str = "cuda") -> None:
        import torch

        self._torch = torch
        self.version = str(torch.__version__)
        self._device = torch.device(device)
        self._is_gpu = device == "cuda"
        self.xp = _torch_namespace(torch, self._device)
        self.clock = WallClock(lambda _: None)
        if self._is_gpu:
            torch.cuda.init()
            self.clock = _clock(torch.cuda.current_stream().cuda_stream)

    def array(self, host: np.ndarray, dtype: str) -> Array:
        return self._torch.from_numpy(host).to(self._device).to(getattr(self._torch, dtype))

    def to_numpy(self, array: Array) -> np.ndarray:
        wide = array.float() if array.dtype is self._torch.bfloat16 else array
        host: np.ndarray = wide.cpu().numpy()
        return host

    def trim(self) -> None:
        if self._is_gpu:
            self._torch.cuda.empty_cache()


class TorchCompile(Torch):
    """PyTorch, fused by its compiler for exactly the shapes given."""

    name = "torch.compile"
    is_eager = False

    def compile(self, workload: Workload) -> Callable[..., Any]:
        def run(*arrays: Array) -> Any:
            return workload.run(self.xp, *arrays)

        return self._torch.compile(run, fullgraph=True, dynamic=False)

    def trim(self) -> None:
        self._torch.compiler.reset()
        super().trim()


def _torch_namespace(torch: Any, device: Any) -> SimpleNamespace:
    def as_dtype(dtype: Any) -> Any:
        return getattr(torch, dtype) if isinstance(dtype, str) else dtype

    def fold(function: Any) -> Callable[..., Array]:
        def folded(x: Array, axis: int | None = None, keepdims: bool = False) -> Array:
            return function(x) if axis is None else function(x, dim=axis, keepdim=keepdims)

        return folded

    return _namespace(
        torch,
        arange=lambda size, dtype: torch.arange(size, dtype=as_dtype(dtype), device=device),
        astype=lambda x, dtype: x.to(as_dtype(dtype)),
        cumulative_sum=lambda x: torch.cumsum(x, dim=0),
        max=fold(torch.amax),
        mean=fold(torch.mean),
        std=lambda x, axis: torch.std(x, dim=axis, correction=0),
        sum=fold(torch.sum),
    )


class Jax(Library):
    """JAX, fused by XLA. It hides its stream: the wall clock is used."""

    name = "jax"

    def __init__(self) -> None:
        import jax

        self._jax = jax
        self.version = str(jax.__version__)
        self.xp = _namespace(jax.numpy, erf=jax.scipy.special.erf)
        self.clock = WallClock(jax.block_until_ready)

    def array(self, host: np.ndarray, dtype: str) -> Array:
        return self._jax.numpy.asarray(host).astype(dtype)

    def to_numpy(self, array: Array) -> np.ndarray:
        return np.asarray(array)

    def compile(self, workload: Workload) -> Callable[..., Any]:
        return self._jax.jit(functools.partial(workload.run, self.xp))

    def trim(self) -> None:
        self._jax.clear_caches()


class CuPy(Library):
    """CuPy, one kernel per operation."""

    name = "cupy"
    is_eager = True

    def __init__(self) -> None:
        import cupy
        from cupyx.scipy.special import erf

        self._cupy = cupy
        self.version = str(cupy.__version__)
        self.xp = _namespace(
            cupy,
            astype=lambda x, dtype: x.astype(dtype),
            cumulative_sum=cupy.cumsum,
            erf=erf,
        )
        self.clock = _clock(cupy.cuda.get_current_stream().ptr)

    def array(self, host: np.ndarray, dtype: str) -> Array:
        array = self._cupy.asarray(host)
        return array.astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype, copy=False)

    def to_numpy(self, array: Array) -> np.ndarray:
        host: np.ndarray = array.get()
        return host

    def trim(self) -> None:
        self._cupy.get_default_memory_pool().free_all_blocks()


def _clock(stream: int) -> Clock:
    return StreamClock(devices.get_device("cuda"), stream)


PEERS: dict[str, Callable[[], Library]] = {
    library.name: library for library in (Torch, TorchCompile, Jax, CuPy)
}


def open_peers(names: Sequence[str]) -> tuple[list[Library], dict[str, str]]:
    """Return those that start, and why the others do not."""
    opened: list[Library] = []
    missing: dict[str, str] = {}
    for name in names:
        try:
            opened.append(PEERS[name]())
        except Exception as error:  # whatever a foreign package raises at its start
            missing[name] = describe(error)
    return opened, missing


def describe(error: BaseException) -> str:
    """The error in one line."""
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}"[:200]
