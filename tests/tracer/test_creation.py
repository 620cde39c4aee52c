"""Creation functions give NumPy's values, shapes and dtypes, and record constants."""

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import dtypes, errors
from lazyblock.graph.ops import Op
from lazyblock.graph.traverse import topological
from tests.helpers.arrays import assert_equal_values, assert_records_numpy, interpret_array

CALLS = {
    "zeros": [((3,), {}), ((2, 0), {"dtype": "int8"}), (4, {})],
    "ones": [(((2, 3),), {}), ((), {"shape": ()})],
    "full": [((3, 7), {}), (((2, 2), -0.0), {}), ((2, True), {}), ((2, 1.5), {"dtype": "int32"})],
    "arange": [
        ((5,), {}),
        ((2, 9, 3), {}),
        ((9, 2, -2), {}),
        ((0.5, 2.0, 0.1), {}),
        ((5,), {"dtype": "float32"}),
        ((0.1, 3, 0.7), {"dtype": "float32"}),
        ((0, 3, 0.7), {"dtype": "float16"}),
        ((5, 1), {}),
        ((1.0, 4), {}),
        ((3,), {"dtype": "uint8"}),
        ((-3, 3), {"dtype": "int16"}),
    ],
    "linspace": [
        ((0, 1), {}),
        ((0, 1, 7), {"dtype": "float32"}),
        ((2, -3, 5), {"endpoint": False}),
        ((1, 1, 4), {}),
        ((0, 10, 4), {"dtype": "int32"}),
        ((0, 1, 1), {}),
        ((0, 1, 0), {}),
        ((3, 7.5, 1), {"endpoint": False}),
        ((0, 4 - 2j, 5), {}),
        ((1j, 1j, 3), {"dtype": "complex64"}),
        ((0, 5e-324, 3), {}),
        ((np.float32(1), [3, 2.5], 4), {"axis": 1}),
        ((0, 1, 5, False), {}),
    ],
    "eye": [((3,), {}), ((2, 4), {"k": 1}), ((4, 2), {"k": -1, "dtype": "bool"}), ((0,), {})],
}
CASES = [(name, args, kw) for name, calls in CALLS.items() for args, kw in calls]


@pytest.mark.parametrize(("name", "args", "settings"), CASES, ids=str)
def test_creation_function(name, args, settings):
    args = args if isinstance(args, tuple) else (args,)
    if name == "zeros":
        args = (args,) if len(args) > 1 else args
    expected = (
        getattr(np, name)(*args, **{k: v for k, v in settings.items() if k != "k"})
        if (name != "eye")
        else np.eye(*args, **settings)
    )
    assert_equal_values(interpret_array(getattr(lb, name)(*args, **settings)), expected)


def test_creation_records_without_data():
    x = lb.zeros((1000, 1000)) + lb.arange(1000.0)
    assert all(node.op is not Op.INPUT for node in topological([x.node]))


@pytest.mark.parametrize("name", ["zeros_like", "ones_like", "empty_like"])
def test_like(name):
    x = lb.asarray(np.ones((2, 3), np.float32), device="cpu")
    result = getattr(np, name)(x)
    assert (result.shape, result.dtype, type(result)) == ((2, 3), np.float32, lb.Array)
    assert getattr(lb, name)(x, dtype="int8", shape=(4,)).shape == (4,)
    assert np.full_like(x, 3).dtype == np.float32


@pytest.mark.parametrize(
    "value", [True, 3, 2.5, [1, 2], [[1.5], [2]], np.float32(1), np.arange(3, dtype="u1"), ()]
)
def test_asarray_keeps_shape_dtype_and_values(value):
    assert_equal_values(interpret_array(lb.asarray(value, device="cpu")), np.asarray(value))


def test_asarray_converts():
    big_endian = np.arange(3, dtype=">i4")
    x = lb.asarray(big_endian, device="cpu")
    assert x.dtype == np.dtype("int32") and x.tolist() == [0, 1, 2]
    assert lb.asarray([1, 2], dtype="float16", device="cpu").dtype == np.float16
    assert lb.asarray(x, dtype=np.float64).tolist() == [0.0, 1.0, 2.0]
    strided = np.arange(12.0).reshape(3, 4).T[::-1]
    assert_equal_values(interpret_array(lb.asarray(strided, device="cpu")), strided)


def test_copy_false_aliases_host_memory():
    host = np.arange(6.0).reshape(2, 3).T
    x = lb.asarray(host, device="cpu", copy=False)
    host[0, 0] = 5
    assert x.numpy()[0, 0] == 5
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        lb.asarray([1, 2], device="cpu", copy=False)


def test_creation_errors():
    with pytest.raises(ValueError, match="Negative extent"):
        lb.zeros((2, -1))
    with pytest.raises(errors.DTypeError, match="'complex256' is not supported"):
        lb.zeros(3, dtype=np.clongdouble)
    with pytest.raises(ValueError, match="must be non-negative"):
        lb.linspace(0, 1, -1)
    with pytest.raises(OverflowError):
        lb.full(3, 300, dtype="int8")


