"""numerics="fast": near float64, on every device and interpreter; reached in every way; apart."""

import re

import ml_dtypes
import numpy as np
import pytest

import lazyblock as lb
from benchmarks.accuracy import FAST_SPECIFICATIONS, draw_fast, fast_errors_of
from lazyblock import config, errors, pipeline
from lazyblock.backend import cache
from lazyblock.backend.compile import toolchain_version
from lazyblock.graph import build
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.target import cuda_target
from tests.helpers.arrays import assert_kernel_count
from tests.helpers.expressions import apply, array, scalar
from tests.helpers.lowering import run_blocks
from tests.helpers.ptxas import assemble

DEVICES = ["cpu", "emulated:sm_90a", pytest.param("cuda", marks=pytest.mark.gpu)]
HOPPER = cuda_target("sm_90a")
SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 200.0, -200.0], np.float32)


def evaluate(device, function, *hosts, numerics="fast"):
    with config.scope(numerics=numerics):
        result = function(*(lb.asarray(host, device=device) for host in hosts))
        return [r.numpy() for r in (result if isinstance(result, tuple) else (result,))]


def ptx_of(outputs, numerics="fast"):
    with config.scope(numerics=numerics):
        _, _, (kernel,) = pipeline.compile_for(outputs, HOPPER)
    return kernel.stages["ptx"]


# --- functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", FAST_SPECIFICATIONS)
def test_errors_are_within_their_limits(name, device):
    arguments = draw_fast(name, 400, seed=1)
    (results,) = evaluate(device, getattr(lb, name), *arguments)
    found = fast_errors_of(name, results, arguments)
    worst = int(found.argmax())
    assert found[worst] <= FAST_SPECIFICATIONS[name].limits[0], [a[worst] for a in arguments]


@pytest.mark.parametrize("passes", [pipeline.FAST_CPU_PASSES, pipeline.FAST_GPU_PASSES])
@pytest.mark.parametrize("name", FAST_SPECIFICATIONS)
def test_interpreted_programs_are_within_the_limits(name, passes):
    arguments = draw_fast(name, 400, seed=2)
    leaves = [array(argument.shape) for argument in arguments]
    output = apply(Op({"pow": "power"}.get(name, name)), *leaves)
    memory = dict(zip(leaves, arguments, strict=True))
    (results,) = run_blocks([output], memory, HOPPER, passes=(*pipeline.TIDY_PASSES, *passes))
    found = fast_errors_of(name, results, arguments)
    assert found.max() <= FAST_SPECIFICATIONS[name].limits[0]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", FAST_SPECIFICATIONS)
def test_special_values_are_those_of_strict_numerics(name, device):
    arguments = [SPECIAL]
    if FAST_SPECIFICATIONS[name].arity == 2:
        arguments = [values.ravel() for values in np.meshgrid(SPECIAL, SPECIAL)]
    strict, fast = (
        evaluate(device, getattr(lb, name), *arguments, numerics=numerics)[0]
        for numerics in ("strict", "fast")
    )
    np.testing.assert_allclose(fast, strict, rtol=4e-6, atol=1e-7)
    signs = np.isnan(strict) | (np.abs(strict) < 1e-6) | (np.signbit(fast) == np.signbit(strict))
    assert signs.all()


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_functions_use_the_processors_approximations(arch, tmp_path):
    x = array((1 << 20,))
    outputs = [apply(Op(name), x) for name in ("exp", "log", "sqrt", "rsqrt", "tanh", "erfc")]
    with config.scope(numerics="fast"):
        _, _, (kernel,) = pipeline.compile_for(outputs, cuda_target(arch))
    ptx = kernel.stages["ptx"]
    for name in ("ex2", "lg2", "rcp", "rsqrt", "sqrt"):
        assert f"\t{name}.approx.ftz.f32" in ptx
    assert assemble(ptx, arch, tmp_path).spill_bytes == 0
    assert "approx" not in ptx_of(outputs, "strict").replace("rcp.approx", "")


def test_float64_keeps_its_exact_functions():
    x = np.linspace(0.1, 5, 100)
    for name in ("exp", "log", "sin", "erf", "sqrt", "rsqrt"):
        both = [evaluate("cpu", getattr(lb, name), x, numerics=n)[0] for n in ("strict", "fast")]
        np.testing.assert_array_equal(*both)


