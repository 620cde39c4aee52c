"""How each elementwise op is written in LLVM IR, for both targets: tables of op -> rule.

Comes in: an op of tiler/ops/arith.py and the names of its operands, scalars or vectors of `width`.
Goes out: the name of its result. Semantics are exactly those documented on the ops: nothing here is
undefined behaviour, traps, or depends on fast-math flags. No rule uses a function that a target
cannot select (LLVM would end the process).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lazyblock.backend.llvm.conversions import emit_cast, emit_cast_toward_zero
from lazyblock.backend.llvm.emit import Emitter
from lazyblock.backend.llvm.remainder import emit_fmod
from lazyblock.backend.llvm.site import Site, emit_any
from lazyblock.backend.llvm.types import constant_text, llvm_scalar, mangled, splat_text, vector_of
from lazyblock.errors import UnsupportedError
from lazyblock.target import Target
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Op, Region
from lazyblock.tiler.types import (
    SCALARS,
    Element,
    PointerType,
    ScalarType,
    int1,
    uint16,
    uint32,
    uint64,
)

_BITS_OF = {16: uint16, 32: uint32, 64: uint64}


def emit_elementwise(
    emitter: Emitter, op: Op, operands: Sequence[str], width: int, target: Target
) -> str:
    """Write one elementwise op on scalars (width 1) or vectors; gives the result's name.

    Raises: UnsupportedError for an op, or a kind on a type, that has no rule.
    """
    site = Site(emitter, target, op.results[0].type.element, width)
    match op:
        case ops.Unary():
            return _choose(_UNARY, op.kind, site)(site, *operands)
        case ops.Binary():
            return _choose(_BINARY, op.kind, site)(site, *operands)
        case ops.Compare():
            return _compare(site.of(op.lhs.type.element), op.kind, *operands)
        case ops.Select():
            return site.select(*operands)
        case ops.Rarely():
            return _rarely(site, op, *operands)
        case ops.Fma():
            return site.call("fma", *operands)
        case ops.Approximate() if target.is_gpu:
            return _approximate(site, op.function, *operands)
        case ops.Cast():
            source = site.of(op.value.type.scalar)
            convert = emit_cast_toward_zero if op.rounding else emit_cast
            return convert(source, operands[0], SCALARS[op.element])
        case ops.Bitcast():
            return _bitcast(site.of(op.value.type.element), operands[0], op.result.type.element)
    raise UnsupportedError(f"op '{op.name}' has no LLVM rule.")


def _rarely(site: Site, op: ops.Rarely, condition: str, value: str, *arguments: str) -> str:
    """A branch around the region, for whoever needs it."""
    emitter, before = site.emitter, site.emitter.label
    rare, after = (emitter.fresh_label(hint) for hint in ("rare", "after"))
    emitter.branch_if(emit_any(site.of(int1), condition), rare, after)
    emitter.begin(rare)
    found = _emit_region(site, op.rare, arguments)
    if site.width > 1:
        found = site.select(condition, found, value)
    end = emitter.label
    emitter.branch(after)
    emitter.begin(after)
    return emitter.phi(site.type, (value, before), (found, end))


def _emit_region(site: Site, region: Region, arguments: Sequence[str]) -> str:
    """The value that a region of elementwise ops yields."""
    names = dict(zip(region.arguments, arguments, strict=True))
    for op in region.ops:
        if isinstance(op, ops.Constant):
            names[op.result] = constant_text(op.value, op.result.type.scalar, site.width)
        elif not isinstance(op, ops.Yield):
            operands = [names[operand] for operand in op.operands_flat]
            names[op.result] = emit_elementwise(site.emitter, op, operands, site.width, site.target)
    (result,) = region.terminator.operands_flat
    return names[result]


# --- choosing a rule -----------------------------------------------------------------------------

Rule = Callable[..., str]


def _class_of(element: Element) -> str:
    """The column of the tables an element belongs to: "f", "i" (signed), "u", "b" (bool), "h"."""
    assert isinstance(element, ScalarType)
    if element.bits == 1:
        return "b"
    return "h" if element.is_half else element.kind


def _choose(table: dict[str, dict[str, Rule]], kind: str, site: Site) -> Rule:
    rule = table[kind].get(_class_of(site.element))
    if rule is None:
        raise UnsupportedError(f"'{kind}' on {site.element} has no LLVM rule.")
    return rule


def _instruction(opcode: str) -> Rule:
    return lambda site, *operands: site.do(opcode, *operands)


def _half_instruction(opcode: str) -> Rule:
    """On halves, which a GPU has in registers of their own type."""

    def rule(site: Site, *operands: str) -> str:
        half = vector_of("bfloat" if site.scalar.name == "bf16" else "half", site.width)
        cast = [site.emitter.value(f"bitcast {site.type} {o} to {half}") for o in operands]
        result = site.emitter.value(f"{opcode} {half} {', '.join(cast)}")
        return site.emitter.value(f"bitcast {half} {result} to {site.type}")

    return rule


def _intrinsic(name: str) -> Rule:
    return lambda site, *operands: site.call(name, *operands)


def _first(site: Site, value: str, *rest: str) -> str:
    return value


def _zero(site: Site, *operands: str) -> str:
    return site.constant(0)


# --- integers ------------------------------------------------------------------------------------


def _negate(site: Site, value: str) -> str:
    return site.do("sub", site.constant(0), value)


def _invert(site: Site, value: str) -> str:
    return site.do("xor", value, site.constant(-1))


def _absolute(site: Site, value: str) -> str:
    name = f"llvm.abs.{mangled(llvm_scalar(site.element), site.width)}"
    return site.emitter.call(site.type, name, (site.type, value), ("i1", "false"))


def _safe_divisor(site: Site, lhs: str, rhs: str, is_zero: str) -> str:
    """`rhs`, with 1 where dividing by it would trap (MIN / -1 is MIN, as is MIN / 1)."""
    unsafe = is_zero
    if site.scalar.is_signed:
        is_minimum = site.do("icmp eq", lhs, site.constant(1 << site.scalar.bits - 1))
        is_minus_one = site.do("icmp eq", rhs, site.constant(-1))
        masks = site.of(int1)
        unsafe = masks.do("or", is_zero, masks.do("and", is_minimum, is_minus_one))
    return site.select(unsafe, site.constant(1), rhs)


def _divide(site: Site, lhs: str, rhs: str) -> str:
    is_zero = site.do("icmp eq", rhs, site.constant(0))
    divisor = _safe_divisor(site, lhs, rhs, is_zero)
    quotient = site.do("sdiv" if site.scalar.is_signed else "udiv", lhs, divisor)
    return site.select(is_zero, site.constant(0), quotient)


def _remainder(site: Site, lhs: str, rhs: str) -> str:
    is_zero = site.do("icmp eq", rhs, site.constant(0))
    divisor = _safe_divisor(site, lhs, rhs, is_zero)
    return site.do("srem" if site.scalar.is_signed else "urem", lhs, divisor)


def _multiply_high(site: Site, lhs: str, rhs: str) -> str:
    """The pattern that LLVM knows as one instruction where there is one."""
    bits = site.scalar.bits
    wide = vector_of(f"i{2 * bits}", site.width)
    x, y = (site.convert("zext", operand, f"i{2 * bits}") for operand in (lhs, rhs))
    product = site.emitter.value(f"mul {wide} {x}, {y}")
    count = splat_text(f"i{2 * bits}", str(bits), site.width)
    high = site.emitter.value(f"lshr {wide} {product}, {count}")
    return site.emitter.value(f"trunc {wide} {high} to {site.type}")


def _shift(opcode: str) -> Rule:
    def rule(site: Site, value: str, count: str) -> str:
        bits = site.scalar.bits
        is_small = site.do("icmp ult", count, site.constant(bits))
        shifted = site.do(opcode, value, site.do("and", count, site.constant(bits - 1)))
        return site.select(is_small, shifted, site.constant(0))

    return rule


def _shift_right_signed(site: Site, value: str, count: str) -> str:
    return site.do("ashr", value, site.call("umin", count, site.constant(site.scalar.bits - 1)))


def _shift_bool(site: Site, value: str, count: str) -> str:
    return site.do("and", value, _invert(site, count))


# --- floats --------------------------------------------------------------------------------------


def _bits(site: Site, value: str) -> tuple[Site, str]:
    """The bit pattern of a float, and the site to work on it."""
    bits = site.of(_BITS_OF[site.scalar.bits])
    return bits, site.convert("bitcast", value, bits.element)


def _extremum(kind: str) -> Rule:
    """max or min: NaN if either is NaN, +0 above -0."""

    def rule(site: Site, lhs: str, rhs: str) -> str:
        # PTX has max.NaN for f32 only
        if not site.target.is_gpu or site.scalar.bits == 32:
            return site.call({"max": "maximum", "min": "minimum"}[kind], lhs, rhs)
        is_ordered = site.do("fcmp ord", lhs, rhs)
        return site.select(
            is_ordered, _ordered_extremum(kind, site, lhs, rhs), site.do("fadd", lhs, rhs)
        )

    return rule


def _ordered_extremum(kind: str, site: Site, lhs: str, rhs: str) -> str:
    """max or min of numbers: equal ones (zeros of any sign) combine by their bits."""
    order, merge = {"max": ("ogt", "and"), "min": ("olt", "or")}[kind]
    better = site.select(site.do(f"fcmp {order}", lhs, rhs), lhs, rhs)
    bits, left = _bits(site, lhs)
    merged = bits.convert("bitcast", bits.do(merge, left, _bits(site, rhs)[1]), site.element)
    return site.select(site.do("fcmp oeq", lhs, rhs), merged, better)


def _number_extremum(kind: str) -> Rule:
    """maxnum or minnum: the other operand where one is NaN."""

    def rule(site: Site, lhs: str, rhs: str) -> str:
        best = _ordered_extremum(kind, site, lhs, rhs)
        best = site.select(site.do("fcmp uno", lhs, lhs), rhs, best)
        return site.select(site.do("fcmp uno", rhs, rhs), lhs, best)

    return rule


def divide_normal(site: Site, x: str, y: str) -> str:
    """Division without the checks for special operands that a GPU's division makes.

    The steps are those of its usual path: a reciprocal that is nearly right, made right by one
    Newton step, and a quotient corrected twice, which rounds correctly (Markstein).
    """
    if not site.target.is_gpu or site.scalar.bits != 32:
        return site.do("fdiv", x, y)
    negative = site.do("fneg", y)
    reciprocal = _reciprocal_normal(site, y, negative)
    if x == site.constant(1.0):
        return reciprocal
    quotient = site.do("fmul", x, reciprocal)
    for _ in range(2):
        rest = site.call("fma", negative, quotient, x)
        quotient = site.call("fma", rest, reciprocal, quotient)
    return quotient


def _reciprocal_normal(site: Site, y: str, negative: str) -> str:
    """1 / y, rounded correctly but where all bits of y's mantissa are set."""
    rough = _approximate(site, "reciprocal", y)
    error = site.call("fma", negative, rough, site.constant(1.0))
    return site.call("fma", rough, error, rough)


