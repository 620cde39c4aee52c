"""How calls are timed: by events on a CUDA stream, or by the wall clock around a batch.

Both give seconds per call of a batch, and the seconds the host took to enqueue one.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from lazyblock.backend.runtime.cuda_driver import check, driver

_HEAD_START_BYTES = 1 << 30
_MOST_HEAD_STARTS = 64


class Sample(NamedTuple):
    """Seconds per call: until its work was done, and until it was enqueued."""

    seconds: float
    host_seconds: float


class Clock(ABC):
    """Times batches of calls.

    how: what the reader of a result is told. least_seconds: of a batch that says something.
    """

    how: ClassVar[str]
    least_seconds: ClassVar[float]

    @abstractmethod
    def time(self, call: Callable[[], Any], launches: int, lead: float = 0.0) -> Sample:
        """Run a batch; `lead`: seconds the host may need to enqueue it."""


def _enqueue(call: Callable[[], Any], launches: int) -> tuple[Any, float]:
    """Return the last result, the others being freed at once, and the host's seconds per call."""
    start = time.perf_counter()
    for _ in range(launches - 1):
        call()
    result = call()
    return result, (time.perf_counter() - start) / launches


class WallClock(Clock):
    """The host's clock, until `wait(last result)` returns: includes the host's own time."""

    how = "wall clock"
    least_seconds = 10e-3

    def __init__(self, wait: Callable[[Any], Any]) -> None:
        self._wait = wait

    def time(self, call: Callable[[], Any], launches: int, lead: float = 0.0) -> Sample:
        start = time.perf_counter()
        result, host_seconds = _enqueue(call, launches)
        self._wait(result)
        return Sample((time.perf_counter() - start) / launches, host_seconds)


class StreamClock(Clock):
    """CUDA events on a stream of the current context: the device's time alone.

    The stream is kept busy first, for `lead` seconds, so that calls which the device finishes
    faster than the host enqueues them are waiting when the first event passes.
    """

    how = "events"
    least_seconds = 5e-3

    def __init__(self, device: Any, stream: int) -> None:
        device.synchronize()  # enters its context
        self._device = device
        self._stream = driver.CUstream(stream)
        self._start, self._end = (check(driver.cuEventCreate(0), "make an event") for _ in range(2))
        self._buffer: Any = None
        self._head_start_seconds = 0.0

    def time(self, call: Callable[[], Any], launches: int, lead: float = 0.0) -> Sample:
        self._keep_busy(lead)
        check(driver.cuEventRecord(self._start, self._stream), "record an event")
        _, host_seconds = _enqueue(call, launches)
        return Sample(self._seconds_since_start() / launches, host_seconds)

    def _seconds_since_start(self) -> float:
        check(driver.cuEventRecord(self._end, self._stream), "record an event")
        check(driver.cuEventSynchronize(self._end), "wait for an event")
        elapsed = check(driver.cuEventElapsedTime(self._start, self._end), "read events")
        return float(elapsed) / 1e3

    def _keep_busy(self, seconds: float) -> None:
        if seconds <= 0:
            return
        if self._buffer is None:
            self._measure_head_start()
        count = math.ceil(seconds / self._head_start_seconds)
        for _ in range(min(count, _MOST_HEAD_STARTS)):
            self._fill()

    def _measure_head_start(self) -> None:
        self._buffer = self._device.allocate(_HEAD_START_BYTES)
        self._device.synchronize()  # its stream allocated it, another may fill it
        self._fill()
        check(driver.cuEventRecord(self._start, self._stream), "record an event")
        self._fill()
        self._head_start_seconds = self._seconds_since_start()

    def _fill(self) -> None:
        pointer, words = self._buffer.pointer, _HEAD_START_BYTES // 4
        check(driver.cuMemsetD32Async(pointer, 0, words, self._stream), "fill memory")
