"""The handle: views and writes are NumPy's, errors have NumPy's words."""

import operator
import sys
import threading

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import errors
from lazyblock.graph.ops import Op
from lazyblock.tracer.functions import FUNCTIONS
from tests.helpers.arrays import assert_records_numpy, assert_same_error, interpret_array


def lazy(values, dtype=None):
    return lb.asarray(np.asarray(values, dtype), device="cpu")


def same(array, values):
    np.testing.assert_array_equal(interpret_array(array), values)


ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
COMPARISONS = ["lt", "le", "gt", "ge", "eq", "ne"]
BITS = ["and_", "or_", "xor", "lshift", "rshift"]


@pytest.mark.parametrize("name", [*ARITHMETIC, *COMPARISONS])
@pytest.mark.filterwarnings("ignore")
def test_operators_on_both_sides(name):
    function = getattr(operator, name)
    x, y = np.array([1.5, -2.0, 0.25]), np.array([[2.0], [-0.5], [3.0]])
    assert_records_numpy(function, x, y)
    assert_records_numpy(lambda a: function(a, 3), x)
    assert_records_numpy(lambda a: function(3, a), x)
    assert_records_numpy(lambda a: function(x, a), y)  # a NumPy array on the left
    assert_records_numpy(lambda a: function(a, np.float32(0.1)), x.astype(np.float32))


@pytest.mark.parametrize("name", BITS)
def test_bit_operators_on_both_sides(name):
    function = getattr(operator, name)
    x, y = np.array([12, 10, 7]), np.array([[1], [2], [3]])
    assert_records_numpy(function, x, y)
    assert_records_numpy(lambda a: function(a, 2), x)
    assert_records_numpy(lambda a: function(6, a), y)


@pytest.mark.parametrize("function", [operator.neg, operator.pos, operator.abs])
def test_unary_operators(function):
    assert_records_numpy(function, np.array([1.5, -0.0, -3.0]))
    assert_records_numpy(operator.invert, np.array([True, False]))


@pytest.mark.parametrize("name", [*ARITHMETIC, *BITS])
def test_in_place_operators_write_and_keep_the_dtype(name):
    function = getattr(operator, {"and_": "iand", "or_": "ior"}.get(name, f"i{name}"))

    def update(x):
        x = x.copy()
        before = x
        x = function(x, 2)
        assert x is before
        return x

    assert_records_numpy(update, np.array([5, 9, 12]) if name in BITS else np.array([5.0, 9.0]))
    if name not in ("truediv",):
        assert_records_numpy(update, np.array([5, 9, 12], np.int16))


def test_bool_arithmetic():
    b = np.array([True, False])
    assert_records_numpy(lambda x: (x + x, x * x, x | x), b)
    assert_same_error(lambda x: x - x, b, kind=TypeError)
    assert_same_error(lambda x: -x, b, kind=TypeError)


# Mutation and views


def test_a_recorded_expression_keeps_the_old_values():
    q = lazy([1.0, 2.0])
    t = q * 2
    q[...] = 0
    same(t, [2, 4])
    same(q, [0, 0])


def test_host_writes_are_not_seen_after_asarray():
    host = np.array([1.0, 2.0])
    x = lb.asarray(host, device="cpu")
    y = x + 1
    host[0] = 9
    same(y, [2, 3])


def test_in_place_operators_are_seen_through_views():
    x = lazy(np.arange(6.0).reshape(2, 3))
    row, column, transposed, flat = x[0], x[:, 1], x.T, x.reshape(-1)
    x += 1
    same(row, [1, 2, 3])
    same(column, [2, 5])
    same(transposed, (np.arange(6.0) + 1).reshape(2, 3).T)
    same(flat, np.arange(6.0) + 1)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.T,
        lambda x: x[::-1],
        lambda x: x[:, ::-1].T,
        lambda x: x.reshape(-1),
        lambda x: x.reshape(3, 2, 1),
        lambda x: x[None],
        lambda x: x[...],
        lambda x: x[:],
        lambda x: x.reshape(-1)[::-1],
        lambda x: x.swapaxes(0, 1)[None].squeeze(0),
    ],
)
def test_writes_through_a_view_of_everything_reach_the_base(view):
    base = np.arange(6.0).reshape(2, 3)
    x, expected = lazy(base), base.copy()
    seen = view(x)
    seen *= np.arange(1.0, 7).reshape(seen.shape)
    reference = view(expected)
    reference *= np.arange(1.0, 7).reshape(reference.shape)
    same(x, expected)
    same(seen, reference)


