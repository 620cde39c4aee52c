"""Ops with one result, as expressions of the block language."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazyblock.errors import UnsupportedError
from lazyblock.language.unparse import memory
from lazyblock.language.unparse.text import (
    AND,
    COMPARISON,
    OR,
    PRIMARY,
    PRODUCT,
    SHIFT,
    SUM,
    UNARY,
    XOR,
    Text,
    call,
    cast_to,
    full,
    infix,
    tuple_text,
    type_name,
)
from lazyblock.language.unparse.writer import Writer, is_constant, strip
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Op
from lazyblock.tiler.types import SCALARS, PointerType, ScalarType, float32

_OPERATORS = {
    "add": ("+", SUM),
    "sub": ("-", SUM),
    "mul": ("*", PRODUCT),
    "rem": ("%", PRODUCT),
    "and": ("&", AND),
    "or": ("|", OR),
    "xor": ("^", XOR),
    "shl": ("<<", SHIFT),
    "shr": (">>", SHIFT),
}
_EXTREMES = {
    "max": ("tl.maximum", ["propagate_nan=tl.PropagateNan.ALL"]),
    "min": ("tl.minimum", ["propagate_nan=tl.PropagateNan.ALL"]),
    "maxnum": ("tl.maximum", []),
    "minnum": ("tl.minimum", []),
}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _binary(w: Writer, op: ops.Binary) -> Text:
    if op.kind in _EXTREMES:
        return _extreme(w, op)
    left, right = w.together(op.result.shape, op.lhs, op.rhs)
    scalar = op.lhs.type.scalar
    if op.kind == "mulhi":
        return _high_product(w, op)
    if op.kind in ("div", "div_normal"):
        text = infix("/" if scalar.is_floating else "//", PRODUCT, left, right)
    else:
        text = infix(*_OPERATORS[op.kind], left, right)
    is_widened = scalar.is_half and op.kind in ("div", "div_normal", "rem")
    return cast_to(text, scalar) if is_widened else text


def _extreme(w: Writer, op: ops.Binary) -> Text:
    """Where a literal does not adapt, as it does to an operator: it is an int32 or a float32."""
    scalar, operands = op.lhs.type.scalar, (op.lhs, op.rhs)
    texts = w.together(op.result.shape, *operands)
    literals = [is_constant(strip(value)) for value in operands]
    if scalar.name == "f64":
        known = zip(operands, texts, literals, strict=True)
        texts = [w.typed(value) if is_literal else text for value, text, is_literal in known]
    function, options = _EXTREMES[op.kind]
    text = call(function, *texts, *(options if scalar.is_floating else []))
    is_widened = scalar.name == "bf16" or (1 < scalar.bits < 32 and any(literals))
    return cast_to(text, scalar) if is_widened else text


def _high_product(w: Writer, op: ops.Binary) -> Text:
    if op.lhs.type.scalar.bits < 32:
        raise UnsupportedError(f"the block language has no words for 'mulhi' of {op.lhs.type}.")
    return call("tl.umulhi", w.typed(op.lhs), w.typed(op.rhs))


def _compare(w: Writer, op: ops.Compare) -> Text:
    return infix(_COMPARISONS[op.kind], COMPARISON, *w.together(op.result.shape, op.lhs, op.rhs))


def _select(w: Writer, op: ops.Select) -> Text:
    condition, *values = w.together(op.result.shape, op.condition, op.on_true, op.on_false)
    if is_constant(strip(op.on_true)) and is_constant(strip(op.on_false)):
        values[0] = w.typed(op.on_true)
    return call("tl.where", condition, *values)


_LANGUAGE_FUNCTIONS = frozenset(
    {"abs", "sqrt", "floor", "ceil", "exp", "exp2", "log", "log2", "sin", "cos", "rsqrt", "erf"}
)


def _function_call(name: str, scalar: ScalarType, texts: Sequence[Text]) -> Text:
    """A function the language has for float32 and float64 only."""
    prefix = "tl." if name in _LANGUAGE_FUNCTIONS else "tl.extra.libdevice."
    if not scalar.is_half:
        return call(prefix + name, *texts)
    return cast_to(call(prefix + name, *(cast_to(text, float32) for text in texts)), scalar)


def _unary(w: Writer, op: ops.Unary) -> Text:
    text, scalar = w.text(op.value), op.value.type.scalar
    if op.kind in ("neg", "not"):
        return Text(f"{'-' if op.kind == 'neg' else '~'}{text.at(UNARY)}", UNARY)
    if op.kind == "abs":
        return call("tl.abs", text)
    return _function_call(op.kind, scalar, [text])


def _math(w: Writer, op: ops.Math) -> Text:
    texts = [w.text(value) for value in op.arguments]
    return _function_call(op.function, op.result.type.scalar, texts)


def _approximate(w: Writer, op: ops.Approximate) -> Text:
    """The exact function: how loose it may be is the setting's business."""
    text = w.text(op.value)
    if op.function == "reciprocal":
        return Text(f"1.0 / {text.at(UNARY)}", PRODUCT)
    return _function_call(op.function, float32, [text])


