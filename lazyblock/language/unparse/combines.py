"""Reductions and scans: the language's own functions, or a combine written out."""

from __future__ import annotations

from lazyblock.language.unparse.text import Text, cast_to, function_text
from lazyblock.language.unparse.writer import Writer
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Region
from lazyblock.tiler.types import bfloat16, int1


def write_combining(w: Writer, op: ops.Combining) -> None:
    """Assign the results of a reduction or scan."""
    text = _known_combine(w, op) or _written_combine(w, op)
    names = ", ".join(w.name(result) for result in op.results)
    w.write(f"{names} = {text.source}")


def _known_combine(w: Writer, op: ops.Combining) -> Text | None:
    """`tl.sum`, `tl.cumsum` and their like, cast back where they widen."""
    scalar = op.values[0].type.scalar
    is_scan = isinstance(op, ops.Scan)
    function = (_SCANS if is_scan else _REDUCTIONS)[scalar.is_floating].get(op.kind)
    if function is None or scalar == int1 or (is_scan and scalar == bfloat16):
        return None  # the language's scans of bfloat16 run in float32
    name, option, widened = function
    option += ", reverse=True" if isinstance(op, ops.Scan) and op.reverse else ""
    text = Text(f"tl.{name}({w.text(op.values[0]).source}, axis={op.axis}{option})")
    widens = scalar.bits < widened
    return cast_to(text, scalar) if widens else text


_NAN = ", propagate_nan=tl.PropagateNan.ALL"

# Binary kind -> function, options, width below which the language widens the result
_FLOAT_REDUCTIONS = {
    "add": ("sum", "", 0),
    "max": ("max", _NAN, 32),
    "min": ("min", _NAN, 32),
    "maxnum": ("max", "", 32),
    "minnum": ("min", "", 32),
}
_INTEGER_REDUCTIONS = {
    "add": ("sum", "", 32),
    "max": ("max", "", 32),
    "min": ("min", "", 32),
    "xor": ("xor_sum", "", 0),
    "or": ("reduce_or", "", 0),
}
_REDUCTIONS = {True: _FLOAT_REDUCTIONS, False: _INTEGER_REDUCTIONS}  # by whether floats
_SCANS = {
    is_float: {"add": ("cumsum", "", widened), "mul": ("cumprod", "", widened)}
    for is_float, widened in ((True, 0), (False, 32))
}


def _written_combine(w: Writer, op: ops.Combining) -> Text:
    name = f"combine_{len(w.helpers)}"
    w.taken.add(name)
    w.helpers.append(_helper(w, name, op.combine))
    values = ", ".join(w.text(value).source for value in op.values)
    values = f"({values})" if len(op.values) > 1 else values
    if isinstance(op, ops.Scan):
        option = ", reverse=True" if op.reverse else ""
        return Text(f"tl.associative_scan({values}, {op.axis}, {name}{option})")
    return Text(f"tl.reduce({values}, {op.axis}, {name})")


def _helper(w: Writer, name: str, combine: Region) -> str:
    writer = Writer(combine, w.helpers, w.words)
    half = len(combine.arguments) // 2
    wishes = [f"left_{n}" for n in range(half)] + [f"right_{n}" for n in range(half)]
    if half == 1:
        wishes = ["left", "right"]
    parameters = [
        writer.name(value, wish) for value, wish in zip(combine.arguments, wishes, strict=True)
    ]
    writer.region(combine)
    results = (writer.typed(value).source for value in combine.terminator.operands_flat)
    writer.write(f"return {', '.join(results)}")
    return function_text(name, parameters, writer.lines)
