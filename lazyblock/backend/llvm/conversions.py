"""Casts between numbers in LLVM IR: exact, without functions that a target lacks.

Halves and float8s travel as their bits. They convert by instructions where the target has those,
else in integer arithmetic.
"""

from __future__ import annotations

from lazyblock.backend.llvm.site import Site
from lazyblock.backend.llvm.types import llvm_scalar, llvm_type, mangled, vector_of
from lazyblock.target import Target
from lazyblock.tiler.types import (
    FLOAT8_FORMATS,
    ScalarType,
    float8_e4b15,
    float8_e5m2,
    float16,
    float32,
    float64,
    int1,
    int16,
    int32,
    uint8,
    uint16,
    uint32,
    uint64,
)


def emit_cast(site: Site, value: str, to: ScalarType) -> str:
    """Convert `value` of the site's element to `to`, as ops.Cast says."""
    source = site.scalar
    if to == int1:
        return _to_bool(site, value)
    if source.is_float8:
        return _from_float8(site, value, to)
    if to.is_float8:
        return _to_float8(site, value, to)
    if source.is_half:
        wide = _from_half(site, value)
        return wide if to == float32 else emit_cast(site.of(float32), wide, to)
    if to.is_half:
        return _to_half(site, value, to)
    if source.is_floating:
        return _from_float(site, value, to)
    if to.is_floating:
        return site.convert("sitofp" if source.is_signed else "uitofp", value, to)
    return _resize(site, value, to)


def emit_cast_toward_zero(site: Site, value: str, to: ScalarType) -> str:
    """Convert to a narrower float: to the number before the nearest if that is beyond `value`."""
    is_double = site.element == float64
    wide = site if is_double else site.of(float32)
    exact = value if is_double else _cast_or_keep(site, value, float32)
    near = emit_cast(site, value, to)
    back = _cast_or_keep(site.of(to), near, wide.scalar)
    size = wide.call("fabs", exact)
    is_beyond = wide.do("fcmp ogt", wide.call("fabs", back), size)
    codes = site.of(_CODES[to.bits])
    bits = site.of(to).convert("bitcast", near, uint32) if to == float32 else near
    before = codes.do("sub", bits, codes.constant(1))
    if not to.is_float8:
        bits = codes.select(is_beyond, before, bits)
        return codes.convert("bitcast", bits, to) if to == float32 else bits
    form = FLOAT8_FORMATS[to]
    if not form.has_negative_zero:
        is_zero = codes.do("icmp eq", before, codes.constant(form.nan))
        before = codes.select(is_zero, codes.constant(0), before)
    bits = codes.select(is_beyond, before, bits)
    is_finite = wide.do("fcmp olt", size, wide.constant(float("inf")))
    is_lost = site.of(int1).do("and", wide.do("fcmp uno", back, back), is_finite)
    largest = codes.do("or", codes.constant(form.largest), _sign_code(wide, exact))
    return codes.select(is_lost, largest, bits)


def _cast_or_keep(site: Site, value: str, to: ScalarType) -> str:
    """`value` in type `to`, which it may have already."""
    return value if site.element == to else emit_cast(site, value, to)


def _to_bool(site: Site, value: str) -> str:
    if site.scalar.is_half:
        magnitude = site.of(int16).do("and", value, site.of(int16).constant(0x7FFF))
        return site.of(int16).do("icmp ne", magnitude, site.of(int16).constant(0))
    if site.scalar.is_float8:
        codes, form = site.of(uint8), FLOAT8_FORMATS[site.scalar]
        size = codes.do("and", value, codes.constant(0x7F)) if form.has_negative_zero else value
        return codes.do("icmp ne", size, codes.constant(0))
    if site.scalar.is_floating:
        return site.do("fcmp une", value, site.constant(0.0))
    return site.do("icmp ne", value, site.constant(0))


def _resize(site: Site, value: str, to: ScalarType) -> str:
    if to.bits == site.scalar.bits:
        return value
    if to.bits < site.scalar.bits:
        return site.convert("trunc", value, to)
    return site.convert("sext" if site.scalar.is_signed else "zext", value, to)


