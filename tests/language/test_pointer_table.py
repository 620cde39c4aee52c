"""Tables of pointers as arguments: of every kind of array, wherever kernels run."""

import numpy as np
import pytest

import lazyblock as lb
import lazyblock.language as tl
from lazyblock.errors import DeviceError
from lazyblock.tools.pointer_table import PointerTable


@lb.jit
def scale(table, factor, n, BLOCK: tl.constexpr):
    pointer = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    i = tl.arange(0, BLOCK)
    tl.store(pointer + i, tl.load(pointer + i, mask=i < n) * factor, mask=i < n)


def launch(table, n):
    scale[(len(table),)](table, 2.0, n, BLOCK=8)


WAYS = {"compiled": {}, "interpreter": {"interpret": True}, "sanitizer": {"sanitize": True}}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("device", [None, "cpu"])
def test_kernels_write_through_tables(device, way):
    first, second = np.arange(5, dtype=np.float32), np.ones(9, np.float32)
    with lb.config.scope(**WAYS[way]):
        a, b = (
            v.copy() if device is None else lb.asarray(v, device=device) for v in (first, second)
        )
        launch(PointerTable([a, b]), 5)
    np.testing.assert_array_equal(np.asarray(a), first * 2)
    np.testing.assert_array_equal(np.asarray(b), [2] * 5 + [1] * 4)


@pytest.mark.parametrize("device", ["emulated:sm_90a", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_kernels_write_through_tables_of_a_device(device):
    a = lb.asarray(np.arange(5, dtype=np.float32), device=device)
    launch(PointerTable([a]), 5)
    np.testing.assert_array_equal(a.numpy(), np.arange(5) * 2)


def test_values_recorded_before_are_kept():
    a = lb.asarray(np.arange(5, dtype=np.float32), device="cpu")
    table = PointerTable([a])
    launch(table, 5)
    recorded = a + 0
    launch(table, 5)  # `a` moves, and the table knows
    np.testing.assert_array_equal(a.numpy(), np.arange(5) * 4)
    np.testing.assert_array_equal(recorded.numpy(), np.arange(5) * 2)


def test_views_are_of_their_base_in_interpreter_mode():
    a = lb.asarray(np.arange(12, dtype=np.float32), device="cpu")
    with lb.config.scope(interpret=True):
        launch(PointerTable([a[4:9], a[9:]]), 3)
    np.testing.assert_array_equal(a.numpy(), [0, 1, 2, 3, 8, 10, 12, 7, 8, 18, 20, 22])


@pytest.mark.parametrize("arrays", [[], [np.ones(3), "emulated:sm_90a"]])
def test_the_arrays_are_on_one_device(arrays):
    arrays = [lb.ones(3, device=a) if isinstance(a, str) else a for a in arrays]
    with pytest.raises(DeviceError, match=r"on one device, not on ('cpu' and 'emul|no device)"):
        launch(PointerTable(arrays), 3)
