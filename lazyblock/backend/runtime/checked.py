"""Kernels of the CPU under `config.sanitize`: run by the block interpreter, every access checked.

The image of such a kernel is its block program, as text with the user's lines. Reported, with the
kernel, the op, the user's line, the program instance and the offset:
- accesses outside the buffer that an argument points to, or outside all buffers;
- accesses of elements that are not aligned, or at an offset that wrapped;
- reads of memory that nobody wrote;
- elements that two program instances touch, one of them writing, unless both do so atomically or
  the later one has acquired what an earlier one wrote atomically (which is taken to order it behind
  all before).
Functions of maths are NumPy's, sums run in the interpreter's order; all else has the bits of an
unchecked run.
"""

from __future__ import annotations

import ctypes
import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from lazyblock.backend.runtime.device import Grid, LoadedKernel, Resources
from lazyblock.errors import LaunchError, SanitizerError
from lazyblock.source import UNKNOWN, SourceLine
from lazyblock.tiler.interpret import Touch, interpret
from lazyblock.tiler.interpret.memory import NOWHERE
from lazyblock.tiler.ir import Effect, Op, Program, walk
from lazyblock.tiler.ops import AtomicCas, AtomicRmw
from lazyblock.tiler.parser import parse_program
from lazyblock.tiler.printer import name_values, print_op, print_program
from lazyblock.tiler.types import PointerType, to_numpy

_MAGIC = b"lazyblock checked kernel 1\n"
_GRID_SLOTS = 3

Bytes = npt.NDArray[np.bool_]
Records = npt.NDArray[np.int64]


def make_image(program: Program) -> bytes:
    """What `CheckedKernel` runs."""
    lines = [op.line for op in walk(program.body)]
    return _MAGIC + json.dumps({"program": print_program(program), "lines": lines}).encode()


def is_image(image: bytes) -> bool:
    """Whether `make_image` made this."""
    return image.startswith(_MAGIC)


def _read_image(image: bytes) -> Program:
    data = json.loads(image[len(_MAGIC) :])
    program = parse_program(data["program"])
    for op, line in zip(walk(program.body), data["lines"], strict=True):
        op.line = SourceLine(*line)
    return program


@dataclass(eq=False)
class Extent:
    """Memory from address `start` to `end`; `written` has a bool per byte, None: all written."""

    start: int
    end: int
    written: Bytes | None


class CheckedKernel(LoadedKernel):
    """A block program to interpret."""

    def __init__(self, name: str, image: bytes) -> None:
        self.name = name
        self.resources = Resources()
        self._program = _read_image(image)

    def run(self, grid: Grid, slots: bytes, extents: Sequence[Extent]) -> None:
        """Run every instance; `extents` is the memory that may be touched.

        Raises: SanitizerError.
        """
        watcher = _Watcher(self._program, grid)
        arguments: list[Any] = []
        words = struct.unpack(f"<{len(slots) // 8}Q", slots)[:-_GRID_SLOTS]
        for number, parameter in enumerate(self._program.parameters):
            element = parameter.value.type.element
            if isinstance(element, PointerType):
                dtype = to_numpy(element.pointee)
                found = self._find(words[number], extents, parameter.name)
                arguments.append(watcher.add(parameter.name, dtype, words[number], found))
            else:
                dtype = to_numpy(element)
                raw = slots[8 * number : 8 * number + dtype.itemsize]
                arguments.append(np.frombuffer(raw, dtype)[0])
        watcher.extents = extents

        def resolve(address: int) -> Any:
            held = [extent for extent in extents if extent.start <= address < extent.end]
            return _bytes_of(held[0]) if held else None

        interpret(self._program, arguments, grid, watcher.watch, resolve)

    def _find(self, address: int, extents: Sequence[Extent], name: str) -> Extent:
        """The memory that `address` lies in: one that ends there only if no other has it."""
        around = [extent for extent in extents if extent.start <= address <= extent.end]
        if not around:
            raise LaunchError(f"Argument '{name}' of kernel '{self.name}' points to no buffer.")
        return min(around, key=lambda extent: (address == extent.end, extent.start - extent.end))


def _bytes_of(extent: Extent) -> npt.NDArray[np.uint8]:
    memory: Any = (ctypes.c_char * (extent.end - extent.start)).from_address(extent.start)
    return np.frombuffer(memory, np.uint8)


# --- what was touched ----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Argument:
    """A pointer argument's memory as rows of bytes, one row per element of its type."""

    name: str
    start: int  # address of the buffer
    first: int  # the element that the argument points to
    size: int
    written: Bytes | None
    writers: Records
    readers: Records


