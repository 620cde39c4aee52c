"""Where in a block a loop's body stands: per axis a coordinate, the same or running over the lanes.

Coordinates are i64 text (a number or an SSA name). All extents are powers of two, and the bits that
the lanes run over are zero in the base; so rearranging an index is choosing bits of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lazyblock.backend.llvm.emit import Emitter
from lazyblock.shapes import contiguous_strides


@dataclass(frozen=True, slots=True)
class Coordinate:
    """Lane l stands at base + l * step; or at lanes[l], a vector of i32, when `lanes` is set."""

    base: str = "0"
    step: int = 0
    lanes: str = ""

    @property
    def is_uniform(self) -> bool:
        return self.step == 0 and not self.lanes


Coordinates = tuple[Coordinate, ...]


def are_uniform(coordinates: Coordinates) -> bool:
    """Whether all lanes stand at one place."""
    return all(coordinate.is_uniform for coordinate in coordinates)


def add(emitter: Emitter, a: str, b: str, type: str = "i64") -> str:
    """a + b, folded if trivial."""
    if a.isdigit() and b.isdigit():
        return str(int(a) + int(b))
    if "0" in (a, b):
        return b if a == "0" else a
    return emitter.value(f"add {type} {a}, {b}")


def scale(emitter: Emitter, a: str, factor: int) -> str:
    """a * factor, folded if trivial."""
    if a.isdigit():
        return str(int(a) * factor)
    return a if factor == 1 else emitter.value(f"mul i64 {a}, {factor}")


def _bits_of(emitter: Emitter, a: str, stride: int, extent: int) -> str:
    """(a / stride) % extent."""
    if a.isdigit():
        return str(int(a) // stride % extent)
    if stride > 1:
        a = emitter.value(f"lshr i64 {a}, {stride.bit_length() - 1}")
    return emitter.value(f"and i64 {a}, {extent - 1}")


def lane_numbers(width: int, step: int = 1, first: int = 0) -> str:
    """The constant vector first, first + step, ... of i32."""
    return f"<{', '.join(f'i32 {first + lane * step}' for lane in range(width))}>"


def to_lanes(emitter: Emitter, coordinate: Coordinate, width: int, first: int = 0) -> str:
    """`first` + a coordinate as a vector of i32 (a scalar for width 1)."""
    if coordinate.lanes:
        if first == 0:
            return coordinate.lanes
        return emitter.value(f"add <{width} x i32> {coordinate.lanes}, splat (i32 {first})")
    base = coordinate.base
    if base.isdigit():
        number = int(base) + first
        return str(number) if width == 1 else lane_numbers(width, coordinate.step, number)
    narrow = emitter.value(f"trunc i64 {base} to i32")
    if width == 1:
        return (
            add(emitter, narrow, str(first), "i32")
            if first >= 0
            else emitter.value(f"add i32 {narrow}, {first}")
        )
    vector = splat(emitter, "i32", narrow, width)
    return emitter.value(
        f"add <{width} x i32> {vector}, {lane_numbers(width, coordinate.step, first)}"
    )


def splat(emitter: Emitter, scalar: str, value: str, width: int) -> str:
    """A scalar in every lane."""
    if width == 1:
        return value
    vector = f"<{width} x {scalar}>"
    single = emitter.value(f"insertelement {vector} poison, {scalar} {value}, i64 0")
    return emitter.value(
        f"shufflevector {vector} {single}, {vector} poison, <{width} x i32> zeroinitializer"
    )


def exchange(emitter: Emitter, coordinate: Coordinate, mask: int, width: int) -> Coordinate:
    """The coordinate with the bits of `mask` exchanged, save those that the lanes run over."""
    if coordinate.lanes:
        vector = f"<{width} x i32>"
        lanes = emitter.value(f"xor {vector} {coordinate.lanes}, splat (i32 {mask})")
        return Coordinate(lanes=lanes)
    mask ^= lanes_exchanged(coordinate, mask, width) * coordinate.step
    base = coordinate.base
    if base.isdigit():
        base = str(int(base) ^ mask)
    elif mask:
        base = emitter.value(f"xor i64 {base}, {mask}")
    return Coordinate(base, coordinate.step)


def lanes_exchanged(coordinate: Coordinate, mask: int, width: int) -> int:
    """What exchanging the bits of `mask` adds to the number of a lane."""
    step = coordinate.step
    return mask // step & width - 1 if step else 0


def linearise(
    emitter: Emitter, coordinates: Coordinates, shape: Sequence[int], width: int
) -> Coordinate:
    """Row-major position in a block of `shape`."""
    strides = contiguous_strides(shape)
    if any(coordinate.lanes for coordinate in coordinates):
        return Coordinate(lanes=_linearise_lanes(emitter, coordinates, strides, width))
    base, step = "0", 0
    for coordinate, stride in zip(coordinates, strides, strict=True):
        base = add(emitter, base, scale(emitter, coordinate.base, stride))
        step += coordinate.step * stride
    return Coordinate(base, step)


def _linearise_lanes(
    emitter: Emitter, coordinates: Coordinates, strides: Sequence[int], width: int
) -> str:
    vector = f"<{width} x i32>"
    total = "zeroinitializer"
    for coordinate, stride in zip(coordinates, strides, strict=True):
        lanes = to_lanes(emitter, coordinate, width)
        scaled = emitter.value(f"mul {vector} {lanes}, splat (i32 {stride})")
        total = emitter.value(f"add {vector} {total}, {scaled}")
    return total


def delinearise(
    emitter: Emitter, position: Coordinate, shape: Sequence[int], width: int
) -> Coordinates:
    """Coordinates in a block of `shape` of a row-major position."""
    return tuple(
        _part(emitter, position, stride, extent, width)
        for stride, extent in zip(contiguous_strides(shape), shape, strict=True)
    )


def _part(
    emitter: Emitter, position: Coordinate, stride: int, extent: int, width: int
) -> Coordinate:
    """(position / stride) % extent."""
    if extent == 1:
        return Coordinate()
    first, last = position.step, position.step * width  # bits the lanes run over
    is_apart = first >= stride * extent or last <= stride
    is_inside = stride <= first and last <= stride * extent
    if not position.lanes and (is_apart or is_inside):
        base = _bits_of(emitter, position.base, stride, extent)
        return Coordinate(base, 0 if is_apart else first // stride)
    vector = f"<{width} x i32>"
    lanes = to_lanes(emitter, position, width)
    shifted = emitter.value(f"lshr {vector} {lanes}, splat (i32 {stride.bit_length() - 1})")
    return Coordinate(lanes=emitter.value(f"and {vector} {shifted}, splat (i32 {extent - 1})"))