def _from_float(site: Site, value: str, to: ScalarType) -> str:
    if to.is_floating:
        return site.convert("fpext" if to.bits == 64 else "fptrunc", value, to)
    return (_saturate if site.target.is_gpu else _saturate_by_selects)(site, value, to)


def _saturate(site: Site, value: str, to: ScalarType) -> str:
    kind = "fptosi" if to.is_signed else "fptoui"
    suffix = ".".join(mangled(llvm_scalar(e), site.width) for e in (to, site.element))
    result = llvm_type(to, site.width)
    return site.emitter.call(result, f"llvm.{kind}.sat.{suffix}", (site.type, value))


def _saturate_by_selects(site: Site, value: str, to: ScalarType) -> str:
    """Saturation in vectors; x86 would do LLVM's own lane by lane."""
    lowest = -(1 << to.bits - 1) if to.is_signed else 0
    highest = lowest + (1 << to.bits) - 1
    is_high = site.do("fcmp oge", value, site.constant(float(highest + 1)))
    is_above = site.do("fcmp oge", value, site.constant(float(lowest)))
    is_low = site.do("fcmp olt", value, site.constant(float(lowest)))
    masks, result = site.of(int1), site.of(to)
    is_inside = masks.do("and", is_above, masks.do("xor", is_high, masks.constant(True)))
    inside = site.select(is_inside, value, site.constant(0.0))
    number = site.convert("fptosi" if to.is_signed else "fptoui", inside, to)
    clipped = result.select(is_high, result.constant(highest), number)
    return result.select(is_low, result.constant(lowest), clipped)


def _from_half(site: Site, value: str) -> str:
    """A half, given by its bits, as float32."""
    words = site.of(uint32)
    if site.element != float16:
        shifted = words.do("shl", site.convert("zext", value, uint32), words.constant(16))
        return words.convert("bitcast", shifted, float32)
    if has_half_conversion(site.target):
        half = site.convert("bitcast", value, "half")
        vector = vector_of("half", site.width)
        return site.emitter.value(f"fpext {vector} {half} to {llvm_type(float32, site.width)}")
    return _unpack_half(words, site.convert("zext", value, uint32))


def _to_half(site: Site, value: str, to: ScalarType) -> str:
    """The bits of `value` rounded to a half type."""
    floats = site.of(float32)
    if site.element == float64:
        narrow = (
            _round_to_odd(site, value) if to == float16 else site.convert("fptrunc", value, float32)
        )
        return _to_half(floats, narrow, to)
    if site.element != float32:
        return _to_half(floats, emit_cast(site, value, float32), to)
    native = {True: "half", False: "bfloat"}[to == float16]
    if site.target.is_gpu or (to == float16 and has_half_conversion(site.target)):
        rounded = floats.convert("fptrunc", value, native)
        return site.emitter.value(
            f"bitcast {vector_of(native, site.width)} {rounded} to {llvm_type(int16, site.width)}"
        )
    pack = _pack_half if to == float16 else _pack_bfloat
    return pack(site, value)


def has_half_conversion(target: Target) -> bool:
    """Whether the processor converts float16 itself (else LLVM would call a runtime library)."""
    if target.is_gpu:
        return True
    features = target.features.split(",")
    return "+f16c" in features or "+fp-armv8" in features


def _round_to_odd(site: Site, value: str) -> str:
    """float64 to float32, an inexact result taking its odd neighbour: rounds to f16 once in all."""
    floats, words = site.of(float32), site.of(int32)
    near = site.convert("fptrunc", value, float32)
    back = floats.convert("fpext", near, float64)
    bits = floats.convert("bitcast", near, int32)
    is_above = site.do("fcmp ogt", site.call("fabs", back), site.call("fabs", value))
    below = words.do("sub", bits, words.constant(1))
    odd = words.do("or", words.select(is_above, below, bits), words.constant(1))
    is_inexact = site.do("fcmp one", back, value)
    return words.convert("bitcast", words.select(is_inexact, odd, bits), float32)


