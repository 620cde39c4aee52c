"""Methods and attributes are those of NumPy's arrays: same values, same views, same errors."""

import inspect

import numpy as np
import pytest

import lazyblock as lb
from lazyblock.tracer import numpy_calls
from tests.helpers.arrays import assert_records_numpy, assert_same_error, interpret_array

X = np.arange(12.0).reshape(3, 4)
MASK = (np.arange(12) % 3 > 0).reshape(3, 4)


def lazy(values, dtype=None):
    return lb.asarray(np.asarray(values, dtype), device="cpu")


def same(array, values):
    values = np.asarray(values)
    assert (array.shape, array.dtype) == (values.shape, values.dtype)
    np.testing.assert_array_equal(interpret_array(array), values)


def test_nothing_of_ndarray_is_missing_but_what_is_about_its_memory():
    missing = {name for name in dir(np.ndarray) if not hasattr(lb.Array, name)}
    assert {name for name in missing if not name.startswith("_")} == {
        "ctypes",
        "dump",
        "dumps",
        "getfield",
        "setfield",
        "to_device",
    } - {name for name in dir(lb.Array)}


VIEWS = {
    "whole": lambda a: a,
    "transposed": lambda a: a.T,
    "sliced": lambda a: a[1:, ::2],
    "flipped": lambda a: a[::-1],
    "reshaped": lambda a: a.reshape(2, 6),
    "column": lambda a: a[:, 1:2],
    "empty": lambda a: a[:0],
    "scalar": lambda a: a[1, 2],
    "new axis": lambda a: a[:, None],
    "broadcast": lambda a: (np if isinstance(a, np.ndarray) else lb).broadcast_to(a, (2, 3, 4)),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_strides_and_flags_are_those_of_numpys_array(view):
    ours, numpys = view(lazy(X)), np.asarray(view(X))
    assert ours.strides == numpys.strides or 0 in numpys.shape or numpys.ndim == 0
    for name in ("c_contiguous", "f_contiguous", "forc", "fnc", "aligned", "carray"):
        if name != "carray" or numpys.flags.writeable:
            assert getattr(ours.flags, name) == getattr(numpys.flags, name), name
    assert ours.flags["C"] == ours.flags["C_CONTIGUOUS"] == numpys.flags["C"]


def test_flags_print_as_numpys():
    assert repr(lazy(X).flags) == repr(X.copy().flags)
    with pytest.raises(KeyError, match="Unknown flag"):
        lazy(X).flags["Z"]


def test_arrays_are_protected_by_their_flags():
    x = lazy(X)
    x[0].flags.writeable = False
    for target in (x, x[1:]):
        assert not target.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            target[0] = 1
    x.flags["WRITEABLE"] = True
    x[0] = 1
    with pytest.raises(AttributeError):
        x.flags.owndata = False


@pytest.mark.parametrize("order", ["C", "F", "A", "K"])
@pytest.mark.parametrize("view", ["whole", "transposed", "sliced", "flipped"])
def test_memory_orders(view, order):
    def call(a):
        a = VIEWS[view](a)
        shaped = a.reshape(-1, 2, order=order) if order != "K" else a
        return a.ravel(order), a.flatten(order), shaped

    if view == "flipped" and order == "K":
        return  # NumPy reads reversed axes in memory order there
    assert_records_numpy(call, X)
    assert_same_error(lambda a: a.ravel(order="X"), X, kind=ValueError)


def test_read_only_arrays():
    x = lazy(X)
    x.setflags(write=False)
    assert not x.flags.writeable
    for write in (
        lambda: x.__setitem__(0, 1),
        lambda: x.__iadd__(1),
        lambda: x[1:].__setitem__(0, 1),
        lambda: np.add(x, 1, out=x),
        lambda: x.fill(0),
    ):
        with pytest.raises(ValueError, match="read-only"):
            write()
    x.setflags(write=True)
    x += 1
    same(x, X + 1)


def test_a_shape_that_is_set_is_that_of_the_handle():
    x, host = lazy(X), X.copy()
    part = x[:1]
    for a in (x, host):
        a.shape = (-1, 2)
        a[1] = 7
        with pytest.raises(ValueError, match="cannot reshape"):
            a.shape = (5, 5)
    assert x.shape == host.shape
    np.testing.assert_array_equal(x.numpy(), host)
    np.testing.assert_array_equal(part.numpy(), host.reshape(X.shape)[:1])
    with pytest.raises(AttributeError, match="Incompatible shape"):
        x.T.shape = (-1,)


def test_views_as_a_class_show_the_elements():
    x = lazy(X)
    for view in (x.view(type(x)), x.view(np.ndarray), x.view(type=type(x)), x.view(x.dtype)):
        view[0] = 5
        np.testing.assert_array_equal(x[0].numpy(), np.full(X.shape[1:], 5))
        x[0] = 0


def test_a_view_of_other_dtype_keeps_what_it_saw():
    x = lazy([1.0, 2.0])
    bits = x.view(np.int64) * 2
    x[:] = 9.0
    same(bits, np.array([1.0, 2.0]).view(np.int64) * 2)


def test_files(tmp_path):
    x = lazy(X)
    x.tofile(tmp_path / "raw")
    np.testing.assert_array_equal(np.fromfile(tmp_path / "raw").reshape(3, 4), X)
    np.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), X)


