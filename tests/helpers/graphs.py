"""Random expression graphs over `build.py`, and what rewrites may not change about a graph."""

from types import SimpleNamespace

import numpy as np

from lazyblock import dtypes
from lazyblock.graph import build, index_map
from lazyblock.graph.interpret import interpret
from lazyblock.graph.joining import concatenate
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.graph.traverse import topological
from lazyblock.graph.verify import verify_graph

UNARY = (Op.NEGATIVE, Op.ABSOLUTE, Op.SQRT, Op.FLOOR, Op.RINT)
BINARY = (Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.MAXIMUM, Op.DIVIDE)
SHAPES = ((), (1,), (5,), (3, 4), (2, 1, 3), (0, 2))


def new_input(shape, dtype=dtypes.float64):
    """An INPUT node with a storage of its own."""
    return build.input_array(SimpleNamespace(device=None, nbytes=0), shape, dtype)


def random_graph(rng, num_ops=12):
    """One output of about `num_ops` operations drawn with `rng`, and values for its inputs."""
    shape = SHAPES[rng.integers(len(SHAPES))]
    inputs = [new_input(shape) for _ in range(2)]
    nodes = [*inputs, build.constant(rng.normal(), dtypes.float64)]
    for _ in range(num_ops):
        nodes.append(_random_node(rng, nodes))
    return nodes[-1], {node: rng.normal(size=shape) for node in inputs}


def _random_node(rng, nodes):
    node = nodes[rng.integers(len(nodes))]
    match rng.integers(9):
        case 0:
            return build.elementwise(UNARY[rng.integers(len(UNARY))], node)
        case 1:
            return build.permute(node, [int(axis) for axis in rng.permutation(node.ndim)])
        case 2:
            return _random_reshape(rng, node)
        case 3 if node.ndim:
            kind = (ReduceKind.SUM, ReduceKind.PROD)[rng.integers(2)]
            return build.reduce(kind, node, (int(rng.integers(node.ndim)),))
        case 4:
            steps = [int(rng.choice([-1, 1])) for _ in node.shape]
            starts = [n - 1 if step < 0 else 0 for n, step in zip(node.shape, steps, strict=True)]
            return build.view(node, index_map.slices(starts, steps), node.shape)
        case 5 if node.ndim:
            kind = (ReduceKind.SUM, ReduceKind.MAX)[rng.integers(2)]
            return build.scan(kind, node, int(rng.integers(node.ndim)), bool(rng.integers(2)))
        case 6 if node.size and node.ndim:
            places = build.constant(rng.integers(node.shape[0]), dtypes.int64)
            free = index_map.from_axes([None, *range(1, node.ndim)], node.ndim)
            return build.gather(node, free, {0: places}, node.shape)
        case 7 if node.ndim:
            return concatenate([node, node], int(rng.integers(node.ndim)))
    same = [other for other in nodes if other.shape in (node.shape, ())]
    other = same[rng.integers(len(same))]
    return build.elementwise(BINARY[rng.integers(len(BINARY))], node, other)


def _random_reshape(rng, node):
    shapes = [(node.size,), (1, *node.shape), (*node.shape, 1), node.shape[::-1]]
    return build.reshape(node, shapes[rng.integers(len(shapes))])


def assert_same_meaning(before, after, inputs):
    """Both lists of outputs have equal values, bit by bit; `after` is a sound graph."""
    verify_graph(after)
    for old, new in zip(interpret(before, inputs), interpret(after, inputs), strict=True):
        assert (old.shape, old.dtype) == (new.shape, new.dtype)
        np.testing.assert_array_equal(old, new)


def count_op(output, op):
    """Number of nodes of this op below `output`."""
    return sum(node.op is op for node in topological([output]))