def _pack_bfloat(site: Site, value: str) -> str:
    """float32 to bfloat16 to nearest even by adding just under half a unit, NaN kept quiet."""
    words = site.of(uint32)
    bits = site.convert("bitcast", value, uint32)
    high = words.do("lshr", bits, words.constant(16))
    is_odd = words.do("and", high, words.constant(1))
    bias = words.do("add", is_odd, words.constant(0x7FFF))
    rounded = words.do("lshr", words.do("add", bits, bias), words.constant(16))
    quiet = words.do("or", high, words.constant(0x40))
    chosen = words.select(site.do("fcmp uno", value, value), quiet, rounded)
    return words.convert("trunc", chosen, int16)


def _pack_half(site: Site, value: str) -> str:
    """float32 to float16 to nearest even in integer arithmetic.

    Normal results: re-bias the exponent and add just under half a unit. Subnormal ones: adding 0.5
    to the magnitude lets the float adder round at the right bit.
    """
    words = site.of(uint32)
    c = words.constant
    bits = site.convert("bitcast", value, uint32)
    sign = words.do("and", words.do("lshr", bits, c(16)), c(0x8000))
    magnitude = words.do("and", bits, c(0x7FFFFFFF))
    is_odd = words.do("and", words.do("lshr", magnitude, c(13)), c(1))
    rebiased = words.do("add", words.do("add", magnitude, c(((15 - 127) << 23) + 0xFFF)), is_odd)
    normal = words.do("lshr", rebiased, c(13))
    shifted = site.do("fadd", site.call("fabs", value), site.constant(0.5))
    small = words.do("sub", site.convert("bitcast", shifted, uint32), c(126 << 23))
    finite = words.select(words.do("icmp ult", magnitude, c(113 << 23)), small, normal)
    is_nan = words.do("icmp ugt", magnitude, c(255 << 23))
    payload = words.do("or", words.do("lshr", magnitude, c(13)), c(0x7E00))
    special = words.select(is_nan, words.do("and", payload, c(0x7FFF)), c(0x7C00))
    is_large = words.do("icmp uge", magnitude, c(143 << 23))
    result = words.do("or", words.select(is_large, special, finite), sign)
    return words.convert("trunc", result, int16)


def _unpack_half(words: Site, half: str) -> str:
    """float16 bits (in u32) to float32: re-bias; a float subtraction normalises subnormals."""
    c = words.constant
    sign = words.do("shl", words.do("and", half, c(0x8000)), c(16))
    moved = words.do("shl", words.do("and", half, c(0x7FFF)), c(13))
    exponent = words.do("and", moved, c(0x0F800000))
    normal = words.do("add", moved, c(112 << 23))
    special = words.do("add", normal, c(112 << 23))
    floats = words.of(float32)
    raised = words.convert("bitcast", words.do("add", normal, c(1 << 23)), float32)
    small = floats.do("fsub", raised, floats.constant(2.0**-14))
    subnormal = floats.convert("bitcast", small, uint32)
    is_special = words.do("icmp eq", exponent, c(0x0F800000))
    is_small = words.do("icmp eq", exponent, c(0))
    chosen = words.select(is_special, special, words.select(is_small, subnormal, normal))
    return words.convert("bitcast", words.do("or", chosen, sign), float32)


# --- float8 --------------------------------------------------------------------------------------


def _from_float8(site: Site, value: str, to: ScalarType) -> str:
    """A float8, given by its bits, as any number."""
    if site.element in (float8_e5m2, float8_e4b15):
        return _cast_or_keep(site.of(float16), _widen_float8(site, value), to)
    return _cast_or_keep(site.of(float32), _unpack_float8(site, value), to)


def _widen_float8(site: Site, value: str) -> str:
    """The bits of a float16, whose upper part this float8 is, or lacks an exponent bit of."""
    words = site.of(uint16)
    wide = site.of(uint8).convert("zext", value, uint16)
    if site.element == float8_e5m2:
        return words.do("shl", wide, words.constant(8))
    size = words.do("shl", words.do("and", wide, words.constant(0x7F)), words.constant(7))
    sign = words.do("shl", words.do("and", wide, words.constant(0x80)), words.constant(8))
    return words.do("or", size, sign)