def test_astype_and_copy():
    assert_records_numpy(lambda a: a.astype(np.int8, "C", "unsafe", True, True), X)
    x = lazy(X)
    assert x.astype(np.float64, copy=False) is x
    assert x.astype(np.float64) is not x
    assert_same_error(lambda a: a.astype(np.int64, casting="safe"), X, kind=TypeError)
    assert_records_numpy(lambda a: a.copy(order="F"), X)


def test_resize_and_fill():
    def work(a):
        a = a.copy()
        a.resize(2, 3)
        b = a.copy()
        b.resize((5, 2), refcheck=False)
        a.fill(3)
        return a, b

    assert_records_numpy(work, X)
    assert_same_error(lambda a: a[1:].resize((2, 2)), X, kind=ValueError)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.bool_])
def test_reductions_with_numpys_keywords(dtype):
    x = (X - 4).astype(dtype)
    for name in ("sum", "prod"):
        assert_records_numpy(
            lambda a, n=name: (
                getattr(a, n)(0, None, None, True),
                getattr(a, n)(axis=1, initial=2, where=MASK),
                getattr(a, n)(axis=(0, 1), dtype=np.float64),
            ),
            x,
        )
    for name in ("max", "min"):
        assert_records_numpy(
            lambda a, n=name: (
                getattr(a, n)(0, keepdims=True),
                getattr(a, n)(axis=1, initial=3, where=MASK),
            ),
            x,
        )
    for name in ("all", "any"):
        assert_records_numpy(
            lambda a, n=name: (
                getattr(a, n)(0, keepdims=True),
                getattr(a, n)(axis=1, where=MASK),
            ),
            x,
        )
    for name in ("argmax", "argmin"):
        assert_records_numpy(lambda a, n=name: getattr(a, n)(0, keepdims=True), x)
    assert_records_numpy(lambda a: (a.cumsum(0), a.cumprod(axis=1, dtype=np.float64)), x)


def test_moments_with_numpys_keywords():
    def call(a):
        mean = a.mean(axis=1, keepdims=True)
        return (
            a.mean(0, None, None, True),
            a.mean(axis=1, where=MASK),
            a.var(axis=0, where=MASK, ddof=1),
            a.std(axis=1, keepdims=True, where=MASK),
            a.var(axis=1, mean=mean),
        )

    assert_records_numpy(call, X, rtol=1e-13)
    same(lazy(X).std(axis=1, correction=1), lazy(X).std(1, ddof=1).numpy())
    assert_records_numpy(lambda a: a.mean(where=MASK), X.astype(np.int32), rtol=1e-13)
    assert_records_numpy(lambda a: a.var(where=MASK), X.astype(np.float16), rtol=1e-2)


@pytest.mark.parametrize(
    "method",
    ["sum", "prod", "max", "min", "all", "any", "argmax", "mean", "var", "std"],
)
def test_out_of_methods(method):
    expected = getattr(X, method)(axis=0)
    for out in (lazy(np.zeros_like(expected)), np.zeros_like(expected)):
        assert getattr(lazy(X), method)(axis=0, out=out) is out
        np.testing.assert_allclose(np.asarray(out), expected)
    with pytest.raises(ValueError, match=r"dimension|non-broadcastable|does not match"):
        getattr(lazy(X), method)(axis=0, out=lazy(np.zeros((), expected.dtype)))


