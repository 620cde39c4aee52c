"""A stand-in for the block language: runs unparsed text with NumPy, to compare with the program.

Python operators on NumPy arrays follow the language's rules where unparse uses them: weak Python
numbers, wrapping integers. The rest is what the interpreter knows.
"""

import builtins
import functools
import types as python_types

import numpy as np

from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import evaluate
from lazyblock.tiler.interpret_memory import (
    Addresses,
    from_integers,
    memory_of,
    repoint,
    swap,
    to_integers,
    update,
)
from lazyblock.tiler.ops.atomic import RMW_KINDS
from lazyblock.tiler.types import (
    SCALARS,
    BlockType,
    PointerType,
    from_numpy,
    int32,
    int64,
    to_numpy,
)


class Block:
    """An array, or addresses, with the language's operators."""

    def __init__(self, data, pointee=None):
        self.data = data
        self.pointee = pointee

    @property
    def shape(self):
        return self.data.offset.shape if self.pointee else self.data.shape

    def to(self, scalar, bitcast=False):
        if self.pointee or isinstance(scalar, PointerType):
            return self._to_address(scalar)
        if from_numpy(self.data.dtype) == scalar:
            return self
        return _run(lambda b, x: (b.bitcast if bitcast else b.cast)(x, scalar), self)

    def _to_address(self, scalar):
        if self.pointee and isinstance(scalar, PointerType):
            data = repoint(MEMORIES, self.data, self.pointee, scalar.pointee)
        elif self.pointee:
            integers = to_integers(MEMORIES, self.data, self.pointee.nbytes)
            return Block(integers.view(to_numpy(scalar)))
        else:
            data = from_integers(MEMORIES, self.data, scalar.pointee, None)
        return Block(data, scalar.pointee)

    def __getitem__(self, index):
        return Block(self.data[index])

    def __bool__(self):
        return builtins.bool(self.data)

    def __index__(self):
        return int(self.data)

    def __neg__(self):
        return _run(lambda b, x: b.neg(x), self)

    def __invert__(self):
        return _run(lambda b, x: b.not_(x), self)

    def __add__(self, other):
        if self.pointee:
            offset = np.asarray(_data(other), np.int64)
            memory = np.broadcast_to(
                self.data.memory, np.broadcast_shapes(self.shape, offset.shape)
            )
            return Block(Addresses(memory, self.data.offset + offset), self.pointee)
        return _binary("add", self, other)


def _binary(kind, left, right):
    left, right = _together(left, right)
    return _run(lambda b, x, y: b.binary(kind, x, y), left, right)


def _compare(kind, left, right):
    left, right = _together(left, right)
    return _run(lambda b, x, y: b.compare(kind, x, y), left, right)


def _define_operators():
    kinds = {
        **{"sub": "sub", "mul": "mul", "truediv": "div", "floordiv": "div", "mod": "rem"},
        **{"and": "and", "or": "or", "xor": "xor", "lshift": "shl", "rshift": "shr", "radd": "add"},
    }
    for name, kind in kinds.items():
        setattr(Block, f"__{name}__", lambda x, y, k=kind: _binary(k, x, y))
        if name != "radd":
            setattr(Block, f"__r{name}__", lambda x, y, k=kind: _binary(k, y, x))
    for kind in ("eq", "ne", "lt", "le", "gt", "ge"):
        setattr(Block, f"__{kind}__", lambda x, y, k=kind: _compare(k, x, y))


_define_operators()


def _data(value):
    return value.data if isinstance(value, Block) else value


def _typed(value):
    """A number alone as the language types it."""
    if isinstance(value, Block):
        return value
    if isinstance(value, bool):
        return Block(np.asarray(value))
    if isinstance(value, int):
        return Block(np.asarray(value, np.int32 if -(2**31) <= value < 2**31 else np.int64))
    return Block(np.asarray(value, np.float32))


def _together(*values):
    """Blocks of one dtype and shape; typed operands must agree already."""
    dtypes = {value.data.dtype for value in values if isinstance(value, Block)}
    assert len(dtypes) <= 1, f"mixed dtypes {dtypes}"
    if not dtypes:
        return [_typed(value) for value in values]
    (dtype,) = dtypes
    arrays = np.broadcast_arrays(*(np.asarray(_data(value), dtype) for value in values))
    return [Block(array) for array in arrays]


def _run(build, *blocks):
    """Evaluate one op of the IR."""
    b = Builder()
    values = [b.parameter("x", from_numpy(block.data.dtype)) for block in blocks]
    for value, block in zip(values, blocks, strict=True):
        value.type = BlockType(value.type.element, block.shape)
    op = build(b, *values).owner
    if op is None:
        return blocks[0]
    return Block(np.asarray(evaluate(op, [b.data for b in blocks])))


# --- the module ----------------------------------------------------------------------------------


class _Language(python_types.SimpleNamespace):
    """`tl` for one program instance."""


