"""Philox written again with NumPy, and what the language makes of it, bit for bit."""

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.errors import SemanticError
from tests.helpers.cpu import assert_same_bits
from tests.helpers.kernel_bodies import DEVICES, Scalar, evaluate


def philox(counter, key, rounds=10, bits=32):
    """Philox-4x by its definition, with Python's integers."""
    modulus = 1 << bits
    factors, steps = {
        32: ((0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85)),
        64: (
            (0xD2E7470EE14C6C93, 0xCA5A826395121157),
            (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B),
        ),
    }[bits]
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(rounds):
        first, second = factors[0] * c0, factors[1] * c2
        c0, c1, c2, c3 = (
            (second >> bits) ^ c1 ^ k0,
            second % modulus,
            (first >> bits) ^ c3 ^ k1,
            first % modulus,
        )
        k0, k1 = (k0 + steps[0]) % modulus, (k1 + steps[1]) % modulus
    return c0, c1, c2, c3


def words(seed, offset, rounds=10):
    seed, offset = seed % 2**64, offset % 2**64
    counter = (offset % 2**32, offset >> 32, 0, 0)
    return philox(counter, (seed % 2**32, seed >> 32), rounds)


def uniform(word):
    number = word - 2**32 if word >= 2**31 else word
    number = -number - 1 if number < 0 else number
    return np.float32(number) * np.float32(4.6566127342e-10)


SEEDS = [0, 5, -1, 2**31 - 1, 2**32 + 17, -(2**40), 2**63 - 1]
OFFSETS = {
    "int32": np.array([0, 1, 2, 1000, -1, 2**31 - 1, -(2**31), 7], np.int32),
    "int64": np.array([0, 1, 2**32, 2**40 + 3, -1, 2**63 - 1, 5, 6], np.int64),
    "uint32": np.array([0, 1, 2**32 - 1, 2**31, 5, 6, 7, 8], np.uint32),
    "int8": np.arange(-4, 4, dtype=np.int8),
}


def test_philox_itself_gives_the_known_answers():
    """From the authors' own test vectors (Random123, kat_vectors)."""
    assert philox((0, 0, 0, 0), (0, 0)) == (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    ones = 2**32 - 1
    assert philox((ones,) * 4, (ones,) * 2) == (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)


def counted(name, offset):
    """An offset's 64 bits: narrow types count as int32, unsigned ones without a sign."""
    return int(offset) % 2**32 if name != "int64" else int(offset) % 2**64


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", OFFSETS)
def test_randint4x(name, seed):
    offsets = OFFSETS[name]
    results = evaluate(lambda x: tl.randint4x(seed, x), offsets)
    expected = np.array([words(seed, counted(name, o)) for o in offsets], np.uint32).T
    assert [r.type for r in results] == ["uint32"] * 4
    for result, column in zip(results, expected, strict=True):
        assert_same_bits(result.data, column)


@pytest.mark.parametrize("seed", SEEDS)
def test_rand(seed):
    offsets = OFFSETS["int64"]
    result = evaluate(lambda x: tl.rand(seed, x), offsets, ways=DEVICES)
    expected = [uniform(words(seed, int(o))[0]) for o in offsets]
    assert_same_bits(result.data, np.array(expected, np.float32))
    assert ((result.data >= 0) & (result.data < 1)).all()


@pytest.mark.parametrize("type", [tl.int32, tl.int64, tl.uint64])
def test_seeds_may_be_arguments(type):
    offsets = OFFSETS["int32"]
    result = evaluate(lambda x, s: tl.randint(s, x), offsets, Scalar(77, type))
    assert_same_bits(result.data, evaluate(lambda x: tl.randint(77, x), offsets).data)


def test_rand4x_and_rounds():
    offsets = OFFSETS["int32"]
    results = evaluate(lambda x: tl.rand4x(3, x, n_rounds=6), offsets)
    expected = [[uniform(w) for w in words(3, counted("int32", o), 6)] for o in offsets]
    for result, column in zip(results, np.array(expected, np.float32).T, strict=True):
        assert_same_bits(result.data, column)


def test_randn():
    offsets = np.arange(512, dtype=np.int32)
    results = evaluate(lambda x: [tl.randn(1, x), *tl.randn4x(1, x)], offsets)
    bits = np.array([words(1, int(o)) for o in offsets])
    u1, u2, u3, u4 = (np.array([float(uniform(w)) for w in column]) for column in bits.T)
    radius = np.sqrt(-2 * np.log(np.maximum(1e-7, u1)))
    expected = radius * np.cos(2 * np.pi * u2), radius * np.sin(2 * np.pi * u2)
    np.testing.assert_allclose(results[0].data, expected[0], rtol=2e-5, atol=1e-6)
    assert_same_bits(results[0].data, results[1].data)
    np.testing.assert_allclose(results[2].data, expected[1], rtol=2e-5, atol=1e-6)
    radius = np.sqrt(-2 * np.log(np.maximum(1e-7, u3)))
    np.testing.assert_allclose(
        results[3].data, radius * np.cos(2 * np.pi * u4), rtol=2e-5, atol=1e-6
    )


@pytest.mark.parametrize("seed", [0, 9, -2])
def test_philox_of_64_bits(seed):
    counters = np.array([0, 1, 2**40, -1], np.int64)
    results = evaluate(lambda c: tl.philox(seed, c, 0 * c, 0 * c, 0 * c), counters)
    key = (seed % 2**64, 0)
    expected = [philox((int(c) % 2**64, 0, 0, 0), key, bits=64) for c in counters]
    assert [r.type for r in results] == ["uint64"] * 4
    for result, column in zip(results, np.array(expected, np.uint64).T, strict=True):
        assert_same_bits(result.data, column)


def test_offsets_are_integers():
    with pytest.raises(SemanticError, match="Offsets of random numbers are integers"):
        evaluate(lambda x: tl.rand(0, x), np.zeros(4, np.float32))


def test_seeds_are_integers():
    for seed in (lambda x: 2.3, lambda x: x[0].to(tl.float32)):
        with pytest.raises(SemanticError, match="The seed of random numbers is an integer"):
            evaluate(lambda x, seed=seed: tl.rand(seed(x), x), np.zeros(4, np.int32))
