"""Random numbers: the bits, the distributions, NumPy's signatures and errors."""

import inspect
import math
import pickle

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import config, dtypes
from lazyblock.graph import build
from lazyblock.graph.interpret import interpret
from lazyblock.tracer.random_bits import philox, random_words
from tests.helpers.arrays import assert_equal_values, assert_kernel_count, interpret_array

COUNT = 4000
MOST_DISTANCE = 1.95  # of Kolmogorov and Smirnov: exceeded once in a thousand draws


def generator(seed=7):
    return lb.random.default_rng(seed)


# Bits


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ([0] * 4, [0] * 2, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_words_are_those_of_the_papers_implementation(counter, key, expected):
    words = (tuple(build.fixed(x, dtypes.uint32) for x in given) for given in (counter, key))
    assert " ".join(f"{int(x):08x}" for x in interpret(philox(*words), {})) == expected


def test_words_depend_on_place_and_draw_alone():
    small, large = (interpret(random_words((n,), (1, 2), 5), {}) for n in (10, 25))
    for few, many in zip(small, large, strict=True):
        np.testing.assert_array_equal(few, many[:10])
    square = interpret(random_words((5, 2), (1, 2), 5), {})
    np.testing.assert_array_equal(square[0].ravel(), small[0])
    other = interpret(random_words((10,), (1, 2), 6), {})
    assert not (other[0] == small[0]).any()


def test_the_seed_decides():
    first, again, other = (generator(seed).random(20).numpy() for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not (first == other).any()
    assert not (generator(None).random(20).numpy() == generator(None).random(20).numpy()).any()
    rng = generator()
    assert lb.random.default_rng(rng) is rng
    children = [child.random(3).item(0) for child in (*generator(1).spawn(2), generator(1))]
    assert len(set(children)) == 3


def test_a_pickled_generator_goes_on():
    rng = generator()
    rng.random(3)
    copy = pickle.loads(pickle.dumps(rng))
    np.testing.assert_array_equal(copy.normal(size=4).numpy(), rng.normal(size=4).numpy())


@pytest.mark.parametrize("device", ["cpu", "emulated:sm_90a"])
def test_devices_do_not_matter(device):
    def draw(rng):
        return rng.random((3, 5)), rng.integers(-3, 9, (5,)), rng.gamma(2.0, size=3)

    with config.scope(device=device):
        results = [x.numpy() for x in draw(generator())]
    for result, reference in zip(results, map(interpret_array, draw(generator())), strict=True):
        assert_equal_values(result, reference)


def test_fusion_does_not_matter():
    def draw():
        return generator().integers(0, 10, (7,)) * 2 + 1

    with config.scope(fuse=False):
        unfused = draw().numpy()
    assert_equal_values(unfused, draw().numpy())


def test_draws_fuse_into_what_reads_them():
    rng = generator()
    assert_kernel_count((lb.exp(rng.normal(2, 3, (40, 30))) * rng.random(30)).sum(), 1)


# Distributions


def normal(t):
    return 0.5 * math.erfc(-t / math.sqrt(2))


CUMULATED = {
    "random": ((), lambda t: t),
    "uniform": ((-1, 3), lambda t: (t + 1) / 4),
    "standard_normal": ((), normal),
    "normal": ((2, 3), lambda t: normal((t - 2) / 3)),
    "lognormal": ((0, 0.5), lambda t: normal(math.log(t) / 0.5)),
    "standard_exponential": ((), lambda t: -math.expm1(-t)),
    "exponential": ((2,), lambda t: -math.expm1(-t / 2)),
    "laplace": (
        (1, 2),
        lambda t: 0.5 * math.exp((t - 1) / 2) if t < 1 else 1 - 0.5 * math.exp((1 - t) / 2),
    ),
    "logistic": ((1, 2), lambda t: 1 / (1 + math.exp((1 - t) / 2))),
    "gumbel": ((1, 2), lambda t: math.exp(-math.exp((1 - t) / 2))),
    "rayleigh": ((2,), lambda t: -math.expm1(-t * t / 8)),
    "weibull": ((1.5,), lambda t: -math.expm1(-(t**1.5))),
    "pareto": ((3,), lambda t: 1 - (1 + t) ** -3),
    "power": ((2.5,), lambda t: t**2.5),
    "standard_cauchy": ((), lambda t: 0.5 + math.atan(t) / math.pi),
    "triangular": ((0, 1, 4), lambda t: t * t / 4 if t < 1 else 1 - (4 - t) ** 2 / 12),
    "standard_gamma": ((1,), lambda t: -math.expm1(-t)),
    "beta": ((2, 1), lambda t: t * t),
}


@pytest.mark.parametrize("name", CUMULATED)
def test_distributions(name):
    parameters, cumulated = CUMULATED[name]
    drawn = getattr(generator(), name)(*parameters, size=COUNT)
    assert (drawn.shape, drawn.dtype) == ((COUNT,), np.float64)
    reached = np.array([cumulated(float(t)) for t in np.sort(interpret_array(drawn))])
    steps = np.arange(COUNT + 1) / COUNT
    distance = max((reached - steps[:-1]).max(), (steps[1:] - reached).max())
    assert math.sqrt(COUNT) * distance < MOST_DISTANCE


@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential"])
def test_single_precision_and_out(name):
    x = getattr(generator(), name)(2000, dtype=np.float32)
    values = interpret_array(x)
    mean = {"random": 0.5, "standard_normal": 0, "standard_exponential": 1}[name]
    assert values.dtype == np.float32 and np.isfinite(values).all()
    assert abs(values.mean() - mean) < 0.1
    out = lb.zeros(2000, dtype=np.float32)
    assert getattr(generator(), name)(dtype=np.float32, out=out) is out
    assert_equal_values(interpret_array(out), values)


RANGES = [(0, 10), (-3, 4), (-(2**63), 2**63), (5, 2**62), (0, 2**32 + 1), (7, 8)]


@pytest.mark.parametrize(("low", "high"), RANGES)
def test_integers_fill_their_range(low, high):
    values = interpret_array(generator().integers(low, high, COUNT))
    assert values.dtype == np.int64
    assert low <= values.min() and values.max() < high
    places = (values.astype(float) - low + 0.5) / (high - low)
    parts = np.histogram(places, high - low if high - low < 20 else 8, (0, 1))[0]
    expected = COUNT / len(parts)
    assert (abs(parts - expected) < 5 * math.sqrt(expected)).all()
    arrays = interpret_array(generator().integers([low], [high - 1], COUNT, endpoint=True))
    assert low <= arrays.min() and arrays.max() < high


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16", "int32", "uint64"])
def test_integers_of_every_dtype(dtype):
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    values = interpret_array(generator().integers(low, high, COUNT, dtype, endpoint=True))
    assert values.dtype == dtype
    assert abs(values.mean(dtype=float) - (high / 2 + low / 2)) < (high / 2 - low / 2) / 10


def test_random_bools():
    values = interpret_array(generator().integers(2, size=COUNT, dtype=bool))
    assert values.dtype == bool and abs(values.mean() - 0.5) < 0.05


def test_discrete_distributions():
    rng = generator()
    trials = interpret_array(rng.geometric(0.25, COUNT))
    assert trials.dtype == np.int64 and trials.min() == 1
    assert abs(trials.mean() - 4) < 0.3
    assert abs(rng.poisson([3, 3], (COUNT, 2)).numpy().mean() - 3) < 0.1
    assert rng.multinomial(10, [0.2, 0.8], 3).numpy().sum(1).tolist() == [10] * 3
    items = rng.multivariate_hypergeometric([3, 4, 5], 6, 2)
    assert items.numpy().sum(1).tolist() == [6, 6]
    assert (items.numpy() <= [3, 4, 5]).all()
    assert rng.dirichlet([1, 2, 3], (2, 4)).shape == (2, 4, 3)
    assert rng.multivariate_normal([0, 1], np.eye(2), 3).numpy().shape == (3, 2)


# Order and choice


def test_permutations():
    rng = generator()
    assert sorted(rng.permutation(10).tolist()) == list(range(10))
    assert rng.permutation(10).tolist() != rng.permutation(10).tolist()
    table = np.arange(12).reshape(4, 3)
    rows = rng.permutation(table).numpy()
    assert sorted(rows.tolist()) == table.tolist()
    lines = rng.permuted(table, axis=1).numpy()
    assert np.sort(lines, 1).tolist() == table.tolist()
    firsts = {
        tuple((row - row.min()).tolist())
        for row in rng.permuted(np.tile(table, (9, 1)), axis=1).numpy()
    }
    assert len(firsts) > 1
    assert sorted(rng.permuted(table).numpy().ravel().tolist()) == list(range(12))


def test_shuffles_in_place():
    rng = generator()
    lazy, eager, items = lb.arange(8), np.arange(8), list("abcdefgh")
    view = lazy[::-1]
    for x in (lazy, eager, items):
        assert rng.shuffle(x) is None
        assert sorted(list(x) if isinstance(x, list) else x.tolist()) == sorted(
            list("abcdefgh") if isinstance(x, list) else range(8)
        )
    assert view.tolist() == lazy.tolist()[::-1]


def test_choices():
    rng = generator()
    assert set(rng.choice([1.5, 2.5], (3, 40)).numpy().ravel().tolist()) == {1.5, 2.5}
    assert rng.choice(4).shape == () and rng.choice(np.eye(3), 2, axis=1).shape == (3, 2)
    assert sorted(rng.choice(5, 5, replace=False).tolist()) == [0, 1, 2, 3, 4]
    shares = np.bincount(rng.choice(3, COUNT, p=[0.1, 0, 0.9]).numpy()) / COUNT
    np.testing.assert_allclose(shares, [0.1, 0, 0.9], atol=0.02)
    assert sorted(rng.choice(4, 2, replace=False, p=[0, 0.5, 0.5, 0]).tolist()) == [1, 2]
    assert len(rng.bytes(5)) == 5


# NumPy's words

ERRORS = [
    lambda g: g.normal(0, -1),
    lambda g: g.exponential(-1),
    lambda g: g.integers(5, 5),
    lambda g: g.integers(0, 300, dtype="int8"),
    lambda g: g.integers(0, 3, dtype=float),
    lambda g: g.uniform(0, np.inf),
    lambda g: g.poisson(-1),
    lambda g: g.geometric(2),
    lambda g: g.random(3, dtype="int32"),
    lambda g: g.choice(3, 5, replace=False),
    lambda g: g.choice(3, p=[0.5, 0.5]),
    lambda g: g.choice(2, p=[0.5, 0.6]),
    lambda g: g.choice(0, 3),
]


@pytest.mark.parametrize("call", ERRORS)
def test_errors_are_numpys(call):
    caught = []
    for rng in (np.random.default_rng(0), generator()):
        with pytest.raises((ValueError, TypeError, OverflowError)) as info:
            call(rng)
        caught.append(info.value)
    numpys, ours = caught
    assert isinstance(ours, type(numpys))
    assert str(numpys).rstrip(".") in str(ours)


def test_signatures_are_numpys():
    skipped = {"bit_generator", "multivariate_hypergeometric"}
    names = [n for n in dir(np.random.Generator) if not n.startswith("_") and n not in skipped]
    for name in names:
        ours = inspect.signature(getattr(lb.random.Generator, name))
        found = list(ours.parameters)
        expected = list(inspect.signature(getattr(np.random.Generator, name)).parameters)
        assert found == expected[: len(found)], name
