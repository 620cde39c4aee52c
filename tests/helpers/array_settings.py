"""Indices and settings of drawn calls, as source text: phrases as in `array_phrases`."""

import numpy as np

from tests.helpers.array_dtypes import DRAWN, INTEGERS, WHOLE, dtype_text, is_float

LONGEST_LIST = 2000
# Indices


def slice_text(drawer, extent):
    start, stop = (drawer.pick([None, 0, 1, 2, -1, -2, extent]) for _ in range(2))
    step = drawer.pick([None, None, 1, 2, -1, -2, 3])
    return ":".join("" if part is None else str(part) for part in (start, stop, step))


def basic_index(drawer, shape):
    parts = []
    for extent in shape:
        kind = drawer.pick(["all", "slice", "slice", "number", "new"])
        if kind == "new" and not drawer.is_large:
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
        if kind == "new" and not drawer.is_large:
            parts.append("None")
        if kind in ("list", "array", "lazy") and extent:
            parts.append(places_text(drawer, extent, kind, count))
        elif kind == "mask" and extent <= LONGEST_LIST:
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
    if value.ndim and value.shape[0] <= LONGEST_LIST and drawer.integer(0, 3) == 0:
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


PHRASES = {
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
    "whole": lambda drawer: drawer.pick(WHOLE),
    "xp": lambda drawer: drawer.pick(["np", "np", "xp"]),
}