def _approximate(site: Site, function: str, value: str) -> str:
    """One instruction of a GPU."""
    name = f"llvm.nvvm.{APPROXIMATE_INTRINSICS[function]}"
    return site.emitter.call(site.type, name, (site.type, value))


# by the functions of ops.Approximate
APPROXIMATE_INTRINSICS = {
    "exp2": "ex2.approx.ftz.f32",
    "log2": "lg2.approx.ftz.f",
    "reciprocal": "rcp.approx.ftz.f",
    "rsqrt": "rsqrt.approx.ftz.f",
    "sqrt": "sqrt.approx.ftz.f",
}


# --- tables --------------------------------------------------------------------------------------


def _row(
    f: Rule | None = None,
    i: Rule | None = None,
    u: Rule | None = None,
    b: Rule | None = None,
    h: Rule | None = None,
) -> dict[str, Rule]:
    """Rules by class of element: float, signed, unsigned (if not told as signed), bool (so too).

    h: halves, where a GPU computes on them.
    """
    u = u or i
    pairs = {"f": f, "i": i, "u": u, "b": b or u, "h": h}
    return {key: rule for key, rule in pairs.items() if rule is not None}


_AND, _OR, _XOR = _instruction("and"), _instruction("or"), _instruction("xor")

_UNARY: dict[str, dict[str, Rule]] = {
    "neg": _row(_instruction("fneg"), _negate, b=_first),
    "abs": _row(_intrinsic("fabs"), _absolute, u=_first),
    "not": _row(i=_invert),
    "sqrt": _row(_intrinsic("sqrt")),
    "floor": _row(_intrinsic("floor")),
    "ceil": _row(_intrinsic("ceil")),
    "trunc": _row(_intrinsic("trunc")),
    "rint": _row(_intrinsic("rint")),
}

