"""Parts of drawn NumPy programs: arrays, views, indices, operands, settings, as source text.

A phrase is a function of the `Drawer` that writes the program. The first array of a call is its
subject: axes, masks, indices and operands drawn after it fit it. Phrases also keep to what NumPy
defines: floats become integers only where those hold them, and sums of floats are sums of small
whole numbers, whose order does not show.
"""

import numpy as np

EXTENTS = [0, 1, 1, 2, 3, 3, 4, 5, 8, 17, 33]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
DTYPES = ["bool", *INTEGERS, *FLOATS, "complex64", "complex128"]
DRAWN = [*DTYPES, "float32", "float64", "int64", "int32"]  # with these more often
SPECIAL = ["0.0", "-0.0", "1.0", "-2.5", "3.0", "1e30", "1e-40", "np.inf", "-np.inf", "np.nan"]
WHOLE = ["0", "1", "3", "-2", "True", "False", "200", "np.int8(7)", "np.uint64(9)", "np.bool(True)"]
SCALARS = [*WHOLE, "2.0", "-0.5", "np.float32(1.5)", "np.float64(-3.0)", "np.nan", "-0.0", "1e300"]
EXACT_BOUNDS = {"float16": 1, "bfloat16": 1}


def dtype_text(name):
    """How a program names a dtype; NumPy needs ml_dtypes for bfloat16."""
    return "bfloat16" if name == "bfloat16" else f"'{name}'"


REFUSALS = (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError)


def is_float(value):
    return value.dtype.name in FLOATS


# Arrays


def new_array(drawer):
    """Text that makes an array: small numbers, special values or extremes; 0 to 4 axes."""
    name = drawer.pick(DRAWN)
    shape = tuple(drawer.pick(EXTENTS) for _ in range(drawer.integer(0, 4)))
    while np.prod(shape, dtype=int) > 300:
        shape = shape[1:]
    size = int(np.prod(shape, dtype=int))
    low = 0 if name[0] == "u" else 5
    first, step = drawer.integer(0, 5), drawer.pick([1, 3, 7])
    text = f"((np.arange({size}) * {step} + {first}) % 11 - {low})"
    kind = drawer.integer(0, 3)
    if name[:3] == "com":
        text = f"({text} + 1j * (np.arange({size}) % 4))"
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
        text = f"{name}[{basic_index(drawer, shape)}]"
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
    if value.dtype.name == "bfloat16" and value.size > 256:  # more are not exact
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
    """An array of real numbers of which none is large or special."""
    text = any_array(drawer)
    value = drawer.value(text)
    if value.dtype.kind == "c":
        text, value = f"np.real({text})", value.real
    if is_float(value):
        return drawer.about(_clipped(_numbers(text, value), value, 8))
    return drawer.about(_within(drawer, text, 8))


# Indices


def slice_text(drawer, extent):
    start, stop = (drawer.pick([None, 0, 1, 2, -1, -2, extent]) for _ in range(2))
    step = drawer.pick([None, None, 1, 2, -1, -2, 3])
    return ":".join("" if part is None else str(part) for part in (start, stop, step))


def basic_index(drawer, shape):
    parts = []
    for extent in shape:
        kind = drawer.pick(["all", "slice", "slice", "number", "new"])
        if kind == "new":
            parts.append("None")
        if kind == "number" and extent:
            parts.append(str(drawer.integer(-extent, extent - 1)))
        else:
            parts.append(":" if kind == "all" else slice_text(drawer, extent))
    if drawer.flip():
        parts = [*parts[: drawer.integer(0, len(parts))], "..."]
    return ", ".join(parts) or "..."


def any_index(drawer, shape):
    """Slices, numbers, arrays of integers and bools, mixed."""
    kind = drawer.integer(0, 5)
    if kind == 0:
        return mask(drawer)
    if kind == 1:
        return basic_index(drawer, shape)
    count, parts = drawer.integer(0, 3), []
    for extent in shape[: drawer.integer(1, 4)]:
        kind = drawer.pick(["slice", "number", "list", "list", "array", "lazy", "mask", "new"])
        if kind == "new":
            parts.append("None")
        if kind in ("list", "array", "lazy") and extent:
            parts.append(places_text(drawer, extent, kind, count))
        elif kind == "mask":
            parts.append(str([drawer.flip() for _ in range(extent)]))
        elif kind == "number" and extent:
            parts.append(str(drawer.integer(-extent, extent - 1)))
        else:
            parts.append(slice_text(drawer, extent))
    if parts and drawer.integer(0, 3) == 0:
        parts.insert(drawer.integer(0, len(parts)), "...")
    return ", ".join(parts) or "..."


