"""Decide how each contraction is computed: by a kernel of its own, by others, or on the host.

Takes: any graph. Gives: CONTRACT nodes of matrices only, of dtypes that kernels multiply. Others
are sums of products, which fuse: those with a vector, which move as much as they compute, tiny
ones, and dtypes without matrix kernels. On the CPU all are NumPy's. Keeps: integers exactly, floats
up to the order of their sums. Cost: linear.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.graph import build
from lazyblock.graph.contraction import multiply_matrices, sum_dtype
from lazyblock.graph.host_call import make_host_call
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.graph.rewrite import Rule, rewrite
from lazyblock.shapes import size_of

_TINY = 1 << 12  # products; with fewer, a kernel of their own is not worth launching


def place_contractions(
    outputs: Sequence[Node], in_kernels: Collection[DType], on_host: bool
) -> list[Node]:
    """Run the pass; see the module's header.

    Parameters: in_kernels, the dtypes of operands that matrix kernels take; on_host, whether NumPy
    multiplies matrices.
    """

    def place(node: Node) -> Node | None:
        a, b = node.inputs
        (_, rows, depth), columns = a.shape, b.shape[2]
        if 0 in (*node.shape, depth):
            return build.broadcast_to(build.fixed(0, node.dtype), node.shape)
        if 1 in (rows, columns, depth) or size_of((*a.shape, columns)) <= _TINY:
            return _sum_products(node)
        if on_host:
            call = make_host_call(multiply_matrices, {"dtype": node.dtype})
            return build.host_call(call, node.inputs, [(node.shape, node.dtype)])[0]
        return None if a.dtype in in_kernels else _sum_products(node)

    return rewrite(outputs, (Rule(Op.CONTRACT, place, "sums of the same products"),))


def _sum_products(node: Node) -> Node:
    a, b = node.inputs
    wide = sum_dtype(a.dtype, node.dtype)
    (batch, rows, depth), columns = a.shape, b.shape[2]
    space = batch, rows, columns, depth
    left = build.broadcast_to(build.expand_dims(build.cast(a, wide), (2,)), space)
    right = build.expand_dims(build.permute(build.cast(b, wide), (0, 2, 1)), (1,))
    product = build.elementwise(Op.MULTIPLY, left, build.broadcast_to(right, space))
    kind = ReduceKind.ANY if dtypes.is_bool(wide) else ReduceKind.SUM
    return build.cast(build.reduce(kind, product, (3,)), node.dtype)