# --- contraction and precision -------------------------------------------------------------------


def test_only_fast_numerics_contract():
    x, y = array((1 << 20,)), array((1 << 20,))
    outputs = [apply(Op.ADD, apply(Op.MULTIPLY, x, y), y)]
    assert "fma" in ptx_of(outputs)
    assert "fma" not in ptx_of(outputs, "strict")


@pytest.mark.parametrize("device", DEVICES)
def test_a_product_and_a_sum_round_once(device):
    x = np.full(5, 1 + 2.0**-12, np.float32)
    z = np.full(5, -(1 + 2.0**-11), np.float32)
    strict, fast = (
        evaluate(device, lambda x, z: x * x + z, x, z, numerics=n)[0] for n in ("strict", "fast")
    )
    assert (strict == 0).all()
    assert (fast == 2.0**-24).all()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_halves_keep_float32_up_to_the_store(device, dtype):
    rng = np.random.default_rng(0)
    x, y = rng.uniform(1, 2, (2, 300)).astype(dtype)

    def chain(x, y):
        return (x * y + x) * y - x

    wide = chain(x.astype(np.float32), y.astype(np.float32)).astype(dtype)
    strict, fast = (evaluate(device, chain, x, y, numerics=n)[0] for n in ("strict", "fast"))
    np.testing.assert_array_equal(strict, chain(x, y))
    assert (fast != wide).mean() < 0.01  # contraction may tip a tie
    assert (strict != wide).mean() > 0.1


# --- how it is asked for -------------------------------------------------------------------------

HIDDEN = np.full(4, 1 + 2.0**-12, np.float32)  # x * x - (1 + 2^-11) shows which numerics ran


def probe(x):
    return x * x + np.float32(-(1 + 2.0**-11))


def is_fast(result):
    return bool((result.numpy() != 0).all())


def lazy(host):
    return lb.asarray(host, device="cpu")


def test_every_way_to_ask():
    assert not is_fast(probe(lazy(HIDDEN)))
    with config.scope(numerics="fast"):
        assert is_fast(probe(lazy(HIDDEN)))
        assert not is_fast(lb.compile(probe, numerics="strict")(lazy(HIDDEN)))
    assert is_fast(lb.compile(probe, numerics="fast")(lazy(HIDDEN)))
    assert is_fast(lb.compile(numerics="fast")(probe)(lazy(HIDDEN)))
    assert is_fast(probe(lazy(HIDDEN)).compile(numerics="fast")(lazy(HIDDEN)))
    assert not is_fast(probe(lazy(HIDDEN)).compile()(lazy(HIDDEN)))


def test_the_setting_of_compile_time_holds_for_later_signatures():
    with config.scope(numerics="fast"):
        function, expression = lb.compile(probe), probe(lazy(HIDDEN)).compile()
    longer = np.concatenate([HIDDEN, HIDDEN])
    assert is_fast(function(lazy(HIDDEN))) and is_fast(function(lazy(longer)))
    assert is_fast(expression(lazy(longer)[::2]))  # another layout, planned anew
    strict = lb.compile(probe)
    with config.scope(numerics="fast"):
        assert not is_fast(strict(lazy(longer)))


def test_other_values_are_refused():
    words = "numerics is 'sloppy', expected 'strict' or 'fast'"
    with pytest.raises(errors.ValueRangeError, match=words):
        lb.compile(probe, numerics="sloppy")
    with pytest.raises(errors.ValueRangeError, match=words):
        probe(lazy(HIDDEN)).compile(numerics="sloppy")
    with pytest.raises(errors.ValueRangeError, match=words), config.scope(numerics="sloppy"):
        pass


def test_kernels_of_strict_and_fast_have_different_keys():
    keys = set()
    for numerics in ("strict", "fast"):
        with config.scope(numerics=numerics):
            keys.add(cache.make_key("text", HOPPER, toolchain_version()))
    assert len(keys) == 2


# --- whole programs ------------------------------------------------------------------------------


