"""Kernels of a plan, for reading: texts of the stages, figures, what their arguments are like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lazyblock.backend.executable import Step
from lazyblock.backend.kernel import CompiledKernel
from lazyblock.backend.runtime.device import Resources
from lazyblock.graph import build
from lazyblock.graph.attrs import InputAttrs
from lazyblock.language.kernel_file import ArraySample, Sample, write_file
from lazyblock.tiler.ir import Program
from lazyblock.tiler.lowered import (
    Argument,
    ConstantArgument,
    LaunchNumberArgument,
    LoweredKernel,
    SizeArgument,
    WorkspaceArgument,
)


@dataclass(frozen=True)
class Kernel:
    """One kernel of an expression, for reading.

    name; source (block-language text); ir (block IR); llvm; ptx or asm; grid; stats (nbytes and
    flops per launch, threads; registers, spills and warnings where known); log (what the driver's
    compiler said).
    """

    name: str
    grid: tuple[int, int, int]
    compiled: CompiledKernel
    stats: dict[str, Any]
    program: Program
    samples: tuple[Sample, ...]
    log: str = ""

    @property
    def source(self) -> str:
        """A program in the block language: the kernel, and a `main` that tries it."""
        return write_file(self.program, self.samples, self.grid)

    @property
    def stages(self) -> dict[str, str]:
        """Texts by name, in order of making."""
        return self.compiled.stages

    @property
    def ir(self) -> str:
        return self.compiled.texts["block"]

    @property
    def llvm(self) -> str:
        return self.compiled.texts.get("llvm", "")

    @property
    def ptx(self) -> str:
        """PTX text; "" for a CPU kernel."""
        return self.compiled.texts.get("ptx", "")

    @property
    def asm(self) -> str:
        """Assembly of a CPU kernel, PTX of a GPU kernel."""
        return self.stages.get("asm") or self.ptx

    def __repr__(self) -> str:
        return f"Kernel({self.name!r}, grid={self.grid})"


def describe_kernel(lowered: LoweredKernel, step: Step) -> Kernel:
    """A kernel as it was lowered and loaded."""
    resources: Resources = step.loaded.resources
    stats = {
        "nbytes": lowered.nbytes,
        "flops": lowered.flops,
        "num_threads": step.kernel.num_threads,
        "num_ctas": step.kernel.num_ctas,
        "registers": resources.registers,
        "spill_bytes": resources.spill_bytes,
        "shared_bytes": resources.shared_bytes,
        "warnings": step.loaded.warnings,
    }
    log = step.loaded.log
    samples = tuple(map(sample_of, lowered.arguments))
    compiled = step.kernel
    return Kernel(compiled.name, step.grid, compiled, stats, lowered.program, samples, log)


def sample_of(argument: Argument) -> Sample:
    """What an argument is like: the extent of an array, a number as it is."""
    if isinstance(argument, SizeArgument):
        return argument.value
    if isinstance(argument, ConstantArgument):
        number: bool | int | float = build.constant_value(argument.node).item()
        return number
    if isinstance(argument, LaunchNumberArgument):
        return 1
    if isinstance(argument, WorkspaceArgument):
        return ArraySample(argument.nbytes // 8, 0, "int64", is_workspace=True)
    node = argument.base
    low, high = 0, max(node.size - 1, 0)
    if isinstance(node.attrs, InputAttrs):
        steps = [s * (n - 1) for s, n in zip(node.attrs.strides, node.shape, strict=True) if n]
        low = node.attrs.offset + sum(step for step in steps if step < 0)
        high = node.attrs.offset + sum(step for step in steps if step > 0)
    low = min(low, argument.offset)
    size = max(high, argument.offset) - low + 1
    return ArraySample(size, argument.offset - low, node.dtype.name)
