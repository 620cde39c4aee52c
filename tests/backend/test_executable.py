"""What the host does for a plan, on a device that writes down what it is asked."""

import gc
import struct
from types import SimpleNamespace

from lazyblock import events
from lazyblock.backend.executable import ArraySlot, Executable, ScalarSlot, Step


class NotingDevice:
    """Buffers have addresses 1000, 2000, ...; `notes` tells launches, and how many live then."""

    def __init__(self):
        self.notes = []
        self.alive = 0
        self.count = 0

    def __str__(self):
        return "noting"

    def allocator(self, nbytes):
        return lambda: NotingBuffer(self, nbytes)

    def bind(self, kernel, grid, work):
        def launch(slots):
            self.notes.append((kernel, grid, list(struct.unpack("<5Q", slots)), self.alive))

        return launch


class NotingBuffer:
    def __init__(self, device, nbytes):
        device.alive += 1
        device.count += 1
        self.device, self.nbytes, self.pointer = device, nbytes, 1000 * device.count

    def __del__(self):
        self.device.alive -= 1


def make_step(name, slots, arrays, scalars=(), allocates=(), frees=(), work=1):
    kernel = SimpleNamespace(name=name)
    template = struct.pack("<5Q", *slots, 7, 1, 1)
    arrays = tuple(ArraySlot(8 * slot, array, offset) for slot, array, offset in arrays)
    scalars = tuple(ScalarSlot(8 * slot, leaf) for slot, leaf in scalars)
    return Step(kernel, name, (7, 1, 1), work, template, arrays, scalars, allocates, frees)


def make_executable(device):
    """Leaves 0 (an array) and 1 (a scalar); array 2 between two steps, 3 the result."""
    first = make_step("first", (0, 0), [(0, 0, 16), (1, 2, 0)], allocates=((2, 64),))
    second = make_step("second", (0, 0), [(0, 3, 0)], [(1, 1)], ((3, 32),), (2,))
    return Executable(device, (first, second), 4, (3,))


def make_run(executable, leaves=("given[0]", "given[1]")):
    return executable.make_function("given", leaves, list, {})


def test_slots_hold_addresses_scalars_and_the_grid():
    device = NotingDevice()
    leaf = NotingBuffer(device, 8)
    (result,) = make_run(make_executable(device))([leaf, 55])
    assert (result.pointer, result.nbytes) == (3000, 32)
    first, second = device.notes
    assert first[:3] == ("first", (7, 1, 1), [1016, 2000, 7, 1, 1])
    assert second[:3] == ("second", (7, 1, 1), [3000, 55, 7, 1, 1])


def test_memory_between_steps_is_freed():
    device = NotingDevice()
    run = make_run(make_executable(device))
    results = [run([NotingBuffer(device, 8), 0]) for _ in range(3)]
    gc.collect()
    assert device.alive == len(results)


def test_steps_without_work_only_allocate():
    device = NotingDevice()
    empty = make_step("empty", (0, 0), [(0, 1, 0)], allocates=((1, 0),), work=0)
    (result,) = make_run(Executable(device, (empty,), 2, (1,)), ["given"])(None)
    assert result.nbytes == 0 and not device.notes


def test_leaves_and_results_are_texts():
    device = NotingDevice()
    run = make_executable(device).make_function(
        "given", ["given", "five"], lambda buffers: [f"({buffers[0]}, five)", "given"], {"five": 5}
    )
    leaf = NotingBuffer(device, 8)
    (result, five), same = run(leaf)
    assert isinstance(result, NotingBuffer) and five == 5 and same is leaf
    assert device.notes[1][2][1] == 5


def test_launches_are_told_to_listeners():
    device = NotingDevice()
    run = make_run(make_executable(device))
    seen = []
    with events.listen(seen.append):
        run([NotingBuffer(device, 8), 0])
    run([NotingBuffer(device, 8), 0])
    names = [(event.kernel, event.grid, event.device) for event in seen]
    assert names == [("first", (7, 1, 1), "noting"), ("second", (7, 1, 1), "noting")]
