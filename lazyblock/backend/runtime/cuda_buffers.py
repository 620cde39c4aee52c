"""Memory of a GPU: our own, another library's, and what still waits on the host."""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from lazyblock.backend.runtime.device import Buffer
from lazyblock.backend.runtime.pool import Shelf

if TYPE_CHECKING:
    from lazyblock.backend.runtime.cuda import CudaDevice

_sending = threading.Lock()


class Loan:
    """Memory of another library: it goes back when what reads it here is done."""

    def __init__(self, device: CudaDevice, owner: Any) -> None:
        self._device, self._owner = device, owner

    def keep(self, pointer: int) -> bool:
        """Take the memory back, as a shelf does."""
        with contextlib.suppress(Exception):  # a lost device reads nothing any more
            self._device.synchronize()
        self._owner = None
        return True


class CudaBuffer(Buffer):
    """Memory of a GPU; goes back to where it came from, in stream order, with its last reference.

    shelf: where that is; None: the driver.
    """

    __slots__ = ("_shelf", "device", "nbytes", "pointer")

    def __init__(
        self, device: CudaDevice, pointer: int, nbytes: int, shelf: Shelf[int] | Loan | None = None
    ) -> None:
        self.device: CudaDevice = device
        self.pointer = pointer
        self.nbytes = nbytes
        self._shelf = shelf

    @property
    def is_foreign(self) -> bool:
        """Whether the memory is another library's."""
        return isinstance(self._shelf, Loan)

    def __del__(self) -> None:
        if self._shelf is None or not self._shelf.keep(self.pointer):
            self.device.free(self.pointer)


class PendingBuffer(Buffer):
    """Bytes that go from the host to a GPU when something asks for their address.

    elements: the bytes, until then.
    """

    __slots__ = ("_sent", "device", "elements", "nbytes")

    def __init__(self, device: CudaDevice, elements: npt.NDArray[Any]) -> None:
        self.device: CudaDevice = device
        self.nbytes = elements.nbytes
        self.elements: npt.NDArray[Any] | None = elements
        self._sent: CudaBuffer | None = None

    @property
    def pointer(self) -> int:  # type: ignore[override]
        if self._sent is None:
            with _sending:
                if self.elements is not None:
                    self._sent = self.device.send(self.elements)
                    self.elements = None
        assert self._sent is not None
        return self._sent.pointer