def test_copies_do_not_see_writes():
    x = lazy(np.arange(6.0).reshape(2, 3))
    copies = [x.copy(), x.flatten(), x.astype(np.float64), x.T.reshape(-1), x + 0]
    before = [interpret_array(c).copy() for c in copies]
    x[...] = -1
    for array, values in zip(copies, before, strict=True):
        same(array, values)


def test_asarray_of_an_array_is_that_array():
    x = lazy([1, 2])
    assert lb.asarray(x) is x
    assert lb.asarray(x, dtype=x.dtype, copy=False) is x
    assert lb.asarray(x, copy=True) is not x


def test_full_assignment_broadcasts_and_casts():
    x = lazy(np.zeros((2, 3)), np.int32)
    x[...] = np.array([1.9, -1.9, 3])
    same(x, [[1, -1, 3]] * 2)
    x[:] = 7
    same(x, np.full((2, 3), 7))
    x[:, :] = np.ones((1, 1, 2, 3))
    same(x, np.ones((2, 3)))
    assert x.dtype == np.int32


def test_assignment_of_another_array_takes_its_values_of_now():
    d, s = lazy(np.zeros(4)), lazy(np.arange(4.0))
    d[:] = s
    s += 1
    same(d, np.arange(4))


def test_update_that_reads_other_positions_of_itself():
    x = lazy([1.0, 2, 3, 4])
    x += x[::-1]
    same(x, [5, 5, 5, 5])


def test_writes_into_nothing_change_nothing():
    x = lazy(np.ones(10))
    x[:0] = 2
    x[5:5] = 3
    same(x, np.ones(10))


def test_partial_writes_are_seen_through_every_view():
    x = lazy(np.zeros(6))
    part, column = x[1:5], x.reshape(2, 3).T[1]
    part[::2] += 1
    column[...] = [7, 8]
    same(x, [0, 7, 0, 1, 8, 0])
    same(part, [7, 0, 1, 8])


def test_writing_into_repeated_elements_is_refused():
    x = lb.broadcast_to(lazy(np.zeros(3)), (2, 3))
    with pytest.raises(ValueError, match="assignment destination is read-only"):
        x[0, 0] = 1


def test_partial_writes_are_seen_through_other_views():
    x, y = lazy(np.zeros(4)), np.zeros(4)
    for array in (x, y):
        part = array[:2]
        array[1:] = 1
        array[0] += 2
        part += 1
        array[2:] = part
    same(x, y)
    same(x[:2], y[:2])


def test_shapes_of_views():
    x = lazy(np.zeros((2, 1, 3)))
    assert x.T.shape == (3, 1, 2)
    assert x.mT.shape == (2, 3, 1)
    assert x.squeeze().shape == (2, 3)
    assert x.transpose(1, 2, 0).shape == x.transpose((1, 2, 0)).shape == (1, 3, 2)
    assert x.ravel().shape == (6,)
    assert (x.ndim, x.size, x.nbytes, x.itemsize, len(x)) == (3, 6, 48, 8, 2)


