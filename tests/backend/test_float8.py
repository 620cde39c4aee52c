"""Numbers of one byte: casts as ml_dtypes makes them, for all numbers where that is possible."""

import functools
import itertools

import numpy as np
import pytest

from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.backend.llvm.ptx import to_ptx
from lazyblock.errors import VerifyError
from lazyblock.target import cuda_target
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.types import (
    FLOAT8S,
    SCALARS,
    BlockType,
    PointerType,
    bfloat16,
    decode,
    encode,
    float8_e4b15,
    float8_e4m3,
    float16,
    float32,
    float64,
    int8,
    int32,
    int64,
    to_numpy,
    uint8,
)
from tests.helpers.cpu import assert_same_bits, load_on_cpu, run_on_cpu
from tests.helpers.emulator import emulate, run_on
from tests.helpers.ptxas import assemble

NAMED = [scalar for scalar in FLOAT8S if scalar != float8_e4b15]
CODES = np.arange(256, dtype=np.uint8)
HALVES = np.arange(65536, dtype=np.uint16)
ids = {"ids": str}


def cast_kernel(before, *afters, size=1024, rounding="", num_warps=4):
    """Cast blocks of one type to several; one program per block."""
    b = Builder("cast", num_warps=num_warps)
    x = b.parameter("x", PointerType(before), 16)
    outs = [b.parameter(f"out{n}", PointerType(after), 16) for n, after in enumerate(afters)]
    start = b.mul(b.program_id(0), size)
    offsets = b.add(b.broadcast_to(start, (size,)), b.arange(0, size))
    value = b.load(b.add_pointer(x, offsets))
    for out, after in zip(outs, afters, strict=True):
        result = b.cast(value, after, rounding) if after != before else value
        b.store(b.add_pointer(out, offsets), result)
    return b.finish()