def _unpack_float8(site: Site, value: str) -> str:
    """To float32: re-bias the exponent; a float subtraction normalises subnormals."""
    form, words, floats = FLOAT8_FORMATS[site.scalar], site.of(uint32), site.of(float32)
    c = words.constant
    code = site.of(uint8).convert("zext", value, uint32)
    magnitude = words.do("and", code, c(0x7F))
    moved = words.do("shl", magnitude, c(23 - form.mantissa_bits))
    normal = words.do("add", moved, c(127 - form.bias << 23))
    raised = words.convert("bitcast", words.do("add", normal, c(1 << 23)), float32)
    small = floats.do("fsub", raised, floats.constant(2.0 ** (1 - form.bias)))
    is_small = words.do("icmp ult", magnitude, c(1 << form.mantissa_bits))
    number = words.select(is_small, floats.convert("bitcast", small, uint32), normal)
    sign = words.do("shl", words.do("and", code, c(0x80)), c(24))
    signed = words.do("or", number, sign)
    has_all = magnitude if form.has_negative_zero else code
    is_nan = words.do("icmp eq", has_all, c(form.nan))
    return words.convert("bitcast", words.select(is_nan, c(0x7FC00000), signed), float32)


def _to_float8(site: Site, value: str, to: ScalarType) -> str:
    """The bits of `value` rounded to a float8, by way of float32."""
    floats, words = site.of(float32), site.of(uint32)
    single = _cast_or_keep(site, value, float32)
    return words.convert("trunc", _pack_float8(floats, single, to), uint8)


def _pack_float8(site: Site, value: str, to: ScalarType) -> str:
    """float32 to a float8 to nearest even, in integer arithmetic.

    Normal results: re-bias the exponent and add just under half a unit. Subnormal ones: adding a
    number whose unit is theirs lets the float adder round.
    """
    form, words = FLOAT8_FORMATS[to], site.of(uint32)
    c, dropped = words.constant, 23 - form.mantissa_bits
    magnitude = words.do("and", site.convert("bitcast", value, uint32), c(0x7FFFFFFF))
    is_odd = words.do("and", words.do("lshr", magnitude, c(dropped)), c(1))
    bias = (form.bias - 127 << 23) + (1 << dropped - 1) - 1
    raised = words.do("add", words.do("add", magnitude, c(bias)), is_odd)
    normal = words.do("lshr", raised, c(dropped))
    adder = 2.0 ** (24 - form.bias - form.mantissa_bits)
    shifted = site.do("fadd", site.call("fabs", value), site.constant(adder))
    unit = site.convert("bitcast", shifted, uint32)
    small = words.do("sub", unit, c(127 + 24 - form.bias - form.mantissa_bits << 23))
    is_small = words.do("icmp ult", magnitude, c(128 - form.bias << 23))
    code = words.call("umin", words.select(is_small, small, normal), c(form.overflow))
    sign = site.of(uint8).convert("zext", _sign_code(site, value), uint32)
    signed = words.do("or", code, sign)
    if not form.has_negative_zero:
        signed = words.select(words.do("icmp eq", code, c(0)), code, signed)
    is_nan = words.do("icmp ugt", magnitude, c(0x7F800000))
    return words.select(is_nan, c(form.nan), signed)


def _sign_code(site: Site, value: str) -> str:
    """The sign of a float32 or float64 as the highest bit of a byte."""
    bits = _CODES[site.scalar.bits]
    words = site.of(bits)
    moved = words.do("lshr", site.convert("bitcast", value, bits), words.constant(bits.bits - 8))
    codes = words.of(uint8)
    return codes.do("and", words.convert("trunc", moved, uint8), codes.constant(0x80))


_CODES = {8: uint8, 16: uint16, 32: uint32, 64: uint64}
