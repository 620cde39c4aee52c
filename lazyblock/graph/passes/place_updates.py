"""Decide how writes into parts of arrays are computed: in kernels or in place.

Takes: any graph. Gives: no UPDATE nodes. A few different writes become conditions that pick between
old and new elements, which fuse with what is around them. A loop that writes each row by itself
has many: every one of them would look at all elements, in a kernel of its own. NumPy writes these
on the host, into the array itself where nobody else reads it. Keeps: values bit by bit.
Cost: linear.
"""

from __future__ import annotations

from collections.abc import Sequence

from lazyblock.graph import build
from lazyblock.graph.attrs import UpdateAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.graph.region_write import RegionWrite
from lazyblock.graph.regions import write_region
from lazyblock.graph.rewrite import Rule, rewrite
from lazyblock.graph.traverse import topological

MOST_FUSED = 16  # different writes, of places and shapes, in one graph


def place_updates(outputs: Sequence[Node], on_host: bool) -> list[Node]:
    """Run the pass; see the module's header. on_host: whether NumPy may write in place."""
    updates = [node for node in topological(outputs) if node.op is Op.UPDATE]
    if not updates:
        return list(outputs)
    different = {(node.attrs, node.shape) for node in updates}
    is_long = on_host and len(different) > MOST_FUSED

    def place(node: Node) -> Node:
        attrs = node.attrs
        assert isinstance(attrs, UpdateAttrs)
        base, value = node.inputs
        if not is_long:
            return write_region(base, attrs.map, attrs.shape, value)
        call = RegionWrite(attrs.map, attrs.shape)
        return build.host_call(call, node.inputs, [(node.shape, node.dtype)])[0]

    return rewrite(outputs, (Rule(Op.UPDATE, place, "it is what the update means"),))