def places_text(drawer, extent, kind, count):
    """Positions on an axis: a list, a NumPy array or a lazy one, of one or two axes."""
    listed = [drawer.integer(-extent, extent - 1) for _ in range(count)]
    if count and drawer.integer(0, 3) == 0:
        listed = [listed, listed[::-1]]
    if kind == "list" and count:
        return str(listed)
    dtype = drawer.pick(["int64", "int32", "int8"])
    return f"{'xp' if kind == 'lazy' else 'np'}.asarray({listed}, dtype='{dtype}')"


def places(drawer):
    """Positions on the subject's first axis."""
    extent = drawer.subject.shape[0] if drawer.subject.ndim else 0
    kind, count = drawer.pick(["list", "array", "lazy"]), drawer.integer(1, 4)
    return places_text(drawer, extent, kind, count) if extent else "[0]"


def mask(drawer):
    """Bools for every element of the subject, or for the first axis."""
    text, value = drawer.text, drawer.subject
    if value.ndim and drawer.integer(0, 3) == 0:
        return f"xp.asarray({[drawer.flip() for _ in range(value.shape[0])]}, dtype=bool)"
    limit = drawer.pick(["0", "1", f"{text}[::-1]" if value.ndim else "2"])
    return f"({text} {drawer.pick(['<', '>', '!=', '==', '>='])} {limit})"


def key(drawer):
    """An index of any kind for the subject."""
    return any_index(drawer, drawer.subject.shape)


def basic(drawer):
    return basic_index(drawer, drawer.subject.shape)


# Settings


def axis(drawer):
    return str(drawer.pick([None, *range(-drawer.subject.ndim, drawer.subject.ndim)]))


def one_axis(drawer):
    ndim = drawer.subject.ndim
    return str(drawer.integer(-ndim, ndim - 1)) if ndim else "0"


def axes(drawer):
    ndim = drawer.subject.ndim
    if ndim < 2 or drawer.integer(0, 2):
        return axis(drawer)
    return str(tuple(sorted({drawer.integer(0, ndim - 1) for _ in range(2)})))


def permutation(drawer):
    rest = list(range(drawer.subject.ndim))
    return str(tuple(rest.pop(drawer.integer(0, len(rest) - 1)) for _ in range(len(rest))))


def reshaped(drawer):
    """A shape of as many elements."""
    size = drawer.subject.size
    extents = [n for n in range(1, size + 1) if size % n == 0] or [0]
    first = drawer.pick(extents)
    return drawer.pick([f"({first}, -1)", f"(-1, {first})", "-1", f"(1, {first}, -1)"])


def broadcast(drawer):
    """A shape that the subject broadcasts to."""
    grown = [3 if n == 1 and drawer.flip() else n for n in drawer.subject.shape]
    return str((*[2] * drawer.integer(0, 1), *grown))


def dtype(drawer):
    return dtype_text(drawer.pick(DRAWN))


def sum_dtype(drawer):
    """A dtype in which sums of the subject stay exact."""
    value = drawer.subject
    if value.dtype.kind == "c":
        return "'complex128'"
    if is_float(value):
        return drawer.pick(["'float32'", "'float64'", "None"])
    is_small = value.size == 0 or np.abs(value.astype(np.float64)).max() <= 100
    named = [repr(name) for name in INTEGERS]
    return drawer.pick([*named, "None", *["'float64'", "'float32'", "'complex64'"] * int(is_small)])


def pad_width(drawer):
    ndim = drawer.subject.ndim
    pairs = [(drawer.integer(0, 2), drawer.integer(0, 2)) for _ in range(ndim)]
    return drawer.pick(["1", "(1, 2)", str(pairs) if pairs else "0"])


SUBJECTS = {
    "x": array,
    "name": whole,
    "exact": exact,
    "unit": unit,
    "small": small,
    "bounded": bounded,
}
PHRASES = {
    **SUBJECTS,
    "y": array,
    "any": operand,
    "fitting": fitting,
    "exact_y": exact,
    "bounded_y": bounded,
    "key": key,
    "basic": basic,
    "mask": mask,
    "places": places,
    "axis": axis,
    "one_axis": one_axis,
    "axes": axes,
    "permutation": permutation,
    "reshaped": reshaped,
    "broadcast": broadcast,
    "dtype": dtype,
    "sum_dtype": sum_dtype,
    "pad_width": pad_width,
    "bool": lambda drawer: str(drawer.flip()),
    "int": lambda drawer: str(drawer.integer(-3, 3)),
    "count": lambda drawer: str(drawer.integer(0, 3)),
    "number": number,
    "whole": lambda drawer: drawer.pick(WHOLE),
    "xp": lambda drawer: drawer.pick(["np", "np", "xp"]),
}
