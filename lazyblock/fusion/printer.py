"""Plans as text: what each kernel computes, and why it was cut where it was."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lazyblock.fusion.plan import FusionGroup, FusionPlan, Verdict
from lazyblock.graph.attrs import CallAttrs
from lazyblock.graph.node import Node


def print_plan(plan: FusionPlan) -> str:
    """One block of lines per group, in launch order."""
    lines = []
    numbers = itertools.count()
    for group in plan.groups:
        lines.append(_title_of_host_call(group) if group.is_on_host else _title(group, numbers))
        for root in group.roots:
            kept = "stored" if root in group.stored else "in registers"
            lines.append(f"  {_describe(root)} ({kept})")
    cuts = [_verdict(v) for v in plan.verdicts if not v.is_fused]
    return "\n".join([*lines, *dict.fromkeys(cuts)]) + "\n"


def explain_plan(plan: FusionPlan, kernels: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """The plan with, per kernel, its name, bytes, flops and arithmetic intensity."""
    lines = []
    for number, (name, stats) in enumerate(kernels):
        nbytes, flops = stats["nbytes"], stats["flops"]
        intensity = flops / nbytes if nbytes else 0.0
        lines.append(
            f"kernel {number} is '{name}': {nbytes:,} bytes, {flops:,} flops"
            f" ({intensity:.2f} flops/byte)"
        )
    return print_plan(plan) + "\n".join(lines) + "\n"


def _title(group: FusionGroup, numbers: Iterator[int]) -> str:
    space = f"{list(group.space.shape)}"
    if group.space.reduced:
        space += f" reducing axes {list(group.space.reduced)}"
    return f"kernel {next(numbers)}: {group.space.form.value} over {space}"


def _title_of_host_call(group: FusionGroup) -> str:
    attrs = group.roots[0].attrs
    assert isinstance(attrs, CallAttrs)
    return f"no kernel: {attrs.call!r} runs NumPy on the host"


def _describe(node: Node) -> str:
    return f"{node.op.value} {node.dtype}{list(node.shape)} from {node.line}"


def _verdict(verdict: Verdict) -> str:
    return (
        f"not fused: {_describe(verdict.operand)} into {_describe(verdict.node)}:"
        f" {verdict.reason.value}"
    )
