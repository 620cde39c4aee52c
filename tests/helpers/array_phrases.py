"""Parts of drawn NumPy programs: arrays, views, indices, operands, settings, as source text.

A phrase is a function of the `Drawer` that writes the program. The first array of a call is its
subject: axes, masks, indices and operands drawn after it fit it. Phrases also keep to what NumPy
defines: floats become integers only where those hold them, and sums of floats are sums of small
whole numbers, whose order does not show.
"""

import numpy as np

from tests.helpers import array_settings as settings
from tests.helpers.array_dtypes import (
    DRAWN,
    EXACT_BOUNDS,
    EXTENTS,
    FLOATS,
    INTEGERS,
    LARGE_SHAPES,
    MOST_ADDED,
    REFUSALS,
    SCALARS,
    SPECIAL,
    WHOLE,
    dtype_text,
    is_float,
)

# Arrays


def new_array(drawer):
    """Text that makes an array: small numbers, special values or extremes; 0 to 4 axes."""
    name, shape = drawer.pick(DRAWN), new_shape(drawer)
    size = int(np.prod(shape, dtype=int))
    low = 0 if name[0] == "u" else 5
    first, step = drawer.integer(0, 5), drawer.pick([1, 3, 7])
    text = f"((np.arange({size}) * {step} + {first}) % 11 - {low})"
    kind = drawer.integer(0, 3)
    if name[:3] == "com":
        text = f"({text} + 1j * (np.arange({size}) % 4))"
        if size and kind == 0:
            listed = ", ".join(f"complex({_special(drawer)}, {_special(drawer)})" for _ in "1234")
            text = f"np.resize([{listed}], {size})"
    elif name in FLOATS and size and kind < 2:
        listed = ", ".join(drawer.pick(SPECIAL) for _ in range(min(size, 5)))
        text = f"np.resize([{listed}], {size})"
    elif name in INTEGERS and size and kind == 0:
        limits = np.iinfo(name)
        corners = [limits.min, limits.max, limits.max // 2, 0, 1, limits.max - 1]
        listed = ", ".join(str(drawer.pick(corners)) for _ in range(min(size, 4)))
        text = f"np.resize(np.array([{listed}], '{name}'), {size})"
    text = f"{text}.reshape({shape}).astype({dtype_text(name)})"
    host = drawer.pick(["", "", "", ".T", "[..., ::-1]" if shape else "", ".copy(order='F')"])
    return f"xp.asarray({text}{host})"


def _special(drawer):
    return drawer.pick(SPECIAL)


def new_shape(drawer):
    """Of at most 300 elements, or of thousands."""
    if drawer.is_large:
        return drawer.pick(LARGE_SHAPES)
    shape = tuple(drawer.pick(EXTENTS) for _ in range(drawer.integer(0, 4)))
    while np.prod(shape, dtype=int) > 300:
        shape = shape[1:]
    return shape


def created(drawer):
    """Text of an array that a creation function makes."""
    shape = tuple(drawer.pick(EXTENTS[:8]) for _ in range(drawer.integer(0, 3)))
    name = drawer.pick([name for name in DRAWN if name != "bfloat16"])
    number = drawer.pick(["0", "1", "7", "100"])
    return drawer.pick(
        [
            f"xp.zeros({shape}, dtype='{name}')",
            f"xp.ones({shape}, dtype='{name}')",
            f"xp.full({shape}, {number}, dtype='{name}')",
            f"xp.full({shape}, {drawer.pick(SCALARS)})",
            f"xp.eye({drawer.integer(0, 5)}, {drawer.integer(0, 5)}, k={drawer.integer(-2, 2)})",
            f"xp.arange({drawer.integer(-3, 9)})",
            f"xp.arange({drawer.integer(-3, 3)}, {drawer.integer(-9, 9)}, {drawer.pick([2, -2])})",
            f"xp.asarray({[drawer.integer(-3, 3) for _ in range(drawer.integer(1, 5))]})",
            f"xp.asarray([{drawer.pick(SCALARS)}, {drawer.pick(SCALARS)}])",
        ]
    )


def any_array(drawer):
    """A variable, or a view of one."""
    name = drawer.name()
    shape = drawer.value(name).shape
    kind = drawer.integer(0, 9)
    text = name
    if kind in (0, 1):
        text = f"{name}[{settings.basic_index(drawer, shape)}]"
    elif kind == 2 and shape:
        text = f"{name}[::-1]"
    elif kind == 3:
        text = f"{name}.T"
    elif kind == 4:
        text = f"{name}.{drawer.pick(['reshape(-1)', 'ravel()', 'real', 'swapaxes(0, -1)'])}"
    try:
        drawer.value(text)
    except REFUSALS:
        text = name
    return text


def array(drawer):
    """An array, the call's subject if it is the first."""
    return drawer.about(any_array(drawer))


def whole(drawer):
    """A variable that may be written into: of broadcast arrays only some of NumPy's refuse it."""
    names = [f"v{n}" for n in range(drawer.count) if _is_writable(drawer.variables[f"v{n}"])]
    return drawer.about(drawer.pick(names or ["v0"]))


def _is_writable(value):
    return value.flags.writeable and (0 not in value.strides or value.size == 0)


def operand(drawer):
    """An array, a number, or something made of the subject, which fits it."""
    kind = drawer.integer(0, 7)
    subject = drawer.subject
    if kind < 2:
        return number(drawer)
    if kind < 5 and subject is not None:
        made = ["{}", "{}[::-1]", "{}[..., ::-1]", "{}[..., :1]", "{}[:1]", "({} * 2)", "({} > 0)"]
        text = drawer.pick(made).format(drawer.text)
        return text if subject.ndim else drawer.text
    return any_array(drawer)


def number(drawer):
    """A scalar. For NumPy Python's floats are not weak beside bfloat16."""
    is_bfloat16 = drawer.subject is not None and drawer.subject.dtype.name == "bfloat16"
    return drawer.pick(WHOLE[:7] if is_bfloat16 else SCALARS)


def fitting(drawer):
    """An operand that the subject's dtype can take when it is written there."""
    text = operand(drawer)
    return safe_cast(text, drawer.value(text), drawer.subject.dtype)


def safe_cast(text, value, dtype):
    """The text, bounded where C leaves the cast of a float to an integer open."""
    if value.dtype.kind == "c" and dtype.kind != "c":
        text, value = f"np.real({text})", value.real
    if not is_float(value) or dtype.kind not in "iu":
        return text
    low, high = safe_bounds(dtype)
    with np.errstate(all="ignore"):
        is_safe = np.all((value >= low) & (value <= high))
    return text if is_safe else f"np.clip({_numbers(text, value)}, {low}, {high})"


def safe_bounds(dtype):
    """Floats between these are in range, also after rounding to float16."""
    bits = 8 * dtype.itemsize - 2
    return (0 if dtype.kind == "u" else -(2 ** min(bits, 15))), 2 ** min(bits, 15)


def exact(drawer):
    """An array whose sums are exact in any order."""
    text = any_array(drawer)
    bound = EXACT_BOUNDS.get(drawer.value(text).dtype.name, 4)
    return drawer.about(_whole_numbers(drawer, text, bound))


def integer(drawer):
    """An array of integers or bools."""
    text = any_array(drawer)
    value = drawer.value(text)
    if value.dtype.kind not in "biu":
        name = drawer.pick(INTEGERS)
        text = f"{safe_cast(text, value, np.dtype(name))}.astype('{name}')"
    return drawer.about(text)


def cast(drawer):
    """An array made one of another dtype."""
    text, name = any_array(drawer), drawer.pick(DRAWN)
    dtype = np.dtype("float32" if name == "bfloat16" else name)
    text = safe_cast(text, drawer.value(text), dtype)
    name = dtype_text(name)
    forms = ["{0}.astype({1})", "np.astype({0}, {1})", "{0}.astype({1}, copy=False) + 0"]
    return drawer.about(drawer.pick([*forms, "xp.asarray({0}, dtype={1})"]).format(text, name))


def unit(drawer):
    """An array whose products are."""
    return drawer.about(_whole_numbers(drawer, any_array(drawer), 1))


def small(drawer):
    """An array of small whole numbers, whatever its dtype."""
    text = any_array(drawer)
    bound = EXACT_BOUNDS.get(drawer.value(text).dtype.name, 4)
    return drawer.about(_within(drawer, _whole_numbers(drawer, text, bound), 100))


def _whole_numbers(drawer, text, bound):
    value = drawer.value(text)
    if value.dtype.kind == "c":
        parts = np.stack([value.real, value.imag])
        if np.all((parts == np.rint(parts)) & (np.abs(parts) <= bound)):
            return text
        text, value = f"np.real({text})", value.real
    if value.size > MOST_ADDED.get(value.dtype.name, value.size):
        text, value = f"{text}.astype('float32')", value.astype("float32")
    return f"np.rint({_clipped(text, value, bound)})" if is_float(value) else text


def _numbers(text, value):
    """Without NaNs, which NumPy leaves in bfloat16."""
    is_bfloat16 = value.dtype.name == "bfloat16"
    return f"np.nan_to_num({text}.astype('float32'))" if is_bfloat16 else f"np.nan_to_num({text})"


def _clipped(text, value, bound):
    """Between bounds; NumPy makes float32 of clipped bfloat16."""
    text = f"np.clip({text}, -{bound}, {bound})"
    return f"{text}.astype(bfloat16)" if value.dtype.name == "bfloat16" else text


def _within(drawer, text, bound):
    """Integers between bounds."""
    value = drawer.value(text)
    if value.dtype.kind not in "iu" or not np.any((value > bound) | (value < -bound)):
        return text
    return f"np.clip({text}, {0 if value.dtype.kind == 'u' else -bound}, {bound})"


def bounded(drawer):
    """An array of real numbers of which none is large or special; many of them in float64."""
    text = any_array(drawer)
    value = drawer.value(text)
    if value.dtype.kind == "c":
        text, value = f"np.real({text})", value.real
    if drawer.is_large:
        text = f"{text}.astype('float64')"
        value = drawer.value(text)
    if is_float(value):
        return drawer.about(_clipped(_numbers(text, value), value, 8))
    return drawer.about(_within(drawer, text, 8))


SUBJECTS = {
    "x": array,
    "name": whole,
    "exact": exact,
    "unit": unit,
    "small": small,
    "bounded": bounded,
    "integer": integer,
    "cast": cast,
}
PHRASES = {
    **SUBJECTS,
    "y": array,
    "any": operand,
    "fitting": fitting,
    "exact_y": exact,
    "bounded_y": bounded,
    "number": number,
    **settings.PHRASES,
}