def run_cast(run, array, before, *afters, size=1024, rounding=""):
    outs = [np.zeros(array.size, to_numpy(after)) for after in afters]
    program = cast_kernel(before, *afters, size=size, rounding=rounding)
    RUNS[run](program, [array, *outs], (array.size // size, 1, 1))
    return outs


RUNS = {
    **{"interpreter": interpret, "cpu": run_on_cpu, "emulated": emulate},
    "gpu": functools.partial(run_on, "cuda"),
}
every_run = pytest.mark.parametrize(
    "run", [pytest.param(run, marks=[pytest.mark.gpu] * (run == "gpu"), id=run) for run in RUNS]
)


def numbers_near(scalar):
    """float32 numbers at, and next to, each number of a type and what lies between two."""
    numbers = decode(CODES.view(to_numpy(scalar)), scalar).astype(np.float64)
    finite = np.unique(np.abs(numbers[np.isfinite(numbers)]))
    step = finite[-1] - finite[-2]
    edges = np.append(finite, [finite[-1] + step, finite[-1] + 2 * step])
    places = np.concatenate([edges, (edges[1:] + edges[:-1]) / 2]).astype(np.float32)
    near = [places, np.nextafter(places, np.float32(np.inf)), np.nextafter(places, np.float32(0))]
    special = [0.0, np.inf, np.nan, 1e-45, 1e-30, 1e30, 3.4e38]
    found = np.concatenate([*near, np.array(special, np.float32)])
    found = np.concatenate([found, -found])
    return np.resize(found, -(-found.size // 1024) * 1024)


# --- the formats ---------------------------------------------------------------------------------


def test_e4b15_is_float16_below_2():
    halves = (CODES.astype(np.uint16) & 0x7F) << 7 | (CODES.astype(np.uint16) & 0x80) << 8
    assert_same_bits(decode(CODES, float8_e4b15), halves.view(np.float16).astype(np.float32))


def nearest_e4b15(number):
    """The code of the nearest number, the even one of two; what is too large, and NaN, is 1.875."""
    size = 1e9 if np.isnan(number) else abs(float(number))
    table = decode(CODES[:128], float8_e4b15).astype(np.float64)
    distance = np.abs(table - min(size, 1.875))
    nearest = np.flatnonzero(distance == distance.min())
    code = nearest[0] if len(nearest) == 1 or nearest[0] % 2 == 0 else nearest[1]
    return code | (np.signbit(number) and not np.isnan(number)) << 7


def test_e4b15_rounds_to_nearest_even_and_saturates():
    numbers = numbers_near(float8_e4b15)
    expected = np.array([nearest_e4b15(number) for number in numbers], np.uint8)
    assert_same_bits(encode(numbers, float8_e4b15), expected)


# --- casts ---------------------------------------------------------------------------------------


@every_run
@pytest.mark.parametrize("scalar", FLOAT8S, **ids)
def test_from_every_float8(scalar, run):
    codes = CODES.view(to_numpy(scalar))
    afters = [float16, bfloat16, float32, float64, int8, int32, int64, uint8, SCALARS["i1"]]
    afters += [other for other in FLOAT8S if other != scalar]
    numbers = decode(codes, scalar)
    floats = [after for after in afters if after.is_floating]
    for after, actual in zip(afters, run_cast(run, codes, scalar, *afters, size=256), strict=True):
        if after in floats:
            assert_same_bits(actual, encode(numbers, after))
        elif after.bits == 1:
            assert_same_bits(actual, numbers != 0)
        else:
            limits = np.iinfo(to_numpy(after))
            whole = np.nan_to_num(np.trunc(numbers.astype(np.float64)), posinf=1e30, neginf=-1e30)
            clipped = [min(max(int(n), int(limits.min)), int(limits.max)) for n in whole]
            assert_same_bits(actual, np.array(clipped, to_numpy(after)))


@every_run
@pytest.mark.parametrize("half", [float16, bfloat16], **ids)
def test_from_every_half(half, run):
    array = HALVES.view(to_numpy(half))
    for scalar, actual in zip(FLOAT8S, run_cast(run, array, half, *FLOAT8S), strict=True):
        numbers = array.astype(np.float32)
        wanted = encode(numbers, scalar)
        if scalar in NAMED:
            assert_same_bits(wanted, array.astype(to_numpy(scalar)))
        assert_same_bits(actual, wanted)


@every_run
@pytest.mark.parametrize("scalar", FLOAT8S, **ids)
def test_from_numbers_at_every_edge(scalar, run):
    singles = numbers_near(scalar)
    (actual,) = run_cast(run, singles, float32, scalar)
    assert_same_bits(actual, encode(singles, scalar))
    doubles = np.nextafter(singles.astype(np.float64), 1.0)
    (actual,) = run_cast(run, doubles, float64, scalar)
    assert_same_bits(actual, encode(doubles.astype(np.float32), scalar))


@every_run
def test_from_integers(run):
    numbers = np.resize(np.arange(-600, 600), 1024).astype(np.int32)
    for scalar, actual in zip(FLOAT8S, run_cast(run, numbers, int32, *FLOAT8S), strict=True):
        assert_same_bits(actual, encode(numbers, scalar))


# --- toward zero ---------------------------------------------------------------------------------


def toward_zero(numbers, scalar):
    """The largest number of a type that is not beyond, by trying the nearest and its neighbour."""
    table = decode(CODES[:128].view(to_numpy(scalar)), scalar).astype(np.float64)
    table = np.where(np.isfinite(table), table, np.inf)
    results = []
    for number in numbers.astype(np.float64):
        if not np.isfinite(number):
            results.append(encode(number, scalar).view(np.uint8)[()])
            continue
        code = np.flatnonzero(table <= abs(number))[-1]
        is_bare = code == 0 and scalar.name in ("f8e4b8", "f8e5b16")
        results.append(code | (0 if is_bare else np.signbit(number) << 7))
    return np.array(results, np.uint8).view(to_numpy(scalar))


@every_run
@pytest.mark.parametrize("scalar", FLOAT8S, **ids)
def test_toward_zero_to_float8(scalar, run):
    numbers = numbers_near(scalar)
    (actual,) = run_cast(run, numbers, float32, scalar, rounding="rtz")
    assert_same_bits(actual, toward_zero(numbers, scalar))


PAIRS = [(float32, float16), (float32, bfloat16), (float64, float16), (float64, bfloat16)]


@every_run
@pytest.mark.parametrize("before, after", [*PAIRS, (float64, float32)], **ids)
def test_toward_zero(before, after, run):
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=1024) * 2.0 ** rng.integers(-40, 40, 1024)
    numbers[:8] = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e300, -1e300, 65519.0]
    with np.errstate(all="ignore"):
        array = numbers.astype(to_numpy(before))
    (actual,) = run_cast(run, array, before, after, rounding="rtz")
    wide, narrow = array.astype(np.float64), actual.astype(np.float64)
    finite = np.isfinite(wide)
    assert_same_bits(narrow[~finite], wide[~finite])
    assert (np.abs(narrow) <= np.abs(wide))[finite].all()
    assert (np.signbit(narrow) == np.signbit(wide))[finite].all()
    bits = actual.view(f"u{actual.itemsize}") + 1
    following = bits.view(actual.dtype)[finite].astype(np.float64)
    assert (np.abs(following) > np.abs(wide[finite])).all()


# --- memory and rules ----------------------------------------------------------------------------


@pytest.mark.parametrize("scalar", [float8_e4m3, float8_e4b15], **ids)
def test_bytes_move_sixteen_at_once(scalar, tmp_path):
    target = cuda_target("sm_90a")
    program = cast_kernel(scalar, scalar, size=2048)
    ptx = to_ptx(emit_nvptx(program, target).llvm, target)
    assert ptx.count("ld.global.v4.b32") == ptx.count("st.global.v4.b32") == 1
    assert assemble(ptx, "sm_90a", tmp_path).spill_bytes == 0


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_casts_assemble_without_spills(arch, tmp_path):
    target = cuda_target(arch)
    for before, after in itertools.product([float16, float32, float64], FLOAT8S):
        for pair in ((before, after), (after, before)):
            ptx = to_ptx(emit_nvptx(cast_kernel(*pair), target).llvm, target)
            assert assemble(ptx, arch, tmp_path).spill_bytes == 0


def test_float8s_run_in_vectors_on_the_cpu():
    text, _ = load_on_cpu(cast_kernel(float32, float8_e4m3))
    assert "x float>" in text and "x i8>" in text


def test_bits_of_constants_and_bitcasts():
    b = Builder("bits")
    out = b.parameter("out", PointerType(uint8))
    for number, scalar in enumerate(FLOAT8S):
        value = b.bitcast(b.constant(1.2, scalar, (4,)), uint8)
        b.store(b.add_pointer(out, b.arange(4 * number, 4 * number + 4)), value)
    program = b.finish()
    expected = np.repeat([encode(1.2, scalar).view(np.uint8) for scalar in FLOAT8S], 4)
    for run in (interpret, run_on_cpu, emulate):
        actual = np.zeros(20, np.uint8)
        run(program, [actual])
        assert_same_bits(actual, expected)


@pytest.mark.parametrize("scalar", FLOAT8S, **ids)
def test_arithmetic_is_not_defined(scalar):
    b = Builder()
    value = b.parameter("x", scalar)
    assert value.type == BlockType(scalar)
    for build in (
        lambda: b.add(value, value),
        lambda: b.neg(value),
        lambda: b.compare("lt", value, value),
        lambda: b.fma(value, value, value),
        lambda: b.math("exp", value),
    ):
        with pytest.raises(VerifyError, match=f"not defined on {scalar}"):
            build()