def _fma(w: Writer, op: ops.Fma) -> Text:
    return call("tl.fma", *(w.text(value) for value in (op.a, op.b, op.c)))


def _cast(w: Writer, op: ops.Cast) -> Text:
    rounding = f', fp_downcast_rounding="{op.rounding}"' if op.rounding else ""
    return cast_to(w.typed(op.value), SCALARS[op.element], rounding)


def _bitcast(w: Writer, op: ops.Bitcast) -> Text:
    element = op.result.type.element
    if isinstance(element, PointerType):
        name = f"tl.pointer_type({type_name(element.pointee)})"
        return Text(f"{w.typed(op.value).at(PRIMARY)}.to({name}, bitcast=True)")
    return cast_to(w.typed(op.value), element, ", bitcast=True")


def _add_pointer(w: Writer, op: ops.AddPointer) -> Text:
    return infix("+", SUM, *w.together(op.result.shape, op.pointer, op.offset))


def _dot(w: Writer, op: ops.Dot) -> Text:
    operands = [w.typed(value) for value in (op.a, op.b, op.acc)]
    return call("tl.dot", *operands, f'input_precision="{op.precision}"')


def _broadcast(w: Writer, op: ops.Splat | ops.Broadcast) -> Text:
    return call("tl.broadcast_to", w.typed(op.value), tuple_text(op.shape))


def _expand_dims(w: Writer, op: ops.ExpandDims) -> Text:
    if op.value.shape == ():
        return call("tl.broadcast_to", w.typed(op.value), tuple_text(op.result.shape))
    indices = [":"] * len(op.value.shape)
    indices.insert(op.axis, "None")
    return Text(f"{w.text(op.value).at(PRIMARY)}[{', '.join(indices)}]")


def _reshape(w: Writer, op: ops.Reshape) -> Text:
    return call("tl.reshape", w.typed(op.value), tuple_text(op.shape))


def _transpose(w: Writer, op: ops.Transpose) -> Text:
    if op.permutation == (1, 0):
        return call("tl.trans", w.text(op.value))
    return call("tl.permute", w.text(op.value), tuple_text(op.permutation))


def _join(w: Writer, op: ops.Join) -> Text:
    return call("tl.join", w.typed(op.lhs), w.typed(op.rhs))


def _exchange_bits(w: Writer, op: ops.ExchangeBits) -> Text:
    value = w.typed(op.value)
    if op.mask == op.value.shape[op.axis] - 1:
        return call("tl.flip", value, str(op.axis))
    return call("tl.exchange", value, str(op.axis), str(op.mask))


def _gather(w: Writer, op: ops.Gather) -> Text:
    return call("tl.gather", w.typed(op.value), w.typed(op.index), str(op.axis))


def _histogram(w: Writer, op: ops.Histogram) -> Text:
    options = [] if op.mask is None else [f"mask={w.typed(op.mask).source}"]
    return call("tl.histogram", w.typed(op.value), str(op.num_bins), *options)


EXPRESSIONS: dict[type[Op], Callable[[Writer, Any], Text]] = {
    ops.ProgramId: lambda w, op: Text(f"tl.program_id({op.axis})"),
    ops.NumPrograms: lambda w, op: Text(f"tl.num_programs({op.axis})"),
    ops.Arange: lambda w, op: Text(f"tl.arange({op.start}, {op.end})"),
    ops.Constant: lambda w, op: full(op.value, op.type),
    ops.Binary: _binary,
    ops.Compare: _compare,
    ops.Select: _select,
    ops.Unary: _unary,
    ops.Math: _math,
    ops.Approximate: _approximate,
    ops.Fma: _fma,
    ops.Cast: _cast,
    ops.Bitcast: _bitcast,
    ops.AddPointer: _add_pointer,
    ops.Load: memory.load,
    ops.AtomicRmw: memory.atomic_rmw,
    ops.AtomicCas: memory.atomic_cas,
    ops.Dot: _dot,
    ops.Splat: _broadcast,
    ops.Broadcast: _broadcast,
    ops.ExpandDims: _expand_dims,
    ops.Reshape: _reshape,
    ops.Transpose: _transpose,
    ops.Join: _join,
    ops.ExchangeBits: _exchange_bits,
    ops.Gather: _gather,
    ops.Histogram: _histogram,
}
