"""Random numbers that depend on a seed and an offset alone: Philox-4x32-10.

The counter is (low and high word of the offset, 0, 0), the key the two words of the seed. Results
are the same bits on every device.
Source: J. K. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, SC 2011.
"""

from __future__ import annotations

from typing import Any

from lazyblock.errors import SemanticError
from lazyblock.language.constexpr import builtin
from lazyblock.language.dtypes import float32, int32, int64, uint32, uint64
from lazyblock.language.semantics import elementwise
from lazyblock.language.semantics.arithmetic import binary
from lazyblock.language.semantics.convert import bitcast, cast, to_tensor
from lazyblock.language.semantics.create import full_like, zeros_like
from lazyblock.language.tensor import describe, tensor

N_ROUNDS_DEFAULT = 10
_KEYS = {32: (0x9E3779B9, 0xBB67AE85), 64: (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)}
_FACTORS = {32: (0xD2511F53, 0xCD9E8D57), 64: (0xD2E7470EE14C6C93, 0xCA5A826395121157)}
_UNIFORM_SCALE = {32: 4.6566127342e-10, 64: 1.0842020432385337e-19}
_TWO_PI = 6.283185307179586
_SMALLEST = 1.0e-7  # under the logarithm of the normal distribution

Four = tuple[tensor, tensor, tensor, tensor]


@builtin
def philox_impl(
    c0: Any, c1: Any, c2: Any, c3: Any, k0: Any, k1: Any, n_rounds: Any = N_ROUNDS_DEFAULT
) -> Four:
    """`n_rounds` rounds on four counters and two keys of uint32 or uint64."""
    bits = c0.dtype.primitive_bitwidth
    first, second = (full_like(c0, factor) for factor in _FACTORS[bits])
    for _ in range(n_rounds):
        old0, old2 = c0, c2
        c0 = elementwise.umulhi(second, old2) ^ c1 ^ k0
        c2 = elementwise.umulhi(first, old0) ^ c3 ^ k1
        c1, c3 = binary("mul", second, old2), binary("mul", first, old0)
        k0, k1 = binary("add", k0, _KEYS[bits][0]), binary("add", k1, _KEYS[bits][1])
    return c0, c1, c2, c3


@builtin
def philox(seed: Any, c0: Any, c1: Any, c2: Any, c3: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Four:
    """Four blocks of random bits from four counters of one integer type, 32 or 64 bits wide."""
    counters = [to_tensor(counter) for counter in (c0, c1, c2, c3)]
    bits = counters[0].dtype.primitive_bitwidth
    if bits not in _KEYS or not counters[0].dtype.is_int():
        raise SemanticError(f"Philox counts in 32 or 64-bit integers, got {describe(counters[0])}.")
    unsigned = uint32 if bits == 32 else uint64
    words = [bitcast(counter, unsigned) for counter in counters]
    given = to_tensor(seed)
    if not given.dtype.is_int():
        raise SemanticError(f"The seed of random numbers is an integer, got {describe(given)}.")
    key: Any = cast(given, uint64)
    keys = (cast(key, unsigned), cast(key >> 32, unsigned) if bits == 32 else full_like(key, 0))
    found: Four = philox_impl(*(*words, *keys, n_rounds))
    return found


@builtin
def randint4x(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Four:
    """Four blocks of random uint32 of `offset`'s shape: the cheapest way to many numbers."""
    count: Any = to_tensor(offset)
    if not count.dtype.is_int():
        raise SemanticError(f"Offsets of random numbers are integers, got {describe(count)}.")
    low = bitcast(cast(count, int32), uint32)
    nothing = zeros_like(low)
    high = nothing
    if count.dtype.primitive_bitwidth > 32:
        high = cast(binary("rshift", bitcast(count, uint64), 32), uint32)
    found: Four = philox(seed, low, high, nothing, nothing, n_rounds)
    return found


@builtin
def randint(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> tensor:
    """A block of random uint32 of `offset`'s shape."""
    first: tensor = randint4x(seed, offset, n_rounds)[0]
    return first


@builtin
def uint_to_uniform_float(x: Any) -> tensor:
    """Random bits as float32 of [0, 1)."""
    given = to_tensor(x)
    bits = given.dtype.primitive_bitwidth
    if bits not in _UNIFORM_SCALE or not given.dtype.is_int():
        raise SemanticError(
            f"Uniform floats come from 32 or 64-bit integers, got {describe(given)}."
        )
    value: Any = bitcast(given, int32 if bits == 32 else int64)
    size: Any = elementwise.where(value < 0, -value - 1, value)
    return binary("mul", cast(size, float32), _UNIFORM_SCALE[bits])


@builtin
def rand(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> tensor:
    """A block of float32, uniform in [0, 1)."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@builtin
def rand4x(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Four:
    """Four blocks of float32, uniform in [0, 1)."""
    a, b, c, d = (uint_to_uniform_float(x) for x in randint4x(seed, offset, n_rounds))
    return a, b, c, d


@builtin
def pair_uniform_to_normal(u1: Any, u2: Any) -> tuple[tensor, tensor]:
    """Box-Muller: two uniform blocks become two independent normal ones."""
    first: Any = elementwise.maximum(_SMALLEST, u1)
    angle = u2 * _TWO_PI
    radius: Any = elementwise.sqrt(-2.0 * elementwise.log(first))
    return radius * elementwise.cos(angle), radius * elementwise.sin(angle)


@builtin
def randn(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> tensor:
    """A block of float32, normally distributed."""
    bits = randint4x(seed, offset, n_rounds)
    first, second = (uint_to_uniform_float(x) for x in bits[:2])
    normal: tensor = pair_uniform_to_normal(first, second)[0]
    return normal


@builtin
def randn4x(seed: Any, offset: Any, n_rounds: Any = N_ROUNDS_DEFAULT) -> Four:
    """Four blocks of float32, normally distributed."""
    a, b, c, d = rand4x(seed, offset, n_rounds)
    first, second = pair_uniform_to_normal(a, b)
    third, fourth = pair_uniform_to_normal(c, d)
    return first, second, third, fourth
