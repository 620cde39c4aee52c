"""Arrays handed to other libraries: DLPack, CUDA's array interface, buffers, pickles.

All evaluate first. What is exported is the value of that moment: later updates of the array go to
other memory as long as somebody holds the exported one.
"""

from __future__ import annotations

import hashlib
import pickle
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from lazyblock import dlpack
from lazyblock.errors import ValueRangeError
from lazyblock.graph import build
from lazyblock.graph.node import Node
from lazyblock.lazy_imports import lazy_import
from lazyblock.tracer.evaluation import check_allowed
from lazyblock.tracer.handle import Handle
from lazyblock.tracer.memory import holds_alone, make_private
from lazyblock.tracer.stages import pipeline

if TYPE_CHECKING:
    from typing_extensions import Self

imports = lazy_import("lazyblock.tracer.imports")

_HOST = dlpack.CPU, 0
_WRITABLE = 1  # of the flags of a buffer request


class Exports(Handle):
    """The protocols by which others read the elements."""

    __slots__ = ()

    # DLPack

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's device type and number. Does not evaluate."""
        kind, _, number = self.device.partition(":")
        return (dlpack.CUDA, int(number or 0)) if kind == "cuda" else (dlpack.CPU, 0)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule of the elements, read-only unless they are a copy.

        Consumers of DLPack before 1.0, which know no read-only memory, get a copy or, if they
        refuse one, memory that no recorded expression sees and that is theirs to write as well.
        Small host data that no kernel has read yet is still on the host: a GPU's array of it is
        exported there without a copy. Raises: BufferError where `copy` and `dl_device` cannot both
        be met, ValueRangeError.
        """
        own = self.__dlpack_device__()
        target = own if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
        if target not in (own, _HOST):
            raise BufferError(f"An array on {self.device} cannot be exported to device {target}.")
        is_versioned = max_version is not None and max_version[0] >= 1
        if target != own:
            return self._export_to_host(stream, is_versioned, copy)
        _check_stream(stream, own)
        node = self.stored("__dlpack__")
        if copy is False and not is_versioned:
            make_private(self)
            node = self.stored("__dlpack__")
        memory = _describe(node, own, is_read_only=is_versioned)
        is_reversed = dlpack.has_negative_steps(memory)
        if is_reversed and copy is False:
            raise BufferError("These elements cannot be exported without a copy.")
        if copy or is_reversed or (copy is None and not is_versioned):
            memory = _describe(_copied(node), own, is_copied=True)
        _order_streams(node, stream)
        return dlpack.make_capsule(memory, is_versioned)

    def _export_to_host(self, stream: Any, is_versioned: bool, copy: bool | None) -> Any:
        if stream is not None:
            raise ValueRangeError("A copy on the host is ready: 'stream' has to be None.")
        if copy is False:
            given = pipeline.host_elements(
                self.stored("__dlpack__"), is_given_away=not is_versioned
            )
            if given is None:
                raise BufferError("Elements on a GPU cannot be exported to the host uncopied.")
            memory = _describe(pipeline.alias_numpy(given), _HOST, is_read_only=is_versioned)
        else:
            values = np.ascontiguousarray(self._values("__dlpack__"))
            memory = _describe(pipeline.alias_numpy(values), _HOST, is_copied=True)
        return dlpack.make_capsule(memory, is_versioned)

    # CUDA

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3, of arrays on GPUs; memory that recorded expressions do not see.

        Raises: AttributeError elsewhere.
        """
        if self.__dlpack_device__()[0] != dlpack.CUDA:
            raise AttributeError("'__cuda_array_interface__' is of arrays on GPUs only.")
        reason = "__cuda_array_interface__"
        self.stored(reason)
        if self._view is not None:
            node = _copied(self.stored(reason))
        else:
            if not (_is_kept_with(self) and holds_alone(self._cell)):
                make_private(self)
            node = self._cell.node
        attrs: Any = node.attrs
        _keep_with(self, attrs.storage)
        itemsize = node.dtype.itemsize
        return {
            "shape": node.shape,
            "typestr": node.dtype.str,
            "data": (attrs.storage.pointer + attrs.offset * itemsize if node.size else 0, False),
            "strides": tuple(n * itemsize for n in attrs.strides),
            "version": 3,
            "stream": pipeline.stream_of(attrs.storage),
        }

    # buffers and bytes

    def __buffer__(self, flags: int) -> memoryview:
        """Read-only memory of the host, without a copy (Python asks from 3.12 on)."""
        if self.__dlpack_device__()[0] != dlpack.CPU:
            raise BufferError("The elements are on a GPU.")
        if flags & _WRITABLE:
            raise BufferError("The elements can only be read.")
        return self._values("buffer").data

    def __bytes__(self) -> bytes:
        return self._values("bytes").tobytes()

    # copies

    def __copy__(self) -> Self:
        return self._alike(self.node)

    def __deepcopy__(self, memo: Any) -> Self:
        return self._alike(self.node)

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        values = np.ascontiguousarray(self._values("pickle")).reshape(-1).view(np.uint8)
        data: Any = pickle.PickleBuffer(values.data) if int(protocol) >= 5 else values.tobytes()
        return imports.unpickle, (data, self.dtype.name, self.shape, self.device)

    def __dask_tokenize__(self) -> tuple[Any, ...]:
        """Equal for equal elements, in every process."""
        values = np.ascontiguousarray(self._values("__dask_tokenize__"))
        digest = hashlib.blake2b(values.reshape(-1).view(np.uint8).data, digest_size=16).hexdigest()
        return "lazyblock.Array", self.dtype.name, self.shape, self.device, digest


def _describe(
    node: Node, device: tuple[int, int], *, is_read_only: bool = False, is_copied: bool = False
) -> dlpack.Memory:
    """An INPUT node as memory."""
    attrs: Any = node.attrs
    address = attrs.storage.pointer + attrs.offset * node.dtype.itemsize
    layout = node.shape, attrs.strides, node.dtype
    owner = attrs.storage
    return dlpack.Memory(address, *layout, device, owner, is_read_only, is_copied)


def _copied(node: Node) -> Node:
    """The elements in C order in new memory."""
    check_allowed("copy")
    (copied,) = pipeline.evaluate([build.copy(node)], "copy for export")
    return copied


def _check_stream(stream: int | None, device: tuple[int, int]) -> None:
    """Raises: ValueRangeError for streams that DLPack does not allow."""
    if stream is None:
        return
    if device[0] == dlpack.CPU:
        raise ValueRangeError("Arrays on the CPU are exported with 'stream=None' only.")
    if stream == 0 or stream < -1:
        raise ValueRangeError(f"DLPack stream {stream} is not allowed.")


def _order_streams(node: Node, stream: int | None) -> None:
    """Let work on the consumer's stream follow what computes the elements."""
    attrs: Any = node.attrs
    if stream != -1:
        attrs.storage.device.release_to(1 if stream is None else stream)


# What is kept for as long as a handle lives, because consumers of an interface only hold the handle

_kept: dict[int, list[Any]] = {}


def _keep_with(handle: Handle, buffer: Any) -> None:
    buffers = _kept.get(id(handle))
    if buffers is None:
        buffers = _kept[id(handle)] = []
        weakref.finalize(handle, _kept.pop, id(handle), None)
    if buffer not in buffers:
        buffers.append(buffer)


def _is_kept_with(handle: Handle) -> bool:
    """Whether the memory of a base was handed out by this handle before."""
    attrs: Any = handle._cell.node.attrs
    return attrs.storage in _kept.get(id(handle), ())
