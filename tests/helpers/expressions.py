"""Expressions over graph nodes that many tests use, and inputs that need no device."""

from types import SimpleNamespace

from lazyblock import dtypes
from lazyblock.graph import build
from lazyblock.graph.ops import Op, ReduceKind

apply = build.elementwise


def array(shape, dtype=dtypes.float32):
    """Return an INPUT node with a storage of its own."""
    return build.input_array(SimpleNamespace(device=None, nbytes=0), shape, dtype)


def scalar(value, dtype=dtypes.float32):
    return build.constant(value, dtype)


def total(x, axes):
    return build.reduce_keepdims(ReduceKind.SUM, x, axes)


def highest(x, axes):
    return build.reduce_keepdims(ReduceKind.MAX, x, axes)


def mean(x, axes, count=3.0):
    return apply(Op.DIVIDE, total(x, axes), scalar(count, x.dtype))


def softmax(x, axes=(1,)):
    e = apply(Op.EXP, apply(Op.SUBTRACT, x, highest(x, axes)))
    return apply(Op.DIVIDE, e, total(e, axes))


def standardise(x, axes=(1,)):
    centred = apply(Op.SUBTRACT, x, mean(x, axes))
    variance = mean(apply(Op.MULTIPLY, centred, centred), axes)
    return apply(Op.DIVIDE, centred, apply(Op.SQRT, variance))
