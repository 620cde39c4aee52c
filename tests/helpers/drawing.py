"""Random expressions for hypothesis: graphs over a few arrays of related shapes.

`exact_graphs` use only operations whose results have one right bit pattern; `smooth_graphs` use
functions and floating sums, kept where errors do not grow.
"""

import numpy as np
from hypothesis import strategies as st

from lazyblock import dtypes
from lazyblock.graph import build, index_map
from lazyblock.graph.joining import concatenate
from lazyblock.graph.ops import Op, ReduceKind
from tests.helpers.expressions import array

EXTENTS = st.sampled_from([1, 2, 3, 5, 8, 17, 31, 64, 100])
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, np.inf, -np.inf, np.nan]
ARITHMETIC = [Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.MINIMUM, Op.MAXIMUM]
ON_FLOATS = [*ARITHMETIC, Op.DIVIDE, Op.FLOOR_DIVIDE, Op.REMAINDER, Op.COPYSIGN]
ON_INTEGERS = [*ARITHMETIC, Op.FLOOR_DIVIDE, Op.REMAINDER, Op.LEFT_SHIFT, Op.RIGHT_SHIFT]
ON_INTEGERS += [Op.BITWISE_AND, Op.BITWISE_OR, Op.BITWISE_XOR]
ON_BOOLS = [Op.BITWISE_AND, Op.BITWISE_OR, Op.BITWISE_XOR, Op.ADD, Op.MULTIPLY]
UNARY_FLOATS = [Op.NEGATIVE, Op.ABSOLUTE, Op.SQRT, Op.FLOOR, Op.CEIL, Op.TRUNC, Op.RINT, Op.SIGN]
UNARY_INTEGERS = [Op.INVERT, Op.ABSOLUTE, Op.SIGN]
TESTS = [Op.EQUAL, Op.NOT_EQUAL, Op.LESS, Op.LESS_EQUAL, Op.GREATER, Op.GREATER_EQUAL]
KINDS = ["binary", "binary", "unary", "test", "where", "cast", "view", "reduce", "gather", "join"]
SMOOTH = [Op.TANH, Op.SIN, Op.COS, Op.ERF, Op.ARCTAN, Op.ARCSINH]


def random_values(node, seed):
    """Return data for an input: small numbers, some special."""
    rng = np.random.default_rng(seed)
    if dtypes.is_bool(node.dtype):
        return rng.integers(0, 2, node.shape).astype(bool)
    if dtypes.is_integer(node.dtype):
        info = np.iinfo(node.dtype)
        values = rng.integers(max(info.min, -100), 100, node.shape).astype(node.dtype)
        corners = rng.choice(np.array([info.min, info.max], node.dtype), node.shape)
        return np.where(rng.random(node.shape) < 0.1, corners, values)
    values = rng.normal(0, 4, node.shape).astype(node.dtype)
    specials = rng.choice(np.array(SPECIAL, np.float32), node.shape).astype(node.dtype)
    return np.where(rng.random(node.shape) < 0.1, specials, values)


class _Drawer:
    """One graph while it is drawn; `pool` holds what later steps may use."""

    def __init__(self, draw, dtypes_allowed):
        self.draw = draw
        self.dtypes_allowed = dtypes_allowed
        self.shape = (draw(EXTENTS), draw(EXTENTS))
        self.pool = [self.input() for _ in range(draw(st.integers(1, 3)))]

    def pick(self, options):
        return self.draw(st.sampled_from(options))

    def input(self):
        rows, columns = self.shape
        shapes = [self.shape, self.shape, (1, columns), (rows, 1), (columns,), ()]
        return array(self.pick(shapes), self.pick(self.dtypes_allowed))

    def full(self, node):
        return build.broadcast_to(node, self.shape)

    def view(self, node):
        """Flip or transpose (where square) a whole array."""
        node = self.full(node)
        rows, columns = self.shape
        flips = [((rows - 1, 0), (-1, 1)), ((0, columns - 1), (1, -1))]
        if rows == columns and self.draw(st.booleans()):
            return build.permute(node, (1, 0))
        return build.view(node, index_map.slices(*self.pick(flips)), self.shape)

    def gathered(self, node, positions):
        """Rows, columns or single elements of a whole array, at computed positions."""
        axes = self.pick([(0,), (1,), (0, 1)])
        free = index_map.from_axes([None if axis in axes else axis for axis in (0, 1)], 2)
        computed = {
            axis: self.full(_position(positions, self.shape[axis], shift=axis)) for axis in axes
        }
        return build.gather(self.full(node), free, computed, self.shape)

    def joined(self, x, y):
        """The first rows or columns of one array, then the last ones of another."""
        axis = self.pick([0, 1])
        extent = self.shape[axis]
        first = self.draw(st.integers(0, extent))
        parts = (_slice(self.full(x), axis, 0, first), _slice(self.full(y), axis, first, extent))
        return concatenate(parts, axis)

    def reduced(self, node, kinds):
        axes = self.pick([(0,), (1,), (0, 1)])
        return build.reduce_keepdims(self.pick(kinds), self.full(node), axes)


def _position(node, extent, shift):
    """An index below `extent` made of anything."""
    if dtypes.is_floating(node.dtype):
        node = build.elementwise(Op.LESS, node, build.constant(0.5, node.dtype))
    node = build.elementwise(
        Op.ADD, build.cast(node, dtypes.int64), build.constant(shift, dtypes.int64)
    )
    return build.elementwise(Op.REMAINDER, node, build.constant(extent, dtypes.int64))


