"""What the host backend must know of a program before it writes loops: who reads what, and when.

Block values are *deferred*: they are computed inside the loops of the *roots* that read them
(stores, reductions, scans, dots, values that leave a region). Here stand the walks over deferred
values, the choice of values that are dear enough to be kept in a tile, and what is known of overlap
in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from lazyblock.backend.llvm.atomics import is_atomic
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Effect, Op, Region, Trait, Value, walk

SHAPE_OPS = (ops.Broadcast, ops.ExpandDims, ops.Reshape, ops.Transpose, ops.Splat)
TILE_READERS = (ops.ExchangeBits, ops.Gather)  # deferred, but their operand is kept in a tile
MOVING_OPS = (*SHAPE_OPS, ops.Split, *TILE_READERS)  # read their operand at other places
_SOURCES = (ops.Arange, ops.Constant, ops.Load)

_DEAR = 8  # elementwise operations; from here on a tile is cheaper than computing twice
_COST_LIMIT = 1000
_COSTS = {"div": 4, "div_normal": 4, "rem": 12, "sqrt": 4}
_ROOTS = (
    *(ops.Store, ops.Combining, ops.Dot, ops.Join, ops.Histogram, *TILE_READERS),
    *(ops.Print, ops.Assert, ops.For, ops.While, ops.If, ops.Yield),
)


def is_deferred(value: Value) -> bool:
    """Whether a value is computed where it is read, at the reader's coordinates."""
    op = value.owner
    if op is None or value.shape == () or is_atomic(op):
        return False
    return op.has(Trait.ELEMENTWISE) or isinstance(op, (*MOVING_OPS, *_SOURCES))


def is_root(op: Op) -> bool:
    """Whether an op makes loops of its own."""
    return isinstance(op, _ROOTS) or orders_memory(op)


def orders_memory(op: Op) -> bool:
    """Whether no access may move over `op`."""
    return op.effect in (Effect.ATOMIC, Effect.BARRIER)


def flushes_stores(op: Op) -> bool:
    """Whether the stores before `op` are written before it."""
    made = isinstance(op, (ops.Load, ops.Dot)) or bool(op.regions)
    return made or op.effect is Effect.OUTPUT or orders_memory(op)


def reached_values(
    values: Iterable[Value], is_available: Callable[[Value], bool], through_memory: bool = True
) -> dict[Value, bool]:
    """Deferred values that computing `values` computes: whether each is read in place only.

    "In place" is at the coordinates of the root. Available values (kept in tiles) are reached too,
    but nothing behind them. Loads read their operands in place only if `through_memory`.
    """
    reached: dict[Value, bool] = {}
    stack = [(value, True) for value in values]
    while stack:
        value, is_same = stack.pop()
        if not is_deferred(value) or reached.get(value, True) is False:
            continue
        if value in reached and is_same:
            continue
        reached[value] = is_same
        if not is_available(value):
            assert value.owner is not None
            moving = MOVING_OPS if through_memory else (*MOVING_OPS, ops.Load)
            is_same = is_same and not isinstance(value.owner, moving)
            stack.extend((operand, is_same) for operand in value.owner.operands_flat)
    return reached


def is_reached(wanted: Value, values: Iterable[Value], tiles: Collection[Value]) -> bool:
    """Whether computing `values` reads `wanted`; what is in tiles is not computed again."""
    stack, seen = list(values), set[Value]()
    while stack:
        value = stack.pop()
        if value is wanted:
            return True
        if value not in seen and value not in tiles and is_deferred(value):
            seen.add(value)
            assert value.owner is not None
            stack.extend(value.owner.operands_flat)
    return False


def roots_inside(op: Op) -> list[Op]:
    """Roots in the regions of `op`, at any depth."""
    return [inner for region in op.regions for inner in walk(region) if is_root(inner)]


def has_effects(op: Op) -> bool:
    """Whether `op`, or an op inside it, writes memory."""
    inside = (inner for region in op.regions for inner in walk(region))
    return any(o.effect not in (Effect.NONE, Effect.READ) for o in (op, *inside))


# --- values kept in tiles ------------------------------------------------------------------------


