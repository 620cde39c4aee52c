"""Looking at what plans found out about computed indices, at once or when somebody waits.

On the CPU a plan has run when its launches return, so a bad index is reported then. On a GPU nobody
waits for that: it is reported the next time that data of the device comes to the host.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from lazyblock.backend.runtime.device import Device
from lazyblock.graph.checks import PositionCheck
from lazyblock.graph.node import Node

_unread: deque[tuple[Device, PositionCheck, Node]] = deque()


def with_checks(
    run: Callable[[Any], list[Node]],
    checks: Sequence[PositionCheck],
    device: Device,
) -> Callable[[Any], list[Node]]:
    """A function whose last results are what `checks` look at; gives the others."""
    if not checks:
        return run
    waits = device.target.is_gpu and not device.target.is_emulated

    def run_and_check(leaves: Any) -> list[Node]:
        results = run(leaves)
        found = results[-len(checks) :]
        if waits:
            _unread.extend((device, *pair) for pair in zip(checks, found, strict=True))
        else:
            for check, node in zip(checks, found, strict=True):
                check.raise_for(_read(device, node))
        return results[: -len(checks)]

    return run_and_check


def report_waiting(device: Device) -> None:
    """Look at what has been found on a device that somebody has just waited for.

    Raises: IndexingError naming the first recorded line with an index out of bounds.
    """
    for _ in range(len(_unread)):
        try:
            place, check, node = _unread.popleft()
        except IndexError:  # another thread took it
            return
        if place is device:
            check.raise_for(_read(place, node))
        else:
            _unread.append((place, check, node))


def _read(device: Device, node: Node) -> int:
    attrs: Any = node.attrs
    values = device.to_host(attrs.storage, attrs.offset, attrs.dtype, attrs.shape, attrs.strides)
    return int(values)
