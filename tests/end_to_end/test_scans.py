"""Scans through every stage: values of NumPy on the CPU and on an emulated GPU, few kernels."""

import dataclasses

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import pipeline
from lazyblock.graph.passes import split_scans
from lazyblock.recently_used import RecentlyUsed
from lazyblock.tiler import schedule
from lazyblock.tiler.lower import look_back
from tests.helpers.arrays import assert_equal_values, assert_kernel_count, assert_same_as_numpy

EMULATED = "emulated:sm_90a"
DEVICES = ["cpu", EMULATED]
GPUS = [EMULATED, pytest.param("cuda", marks=pytest.mark.gpu)]
SHAPES = [((0,), 0), ((1,), 0), ((37,), 0), ((257,), 0), ((5, 63), 1), ((5, 63), 0), ((9, 1), 0)]
SHAPES += [((2, 17, 3), 1), ((0, 4), 1), ((4, 0), 1), ((3, 129), 1), ((131, 33), 0)]


def whole_numbers(shape, dtype=np.float32):
    """Sums of these are exact."""
    return np.random.default_rng(0).integers(-4, 5, shape).astype(dtype)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("shape", "axis"), SHAPES)
def test_sums(shape, axis, device):
    x = whole_numbers(shape)
    y = lb.asarray(x, device=device).cumsum(axis)
    assert_equal_values(y.numpy(), np.cumsum(x, axis))


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64"]
)
@pytest.mark.parametrize("device", DEVICES)
def test_dtypes(dtype, device):
    x = whole_numbers((1, 70), dtype)
    y = lb.asarray(x, device=device)
    for ufunc in (np.add, np.maximum):
        results = (ufunc.accumulate(a, 1) for a in (y, x))
        assert_equal_values(*(np.asarray(a) for a in results))


LONG = {
    "a row of pieces": ((2, 40000), 1),
    "columns": ((700, 33), 0),
    "middle": ((2, 600, 5), 1),
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", LONG)
def test_rows_that_no_block_holds(name, device):
    shape, axis = LONG[name]
    x = whole_numbers(shape)
    y = np.cumsum(lb.asarray(x, device=device), axis) * 2
    assert_kernel_count(y, 1)
    assert_equal_values(y.numpy(), np.cumsum(x, axis) * 2)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("view", ["x[::-1, ::2]", "x.T", "x[3:, 1]", "x[:, ::-3]"])
def test_views(view, device):
    x = whole_numbers((34, 21))
    expected = np.cumsum(eval(view, {"x": x}), axis=0)
    y = np.cumsum(eval(view, {"x": lb.asarray(x, device=device)}), axis=0)
    assert_kernel_count(y, 1)
    assert_equal_values(y.numpy(), expected)


def share_of_total(xp, x):
    return xp.cumsum(x, axis=1) / (x * x).sum(axis=1, keepdims=True)


def largest_drawdown(xp, x):
    value = xp.cumsum(x, axis=1)
    return (xp.maximum.accumulate(value, axis=1) - value).max(axis=1)


def cumulated_softmax(xp, x):
    e = xp.exp(x - x.max(axis=1, keepdims=True))
    return xp.cumsum(e / e.sum(axis=1, keepdims=True), axis=1)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("shape", [(3, 65), (2, 33000)], ids=["short", "long"])
@pytest.mark.parametrize(
    "expression", [share_of_total, largest_drawdown, cumulated_softmax], ids=lambda f: f.__name__
)
def test_scans_and_reductions_of_rows_are_one_kernel(expression, shape, device):
    if device == EMULATED:
        shape = (2, shape[1]) if expression is largest_drawdown else (1, 65)
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    y = expression(np, lb.asarray(x, device=device))
    assert_kernel_count(y, 1)
    expected = expression(np, x.astype(np.float64))
    scale = np.abs(expected).max()  # a sum of n terms is off by a few roundings of its largest
    np.testing.assert_allclose(y.numpy(), expected, rtol=0, atol=5e-6 * scale)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("axis", [0, 1])
def test_an_initial_element(axis, device):
    x = whole_numbers((6, 130))
    y = lb.cumulative_sum(lb.asarray(x, device=device), axis=axis, include_initial=True)
    assert_equal_values(y.numpy(), np.cumulative_sum(x, axis=axis, include_initial=True))


@pytest.mark.parametrize("device", DEVICES)
def test_scans_give_the_same_bits_every_time(device):
    x = np.random.default_rng(2).standard_normal((2, 5000)).astype(np.float32)
    first, second = (lb.asarray(x, device=device).cumsum(1).numpy() for _ in range(2))
    assert_equal_values(first, second)


@pytest.fixture
def cut_into_pieces(monkeypatch):
    """Split rows that are short for a GPU."""
    settings = {"LEAST_PROGRAMS": 8, "SHORT_ROW": 1000, "PIECES": (256, 512)}
    for name, value in settings.items():
        monkeypatch.setattr(split_scans, f"_{name}", value)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [1536, 2049, 4099])