def find_shared(body: Region) -> set[Value]:
    """Values that several roots read, or a loop reads again, and that are dear to compute."""
    order, roots, depths = _number_roots(body)
    costs = _find_costs(order)
    readers: dict[Value, set[int]] = {}
    shared: set[Value] = set()
    for position in range(len(order) - 1, -1, -1):
        op = order[position]
        reading = {roots[position]} if position in roots else set()
        if not is_root(op) and op.results and is_deferred(op.results[0]):
            value = op.results[0]
            reading = readers.get(value, set())
            is_again = len(reading) > 1 or any(depths[r] > depths[position] for r in reading)
            if is_again and costs.get(value, 0) >= _DEAR:
                shared.add(value)
                reading = {min(reading)}
        for operand in op.operands_flat:
            readers.setdefault(operand, set()).update(reading)
    return shared


def _number_roots(body: Region) -> tuple[list[Op], dict[int, int], dict[int, int]]:
    """Ops in order; root number by position (stores written together share one); loop depths."""
    order: list[Op] = []
    roots: dict[int, int] = {}
    depths: dict[int, int] = {}

    def visit(region: Region, depth: int) -> None:
        groups: dict[tuple[int, ...], int] = {}
        for op in region.ops:
            position = len(order)
            order.append(op)
            depths[position] = depth
            if flushes_stores(op):
                groups = {}
            if is_root(op):
                roots[position] = position
            if isinstance(op, ops.Store) and not op.sem:
                roots[position] = groups.setdefault(op.pointer.shape, position)
            if not isinstance(op, ops.Combining):
                for inner in op.regions:
                    visit(inner, depth + isinstance(op, (ops.For, ops.While)))

    visit(body, 0)
    return order, roots, depths


def _find_costs(order: Sequence[Op]) -> dict[Value, int]:
    costs: dict[Value, int] = {}
    for op in order:
        if op.results and is_deferred(op.results[0]):
            below = sum(costs.get(operand, 0) for operand in op.operands_flat)
            costs[op.results[0]] = min(_COST_LIMIT, below + op_cost(op))
    return costs


def op_cost(op: Op) -> int:
    """Work of one op on an element, in cheap operations; rearranging costs nothing."""
    if isinstance(op, (*MOVING_OPS, ops.Constant, ops.Arange)):
        return 0
    return _COSTS.get(getattr(op, "kind", ""), 1)


# --- overlap of accesses -------------------------------------------------------------------------


def base_of(pointer: Value) -> Value | None:
    """The scalar pointer an address counts from; None if it is not one."""
    while pointer.shape != () or pointer.owner is not None:
        op = pointer.owner
        if isinstance(op, ops.AddPointer):
            pointer = op.pointer
        elif isinstance(op, SHAPE_OPS):
            pointer = op.value
        else:
            return None
    return pointer


def is_same_pattern(left: Value, right: Value) -> bool:
    """Whether two blocks of addresses have equal offsets from their bases, element by element."""
    pairs = [(left, right)]
    for _ in range(_COST_LIMIT):
        if not pairs:
            return True
        a, b = pairs.pop()
        if a is b or (_is_base(a) and _is_base(b)):
            continue
        if not _is_equal_op(a.owner, b.owner):
            return False
        assert a.owner is not None and b.owner is not None
        pairs.extend(zip(a.owner.operands_flat, b.owner.operands_flat, strict=True))
    return False


def _is_base(value: Value) -> bool:
    return value.owner is None and value.type.is_pointer


def _is_equal_op(left: Op | None, right: Op | None) -> bool:
    if left is None or right is None or type(left) is not type(right):
        return False
    if left.effect is not Effect.NONE or left.regions:
        return left is right
    return left.attributes == right.attributes


def may_overlap(load: ops.Load, store: Op, noalias: bool) -> bool:
    """Whether `store` may change what `load` reads; noalias: different parameters never do."""
    if not isinstance(store, ops.Store) or store.sem:
        return True  # orders accesses of this instance and of others
    bases = base_of(load.pointer), base_of(store.pointer)
    return not noalias or None in bases or bases[0] is bases[1]


def is_clobbered_within(load: ops.Load, is_same: bool, store: ops.Store) -> bool:
    """Whether `store`, chunk by chunk in one loop with `load`, may write what later chunks read.

    Different pointer parameters hold equal or disjoint memory, and a load of fewer elements than
    are stored (a broadcast operand) comes from another array.
    """
    if is_same and is_same_pattern(load.pointer, store.pointer):
        return False
    base = base_of(load.pointer)
    is_other = base is not None and base is not base_of(store.pointer)
    return not (is_other and load.result.type.size < store.pointer.type.size)