def make_language(place, grid):
    tl = _Language()
    names = {"i1": "int1", "bf16": "bfloat16"}
    for name, scalar in SCALARS.items():
        word = {"i": "int", "u": "uint", "f": "float"}[scalar.kind]
        setattr(tl, names.get(name, f"{word}{scalar.bits}"), scalar)
    tl.PropagateNan = python_types.SimpleNamespace(ALL="all")
    tl.program_id = lambda axis: Block(np.asarray(place[axis], np.int32))
    tl.num_programs = lambda axis: Block(np.asarray(grid[axis], np.int32))
    tl.arange = lambda start, end: Block(np.arange(start, end, dtype=np.int32))
    tl.full = _full
    tl.zeros = lambda shape, scalar: _full(shape, 0, scalar)
    tl.broadcast_to = _broadcast_to
    tl.reshape = lambda x, shape: _rearrange(x, lambda a: a.reshape(shape))
    tl.trans = lambda x: _rearrange(x, lambda a: a.T)
    tl.permute = lambda x, order: _rearrange(x, lambda a: a.transpose(order))
    tl.where = _where
    tl.maximum = lambda x, y, propagate_nan=None: _extreme("max", x, y, propagate_nan)
    tl.minimum = lambda x, y, propagate_nan=None: _extreme("min", x, y, propagate_nan)
    tl.fma = lambda x, y, z: _run(lambda b, *v: b.fma(*v), x, y, z)
    tl.abs = lambda x: _run(lambda b, v: b.abs(v), x)
    for kind in ("sqrt", "floor", "ceil"):
        setattr(tl, kind, lambda x, k=kind: _wide_only(lambda b, v: b.unary(k, v), x))
    for name in ("exp", "exp2", "log", "log2", "sin", "cos", "rsqrt", "erf"):
        setattr(tl, name, lambda *x, n=name: _wide_only(lambda b, *v: b.math(n, *v), *x))
    tl.extra = python_types.SimpleNamespace(libdevice=_Libdevice())
    tl.load, tl.store, tl.reduce = _load, _store, _reduce
    for kind in RMW_KINDS:
        setattr(tl, f"atomic_{kind}", functools.partial(_atomic, kind))
    tl.atomic_cas = _atomic_cas
    tl.atomic_load, tl.atomic_store = _load, _store
    tl.debug_barrier = lambda: None
    tl.pointer_type = PointerType
    tl.associative_scan = _scan
    tl.cumsum = lambda x, axis, reverse=False: _scan_known("add", x, axis, reverse)
    tl.cumprod = lambda x, axis, reverse=False: _scan_known("mul", x, axis, reverse)
    tl.sum = lambda x, axis: _reduce_known("add", x, axis, widens_half=False)
    tl.max = lambda x, axis, propagate_nan=None: _reduce_extreme("max", x, axis, propagate_nan)
    tl.min = lambda x, axis, propagate_nan=None: _reduce_extreme("min", x, axis, propagate_nan)
    return tl


class _Libdevice:
    def __getattr__(self, name):
        if name in ("trunc", "rint"):
            return lambda x: _wide_only(lambda b, v: b.unary(name, v), x)
        return lambda *x: _wide_only(lambda b, *v: b.math(name, *v), *x)


def _wide_only(build, *blocks):
    assert all(block.data.dtype in (np.float32, np.float64) for block in blocks)
    return _run(build, *blocks)


def _full(shape, number, scalar):
    return Block(np.full(shape, number, to_numpy(scalar)))


def _rearrange(x, change):
    if x.pointee:
        return Block(Addresses(change(x.data.memory), change(x.data.offset)), x.pointee)
    return Block(change(x.data))


def _broadcast_to(x, shape):
    return _rearrange(_typed(x), lambda a: np.broadcast_to(a, shape))


def _where(condition, x, y):
    condition = np.asarray(_data(condition))
    if isinstance(x, Block) and x.pointee:
        memory = np.where(condition, x.data.memory, y.data.memory)
        return Block(
            Addresses(memory, np.where(condition, x.data.offset, y.data.offset)), x.pointee
        )
    x, y = _together(x, y)
    return Block(np.where(condition, x.data, y.data))


def _extreme(kind, x, y, propagate_nan):
    x, y = _together(x, y)
    scalar = from_numpy(x.data.dtype)
    if scalar.name == "bf16":
        x, y = (Block(v.data.astype(np.float32)) for v in (x, y))
    skips_nan = scalar.is_floating and propagate_nan is None
    return _run(lambda b, v, w: b.binary(kind + "num" * skips_nan, v, w), x, y)


def _reduce_known(kind, x, axis, widens_half):
    x = _widen(kind, x, widens_half)
    return _reduce(x, axis, lambda left, right: _binary(kind, left, right))


def _widen(kind, x, widens_half):
    scalar = from_numpy(x.data.dtype)
    if scalar.is_integer and scalar.bits < 32:
        return x.to(int32 if kind not in ("add", "mul") or scalar.is_signed else SCALARS["u32"])
    return x.to(SCALARS["f32"]) if widens_half and scalar.is_half else x


