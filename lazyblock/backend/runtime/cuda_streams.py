"""CUDA events: time that work takes, and order between our stream and others' streams."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazyblock.backend.runtime.cuda_driver import driver

Check = Callable[[Sequence[Any], str], Any]

_FLUSHED_BYTES = 256 << 20  # more than any cache


def wait_for(stream: Any, other: int, check: Check) -> None:
    """Let work enqueued on `stream` from now on follow what is on stream number `other`."""
    _follow(driver.CUstream(other), stream, check)


def release_to(stream: Any, other: int, check: Check) -> None:
    """Let work enqueued on `other` from now on follow what is on `stream`."""
    _follow(stream, driver.CUstream(other), check)


def _follow(first: Any, second: Any, check: Check) -> None:
    flags = driver.CUevent_flags.CU_EVENT_DISABLE_TIMING
    event = check(driver.cuEventCreate(flags), "make an event")
    check(driver.cuEventRecord(event, first), "record an event")
    check(driver.cuStreamWaitEvent(second, event, 0), "wait for an event")
    check(driver.cuEventDestroy(event), "drop an event")  # lives until it has passed


def time_call(stream: Any, call: Callable[[], Any], check: Check) -> Callable[[], float]:
    """Run `call` between two events; gives a function that waits and tells the milliseconds."""
    start, end = (check(driver.cuEventCreate(0), "make an event") for _ in range(2))
    check(driver.cuEventRecord(start, stream), "record an event")
    call()
    check(driver.cuEventRecord(end, stream), "record an event")

    def read() -> float:
        check(driver.cuEventSynchronize(end), "wait for an event")
        elapsed = float(check(driver.cuEventElapsedTime(start, end), "read events"))
        for event in (start, end):
            check(driver.cuEventDestroy(event), "drop an event")
        return elapsed

    return read


def make_flush(device: Any, check: Check) -> Callable[[], None]:
    """A function that fills memory larger than the caches."""
    buffer = device.allocate(_FLUSHED_BYTES)

    def flush() -> None:
        filled = driver.cuMemsetD32Async(buffer.pointer, 0, _FLUSHED_BYTES // 4, device.stream)
        check(filled, "fill memory")

    return flush
