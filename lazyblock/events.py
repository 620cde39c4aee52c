"""What happens inside, as frozen records for whoever listens (inspect, logs, tests).

Rooms call `emit(record)`; listeners are added with `listen` for as long as they are needed.
Nobody may depend on a listener's presence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class StageDone:
    """A stage of a kernel's making has its text. stage: "graph", "plan", "block", "llvm"..."""

    kernel: str
    stage: str
    text: str


@dataclass(frozen=True)
class CacheLookup:
    """Where a kernel was found: "memory", "disk" or "none" (then LLVM ran)."""

    kernel: str
    found: str


@dataclass(frozen=True)
class KernelLaunch:
    """A kernel was enqueued on a device."""

    kernel: str
    grid: tuple[int, ...]
    device: str


@dataclass(frozen=True)
class HostCall:
    """A NumPy function ran on the host, on arrays of a device."""

    function: str
    device: str


@dataclass(frozen=True)
class Evaluation:
    """Arrays were evaluated: why, where in the user's code, and with how many kernels."""

    reason: str
    line: str
    num_kernels: int


@dataclass(frozen=True)
class Specialisation:
    """A kernel of `@lb.jit` is compiled: for which arguments, and what is new about them."""

    kernel: str
    arguments: str
    reason: str


Event = StageDone | CacheLookup | KernelLaunch | HostCall | Evaluation | Specialisation
Listener = Callable[[Event], None]

listeners: list[Listener] = []  # for `if listeners:` where a call is too much


def is_observed() -> bool:
    """Whether anybody listens; lets callers skip making costly texts."""
    return bool(listeners)


def emit(event: Event) -> None:
    """Hand `event` to every listener."""
    for listener in tuple(listeners):
        listener(event)


def add_listener(listener: Listener) -> None:
    """Add a listener for the rest of the process."""
    listeners.append(listener)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Add a listener for the time of a `with` block."""
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)
