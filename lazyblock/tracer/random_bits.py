"""Random bits as expressions: Philox4x32-10, a counter-based generator, on an IOTA.

Element i of draw number d under a key is a function of (i, d, key) alone, in integers: it is the
same on every device and in every kernel it is fused into, and nothing is stored.

Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, Parallel random numbers: as easy as 1,
2, 3, SC 2011.
"""

from __future__ import annotations

from lazyblock import dtypes
from lazyblock.dtypes import DType
from lazyblock.graph import build
from lazyblock.graph.index_map import IndexMap
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.shapes import Shape, contiguous_strides, size_of

_ROUNDS = 10
_MULTIPLIERS = 0xD2511F53, 0xCD9E8D57
_KEY_STEPS = 0x9E3779B9, 0xBB67AE85
_WORD = 32  # bits

Key = tuple[int, int]
Words = tuple[Node, Node, Node, Node]


def random_words(shape: Shape, key: Key, draw: int) -> Words:
    """Four words (uint32) for every element of `shape`. key: two words; draw: below 2**64."""
    low, high = _split(_places(shape))
    counter = low, _word(draw), high, _word(draw >> _WORD)
    return philox(counter, (_word(key[0]), _word(key[1])))


def philox(counter: Words, key: tuple[Node, Node]) -> Words:
    """The words (uint32) that a counter stands for under a key."""
    factors = [build.fixed(factor, dtypes.uint64) for factor in _MULTIPLIERS]
    steps = [build.fixed(step, dtypes.uint32) for step in _KEY_STEPS]
    for number in range(_ROUNDS):
        if number:
            first, second = map(_add, key, steps)
            key = first, second
        (low0, high0), (low1, high1) = (
            _split(build.elementwise(Op.MULTIPLY, build.cast(word, dtypes.uint64), factor))
            for word, factor in zip((counter[0], counter[2]), factors, strict=True)
        )
        counter = _xor(high1, counter[1], key[0]), low1, _xor(high0, counter[3], key[1]), low0
    return counter


def long_word(high: Node, low: Node) -> Node:
    """Two words as one of 64 bits."""
    wide = build.cast(high, dtypes.uint64)
    shifted = build.elementwise(Op.LEFT_SHIFT, wide, build.fixed(_WORD, dtypes.uint64))
    return build.elementwise(Op.BITWISE_OR, shifted, build.cast(low, dtypes.uint64))


def unit_interval(high: Node, low: Node, dtype: DType) -> Node:
    """Multiples of 2**-53 (float32: 2**-24) in [0, 1)."""
    if dtype == dtypes.float32:
        return _fraction(high, _WORD, 24, dtype)
    return _fraction(long_word(high, low), 2 * _WORD, 53, dtype)


def _fraction(word: Node, bits: int, kept: int, dtype: DType) -> Node:
    dropped = build.fixed(bits - kept, word.dtype)
    whole = build.cast(build.elementwise(Op.RIGHT_SHIFT, word, dropped), dtype)
    return build.elementwise(Op.MULTIPLY, whole, build.fixed(2.0**-kept, dtype))


def _places(shape: Shape) -> Node:
    """The number of every element in C order."""
    line = build.iota(size_of(shape), dtypes.uint64)
    return build.view(line, IndexMap((0,), (contiguous_strides(shape),), len(shape)), shape)


def _word(value: int) -> Node:
    """An argument of the kernel, so that other keys and draws are no new kernels."""
    return build.constant(value & 0xFFFFFFFF, dtypes.uint32)


def _split(word: Node) -> tuple[Node, Node]:
    """Low and high half of a word of 64 bits."""
    shift = build.fixed(_WORD, dtypes.uint64)
    high = build.elementwise(Op.RIGHT_SHIFT, word, shift)
    return build.cast(word, dtypes.uint32), build.cast(high, dtypes.uint32)


def _add(left: Node, right: Node) -> Node:
    return build.elementwise(Op.ADD, left, right)


def _xor(first: Node, second: Node, third: Node) -> Node:
    both = build.elementwise(Op.BITWISE_XOR, first, second)
    return build.elementwise(Op.BITWISE_XOR, both, third)
