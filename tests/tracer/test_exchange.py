"""Arrays handed to other libraries and taken from them: DLPack, pickles, copies, buffers."""

import copy
import ctypes
import gc
import inspect
import pickle
import sys

import ml_dtypes
import numpy as np
import pytest

import lazyblock as lb
import lazyblock.language as tl
from lazyblock import dlpack
from lazyblock.backend.runtime.cpu import CpuDevice
from lazyblock.tracer import exports
from tests.helpers.arrays import interpret_array

X = np.arange(12, dtype=np.float32).reshape(3, 4)
DTYPES = [np.bool_, np.int8, np.int64, np.uint16, np.float16, np.float64, ml_dtypes.bfloat16]


def lazy(values, dtype=None):
    return lb.asarray(np.asarray(values, dtype), device="cpu")


class Exporter:
    """A library with one array: NumPy's capsule, and the keywords it was asked with."""

    def __init__(self, array, is_old=False):
        self.array, self.is_old, self.asked = array, is_old, {}

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **settings):
        if self.is_old and settings:
            raise TypeError("unexpected keyword argument")
        self.asked = settings
        return self.array.__dlpack__(**settings)


def take(array, **settings):
    return dlpack.take_capsule(array.__dlpack__(**settings))


VIEWS = {
    "whole": lambda a: a,
    "recorded": lambda a: a + 1,
    "transposed": lambda a: a.T,
    "sliced": lambda a: a[1:, ::2],
    "flipped": lambda a: a[::-1, ::-1],
    "one element": lambda a: a[1, 2],
    "empty": lambda a: a[:0],
    "repeated": lambda a: (np if isinstance(a, np.ndarray) else lb).broadcast_to(a, (2, 3, 4)),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_numpy_reads_what_is_exported(view):
    x = lazy(X)
    seen = np.from_dlpack(view(x))
    np.testing.assert_array_equal(seen, view(X))
    assert seen.dtype == X.dtype


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("is_old", [False, True])
def test_arrays_of_others_are_taken(view, is_old):
    array = view(X.copy())
    if is_old and not array.flags.writeable:
        array = array.copy()  # nothing older than DLPack 1.0 can say that
    producer = Exporter(np.asarray(array), is_old)
    taken = lb.from_dlpack(producer)
    assert (taken.shape, taken.dtype, taken.device) == (array.shape, array.dtype, "cpu")
    np.testing.assert_array_equal(taken.numpy(), array)
    np.testing.assert_array_equal((taken + 1).numpy(), array + 1)
    assert producer.asked == ({} if is_old else {"max_version": (1, 0), "copy": None})


def test_memory_taken_is_aliased_and_copied_on_demand():
    host = X.copy()
    alias, independent = lb.from_dlpack(host), lb.from_dlpack(host, copy=True)
    host[0, 0] = 9
    assert alias[0, 0] == 9
    assert independent[0, 0] == 0
    alias[:] = 1
    assert host[0, 0] == 9
    read_only = X.copy()
    read_only.setflags(write=False)
    np.testing.assert_array_equal(lb.from_dlpack(read_only).numpy(), X)


def test_memory_taken_lives_as_long_as_it_is_used():
    taken = lb.from_dlpack(X * 2)
    view = taken[1:]
    del taken
    gc.collect()
    np.testing.assert_array_equal(view.numpy(), X[1:] * 2)
    owner = X.copy()
    before = sys.getrefcount(owner)
    taken = lb.from_dlpack(owner)
    assert sys.getrefcount(owner) == before + 1
    del taken
    assert sys.getrefcount(owner) == before


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_survive_both_ways(dtype):
    x = lazy(X, dtype)
    back = lb.from_dlpack(Exporter(x))
    assert back.dtype == x.dtype
    np.testing.assert_array_equal(back.numpy(), x.numpy())


def test_what_cannot_be_described_is_a_buffer_error():
    with pytest.raises(BufferError, match="no dtype"):
        dlpack.make_capsule(
            dlpack.Memory(0, (), (), np.dtype("M8[s]"), (1, 0), None), is_versioned=True
        )
    capsule = lazy(X).__dlpack__(max_version=(1, 0))
    dlpack.take_capsule(capsule)
    for used in (capsule, None, 3):
        with pytest.raises(BufferError, match="used before, or is none"):
            dlpack.take_capsule(used)


def test_versions_and_flags():
    x = lazy(X)
    memory = take(x, max_version=(1, 1))
    assert memory.is_read_only
    assert not memory.is_copied
    assert memory.address == x.numpy().ctypes.data
    assert (memory.shape, memory.strides, memory.device) == ((3, 4), (4, 1), (1, 0))
    for settings in ({"max_version": (1, 0), "copy": True}, {}, {"max_version": (0, 8)}):
        copied = take(x, **settings)
        assert copied.address != memory.address
        assert not copied.is_read_only
    assert take(x, max_version=(1, 0), copy=True).is_copied
    for settings in ({"max_version": (1, 0)}, {}):
        with pytest.raises(BufferError, match="without a copy"):
            x[::-1].__dlpack__(copy=False, **settings)
    with pytest.raises(BufferError, match=r"needs a consumer of DLPack 1\.0"):
        dlpack.make_capsule(memory, is_versioned=False)


def test_old_consumers_that_refuse_a_copy_may_write():
    x = lazy([1.0, 2.0, 3.0, 4.0])
    doubled, part = x * 2, x[1:]
    memory = take(part, copy=False)
    assert not memory.is_copied
    assert not memory.is_read_only
    assert memory.address == part.numpy().ctypes.data
    (ctypes.c_double * 3).from_address(memory.address)[:] = 7.0, 8.0, 9.0
    np.testing.assert_array_equal(doubled.numpy(), [2, 4, 6, 8])
    np.testing.assert_array_equal(x.numpy(), [1, 7, 8, 9])


def test_a_newer_major_version_is_refused(monkeypatch):
    monkeypatch.setattr(dlpack, "MAX_VERSION", (2, 0))
    capsule = lazy(X).__dlpack__(max_version=(2, 0))
    monkeypatch.undo()
    with pytest.raises(BufferError, match=r"version 2\.0 is not understood"):
        dlpack.take_capsule(capsule)


def test_capsules_free_what_they_hold_taken_or_not():
    def count():
        gc.collect()
        return len(dlpack._exported)

    before, x = count(), lazy(X)
    for settings in ({}, {"max_version": (1, 0)}):
        capsule = x.__dlpack__(**settings)
        assert count() == before + 1
        del capsule
        assert count() == before
        seen = np.from_dlpack(x)
        assert count() == before + 1
        del seen
        assert count() == before


def test_exported_memory_keeps_its_values():
    x = lazy(X)
    seen = np.from_dlpack(x)
    x += 1
    x[:] = 0
    lb.eval(x)
    np.testing.assert_array_equal(seen, X)
    host = x.numpy()
    expected = host.copy()
    x *= 2
    lb.eval(x)
    del x
    gc.collect()
    np.testing.assert_array_equal(host, expected)


@lb.jit
def clear(pointer, COUNT: tl.constexpr):
    tl.store(pointer + tl.arange(0, COUNT), 0.0)


@pytest.mark.parametrize("export", [np.from_dlpack, np.asarray, lambda a: a.data, take])
def test_kernels_leave_exported_memory_alone(export):
    x = lazy([1.0, 2.0, 3.0, 4.0])
    held = export(x)
    clear[(1,)](x, COUNT=4)
    np.testing.assert_array_equal(x.numpy(), [0, 0, 0, 0])
    if isinstance(held, dlpack.Memory):
        held = _read(held)
    np.testing.assert_array_equal(held, [1, 2, 3, 4])


def _read(memory):
    numbers = (ctypes.c_double * memory.shape[0]).from_address(memory.address)
    return list(numbers)


@pytest.mark.parametrize(
    ("stream", "released"), [(None, [1]), (1, [1]), (2, [2]), (77, [77]), (-1, [])]
)
def test_work_on_a_stream_follows_ours(stream, released, monkeypatch):
    calls = []
    monkeypatch.setattr(CpuDevice, "release_to", lambda self, number: calls.append(number))
    x = lazy(X)
    x._cell.device = "cuda:3"  # memory of the host plays a GPU's
    assert x.__dlpack_device__() == (2, 3)
    memory = take(x, max_version=(1, 0), stream=stream)
    assert memory.device == (2, 3)
    assert calls == released


def test_streams_and_devices_that_are_refused():
    x = lazy(X)
    with pytest.raises(ValueError, match="stream=None"):
        x.__dlpack__(stream=1)
    with pytest.raises(BufferError, match=r"cannot be exported to device \(2, 0\)"):
        x.__dlpack__(dl_device=(2, 0))
    x._cell.device = "cuda:0"
    for stream in (0, -2):
        with pytest.raises(ValueError, match="not allowed"):
            x.__dlpack__(stream=stream)
    with pytest.raises(ValueError, match="'stream' has to be None"):
        x.__dlpack__(stream=1, dl_device=(1, 0))
    with pytest.raises(BufferError, match="uncopied"):
        x.__dlpack__(copy=False, dl_device=(1, 0))
    memory = take(x, max_version=(1, 0), dl_device=(1, 0))
    assert memory.is_copied
    assert memory.device == (1, 0)


def test_signatures_are_the_standards():
    parameters = inspect.signature(lb.Array.__dlpack__).parameters.values()
    assert [p.name for p in parameters if p.kind is p.KEYWORD_ONLY] == [
        "stream",
        "max_version",
        "dl_device",
        "copy",
    ]
    assert str(inspect.signature(lb.from_dlpack)).startswith("(x: 'Any', /, *, device:")


def test_devices_of_others_are_refused():
    class OnOther:
        def __dlpack_device__(self):
            return (10, 0)

    with pytest.raises(BufferError, match=r"\(10, 0\)"):
        lb.from_dlpack(OnOther())


def test_lazy_arrays_are_taken_as_they_are():
    x = lazy(X)
    assert np.shares_memory(lb.from_dlpack(x).numpy(), x.numpy())
    lb.from_dlpack(x)[:] = 5
    assert x[0, 0] == 5
    y = lb.from_dlpack(x, copy=True)
    y[:] = 7
    assert x[0, 0] == 5


@pytest.fixture
def on_gpu(monkeypatch):
    """An array whose memory of the host plays a GPU's."""
    x = lazy(X)
    monkeypatch.setattr(CpuDevice, "stream_number", lambda self: 7)
    monkeypatch.setattr(CpuDevice(), "name", "cuda:0")
    x._cell.device = "cuda:0"
    return x


def test_the_cuda_interface_shows_memory_that_expressions_do_not_see(on_gpu):
    x = on_gpu
    recorded = x + 1
    interface = x.__cuda_array_interface__
    address, is_read_only = interface.pop("data")
    assert interface == {
        "shape": (3, 4),
        "typestr": "<f4",
        "strides": (16, 4),
        "version": 3,
        "stream": 7,
    }
    assert not is_read_only
    assert x.__cuda_array_interface__["data"][0] == address
    later = x * 2  # holds what consumers can write no more
    assert x.__cuda_array_interface__["data"][0] != address
    np.testing.assert_array_equal(recorded.numpy(), X + 1)
    np.testing.assert_array_equal(later.numpy(), X * 2)


def test_arrays_of_the_cpu_have_no_cuda_interface():
    assert not hasattr(lazy(X), "__cuda_array_interface__")


def test_what_the_cuda_interface_shows_lives_with_the_array(on_gpu):
    x = on_gpu.copy()
    address, _ = x.__cuda_array_interface__["data"]
    view_address, _ = x[1].__cuda_array_interface__["data"]
    assert view_address not in range(address, address + X.nbytes)
    x[:] = 0
    number = (ctypes.c_float * 2).from_address(address)
    assert list(number) == [0, 1]
    empty = x[:0]
    assert empty.__cuda_array_interface__["data"] == (0, False)
    identity = id(x)
    assert identity in exports._kept
    del x, empty
    gc.collect()
    assert identity not in exports._kept


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", [np.float32, np.bool_, ml_dtypes.bfloat16])
def test_pickles(protocol, dtype):
    for array in (lazy(X, dtype), lazy(X, dtype).T, lazy(X, dtype)[1, 1], lazy(X, dtype)[:0]):
        back = pickle.loads(pickle.dumps(array, protocol))
        assert (back.shape, back.dtype, back.device) == (array.shape, array.dtype, "cpu")
        np.testing.assert_array_equal(back.numpy(), array.numpy())


def test_pickles_out_of_band_copy_nothing_and_views_send_their_own_elements():
    x, buffers = lazy(X), []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    (buffer,) = buffers
    assert np.shares_memory(np.frombuffer(buffer, np.float32), x.numpy())
    np.testing.assert_array_equal(pickle.loads(data, buffers=buffers).numpy(), X)
    buffers.clear()
    pickle.dumps(x[1], 5, buffer_callback=buffers.append)
    assert buffers[0].raw().nbytes == 16


def test_a_pickle_of_a_missing_device_comes_to_the_default():
    x = lazy(X)
    function, arguments = x.__reduce_ex__(4)
    back = function(*arguments[:-1], "cuda:99")
    assert back.device == lb.default_device()


def test_copies_are_apart():
    x = lazy(X)
    for other in (copy.copy(x), copy.deepcopy(x), copy.deepcopy([x])[0]):
        other[:] = 0
    np.testing.assert_array_equal(interpret_array(x), X)


def test_dask_tokens_tell_data_apart():
    tokens = [a.__dask_tokenize__() for a in (lazy(X), lazy(X) + 0, lazy(X) + 1, lazy(X).T)]
    assert tokens[0] == tokens[1]
    assert len(set(tokens)) == 3


def test_buffers_are_read_only():
    x = lazy(X)
    view = x.__buffer__(0)
    assert (view.readonly, view.shape, view.format) == (True, (3, 4), "f")
    with pytest.raises(BufferError, match="only be read"):
        x.__buffer__(1)
    assert bytes(x) == X.tobytes()
    x._cell.device = "cuda:0"
    with pytest.raises(BufferError, match="on a GPU"):
        x.__buffer__(0)


def test_exports_evaluate_where_that_is_allowed():
    x = lazy(X) + 1
    with lb.forbid_eval():
        assert x.__dlpack_device__() == (1, 0)
        for export in (x.__dlpack__, lambda: pickle.dumps(x), x.__dask_tokenize__):
            with pytest.raises(lb.errors.EvaluationForbiddenError):
                export()
