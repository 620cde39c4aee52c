"""Arrays after each other along an axis.

A few are read through views that may leave them, and every element of the result picks one: that
shares a kernel with what computes them and what reads the result. Many are joined on the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes
from lazyblock.graph import build, index_map
from lazyblock.graph.host_call import make_host_call
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op

_MOST_FUSED = 32  # each costs a test of every element

NDArray = npt.NDArray[Any]


def concatenate(nodes: Sequence[Node], axis: int) -> Node:
    """Arrays of one dtype and rank, whose other extents are equal, along `axis`."""
    nodes = [node for node in nodes if node.shape[axis]] or nodes[:1]
    if len(nodes) == 1:
        return nodes[0]
    total = sum(node.shape[axis] for node in nodes)
    shape = (*nodes[0].shape[:axis], total, *nodes[0].shape[axis + 1 :])
    if len(nodes) > _MOST_FUSED:
        call = make_host_call(join_arrays, {"axis": axis})
        return build.host_call(call, nodes, [(shape, nodes[0].dtype)])[0]
    place = build.positions(shape, axis)
    start, joined = total, None
    for node in reversed(nodes):
        end, start = start, start - node.shape[axis]
        starts = [-start if d == axis else 0 for d in range(node.ndim)]
        steps = index_map.slices(starts, [1] * node.ndim)
        moved = build.view(node, steps, shape, may_leave=True)
        is_here = build.elementwise(Op.LESS, place, build.fixed(end, dtypes.int64))
        joined = moved if joined is None else build.where(is_here, moved, joined)
    assert joined is not None
    return joined


def join_arrays(*arrays: NDArray, axis: int) -> NDArray:
    """What the host does for `concatenate`."""
    return np.concatenate(arrays, axis)
