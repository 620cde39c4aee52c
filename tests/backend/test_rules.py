"""Every elementwise op on every dtype, scalar and vector: bit for bit the block interpreter's."""

import numpy as np
import pytest

from lazyblock.backend.llvm.emit import Emitter
from lazyblock.backend.llvm.rules import emit_elementwise
from lazyblock.backend.llvm.types import constant_text
from lazyblock.errors import UnsupportedError
from lazyblock.target import Target, cuda_target
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ops.arith import BINARY_KINDS, COMPARE_KINDS, UNARY_KINDS
from lazyblock.tiler.types import SCALARS, PointerType, float16, float32, to_numpy
from tests.helpers.cpu import assert_same_as_interpreter
from tests.helpers.programs import COMPUTED

FULL = [scalar for scalar in COMPUTED if not scalar.is_half]
FLOATS = [scalar for scalar in FULL if scalar.is_floating]
SHAPES = [(), (4,), (64,)]
BINARY_CASES = [
    (kind, scalar)
    for kind, domain in BINARY_KINDS.items()
    for scalar in FULL
    if ("f" if scalar.is_floating else "i") in domain
]
SPECIAL = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3e38, -3e38, 1e-45, -1e-40, 127.5,
    128.0, 255.9, 256.0, -128.9, -129.0, 32768.0, 65504.0, 65519.9, 65520.0, 6e-8, 2.9e-8,
    3.1e-8, 2147483647.0, 2147483648.0, -2147483649.0, 4294967296.0, 9.3e18, -9.3e18,
    1.9e19, 1.0009765625, 1.00048828125, 1.000488281250001, 0.1, 3.0, 7.0, 1e300, 5e-324,
]  # fmt: skip


def samples(scalar, rng, count):
    """Numbers of a type: the special ones first, then random ones of all magnitudes."""
    dtype = to_numpy(scalar)
    if scalar.is_floating:
        special = [*SPECIAL, np.inf, -np.inf, np.nan, -np.nan]
        with np.errstate(over="ignore"):
            head = np.array(special).astype(dtype)
        bits = rng.integers(0, 256, (count, dtype.itemsize), np.uint8).view(dtype)[:, 0]
        tail = np.where(rng.random(count) < 0.5, bits, rng.normal(size=count).astype(dtype))
    elif scalar.bits == 1:
        return rng.random(count) < 0.5
    else:
        info = np.iinfo(dtype)
        head = np.array([0, 1, 2, 3, info.max, info.min, info.max - 1, info.min + 1], dtype)
        head = np.append(head, np.array([-1, -2, scalar.bits, scalar.bits - 1]).astype(dtype))
        small = rng.integers(max(-9, info.min), 9, count).astype(dtype)
        wide = rng.integers(info.min, info.max, count, dtype, endpoint=True)
        tail = np.where(rng.random(count) < 0.5, small, wide)
    return np.concatenate([head, tail.astype(dtype)])[:count]


def make_program(shape, elements, result, compute):
    """Load a block of each element, compute, store."""
    b = Builder("rule")
    pointers = [b.parameter(f"x{n}", PointerType(element)) for n, element in enumerate(elements)]
    output = b.parameter("out", PointerType(result))
    size = shape[0] if shape else 1
    place = b.mul(b.program_id(0), size)
    if shape:
        place = b.add(b.splat(place, shape), b.arange(0, size))
    loaded = [b.load(b.add_pointer(pointer, place)) for pointer in pointers]
    b.store(b.add_pointer(output, place), compute(b, *loaded))
    return b.finish()


