"""Plans as text: what each kernel computes, and why it was cut where it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lazyblock.fusion.plan import FusionPlan, Verdict
from lazyblock.graph.node import Node


def print_plan(plan: FusionPlan) -> str:
    """One block of lines per group, in launch order."""
    lines = []
    for number, group in enumerate(plan.groups):
        space = f"{list(group.space.shape)}"
        if group.space.reduced:
            space += f" reducing axes {list(group.space.reduced)}"
        lines.append(f"kernel {number}: {group.space.form.value} over {space}")
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


def _describe(node: Node) -> str:
    return f"{node.op.value} {node.dtype}{list(node.shape)} from {node.line}"


def _verdict(verdict: Verdict) -> str:
    return (
        f"not fused: {_describe(verdict.operand)} into {_describe(verdict.node)}:"
        f" {verdict.reason.value}"
    )