class _Watcher:
    """Remembers per byte who wrote it and who read it first, and reports what may not be.

    Records are 1 + instance * number of ops + op. Instances run one after the other, so a byte's
    first reader and last writer are all that a later instance can clash with.
    """

    def __init__(self, program: Program, grid: Grid) -> None:
        self._program = program
        self._grid = grid
        self._ops = {op: number for number, op in enumerate(walk(program.body))}
        self._are_atomic = np.array([op.effect is Effect.ATOMIC for op in self._ops])
        self._acquired = 0  # first record of the last instance that acquired
        self._arguments: dict[int, _Argument] = {}  # by number, as touches count them
        self.extents: Sequence[Extent] = ()
        self._shadows: dict[int, tuple[Records, Records]] = {}  # by address, shared by arguments

    def add(
        self, name: str, dtype: np.dtype[Any], address: int, extent: Extent
    ) -> tuple[npt.NDArray[Any], int]:
        """Watch an argument; gives its memory and which element it points to."""
        argument, elements = self._describe_memory(name, dtype, address, extent)
        self._arguments[len(self._arguments)] = argument
        return elements, argument.first

    def _describe_memory(
        self, name: str, dtype: np.dtype[Any], address: int, extent: Extent
    ) -> tuple[_Argument, npt.NDArray[Any]]:
        nbytes, itemsize = extent.end - extent.start, dtype.itemsize
        before = (address - extent.start) % itemsize
        size = (nbytes - before) // itemsize

        def rows(shadow: npt.NDArray[Any]) -> npt.NDArray[Any]:
            return shadow[before : before + size * itemsize].reshape(size, itemsize)

        if extent.start not in self._shadows:
            self._shadows[extent.start] = np.zeros(nbytes, np.int64), np.zeros(nbytes, np.int64)
        writers, readers = map(rows, self._shadows[extent.start])
        written = None if extent.written is None else rows(extent.written)
        first = (address - extent.start) // itemsize
        argument = _Argument(name, extent.start, first, size, written, writers, readers)
        return argument, _bytes_of(extent)[before : before + size * itemsize].view(dtype)

    def _find(self, touch: Touch) -> _Argument:
        """The memory touched; a view of it becomes known when it is first touched."""
        if touch.argument not in self._arguments:
            address = touch.elements.__array_interface__["data"][0]
            extent = next(e for e in self.extents if e.start <= address < e.end)
            names = [
                known.name for known in self._arguments.values() if known.start == extent.start
            ]
            name = names[0] if names else f"memory at {address:#x}"
            argument, _ = self._describe_memory(name, touch.elements.dtype, address, extent)
            self._arguments[touch.argument] = argument
        return self._arguments[touch.argument]

    def watch(self, touch: Touch) -> None:
        """Check one access of a block to one argument, and remember it. Raises: SanitizerError."""
        if touch.argument == NOWHERE:
            self._fail_nowhere(touch)
        argument = self._find(touch)
        self._check_wrapped(touch, argument)
        self._check_alignment(touch, argument)
        is_outside = (touch.offsets < 0) | (touch.offsets >= argument.size)
        if is_outside.any():
            end = argument.size - argument.first
            self._fail(
                touch,
                is_outside,
                f"out-of-bounds {_verb(touch.op)} at offset {{}} of '{argument.name}', whose "
                f"buffer has offsets {-argument.first} to {end - 1}",
                hint="mask the lanes outside the array.",
            )
        current = self._instance(touch.place) * len(self._ops) + 1
        if getattr(touch.op, "sem", "") in ("acquire", "acq_rel"):
            self._acquire(argument.writers[touch.offsets], current)
        if isinstance(touch.op, (AtomicRmw, AtomicCas)) and argument.written is not None:
            self._check_written(touch, argument.written)
        self._check_race(touch, argument.writers, current, "writes")
        if touch.is_write:
            self._check_race(touch, argument.readers, current, "reads")
            argument.writers[touch.offsets] = current + self._ops[touch.op]
            if argument.written is not None:
                argument.written[touch.offsets] = True
            return
        if argument.written is not None:
            self._check_written(touch, argument.written)
        known = argument.readers[touch.offsets]
        argument.readers[touch.offsets] = np.where(known, known, current + self._ops[touch.op])

    def _fail_nowhere(self, touch: Touch) -> None:
        address = int(touch.offsets[0]) * touch.elements.itemsize
        self._report(
            touch,
            np.ones(len(touch.offsets), np.bool_),
            f"{_verb(touch.op)} at address {address:#x}, which lies in no array",
            hint="pass addresses in a lazyblock.tools PointerTable, which keeps its arrays.",
        )

    def _check_wrapped(self, touch: Touch, argument: _Argument) -> None:
        if touch.wrapped is None:
            return
        exact = np.broadcast_to(touch.wrapped.exact, touch.lanes.shape)[touch.lanes]
        is_wrong = exact != touch.offsets
        if is_wrong.any():
            op, meant = touch.wrapped.op, int(exact[np.argmax(is_wrong)]) - argument.first
            type = op.result.type.scalar
            self._fail(
                touch,
                is_wrong,
                f"an {type} offset wrapped: {_verb(touch.op)} at offset {{}} of "
                f"'{argument.name}' instead of {meant}",
                also=f"; it wrapped in {self._describe(op)}",
                hint="compute offsets in 64 bits: convert one operand with .to(tl.int64).",
            )

    def _check_alignment(self, touch: Touch, argument: _Argument) -> None:
        dtype, address = touch.elements.dtype, touch.elements.__array_interface__["data"][0]
        if address % dtype.itemsize:
            self._fail(
                touch,
                np.ones(len(touch.offsets), np.bool_),
                f"misaligned {_verb(touch.op)} at offset {{}} of '{argument.name}', whose elements "
                f"of {dtype.itemsize} bytes begin at address {address:#x}",
                hint=f"pointers to {dtype} are multiples of {dtype.itemsize} bytes.",
            )

    def _acquire(self, found: Records, current: int) -> None:
        """Order this instance behind the earlier ones if it finds what one wrote atomically."""
        is_earlier = (found > 0) & (found < current)
        if (is_earlier & self._are_atomic[(found - 1) % len(self._ops)]).any():
            self._acquired = current

    def _check_written(self, touch: Touch, written: Bytes) -> None:
        is_missing = np.asarray(~written[touch.offsets].all(axis=1))
        if is_missing.any():
            name = self._find(touch).name
            self._fail(
                touch,
                is_missing,
                f"read of unwritten memory at offset {{}} of '{name}'",
                hint="write the element first, or mask the load.",
            )

    def _check_race(self, touch: Touch, records: Records, current: int, verb: str) -> None:
        found = records[touch.offsets].max(axis=1)
        floor = current if self._acquired == current else 1
        clashes = (found >= floor) & (found < current)
        if touch.op.effect is Effect.ATOMIC:
            clashes &= ~self._are_atomic[(found - 1) % len(self._ops)]
        if clashes.any():
            record = int(found[np.argmax(clashes)]) - 1
            instance, number = divmod(record, len(self._ops))
            place, op = self._place(instance), list(self._ops)[number]
            name = self._find(touch).name
            self._fail(
                touch,
                clashes,
                f"race: {_verb(touch.op)} at offset {{}} of '{name}', which program {place} "
                f"{verb} too",
                also=f"; there in {self._describe(op)}",
                hint="let one program instance write the element, or update it atomically.",
            )

    def _fail(
        self, touch: Touch, is_wrong: Bytes, what: str, hint: str, also: str = ""
    ) -> NoReturn:
        """Report the first lane where something is wrong, by its offset."""
        offset = int(touch.offsets[np.argmax(is_wrong)]) - self._find(touch).first
        self._report(touch, is_wrong, what.format(offset), hint, also)

    def _report(
        self, touch: Touch, is_wrong: Bytes, what: str, hint: str, also: str = ""
    ) -> NoReturn:
        lane = tuple(int(index) for index in np.argwhere(touch.lanes)[np.argmax(is_wrong)])
        raise SanitizerError(
            f"Kernel '{self._program.name}', program {touch.place}: {what}.",
            note=f"in {self._describe(touch.op)}, lane {lane}{also}.",
            hint=hint,
        )

    def _describe(self, op: Op) -> str:
        line = "" if op.line == UNKNOWN else f" ({op.line})"
        return f"'{print_op(op, name_values(self._program))}'{line}"

    def _instance(self, place: Grid) -> int:
        x, y, z = place
        return (z * self._grid[1] + y) * self._grid[0] + x

    def _place(self, instance: int) -> Grid:
        rest, x = divmod(instance, self._grid[0])
        z, y = divmod(rest, self._grid[1])
        return x, y, z


def _verb(op: Op) -> str:
    return {"load": "read", "store": "write"}.get(op.name, op.name)
