"""C's fmod: one division where the quotient is exact enough, else long division by lanes."""

from __future__ import annotations

from dataclasses import replace

from lazyblock.backend.llvm.emit import Emitter
from lazyblock.backend.llvm.site import Site, emit_all
from lazyblock.backend.llvm.types import llvm_scalar, mangled
from lazyblock.tiler.types import int1


def emit_fmod(site: Site, lhs: str, rhs: str) -> str:
    """C's fmod, by a helper function of this width."""
    name = f"lazyblock.fmod.{mangled(llvm_scalar(site.element), site.width)}"
    if not site.emitter.has_helper(name):
        _add_fmod(site, name)
    return site.emitter.call(site.type, name, (site.type, lhs), (site.type, rhs))


def _add_fmod(site: Site, name: str) -> None:
    """Define fmod.

    With q = trunc(x / y) below 2^23 (2^52), q is the true quotient or one more, and x - q * y is
    exact as one fma; a negative rest takes y back, exactly too.
    """
    inner = Emitter()
    vector = replace(site, emitter=inner)
    masks = vector.of(int1)
    x, y = vector.call("fabs", "%x"), vector.call("fabs", "%y")
    ratio = vector.do("fdiv", x, y)
    negative = vector.do("fneg", vector.call("trunc", ratio))
    rest = vector.call("fma", negative, y, x)
    corrected = vector.do("fadd", rest, y)
    rest = vector.select(vector.do("fcmp olt", rest, vector.constant(0.0)), corrected, rest)
    is_small = vector.do("fcmp olt", x, y)
    rest = vector.select(is_small, x, rest)
    limit = vector.constant(2.0 ** {32: 23, 64: 52}[site.scalar.bits])
    is_easy = masks.do("or", is_small, vector.do("fcmp olt", ratio, limit))
    result = _with_slow_lanes(vector, (x, y), rest, is_easy)
    result = vector.call("copysign", result, "%x")
    inner.line(f"ret {site.type} {result}")
    signature = f"internal {site.type} @{name}({site.type} %x, {site.type} %y)"
    site.emitter.add_helper(name, inner.function(signature, "nounwind "))
    site.emitter.absorb(inner)


def _with_slow_lanes(vector: Site, operands: tuple[str, str], fast: str, is_easy: str) -> str:
    """`fast`, with the lanes that are not easy computed by long division."""
    emitter, lane = vector.emitter, replace(vector, width=1)
    all_easy = emit_all(vector.of(int1), is_easy)
    slow, done = emitter.fresh_label("slow"), emitter.fresh_label("done")
    before = emitter.label
    emitter.branch_if(all_easy, done, slow)
    emitter.begin(slow)
    if vector.width == 1:
        repaired = _long_division(lane, *operands)
    else:
        count = str(vector.width)
        with emitter.loop("i32", "0", count, "1", [(vector.type, fast)]) as loop:
            x, y, easy = (
                emitter.value(f"extractelement {kind} {value}, i32 {loop.index}")
                for kind, value in (
                    (vector.type, operands[0]),
                    (vector.type, operands[1]),
                    (vector.mask_type, is_easy),
                )
            )
            kept = emitter.value(f"extractelement {vector.type} {fast}, i32 {loop.index}")
            chosen = lane.select(easy, kept, _long_division(lane, x, y))
            (current,) = loop.carried
            loop.following = [
                emitter.value(
                    f"insertelement {vector.type} {current}, {lane.type} {chosen}, i32 {loop.index}"
                )
            ]
        (repaired,) = loop.carried
    last = emitter.label
    emitter.branch(done)
    emitter.begin(done)
    return emitter.phi(vector.type, (fast, before), (repaired, last))


def _long_division(lane: Site, x: str, y: str) -> str:
    """fmod of non-negative scalars: halve 2^k y, subtracting where it fits; all steps are exact.

    NaN unless x is finite and y a number above 0. y doubles while 2^k y <= x / 2: it stays finite.
    """
    name = f"lazyblock.long_fmod.{mangled(llvm_scalar(lane.element))}"
    if not lane.emitter.has_helper(name):
        text = _LONG_DIVISION.format(name=name, type=lane.type, half=lane.constant(0.5))
        lane.emitter.add_helper(name, text)
    return lane.emitter.call(lane.type, name, (lane.type, x), (lane.type, y))


_LONG_DIVISION = """\
define internal {type} @{name}({type} %x, {type} %y) nounwind noinline {{
entry:
  %zero = fsub {type} %x, %x
  %is_finite = fcmp oeq {type} %zero, 0.0
  %is_positive = fcmp ogt {type} %y, 0.0
  %is_fine = and i1 %is_finite, %is_positive
  br i1 %is_fine, label %start, label %nan
nan:
  ret {type} 0x7FF8000000000000
start:
  %limit = fmul {type} %x, {half}
  br label %grow
grow:
  %divisor = phi {type} [ %y, %start ], [ %doubled, %again ]
  %fits = fcmp ole {type} %divisor, %limit
  br i1 %fits, label %again, label %reduce
again:
  %doubled = fadd {type} %divisor, %divisor
  br label %grow
reduce:
  %rest = phi {type} [ %x, %grow ], [ %next_rest, %reduce ]
  %power = phi {type} [ %divisor, %grow ], [ %halved, %reduce ]
  %is_below = fcmp olt {type} %rest, %power
  %difference = fsub {type} %rest, %power
  %next_rest = select i1 %is_below, {type} %rest, {type} %difference
  %halved = fmul {type} %power, {half}
  %is_done = fcmp ole {type} %power, %y
  br i1 %is_done, label %done, label %reduce
done:
  ret {type} %next_rest
}}
"""