def test_round_and_clip():
    x = np.array([1.25, -2.355, 12345.678, 0.5, -0.0])
    for decimals in (0, 1, 2, -2):
        assert_records_numpy(lambda a, d=decimals: a.round(d), x)
        assert_records_numpy(lambda a, d=decimals: a.round(decimals=d), (x * 10).astype(np.int64))
    out = lazy(np.zeros(5))
    assert lazy(x).round(1, out) is out
    assert lazy(x).clip(0, 1, out=out) is out
    same(out, x.clip(0, 1))
    assert_records_numpy(lambda a: (a.clip(min=0), a.clip(max=2), a.clip(0, 2)), x[:4])


def test_signatures_are_numpys():
    for name in ("argmax", "cumsum", "round", "ravel", "copy", "flatten", "astype", "tobytes"):
        numpys = inspect.signature(getattr(np.ndarray, name)).parameters
        ours = inspect.signature(getattr(lb.Array, name)).parameters
        assert list(ours) == list(numpys), name
    for name in ("sum", "prod", "max", "min", "all", "any", "mean", "var", "std"):
        numpys = inspect.signature(getattr(np, name)).parameters
        ours = inspect.signature(getattr(lb.Array, name)).parameters
        assert list(ours)[1:] == list(numpys)[1:], name


def test_forwarded_methods_are_numpys_functions(monkeypatch):
    def take(x, indices, /, *, axis=None):
        return "taken", indices, axis

    monkeypatch.setattr(lb, "take", take, raising=False)

    def forget():
        numpy_calls._find.cache_clear()
        numpy_calls._bind.cache_clear()

    monkeypatch.setattr(numpy_calls.spellings, "SPELLINGS", {})
    forget()
    try:
        assert lazy(X).take([0], axis=1) == ("taken", [0], 1)
        assert lazy(X).take([0], 1, None) == ("taken", [0], 1)
        with pytest.raises(TypeError, match=r"'mode=' of 'np\.take' of lazy arrays is not offered"):
            lazy(X).take([0], mode="clip")
    finally:
        forget()


def test_base():
    x = lazy(X)
    assert x.base is None
    assert x.flags.owndata
    view = x[1:]
    assert not view.flags.owndata
    view.base[0, 0] = 7
    assert x[0, 0] == 7


def test_parts_of_real_arrays():
    x = lazy(X)
    x.real[0] = 5
    x.real = x + 1
    same(x, np.where(np.arange(3)[:, None] == 0, 5, X) + 1)
    same(x.imag, np.zeros_like(X))
    assert_same_error(lambda a: a.imag.__setitem__(0, 1), X, kind=ValueError)
    assert x.conj() is x
    assert x.conjugate() is x


def test_flat():
    assert_records_numpy(lambda a: a.T.flat[2:5], X)
    assert_records_numpy(lambda a: (a.flat[3], a.flat[-1]), X)
    assert [float(v) for v in lazy(X).flat] == list(X.flat)
    assert len(lazy(X).flat) == 12
    np.testing.assert_array_equal(np.asarray(lazy(X).T.flat), X.T.ravel())
    assert_same_error(lambda a: a.flat[12], X, kind=IndexError)

    def write(a):
        a = a.copy()
        a.flat = a.T.copy()
        a.T.flat[::1] = [1.0, 2.0]
        return a

    assert_records_numpy(write, X)


def test_bits():
    x = np.array([[1, 2], [3, -4]], np.int32)
    assert_records_numpy(lambda a: (a.view(np.float32), a.view("u2"), a.T.view(np.uint32)), x)
    assert_records_numpy(lambda a: (a.byteswap(), a.view(np.int64)), x)
    assert_same_error(lambda a: a.T.view(np.int16), x, kind=ValueError)
    alias = lazy(x)
    alias.view()[0] = 9
    alias.byteswap(inplace=True)
    expected = x.copy()
    expected[0] = 9
    same(alias, expected.byteswap())
    with pytest.raises(ValueError, match="read-only"):
        alias.view(np.int16)[0] = 1
    assert lazy(x).tobytes() == x.tobytes()
    assert lazy(x).tobytes("F") == x.tobytes("F")
    assert bytes(lazy(x).data) == x.tobytes()