_BINARY: dict[str, dict[str, Rule]] = {
    "add": _row(_instruction("fadd"), _instruction("add"), b=_XOR, h=_half_instruction("fadd")),
    "sub": _row(_instruction("fsub"), _instruction("sub"), b=_XOR, h=_half_instruction("fsub")),
    "mul": _row(_instruction("fmul"), _instruction("mul"), b=_AND, h=_half_instruction("fmul")),
    "div": _row(_instruction("fdiv"), _divide, b=_AND),
    "div_normal": _row(divide_normal),
    "rem": _row(emit_fmod, _remainder, b=_zero),
    "and": _row(i=_AND),
    "or": _row(i=_OR),
    "xor": _row(i=_XOR),
    "shl": _row(i=_shift("shl"), b=_shift_bool),
    "shr": _row(i=_shift_right_signed, u=_shift("lshr"), b=_shift_bool),
    "max": _row(_extremum("max"), _intrinsic("smax"), _intrinsic("umax"), _OR),
    "min": _row(_extremum("min"), _intrinsic("smin"), _intrinsic("umin"), _AND),
    "maxnum": _row(_number_extremum("max")),
    "minnum": _row(_number_extremum("min")),
    "mulhi": _row(i=_multiply_high, b=_zero),
}

_FLOAT_PREDICATES = {
    "eq": "oeq",
    "ne": "une",
    "lt": "olt",
    "le": "ole",
    "gt": "ogt",
    "ge": "oge",
}


def _compare(site: Site, kind: str, lhs: str, rhs: str) -> str:
    element = site.element
    if isinstance(element, ScalarType) and element.is_floating:
        if element.is_half:
            raise UnsupportedError(f"'{kind}' on {element} has no LLVM rule.")
        return site.do(f"fcmp {_FLOAT_PREDICATES[kind]}", lhs, rhs)
    is_signed = isinstance(element, ScalarType) and element.is_signed
    order = kind if kind in ("eq", "ne") else ("s" if is_signed else "u") + kind
    return site.do(f"icmp {order}", lhs, rhs)


def _bitcast(site: Site, value: str, to: Element) -> str:
    if llvm_scalar(site.element) == llvm_scalar(to):
        return value
    if isinstance(to, PointerType):
        return site.convert("inttoptr", value, to)
    opcode = "ptrtoint" if isinstance(site.element, PointerType) else "bitcast"
    return site.convert(opcode, value, to)