@pytest.mark.parametrize("start", range(5))
def test_aliased_memory_may_begin_anywhere(start):
    memory = np.arange(70, dtype=np.float32)[start:]
    x = lb.asarray(memory, device="cpu", copy=False)
    attrs = x.node.attrs
    assert attrs.storage.pointer % 16 == 0
    assert attrs.storage.pointer + 4 * attrs.offset == memory.ctypes.data
    np.testing.assert_array_equal(x.numpy(), memory)
    np.testing.assert_array_equal((x * 2 + x[::-1]).numpy(), memory * 2 + memory[::-1])
    assert np.shares_memory(x.numpy(), memory)


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("sizes", [(), (4,), (2, 3), (3, 1, 2)])
def test_meshgrid(indexing, sparse, sizes):
    lines = [np.arange(size) + 10.0 * number for number, size in enumerate(sizes)]

    def function(*lines):
        module = lb if any(isinstance(line, lb.Array) for line in lines) else np
        return module.meshgrid(*lines, indexing=indexing, sparse=sparse)

    assert_records_numpy(function, *lines)


def test_grids_are_views_where_asked():
    line = lb.asarray([1.0, 2.0], device="cpu")
    copied, _ = lb.meshgrid(line, line)
    seen, _ = lb.meshgrid(line, line, copy=False)
    line += 1
    assert (copied.tolist()[0], seen.tolist()[0]) == ([1.0, 2.0], [2.0, 3.0])
    with pytest.raises(ValueError, match="'xy' and 'ij'"):
        lb.meshgrid(line, indexing="ji")


@pytest.mark.parametrize("name", ["tril", "triu"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 3), (3,), (0, 2)])
def test_triangles(name, shape):
    values = np.arange(1, 1 + int(np.prod(shape))).reshape(shape)
    for k in (-5, -1, 0, 2):
        expected = getattr(np, name)(values, k=k)
        found = getattr(lb, name)(lb.asarray(values, device="cpu"), k=k)
        assert found.dtype == values.dtype
        np.testing.assert_array_equal(found.numpy(), expected)


def test_numbers_in_order_are_computed_as_they_are():
    line = lb.arange(6)
    grid = line.reshape(2, 3)
    lb.eval(line, grid + lb.flip(line).reshape(2, 3))
    assert (line.tolist(), grid.tolist()) == (list(range(6)), [[0, 1, 2], [3, 4, 5]])


def test_dtypes_may_be_given_by_place_as_in_numpy():
    like = lb.ones((2, 3))
    for created in (
        lb.zeros((2, 3), "int32"),
        lb.ones(np.array([2, 3]), np.int32),
        lb.empty((2, 3), "i4"),
        lb.full((2, 3), 7, lb.int32),
        lb.zeros_like(like, "int32"),
        lb.full_like(like, 1, np.int32),
        lb.eye(2, 3, 0, "int32"),
        lb.arange(0, 6, 1, "int32").reshape(2, 3),
    ):
        assert (created.shape, created.dtype) == ((2, 3), lb.int32)


@pytest.mark.parametrize("k", [-(2**70), -3, -2, 0, 1, 4, 5, 2**63])
def test_diagonals_of_any_number(k):
    expected = np.eye(3, 5, max(-9, min(k, 9)))
    np.testing.assert_array_equal(lb.eye(3, 5, k=k).numpy(), expected)


@pytest.mark.parametrize("ends", [(1, 3), (1, 1), ([0, 1.0], 2.0), (np.float64(1), np.int64(4))])
def test_linspace_tells_its_step(ends):
    for settings in ({}, {"endpoint": False, "num": 4}, {"num": 1}):
        values, step = lb.linspace(*ends, retstep=True, **settings)
        expected, distance = np.linspace(*ends, retstep=True, **settings)
        np.testing.assert_array_equal(values.numpy(), expected)
        np.testing.assert_array_equal(np.asarray(step), distance)


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64", "bfloat16"])
def test_lists_of_lazy_arrays(dtype):
    def make(xp):
        x = xp.asarray(np.array([1, 0, 2], dtypes.as_dtype(dtype)))
        return [xp.asarray(data) for data in ([x[0], x[1]], [x, x], [[x[0]], (x[2],)], (x[:1],))]

    for ours, theirs in zip(make(lb), make(np), strict=True):
        assert_equal_values(ours.numpy(), theirs)


def test_data_that_only_a_dtype_makes_numbers():
    for data, dtype in ((["1", "2.5"], float), ([1, None], "float32"), ([2**64], "float64")):
        assert_equal_values(lb.asarray(data, dtype).numpy(), np.asarray(data, dtype))
    with pytest.raises(TypeError, match="dtype '<U1' is not supported"):
        lb.asarray(["1"])
