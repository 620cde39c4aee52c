"""One more device on which the helpers run every kernel: a GPU, or one named on the command line.

A test says where its kernels run and what they give. Within `elsewhere(device)` the helpers
`evaluate`, `run_body` and `run_kernel` compare that with `device` too.
"""

from contextlib import contextmanager
from contextvars import ContextVar

_device: ContextVar[str | None] = ContextVar("device", default=None)
_RUNNERS = {"evaluate", "run_body", "run_kernel"}


@contextmanager
def elsewhere(device):
    """Kernels run on the device of that name as well; None for no other."""
    token = _device.set(device)
    try:
        yield
    finally:
        _device.reset(token)


def other_device():
    """Name of the device to run on as well, or None."""
    return _device.get()


def runs_kernels(function):
    """Whether a test calls one of the helpers, itself or through functions of its module."""
    seen, waiting = set(), [function]
    while waiting:
        function = waiting.pop()
        seen.add(function)
        names = set(function.__code__.co_names)
        if names & _RUNNERS:
            return True
        found = [function.__globals__.get(name) for name in names]
        module = function.__module__
        waiting += [
            f for f in found if hasattr(f, "__code__") and f.__module__ == module and f not in seen
        ]
    return False