def check(shape, elements, result, compute, *arrays):
    """Compare on all numbers for wide blocks, on a spread selection for narrow ones."""
    size = shape[0] if shape else 1
    stride = max(arrays[0].size // (size * 64), 1)
    count = arrays[0].size // stride // size * size
    inputs = [np.ascontiguousarray(array[::stride][:count]) for array in arrays]
    out = np.zeros(count, to_numpy(result))
    program = make_program(shape, elements, result, compute)
    arguments = [*inputs, out]
    assert_same_as_interpreter(program, arguments, (count // size, 1, 1))


def pairs_of(scalar, rng):
    """All special numbers against each other, then random pairs."""
    values = samples(scalar, rng, 64)
    left, right = (side.ravel() for side in np.meshgrid(values, values, indexing="ij"))
    return left, right


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("scalar", FULL, ids=str)
def test_unary(scalar, shape):
    values = samples(scalar, np.random.default_rng(0), 256)
    for kind, domain in UNARY_KINDS.items():
        if ("f" if scalar.is_floating else "i") in domain:
            check(shape, [scalar], scalar, lambda b, x, kind=kind: b.unary(kind, x), values)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("kind", "scalar"), BINARY_CASES, ids=str)
def test_binary(kind, scalar, shape):
    left, right = pairs_of(scalar, np.random.default_rng(1))
    check(shape, [scalar, scalar], scalar, lambda b, x, y: b.binary(kind, x, y), left, right)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("scalar", FULL, ids=str)
def test_compare(scalar, shape):
    left, right = pairs_of(scalar, np.random.default_rng(2))
    for kind in COMPARE_KINDS:
        compute = lambda b, x, y, kind=kind: b.compare(kind, x, y)  # noqa: E731
        check(shape, [scalar, scalar], SCALARS["i1"], compute, left, right)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("scalar", SCALARS.values(), ids=str)
def test_select(scalar, shape):
    rng = np.random.default_rng(3)
    condition, left, right = (samples(s, rng, 256) for s in (SCALARS["i1"], scalar, scalar))
    elements = [SCALARS["i1"], scalar, scalar]
    check(shape, elements, scalar, lambda b, c, x, y: b.select(c, x, y), condition, left, right)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("scalar", FLOATS, ids=str)
def test_fma_rounds_once(scalar, shape):
    rng = np.random.default_rng(4)
    a, b_, c = (samples(scalar, rng, 512)[n:] for n in (0, 5, 11))
    check(
        shape, [scalar] * 3, scalar, lambda b, x, y, z: b.fma(x, y, z), a[:448], b_[:448], c[:448]
    )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("source", SCALARS.values(), ids=str)
def test_cast(source, shape):
    values = samples(source, np.random.default_rng(5), 512)
    for to in SCALARS.values():
        if to != source:
            check(shape, [source], to, lambda b, x, to=to: b.cast(x, to), values)


@pytest.mark.parametrize("source", SCALARS.values(), ids=str)
def test_bitcast(source):
    values = samples(source, np.random.default_rng(6), 256)
    for to in SCALARS.values():
        if to != source and to.bits == source.bits:
            check((64,), [source], to, lambda b, x, to=to: b.bitcast(x, to), values)


@pytest.mark.parametrize("to", ["f16", "bf16"])
def test_every_kind_of_rounding_to_half(to):
    """All halves, the middles between neighbours, and the floats next to those."""
    halves = np.arange(1 << 16, dtype=np.uint16).view(to_numpy(SCALARS[to]))
    halves = halves[np.isfinite(halves)].astype(np.float64)
    halves = np.sort(halves)
    middles = (halves[:-1] + halves[1:]) / 2
    near = [middles, *(np.nextafter(middles, side) for side in (-np.inf, np.inf)), halves]
    double = np.concatenate(near)
    single = double.astype(np.float32)
    for source, values in ((SCALARS["f64"], double), (float32, single)):
        padded = np.resize(values, -(-values.size // 4096) * 4096)
        check((4096,), [source], SCALARS[to], lambda b, x: b.cast(x, SCALARS[to]), padded)


def test_halves_without_conversion_instructions():
    """The integer arithmetic of processors without F16C gives the same instructions' result."""
    emitter = Emitter()
    b = Builder()
    narrow = b.cast(b.parameter("x", float32), float16)
    wide = b.cast(b.parameter("h", float16), float32)
    for value in (narrow, wide):
        emit_elementwise(emitter, value.owner, ["%x"], 4, Target("cpu", "x86-64"))
    assert "half" not in emitter.function("void @f()")


def test_what_has_no_rule_is_refused():
    b = Builder()
    value = b.math("exp", b.parameter("x", float32))
    with pytest.raises(UnsupportedError, match="'math' has no LLVM rule"):
        emit_elementwise(Emitter(), value.owner, ["%x"], 1, cuda_target("sm_80"))
    half = b.div(b.parameter("h", float16), 1.0)
    with pytest.raises(UnsupportedError, match="'div' on f16 has no LLVM rule"):
        emit_elementwise(Emitter(), half.owner, ["%x", "%y"], 1, cuda_target("sm_80"))


@pytest.mark.parametrize(
    ("value", "name", "width", "expected"),
    [
        (1.0, "f32", 1, "0x3FF0000000000000"),
        (-0.0, "f64", 4, "splat (double 0x8000000000000000)"),
        (float("nan"), "f32", 1, "0x7FF8000000000000"),
        (1.0, "bf16", 1, "16256"),
        (2**64 - 1, "u64", 1, "-1"),
        (True, "i1", 8, "splat (i1 true)"),
    ],
)
def test_constants_are_exact(value, name, width, expected):
    assert constant_text(value, SCALARS[name], width) == expected
