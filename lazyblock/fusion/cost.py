"""What fusion costs and brings: bytes, work repeated, kernel size. Never decides legality."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate, chain

from lazyblock.graph.node import Node
from lazyblock.graph.ops import ELEMENTWISE

MOST_CODE = 1000  # per kernel, see code_size: beyond, compile time and registers suffer
MOST_ARRAYS = 48  # loaded per kernel: 4 KiB of parameters on every GPU, strides included
MOST_ROOTS = 32

# A value read by several kernels is stored rather than computed again when the work per byte saved
# exceeds this: about the ratio of arithmetic to memory speed on CPUs and GPUs alike.
_FLOPS_PER_BYTE = 12
_LAUNCH_BYTES = 1 << 23  # that a GPU's memory moves while a kernel starts


def flops(node: Node) -> int:
    """Rough arithmetic per element of one node."""
    info = ELEMENTWISE.get(node.op)
    return info.flops if info else 0


def code_size(nodes: Iterable[Node]) -> int:
    """Rough size of the code that computes `nodes`: a logarithm is as long as many additions."""
    return sum(max(flops(node), 1) for node in nodes)


def pays_to_store(
    node: Node,
    inlined: Iterable[Node],
    leaves: Iterable[Node] = (),
    repeats: int = 1,
    is_launched: bool = False,
) -> bool:
    """Whether storing `node` once beats computing it `repeats` times more.

    inlined: the nodes computed for it; leaves: the arrays those read, if the repetition reads them
    from memory again. Storing costs a write and a read of `node`, and the start of a kernel if one
    `is_launched` for it. Looks at no more of them than it takes to know.
    """
    if node.size == 0:
        return False
    rate = repeats * node.size / _FLOPS_PER_BYTE
    price = 2 * node.nbytes + is_launched * _LAUNCH_BYTES
    gains = chain((rate * flops(n) for n in inlined), (leaf.nbytes for leaf in leaves))
    return any(total > price for total in accumulate(gains))