SHAPES = [(6,), (2, 3), (3, 2), (1, 6), (2, 1, 3), (6, 1), (1, 2, 3, 1)]
VIEWS = [
    lambda x: x,
    lambda x: x.T,
    lambda x: x[::-1],
    lambda x: x[..., ::-1],
    lambda x: x[None],
    lambda x: x.swapaxes(0, -1),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("number", range(len(VIEWS)))
@pytest.mark.parametrize("new_shape", SHAPES)
def test_reshape_aliases_exactly_where_numpys_does(shape, number, new_shape):
    base = np.arange(6.0).reshape(shape)
    x = lazy(base)
    seen, reference = VIEWS[number](x), VIEWS[number](base)
    reshaped, expected = seen.reshape(new_shape), reference.reshape(new_shape)
    same(reshaped, expected)
    assert (reshaped._cell is x._cell) == np.shares_memory(expected, base)


def test_reshape_of_a_slice_is_a_view():
    base = np.arange(15.0).reshape(5, 3)
    x = lazy(base)
    assert x[2:4].reshape(-1)._cell is x._cell
    same(x[2:4].reshape(-1), base[2:4].reshape(-1))
    same(x[:, 1:].reshape(-1), base[:, 1:].reshape(-1))
    assert x[:, 1:].reshape(-1)._cell is not x._cell


# Errors


MATRIX = np.zeros((2, 3), np.int64)
ERRORS = {
    "reshape": (lambda x: x.reshape(99), ValueError),
    "two unknown extents": (lambda x: x.reshape(-1, -1), ValueError),
    "unknown extent does not divide": (lambda x: x.reshape(4, -1), ValueError),
    "axis": (lambda x: x.sum(axis=3), ValueError),
    "axis is an IndexError too": (lambda x: x.max(axis=-4), IndexError),
    "index": (lambda x: x[5], IndexError),
    "negative index": (lambda x: x[0, -4], IndexError),
    "too many indices": (lambda x: x[0, 0, 0], IndexError),
    "two ellipses": (lambda x: x[..., ...], IndexError),
    "float index": (lambda x: x[1.0], IndexError),
    "text index": (lambda x: x["a"], IndexError),
    "slice step": (lambda x: x[::0], ValueError),
    "truth": (bool, ValueError),
    "truth of nothing": (lambda x: bool(x[:0]), ValueError),
    "number": (int, TypeError),
    "item": (lambda x: x.item(), ValueError),
    "length": (lambda x: len(x[0, 0] if isinstance(x, lb.Array) else np.array(1)), TypeError),
    "hash": (lambda x: hash(x[0]), TypeError),
    "squeeze": (lambda x: x.squeeze(0), ValueError),
    "transpose": (lambda x: x.transpose(0), ValueError),
    "transpose twice": (lambda x: x.transpose(0, 0), ValueError),
    "in-place cast": (lambda x: operator.iadd(x.copy(), 0.5), TypeError),
    "in-place shape": (lambda x: operator.iadd(x[0].copy(), x), ValueError),
    "int out of range": (lambda x: x.astype("int8") + 300, OverflowError),
    "assignment shape": (lambda x: operator.setitem(x, ..., np.zeros(5)), ValueError),
    "negative power": (lambda x: x**-1, ValueError),
    "index of a float": (lambda x: operator.index(x[0].astype(float)), TypeError),
    "maximum of nothing": (lambda x: x[:0].max(), ValueError),
    "bits of floats": (lambda x: ~x.astype(float), TypeError),
}
OWN_WORDS = {"hash", "length", "unknown extent does not divide"}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_have_numpys_type_and_words(name):
    function, kind = ERRORS[name]
    if name in OWN_WORDS:
        with pytest.raises(kind):
            function(lazy(MATRIX))
    else:
        assert_same_error(function, MATRIX, kind=kind)


def test_broadcasting_error_names_shapes_and_function():
    x, y = lazy(np.zeros((3, 4))), lazy(np.zeros((4, 3)))
    with pytest.raises(errors.ShapeError, match=r"\(3, 4\) with \(4, 3\) in 'add'.*\n.*x\.T"):
        x + y
    with pytest.raises(ValueError, match=r"\(3,\) with \(4,\) in 'multiply'"):
        lazy(np.zeros(3)) * lazy(np.zeros(4))


def test_duplicate_axis_is_refused():
    with pytest.raises(ValueError, match=r"Duplicate axis in \(0, 0\) of 'sum'"):
        lazy(MATRIX).sum(axis=(0, 0))


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (np.clongdouble(1j), "clongdouble|complex256"),
        (np.array([1 + 2j], np.clongdouble), "clongdouble|complex256"),
        (np.array(["2020-01-01"], "M8[D]"), "datetime64"),
        (np.array(["text"]), "<U4"),
        (np.array([None]), "object"),
        (np.longdouble(1), "longdouble|float128|float64"),
    ],
)
def test_unsupported_dtypes_are_named(value, name):
    if np.dtype(np.longdouble) == np.float64:
        pytest.skip("long double is double here")
    with pytest.raises(TypeError, match=f"dtype '({name}).*' is not supported"):
        lb.asarray(value)
    if not isinstance(value, np.ndarray) or value.dtype.kind == "c":
        with pytest.raises(TypeError, match="not supported"):
            lazy([1.0]) + value


