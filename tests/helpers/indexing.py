"""Index expressions of every kind for hypothesis, and programs that read and write through views.

A program runs on a NumPy array and on a lazy one at once; `run` compares what both show.
"""

import numpy as np
from hypothesis import strategies as st

SHAPES = [(5,), (3, 4), (2, 3, 4), (4, 1, 3), (0, 3), (3, 0, 2), (6, 6), ()]
ENTRIES = ["int", "slice", "slice", "none", "dots", "mask", "truth", "array", "array"]
MISTAKES = ["is out of bounds for axis", "could not be broadcast"]
JOINT = [(2,), (3,), (1,), (2, 3), (2, 1), (0,)]


@st.composite
def slices(draw, extent):
    bound = st.one_of(st.none(), st.integers(-extent - 2, extent + 2))
    step = st.sampled_from([None, 1, -1, 2, -2, 3])
    return slice(draw(bound), draw(bound), draw(step))


@st.composite
def positions(draw, extent):
    """An array of indices, in range; its axes may be few or many."""
    shape = draw(st.sampled_from(JOINT))
    count = int(np.prod(shape))
    drawn = draw(st.lists(st.integers(-extent, max(extent - 1, 0)), min_size=count, max_size=count))
    array = np.array(drawn, draw(st.sampled_from([np.int64, np.int32]))).reshape(shape)
    return array.tolist() if draw(st.integers(0, 3)) == 0 else array


@st.composite
def entries(draw, extent):
    kind = draw(st.sampled_from(ENTRIES))
    match kind:
        case "int":
            return draw(st.integers(-extent - 1, extent))
        case "slice":
            return draw(slices(extent))
        case "mask":
            return np.array(draw(st.lists(st.booleans(), min_size=extent, max_size=extent)), bool)
        case "truth":
            return draw(st.booleans())
        case "array":
            return draw(positions(extent))
    return None if kind == "none" else Ellipsis


@st.composite
def keys(draw, shape):
    """A key for an array of `shape`; some are mistakes."""
    if shape and draw(st.integers(0, 9)) == 0:
        count = int(np.prod(shape))
        bools = draw(st.lists(st.booleans(), min_size=count, max_size=count))
        return np.array(bools, bool).reshape(shape)
    listed = [draw(entries(extent)) for extent in shape[: draw(st.integers(0, len(shape)))]]
    if draw(st.integers(0, 4)) == 0:
        listed.insert(draw(st.integers(0, len(listed))), None)
    return listed[0] if len(listed) == 1 and draw(st.booleans()) else tuple(listed)


@st.composite
def values(draw, shape, dtype):
    """Something that broadcasts to `shape`."""
    kind = draw(st.sampled_from(["number", "full", "units", "fewer"]))
    if kind == "number":
        return draw(st.integers(0, 100))
    if kind == "units":
        shape = tuple(n if draw(st.booleans()) else 1 for n in shape)
    elif kind == "fewer":
        shape = shape[draw(st.integers(0, len(shape))) :]
    return np.arange(100, 100 + np.prod(shape, dtype=int)).reshape(shape).astype(dtype)


class Pair:
    """A NumPy array and a lazy one with the same elements, and what makes lazy ones."""

    def __init__(self, base, make_lazy, evaluate):
        self.expected, self.actual = base, make_lazy(base)
        self.views = [(self.expected, self.actual)]
        self.make_lazy = make_lazy
        self.evaluate = evaluate

    def check(self, expected, actual):
        result = self.evaluate(actual)
        assert result.shape == np.shape(expected)
        np.testing.assert_array_equal(result, expected)

    def check_all(self):
        for expected, actual in self.views:
            self.check(expected, actual)

    def lazy_key(self, draw, key):
        """The key with some of its arrays lazy."""
        if isinstance(key, tuple):
            return tuple(self.lazy_key(draw, entry) for entry in key)
        is_array = isinstance(key, np.ndarray)
        return self.make_lazy(key) if is_array and draw(st.integers(0, 2)) == 0 else key


def draw_pair(draw, pair):
    """One of the views; by its number, since hypothesis shows what is drawn: that evaluates."""
    return pair.views[draw(st.integers(0, len(pair.views) - 1))]


def draw_view(draw, pair):
    """Add a view of one of the views."""
    expected, actual = draw_pair(draw, pair)
    match draw(st.sampled_from(["T", "slice", "reshape", "swap"])):
        case "T":
            pair.views.append((expected.T, actual.T))
        case "slice" if expected.ndim:  # NumPy's x[()] of no axes is a number
            key = tuple(draw(slices(extent)) for extent in expected.shape)
            pair.views.append((expected[key], actual[key]))
        case "reshape" if expected.flags.c_contiguous:
            pair.views.append((expected.reshape(-1), actual.reshape(-1)))
        case "swap" if expected.ndim > 1:
            pair.views.append((expected.swapaxes(0, 1), actual.swapaxes(0, 1)))


def draw_step(draw, pair):
    """Read or write through a view, with NumPy and lazily; both give the same or both refuse."""
    expected, actual = draw_pair(draw, pair)
    key = draw(keys(expected.shape))
    try:
        read = expected[key]
    except IndexError as error:
        _check_refused(lambda: actual[key], error)
        return
    lazy_key = pair.lazy_key(draw, key)
    kind = draw(st.sampled_from(["read", "write", "write", "update"]))
    if kind == "read":
        pair.check(read, actual[lazy_key])
        return
    value = draw(values(np.shape(read), expected.dtype))
    lazy_value = value if draw(st.booleans()) else pair.make_lazy(np.asarray(value, expected.dtype))
    if kind == "write":
        expected[key] = value
        actual[lazy_key] = lazy_value
    else:
        expected[key] += expected.dtype.type(3)
        actual[lazy_key] += actual.dtype.type(3)


def _check_refused(read, error):
    try:
        read()
    except IndexError as refused:
        first = str(refused).partition("\n")[0]
        words, given = (text.replace(", ", ",").strip() for text in (str(error), first))
        # of several mistakes either may be named
        assert words == given or all(
            any(kind in text for kind in MISTAKES) for text in (words, given)
        )
    else:
        raise AssertionError(f"not refused: {error}")
