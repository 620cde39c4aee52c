"""Clocks on a driver of the test's own: a stream works off what the host enqueues, in order."""

from types import SimpleNamespace

import pytest

from benchmarks import clocks

FILL_SECONDS = 1e-3


class Stream:
    """A device's time line. The host's own time passes by `host_seconds` per call."""

    def __init__(self):
        self.now = 0.0
        self.host = 0.0
        self.num_fills = 0

    def run(self, seconds):
        self.now = max(self.now, self.host) + seconds

    def launch(self, seconds, host_seconds):
        self.host += host_seconds
        self.run(seconds)

    # the driver's functions

    def CUstream(self, pointer):
        assert pointer == 7
        return self

    def cuEventCreate(self, flags):
        return 0, SimpleNamespace(at=None)

    def cuEventRecord(self, event, stream):
        event.at = max(stream.now, stream.host)
        return (0,)

    def cuEventSynchronize(self, event):
        self.host = max(self.host, event.at)
        return (0,)

    def cuEventElapsedTime(self, start, end):
        return 0, 1e3 * (end.at - start.at)

    def cuMemsetD32Async(self, pointer, value, words, stream):
        self.num_fills += 1
        stream.run(FILL_SECONDS)
        return (0,)


@pytest.fixture
def stream(monkeypatch):
    stream = Stream()
    monkeypatch.setattr(clocks, "driver", stream)
    return stream


@pytest.fixture
def clock(stream):
    buffer = SimpleNamespace(pointer=4096)
    device = SimpleNamespace(allocate=lambda nbytes: buffer, synchronize=lambda: None)
    return clocks.StreamClock(device, 7)


def test_without_a_lead_a_slow_host_is_measured(stream, clock):
    sample = clock.time(lambda: stream.launch(1e-6, 30e-6), launches=10)
    assert sample.seconds == pytest.approx(30e-6, rel=0.1)


def test_a_lead_leaves_the_time_of_the_device(stream, clock):
    sample = clock.time(lambda: stream.launch(1e-6, 30e-6), launches=100, lead=3.5e-3)
    assert sample.seconds == pytest.approx(1e-6)
    assert stream.num_fills == 2 + 4  # two to find out how long one takes


def test_a_lead_does_not_grow_without_bounds(stream, clock):
    clock.time(lambda: stream.launch(1e-6, 1e-3), launches=5, lead=10.0)
    assert stream.num_fills == 2 + 64


@pytest.mark.parametrize("make", [lambda: clocks.WallClock(lambda _: None), None])
def test_results_are_freed_before_the_next_call(make, clock):
    alive = []

    class Result:
        def __init__(self):
            alive.append(self.__class__)

        def __del__(self):
            alive.pop()

    def call():
        assert not alive
        return Result()

    (make() if make else clock).time(call, launches=5)
    assert not alive


def test_the_wall_clock_waits_for_the_last_result():
    waited = []
    results = iter("abc")
    clocks.WallClock(waited.append).time(lambda: next(results), launches=3)
    assert waited == ["c"]