def black_scholes(m, spot, strike, years):
    """Call and put; `m` has the functions."""
    root = m.sqrt(years)
    d1 = (m.log(spot / strike) + np.float32(0.07) * years) / (np.float32(0.2) * root)
    d2 = d1 - np.float32(0.2) * root
    discounted = strike * m.exp(np.float32(-0.05) * years)

    def below(x):
        return np.float32(0.5) * m.erfc(-x / np.float32(2**0.5))

    call = spot * below(d1) - discounted * below(d2)
    return call, discounted * below(-d2) - spot * below(-d1)


class _Exact:
    from math import erfc as _erfc

    sqrt, log, exp, erfc = np.sqrt, np.log, np.exp, np.vectorize(_erfc)


@pytest.mark.parametrize("device", DEVICES)
def test_black_scholes(device):
    rng = np.random.default_rng(0)
    spot, strike = rng.uniform(10, 50, (2, 999)).astype(np.float32)
    years = rng.uniform(0.2, 2, 999).astype(np.float32)
    hosts = (spot, strike, years)
    expected = black_scholes(_Exact, *(host.astype(np.float64) for host in hosts))
    results = evaluate(device, lambda *x: black_scholes(lb, *x), *hosts)
    for result, reference in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, reference, rtol=0, atol=3e-5)


def accelerations(m, x, y, z, mass):
    """Of every body towards all others, softened."""
    dx, dy, dz = (p[None, :] - p[:, None] for p in (x, y, z))
    inverse = 1 / m.sqrt(dx * dx + dy * dy + dz * dz + np.float32(0.01))
    pull = mass[None, :] * inverse * inverse * inverse
    return tuple((pull * d).sum(1) for d in (dx, dy, dz))


@pytest.mark.parametrize("numerics", ["strict", "fast"])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("count", [1, 131])
def test_accelerations_of_bodies(count, device, numerics):
    rng = np.random.default_rng(0)
    hosts = rng.uniform(0.5, 1.5, (4, count)).astype(np.float32)
    expected = accelerations(np, *hosts.astype(np.float64))
    results = evaluate(device, lambda *p: accelerations(lb, *p), *hosts, numerics=numerics)
    for result, reference in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, reference, rtol=2e-5, atol=2e-5 * count)


def pairwise(count):
    """Return the nodes of `accelerations`, for compilation only."""
    x, y, z, mass = (array((count,)) for _ in range(4))

    def difference(p):
        columns = build.broadcast_to(build.reshape(p, (1, count)), (count, count))
        rows = build.broadcast_to(build.reshape(p, (count, 1)), (count, count))
        return apply(Op.SUBTRACT, columns, rows)

    differences = [difference(p) for p in (x, y, z)]
    squares = [apply(Op.MULTIPLY, d, d) for d in differences]
    distance = apply(Op.ADD, apply(Op.ADD, *squares[:2]), squares[2])
    root = apply(Op.SQRT, apply(Op.ADD, distance, scalar(0.01)))
    inverse = apply(Op.RECIPROCAL, root)
    pull = build.broadcast_to(build.reshape(mass, (1, count)), (count, count))
    for _ in range(3):
        pull = apply(Op.MULTIPLY, pull, inverse)
    return [build.reduce(ReduceKind.SUM, apply(Op.MULTIPLY, pull, d), (1,)) for d in differences]


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_pairs_stay_in_registers(arch, tmp_path):
    """14 instructions a pair, 64 pairs a thread and turn, in a loop without masks and one with."""
    with config.scope(numerics="fast"):
        _, (lowered,), (kernel,) = pipeline.compile_for(pairwise(16384), cuda_target(arch))
    ptx = kernel.stages["ptx"]
    usage = assemble(ptx, arch, tmp_path)
    assert usage.spill_bytes == 0 and usage.registers <= 128
    counted = {name: len(re.findall(rf"\t{name}\.\S*f32", ptx)) for name in ("rsqrt", "fma", "sub")}
    assert counted == {"rsqrt": 128, "fma": 5 * 128, "sub": 3 * 128}
    assert lowered.grid == (512, 1, 1)


def test_pairs_are_one_kernel():
    hosts = np.ones((4, 1000), np.float32)
    with config.scope(numerics="fast"):
        for result in accelerations(lb, *(lazy(host) for host in hosts)):
            assert_kernel_count(result, 1)
