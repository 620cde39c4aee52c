"""The device in use, under the names that kernels written for Triton ask for.

`runtime.driver.active.get_current_target()`, `get_active_torch_device()`,
`utils.get_device_properties(0)["multiprocessor_count"]`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from lazyblock import testing
from lazyblock.language.autotune import Autotuner, Config, autotune
from lazyblock.language.heuristics import Heuristics, heuristics
from lazyblock.language.jit import JitFunction as JITFunction
from lazyblock.language.kernel_interface import KernelInterface
from lazyblock.lazy_imports import lazy_import

pipeline = lazy_import("lazyblock.pipeline")

_REGISTERS = 65536  # of a multiprocessor, on every GPU that kernels run on
_SHARED = 227 * 1024  # what a CPU tells, so that wrappers choose as they do for a large GPU


@dataclass(frozen=True)
class GPUTarget:
    """backend: "cuda" or "cpu"; arch: 90 for sm_90a, the processor's name on a CPU."""

    backend: str
    arch: int | str
    warp_size: int


class _Utils:
    """What Triton keeps in the driver's helper module."""

    @staticmethod
    def get_device_properties(device: Any = None) -> dict[str, int]:
        """Sizes of the default device (or of GPU number `device`, where that is a GPU)."""
        target = pipeline.get_device(None).target
        return {
            "multiprocessor_count": target.num_units,
            "max_shared_mem": target.shared_bytes or _SHARED,
            "max_num_regs": _REGISTERS,
            "warpSize": target.warp_size,
        }


class ActiveDriver:
    """The default device, as `lb.config` has it at the moment."""

    utils = _Utils()

    @staticmethod
    def get_current_target() -> GPUTarget:
        target = pipeline.get_device(None).target
        digits = "".join(filter(str.isdigit, target.arch))
        return GPUTarget(
            target.kind, int(digits) if target.is_gpu else target.arch, target.warp_size
        )

    @staticmethod
    def get_current_device() -> int:
        """Number of the default GPU; 0 on a CPU."""
        return int(pipeline.get_device(None).name.partition(":")[2] or 0)

    @staticmethod
    def get_active_torch_device() -> Any:
        """The default device as torch's; as its name where torch is not loaded."""
        name = pipeline.get_device(None).name
        name = name if name.startswith("cuda") else "cpu"
        return sys.modules["torch"].device(name) if "torch" in sys.modules else name

    @staticmethod
    def get_device_interface() -> Any:
        """torch's module of the default device."""
        kind = "cuda" if pipeline.get_device(None).name.startswith("cuda") else "cpu"
        return getattr(sys.modules["torch"], kind)

    @staticmethod
    def get_benchmarker() -> Callable[..., Any]:
        """`testing.do_bench`."""
        return testing.do_bench


__all__ = ["Autotuner", "Config", "Heuristics", "JITFunction", "KernelInterface", "autotune"]
__all__ += ["GPUTarget", "driver", "heuristics", "set_allocator"]

driver = SimpleNamespace(active=ActiveDriver())

_allocator: Callable[..., Any] | None = None


def set_allocator(allocator: Callable[..., Any] | None) -> None:
    """Accepted: tensor descriptors made in kernels need no memory from outside here."""
    global _allocator
    _allocator = allocator