def test_long_rows_are_scanned_in_pieces(size, device, cut_into_pieces):
    x = whole_numbers(size)
    y = lb.asarray(x, device=device).cumsum()
    assert_kernel_count(y, 3 if device == "cpu" else 1)
    assert_equal_values(y.numpy(), np.cumsum(x))


@pytest.fixture(params=[False, True])
def short_tiles(request, monkeypatch, cut_into_pieces):
    """Tiles of 512 bytes in groups of 3; a program for every tile, or few."""
    monkeypatch.setattr(pipeline, "_plans", RecentlyUsed(64))
    monkeypatch.setattr(look_back, "GROUP", 3)
    monkeypatch.setattr(schedule, "_CUT_SCAN_TILE", 512)
    monkeypatch.setattr(schedule, "_CUT_SCAN_WARPS", 1)
    make = schedule._schedule_cut_scan

    def schedule_cut_scan(dimensions, accesses, target):
        found = make(dimensions, accesses, target)
        most = 1 if target.is_emulated else 3
        return dataclasses.replace(found, num_programs=most) if request.param else found

    monkeypatch.setattr(schedule, "_schedule_cut_scan", schedule_cut_scan)


SCANS = {
    "sum": lambda xp, x: xp.cumsum(x, axis=-1),
    "from the end": lambda xp, x: xp.cumsum(x[..., ::-1], axis=-1)[..., ::-1],
    "product": lambda xp, x: xp.cumprod(xp.where(x > 9, -1, 1) * 1.0, axis=-1),
    "with work around": lambda xp, x: xp.exp(-abs(xp.cumsum(x * 2 + 1, axis=-1))) + x,
    "maximum": lambda xp, x: xp.maximum.accumulate(x, axis=-1),
}


@pytest.mark.parametrize("device", GPUS)
@pytest.mark.parametrize("shape", [(1100,), (2, 1281), (2, 1, 1537)])
@pytest.mark.parametrize("name", SCANS)
def test_programs_pass_on_what_comes_before(name, shape, device, short_tiles):
    x = whole_numbers(shape)
    y = SCANS[name](np if name == "maximum" else lb, lb.asarray(x, device=device))
    assert_kernel_count(y, 1)
    expected = SCANS[name](np, x.astype(np.float64)).astype(np.float32)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("device", GPUS)
@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int32", "int64", "uint64", "float16", "float64"]
)
def test_totals_of_all_types_are_passed_on(dtype, device, short_tiles):
    x = (whole_numbers(1300) % 3).astype(dtype)
    assert_equal_values(np.cumsum(lb.asarray(x, device=device)).numpy(), np.cumsum(x))


@pytest.mark.parametrize("device", GPUS)
def test_launches_do_not_mistake_each_others_totals(device, short_tiles):
    f = lb.compile(lambda x: lb.cumsum(x))
    rng = np.random.default_rng(5)
    for _ in range(4):
        x = rng.integers(-9, 9, 1500).astype(np.float32)
        assert_equal_values(f(lb.asarray(x, device=device)).numpy(), np.cumsum(x))


@pytest.mark.parametrize("device", GPUS)
def test_a_scan_of_cut_rows_meets_no_other_walk(device, short_tiles):
    x = whole_numbers((2, 1300))
    y = lb.asarray(x, device=device)
    total, twice, turned = y.sum(1), y.cumsum(1).cumsum(1), np.flip(np.flip(y, 1).cumsum(1), 1)
    lb.eval(total, twice, turned)
    assert_equal_values(total.numpy(), x.sum(1))
    assert_equal_values(twice.numpy(), x.cumsum(1).cumsum(1))
    assert_equal_values(turned.numpy(), np.flip(np.flip(x, 1).cumsum(1), 1))


def test_numbers_of_the_plan_and_of_the_caller_stay_apart(cut_into_pieces):
    x = whole_numbers(1999)
    for number in (-0.0, 0.0, 3.0):  # the first looks like what pieces start from
        y = np.cumsum(lb.asarray(x, device="cpu") + number)
        np.testing.assert_array_equal(y.numpy(), np.cumsum(x + np.float32(number)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("shape", "axis"), [((5, 130), 1), ((130, 5), 0), ((7, 33), None)])
def test_places_of_extremes_are_one_kernel(shape, axis, device):
    x = whole_numbers(shape)
    x[-1, -1] = x[2, 3] = np.nan
    y = lb.asarray(x, device=device)
    for lazy, eager in ((y.argmax(axis), x.argmax(axis)), (y.argmin(axis), x.argmin(axis))):
        assert_kernel_count(lazy, 1)
        assert_equal_values(lazy.numpy(), np.asarray(eager))


def test_functions_with_rare_cases_are_scanned():
    """Constants of the rare case may be shared with the scan, and stand before it."""
    x = np.linspace(-5, 5, 12).reshape(3, 4)
    for axis in (0, 1):
        assert_same_as_numpy(lambda a, n=axis: np.cumsum(np.cos(a), axis=n), x, rtol=1e-13)
        assert_same_as_numpy(lambda a, n=axis: np.cumprod(np.sin(a) + 1, axis=n), x, rtol=1e-13)