def test_arrays_as_indices_give_copies():
    x, y = lazy([1.0, -2.0, 3.0]), np.array([1.0, -2.0, 3.0])
    for index in ([0, 1], np.array([0]), True, np.array([True, False, True])):
        same(x[index], y[index])
    same(x[x > 0], y[y > 0])
    picked = x[[0, 2]]
    picked += 1
    same(x, y)


def test_mixing_devices_is_refused():
    x = lazy([1.0])
    y = lazy([1.0])
    y._cell.device = "cuda:0"
    with pytest.raises(errors.DeviceError, match="'cpu' and 'cuda:0'"):
        x + y
    assert (x + lb.ones(1)).device == "cpu"


# Evaluation


def test_numbers_and_texts():
    x = lazy([1.5])
    assert (float(x[0]), int(x[0]), complex(x[0]), bool(x), x.item()) == (1.5, 1, 1.5, True, 1.5)
    assert operator.index(lazy(3)) == 3
    assert [row.tolist() for row in lazy([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    assert 1.5 in x and 2.5 not in x
    assert f"{x[0]:.3f}" == "1.500"
    assert str(x) == "[1.5]"
    assert repr(lazy([1, 2])) == "Array([1, 2], shape=(2,), dtype=int64, device='cpu')"
    assert x.__array__(np.float32).dtype == np.float32
    assert np.asarray(x).tolist() == [1.5]


def test_evaluation_puts_the_data_into_the_cell():
    x = lazy([1.0, 2.0])
    y = x * 3
    part = y[1:]
    assert y.node.op is Op.MULTIPLY
    y.numpy()
    assert y.node.op is Op.INPUT
    assert part.tolist() == [6.0]
    assert part._cell is y._cell


def test_a_lone_view_becomes_its_own_base():
    part = (lazy([1.0, 2.0]) * 3)[1:]
    part.numpy()
    assert part.node.op is Op.INPUT and part.shape == part.node.shape == (1,)
    part += 1
    same(part, [7])


def test_evaluating_a_shared_view_evaluates_the_base():
    x = lazy([1.0, 2.0]) * 3
    part = x[1:]
    assert part.tolist() == [6.0]
    assert x.node.op is Op.INPUT
    x += 1
    same(part, [7])


def test_results_on_the_cpu_are_read_only():
    values = (lazy([1.0]) + 1).numpy()
    assert not values.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        values[0] = 1


def test_array_interface_copy_argument():
    x = lazy([1.0])
    assert x.__array__(copy=True).flags.writeable
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        x.__array__(np.float32, copy=False)


def test_a_long_chain_neither_recurses_nor_crashes():
    x = lazy([1.0])
    for _ in range(20_000):
        x = x + 1
    assert sys.getrecursionlimit() < 20_000
    same(x, [20_001])
    del x


def test_threads_record_at_once():
    x, results = lazy(np.arange(4.0)), []

    def work(number):
        y = x
        for _ in range(200):
            y = y + number
        results.append((number, y))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, y in results:
        same(y, np.arange(4.0) + 200 * number)


def test_an_element_keeps_its_value_when_the_array_changes():
    def swap(given):
        x = given.copy()
        first, shown = x[0], x[0, ...]
        x[0] = x[1]
        x[1] = first
        return x, first, shown + 0

    assert_records_numpy(swap, np.array([1, 2, 3]))


@pytest.mark.parametrize("dtype", ["float32", "int16", "bool"])
@pytest.mark.parametrize("name", ["multiply", "divide", "power", "greater", "copysign"])
def test_scalars_seen_before_stay_themselves(name, dtype):
    function, x = FUNCTIONS[name], lb.asarray(np.array([0, 1, 1]).astype(dtype)).node
    scalars = (0.0, -0.0, 0, False, 1, 1.0, True, float("nan"), 2, 2.0, -1.5)
    for scalar in (*scalars, *scalars[::-1]):
        for is_first in (False, True):
            again = function(scalar, x) if is_first else function(x, scalar)
            assert function.with_scalar(x, scalar, is_first) is again


@pytest.mark.parametrize("exponent", [-1, -3])
def test_what_no_elements_allow_is_refused_for_some(exponent):
    assert (lb.asarray(np.empty(0, np.int64)) ** exponent).shape == (0,)
    with pytest.raises(ValueError, match="negative integer powers"):
        lb.asarray(np.arange(1, 4)) ** exponent