def _slice(node, axis, start, stop):
    shape = tuple(stop - start if d == axis else n for d, n in enumerate(node.shape))
    starts = [start if d == axis else 0 for d in range(node.ndim)]
    return build.view(node, index_map.slices(starts, [1] * node.ndim), shape)


@st.composite
def exact_graphs(draw, dtypes_allowed=dtypes.REAL):
    """Draw a list of outputs."""
    drawer = _Drawer(draw, dtypes_allowed)
    for _ in range(draw(st.integers(1, 8))):
        drawer.pool.append(_exact_step(drawer))
    outputs = drawer.pool[-draw(st.integers(1, 2)) :]
    return list(dict.fromkeys(outputs))


def _exact_step(drawer):
    x, y = drawer.pick(drawer.pool), drawer.pick(drawer.pool)
    kind = drawer.pick(KINDS)
    if kind == "view":
        return drawer.view(x)
    if kind == "gather":
        return drawer.gathered(x, y)
    if kind == "cast":
        return _safe_cast(x, drawer.pick(dtypes.REAL))
    if kind == "unary":
        return _unary(drawer, x)
    if kind == "reduce":
        return _exact_reduction(drawer, x)
    common = dtypes.promote(x.dtype, y.dtype)
    x, y = build.cast(x, common), build.cast(y, common)
    if kind == "join":
        return drawer.joined(x, y)
    if kind == "where":
        condition = build.elementwise(drawer.pick(TESTS), x, y)
        return build.where(condition, x, y)
    if kind == "test":
        return build.elementwise(drawer.pick(TESTS), x, y)
    if dtypes.is_floating(common):
        return _on_floats(drawer.pick(ON_FLOATS), x, y)
    return build.elementwise(drawer.pick(ON_BOOLS if common.kind == "b" else ON_INTEGERS), x, y)


def _on_floats(op, x, y):
    if op is Op.COPYSIGN:  # the sign of a NaN that an operation made is not defined
        y = build.where(build.elementwise(Op.ISNAN, y), build.constant(1, y.dtype), y)
    result = build.elementwise(op, x, y)
    return _positive_zeros(result) if op in (Op.MINIMUM, Op.MAXIMUM) else result


def _positive_zeros(x):
    """NumPy leaves open which zero is the lesser: -0.0 becomes 0.0 before that shows."""
    return build.elementwise(Op.ADD, x, build.constant(0, x.dtype))


def _unary(drawer, x):
    if dtypes.is_bool(x.dtype):
        return build.elementwise(Op.INVERT, x)
    if dtypes.is_integer(x.dtype):
        return build.elementwise(drawer.pick(UNARY_INTEGERS), x)
    return build.elementwise(drawer.pick(UNARY_FLOATS), x)


def _safe_cast(x, dtype):
    """Floats become integers only where C defines it: here only by way of a test."""
    if dtypes.is_floating(x.dtype) and dtypes.is_integer(dtype):
        x = build.elementwise(Op.LESS, x, build.cast(build.constant(0, dtypes.float32), x.dtype))
    return build.cast(x, dtype)


def _exact_reduction(drawer, x):
    if dtypes.is_bool(x.dtype):
        return drawer.reduced(x, [ReduceKind.ANY, ReduceKind.ALL])
    kinds = [ReduceKind.MAX, ReduceKind.MIN]
    if dtypes.is_integer(x.dtype):
        return drawer.reduced(x, [*kinds, ReduceKind.SUM, ReduceKind.PROD])
    return _positive_zeros(drawer.reduced(x, kinds))


@st.composite
def smooth_graphs(draw):
    """Draw a list of outputs in float32 whose values stay near [-1, 1]."""
    drawer = _Drawer(draw, [dtypes.float32])
    drawer.pool = [build.elementwise(Op.TANH, node) for node in drawer.pool]
    for _ in range(draw(st.integers(1, 8))):
        drawer.pool.append(_smooth_step(drawer))
    return drawer.pool[-1:]


def _smooth_step(drawer):
    x, y = drawer.pick(drawer.pool), drawer.pick(drawer.pool)
    kind = drawer.pick(["function", "function", "sum", "mean", "view", "softmax", "gelu"])
    if kind == "function":
        return build.elementwise(drawer.pick(SMOOTH), x)
    if kind == "sum":
        return build.elementwise(Op.TANH, build.elementwise(Op.ADD, x, y))
    if kind == "view":
        return drawer.view(x)
    if kind == "gelu":
        return build.elementwise(Op.MULTIPLY, x, build.elementwise(Op.TANH, y))
    x = drawer.full(x)
    axes = drawer.pick([(0,), (1,), (0, 1)])
    if kind == "softmax":
        x = build.elementwise(Op.EXP, x)
        return build.elementwise(Op.DIVIDE, x, build.reduce_keepdims(ReduceKind.SUM, x, axes))
    count = build.constant(np.prod([x.shape[axis] for axis in axes]), dtypes.float32)
    total = build.reduce_keepdims(ReduceKind.SUM, x, axes)
    return build.elementwise(Op.SUBTRACT, x, build.elementwise(Op.DIVIDE, total, count))