def _scan_known(kind, x, axis, reverse):
    x = _widen(kind, x, widens_half=False)
    return _scan(x, axis, lambda left, right: _binary(kind, left, right), reverse)


def _scan(values, axis, combine, reverse=False):
    is_tuple = isinstance(values, tuple)
    step = -1 if reverse else 1
    parts = [np.moveaxis(v.data, axis, 0)[::step] for v in (values if is_tuple else (values,))]
    distance = 1
    while distance < len(parts[0]):
        pairs = [*(part[:-distance] for part in parts), *(part[distance:] for part in parts)]
        results = combine(*map(Block, pairs))
        behind = [v.data for v in (results if is_tuple else (results,))]
        parts = [np.concatenate([p[:distance], b]) for p, b in zip(parts, behind, strict=True)]
        distance *= 2
    results = tuple(Block(np.moveaxis(part[::step], 0, axis)) for part in parts)
    return results if is_tuple else results[0]


def _reduce_extreme(kind, x, axis, propagate_nan):
    skips_nan = from_numpy(x.data.dtype).is_floating and propagate_nan is None
    return _reduce_known(kind + "num" * skips_nan, x, axis, widens_half=True)


def _reduce(values, axis, combine):
    is_tuple = isinstance(values, tuple)
    parts = [np.moveaxis(v.data, axis, 0) for v in (values if is_tuple else (values,))]
    while len(parts[0]) > 1:
        halves = [*(part[0::2] for part in parts), *(part[1::2] for part in parts)]
        results = combine(*map(Block, halves))
        parts = [v.data for v in (results if is_tuple else (results,))]
    results = tuple(Block(part[0]) for part in parts)
    return results if is_tuple else results[0]


MEMORIES = []  # of the running kernel


def _access(pointer, mask):
    active = np.broadcast_to(True if mask is None else _data(mask), pointer.shape)
    memory = np.broadcast_to(pointer.data.memory, pointer.shape)
    offset = np.broadcast_to(pointer.data.offset, pointer.shape)
    for number in np.unique(memory[active]):
        lanes = active & (memory == number)
        assert (offset[lanes] >= 0).all()
        yield MEMORIES[number].elements, lanes, offset[lanes]


def _load(pointer, mask=None, other=None, **hints):
    fill = _typed(0 if other is None else other).to(pointer.pointee).data
    result = np.array(np.broadcast_to(fill, pointer.shape))
    for elements, lanes, offsets in _access(pointer, mask):
        result[lanes] = elements[offsets]
    return Block(result)


def _store(pointer, value, mask=None, **hints):
    value = np.broadcast_to(_typed(value).to(pointer.pointee).data, pointer.shape)
    for elements, lanes, offsets in _access(pointer, mask):
        elements[offsets] = value[lanes]


def _atomic(kind, pointer, value, mask=None, **order):
    value = np.broadcast_to(_typed(value).to(pointer.pointee).data, pointer.shape)
    result = np.zeros_like(value)
    for elements, lanes, offsets in _access(pointer, mask):
        result[lanes] = update(kind, elements, offsets, value[lanes])
    return Block(result)


def _atomic_cas(pointer, compare, value, **order):
    compare, value = (
        np.broadcast_to(_typed(v).to(pointer.pointee).data, pointer.shape) for v in (compare, value)
    )
    result = np.zeros_like(value)
    for elements, lanes, offsets in _access(pointer, None):
        result[lanes] = swap(elements, offsets, compare[lanes], value[lanes])
    return Block(result)


def _range(*bounds):
    scalar = int64 if any(_typed(b).data.dtype == np.int64 for b in bounds) else int32
    dtype = np.int64 if scalar == int64 else np.int32
    return (Block(np.asarray(i, dtype)) for i in range(*map(int, map(_data, bounds))))


def run_text(text, program, arguments, grid):
    """Run the last function of `text` as the program's kernel."""
    lb = python_types.SimpleNamespace(jit=lambda function: function)
    lines = [line for line in text.splitlines() if not line.startswith("import ")]
    code = compile("\n".join(lines), "unparsed", "exec")
    MEMORIES[:] = []
    blocks = []
    for parameter, argument in zip(program.parameters, arguments, strict=True):
        element = parameter.value.type.element
        if isinstance(element, PointerType):
            MEMORIES.append(memory_of(parameter.name, argument))
            data = Addresses(np.asarray(len(MEMORIES) - 1), np.asarray(MEMORIES[-1].start))
            blocks.append(Block(data, element.pointee))
        else:
            blocks.append(_typed(argument).to(element))
    with np.errstate(all="ignore"):
        for z in range(grid[2]):
            for y in range(grid[1]):
                for x in range(grid[0]):
                    scope = {"lb": lb, "tl": make_language((x, y, z), grid), "range": _range}
                    exec(code, scope)
                    list(scope.values())[-1](*blocks)
