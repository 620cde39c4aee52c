"""A plan: an expression fused, lowered and compiled for one device, ready to run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from lazyblock.backend.block_kernel import BlockKernel
from lazyblock.backend.executable import Executable, Step
from lazyblock.backend.runtime.device import Device
from lazyblock.errors import ReplacementError
from lazyblock.fusion.plan import FusionPlan
from lazyblock.fusion.printer import explain_plan
from lazyblock.graph.attrs import InputAttrs
from lazyblock.graph.checks import PositionCheck
from lazyblock.graph.node import Node, make_input
from lazyblock.graph.ops import Op
from lazyblock.kernels import Kernel, describe_kernel
from lazyblock.language.kernel_file import KernelFile
from lazyblock.plan_steps import Result
from lazyblock.position_checks import with_checks
from lazyblock.replacement import replace_kernel
from lazyblock.tiler.ir import Program
from lazyblock.tiler.lowered import (
    Lowered,
    LoweredKernel,
)

Load = Callable[[Program, Device], BlockKernel]


@dataclass(frozen=True)
class Plan:
    """All that is known about an expression on one device."""

    fusion: FusionPlan
    lowered: tuple[Lowered, ...]
    executable: Executable
    results: tuple[Result, ...]
    leaves: tuple[Op, ...]  # INPUT or CONSTANT
    checks: tuple[PositionCheck, ...] = ()  # of the last results, which nobody asked for

    @cached_property
    def run(self) -> Callable[[Sequence[Node]], list[Node]]:
        """Run on leaves like those that were planned for; gives evaluated nodes."""
        texts = [
            f"nodes[{n}].attrs.storage"
            if op is Op.INPUT
            else f"int.from_bytes(nodes[{n}].attrs.data, 'little')"
            for n, op in enumerate(self.leaves)
        ]
        return self.make_function(texts, {})

    def make_function(
        self, leaves: Sequence[str], names: dict[str, Any]
    ) -> Callable[[Sequence[Node]], list[Node]]:
        """As `run`, with texts of the leaves in terms of `nodes`, its parameter, and `names`."""
        layouts = {f"layout{n}": result.layout for n, result in enumerate(self.results)}
        lines = {f"line{n}": result.line for n, result in enumerate(self.results)}
        tools = {"make_input": make_input, "InputAttrs": InputAttrs, "plan": self}

        def make_results(buffers: Sequence[str]) -> list[str]:
            return [
                f"make_input(InputAttrs({buffers[result.number]}, layout{n}, plan), line{n})"
                for n, result in enumerate(self.results)
            ]

        names = names | layouts | lines | tools
        run = self.executable.make_function("nodes", leaves, make_results, names)
        return with_checks(run, self.checks, self.executable.device)

    def with_kernel(self, number: int, kernel: KernelFile, load: Load) -> Plan:
        """The plan with one kernel replaced by what `load` makes of its program.

        Raises: ReplacementError, CompileError.
        """
        places = self.launches
        if not 0 <= number < len(places):
            raise ReplacementError(f"There is no kernel {number} among {len(places)}.")
        place, old, step = places[number]
        built = kernel.build(old.program.parameters, old.program.noalias)
        block = load(built, self.executable.device)
        steps, lowered = list(self.executable.steps), list(self.lowered)
        lowered[place], steps[place] = replace_kernel(old, step, block, kernel.grid)
        executable = replace(self.executable, steps=tuple(steps))
        return replace(self, lowered=tuple(lowered), executable=executable)

    def explain(self) -> str:
        """What is fused into which kernel and why, bytes, flops."""
        return explain_plan(self.fusion, [(k.name, k.stats) for k in self.kernels])

    @property
    def kernels(self) -> tuple[Kernel, ...]:
        return tuple(describe_kernel(low, step) for _, low, step in self.launches)

    @property
    def launches(self) -> list[tuple[int, LoweredKernel, Step]]:
        """The steps that are launches, each with its place."""
        pairs = enumerate(zip(self.lowered, self.executable.steps, strict=True))
        return [
            (place, low, step)
            for place, (low, step) in pairs
            if isinstance(low, LoweredKernel) and isinstance(step, Step)
        ]
