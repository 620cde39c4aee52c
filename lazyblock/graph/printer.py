"""Expressions as text, one node a line."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from lazyblock.graph.attrs import ConstantAttrs, InputAttrs
from lazyblock.graph.build import constant_value
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.traverse import topological


def print_graph(outputs: Sequence[Node]) -> str:
    """Text of the graph below `outputs`; the same in every process."""
    names: dict[Node, str] = {}
    lines = []
    for node in topological(outputs):
        names[node] = f"n{len(names)}"
        operands = ", ".join(names[operand] for operand in node.inputs)
        lines.append(
            f"{names[node]} = {node.op.value}({operands}){_settings(node)}"
            f" : {node.dtype}{list(node.shape)}"
        )
    lines.append("return " + ", ".join(names[node] for node in outputs))
    return "\n".join(lines) + "\n"


def _settings(node: Node) -> str:
    if isinstance(node.attrs, ConstantAttrs):
        return f" {{{constant_value(node)!r}}}"
    if isinstance(node.attrs, InputAttrs):
        return f" {{strides={list(node.attrs.strides)}, offset={node.attrs.offset}}}"
    pairs = [
        f"{entry.name}={_value(getattr(node.attrs, entry.name))}"
        for entry in dataclasses.fields(node.attrs)
        if entry.repr and entry.name not in ("shape", "dtype")
        if getattr(node.attrs, entry.name) != entry.default
    ]
    return f" {{{', '.join(pairs)}}}" if pairs else ""


def _value(value: object) -> str:
    if isinstance(value, IndexMap):
        return (
            "("
            + ", ".join(
                _affine(o, r) for o, r in zip(value.offsets, value.coefficients, strict=True)
            )
            + ")"
        )
    return str(getattr(value, "value", value))


def _affine(offset: int, row: Sequence[int]) -> str:
    terms = [f"i{axis}" if c == 1 else f"{c}*i{axis}" for axis, c in enumerate(row) if c]
    if offset or not terms:
        terms.append(str(offset))
    return " + ".join(terms)
