"""Random NumPy programs as source text: views, updates in place, mixed dtypes, special values.

A program is drawn line by line; NumPy runs each line at once, so that shapes and dtypes are known
and lines that it refuses are left out. Every line has one right result: sums of floats are sums of
small whole numbers, whose order does not show, and where NumPy leaves the sign of a zero open it is
made positive. Printed, a program is a script.
"""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

EXTENTS = [0, 1, 2, 3, 5, 8, 17, 33]
DTYPES = ["bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]
DTYPES += ["float16", "float32", "float64"]
SPECIAL = ["0.0", "-0.0", "1.0", "-2.5", "3.0", "np.inf", "-np.inf", "np.nan"]
MOST_ELEMENTS = 2000

UNARY = """
    negative absolute square invert logical_not sign positive isnan isfinite signbit
    floor ceil trunc rint sqrt conjugate
"""
BINARY = """
    add subtract multiply bitwise_and bitwise_or bitwise_xor logical_and copysign
    floor_divide remainder divide fmod left_shift right_shift equal less greater_equal
"""
EXTREMES = "maximum minimum fmax fmin"
FOLDS = "sum prod max min any all argmax argmin ptp count_nonzero"
IN_PLACE = ["+=", "-=", "*=", "//=", "%=", "&=", "|=", "^="]
SCALARS = ["0", "1", "3", "-2", "True", "2.0", "-0.5", "np.float32(1.5)", "np.int8(7)", "200"]


class Program(NamedTuple):
    """Lines that set the variables v0, v1, ..."""

    lines: tuple[str, ...]

    def script(self):
        """Text to paste: prints where the values of NumPy and lazyblock differ."""
        body = "\n".join(f"    {line}" for line in self.lines)
        return _SCRIPT.format(body=body)

    def run(self, namespace):
        """The variables after the program, its arrays made by `namespace.asarray`."""
        variables = {"np": np, "xp": namespace}
        with np.errstate(all="ignore"):
            exec("\n".join(self.lines), variables)
        return {name: value for name, value in variables.items() if name[0] == "v"}


_SCRIPT = """
import numpy as np
import lazyblock as lb

def program(xp):
{body}
    return {{name: value for name, value in locals().items() if name[0] == "v"}}

with np.errstate(all="ignore"):
    expected, actual = program(np), program(lb)
for name, value in expected.items():
    same = np.array_equal(value, np.asarray(actual[name]), equal_nan=True)
    print(name, "same" if same else f"differs: {{value}} {{actual[name]}}")
"""


class _Drawer:
    """A program while it is drawn; `variables` holds NumPy's values."""

    def __init__(self, draw):
        self.draw = draw
        self.lines = []
        self.variables = {"np": np, "xp": np}
        self.count = 0

    def pick(self, options):
        return self.draw(st.sampled_from(options))

    def word(self, text):
        return self.pick(text.split())

    def integer(self, low, high):
        return self.draw(st.integers(low, high))

    def flip(self):
        return self.draw(st.booleans())

    def name(self):
        return f"v{self.integer(0, self.count - 1)}"

    def value(self, text):
        """What an expression gives now."""
        return np.asarray(eval(text, self.variables))

    def try_line(self, line):
        """Keep a line that NumPy takes; gives whether it did."""
        try:
            with np.errstate(all="ignore"):
                exec(line, self.variables)
        except (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError):
            return False
        self.lines.append(line)
        return True

    def assign(self, text):
        """Give an expression's value a name, if it is one that arrays may have."""
        try:
            with np.errstate(all="ignore"):
                value = eval(text, self.variables)
        except (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError):
            return
        if not isinstance(value, (np.ndarray, np.generic)) or value.size > MOST_ELEMENTS:
            return
        if value.dtype.name in DTYPES and self.try_line(f"v{self.count} = {text}"):
            self.count += 1


def _input(drawer):
    """An array of 0 to 3 axes: small numbers, or a list with special values."""
    dtype = drawer.pick(DTYPES)
    shape = tuple(drawer.pick(EXTENTS) for _ in range(drawer.integer(0, 3)))
    while np.prod(shape, dtype=int) > 600:
        shape = shape[1:]
    size = int(np.prod(shape, dtype=int))
    first, step = drawer.integer(0, 5), drawer.pick([1, 3, 7])
    text = f"(np.arange({size}) * {step} + {first}) % 11 - {0 if dtype[0] == 'u' else 5}"
    if dtype.startswith("float") and size and drawer.flip():
        listed = ", ".join(drawer.pick(SPECIAL) for _ in range(min(size, 5)))
        text = f"np.resize([{listed}], {size})"
    drawer.assign(f"xp.asarray(({text}).reshape({shape}).astype('{dtype}'))")


def _slice(drawer, extent):
    start, stop = (drawer.pick([None, 0, 1, 2, -1, -2, extent]) for _ in range(2))
    step = drawer.pick([None, None, 1, 2, -1, -2, 3])
    return ":".join("" if part is None else str(part) for part in (start, stop, step))


def _index(drawer, shape):
    """A basic index."""
    parts = []
    for extent in shape:
        kind = drawer.pick(["all", "slice", "slice", "number", "new"])
        if kind == "new":
            parts.append("None")
        if kind == "number" and extent:
            parts.append(str(drawer.integer(-extent, extent - 1)))
        else:
            parts.append(":" if kind == "all" else _slice(drawer, extent))
    if drawer.flip():
        parts = [*parts[: drawer.integer(0, len(parts))], "..."]
    return ", ".join(parts) or "..."


def _array(drawer):
    """A variable, or a view of one."""
    kind, name = drawer.pick(["name", "name", "view", "flipped"]), drawer.name()
    if kind == "view":
        return f"{name}[{_index(drawer, drawer.value(name).shape)}]"
    return f"{name}[::-1]" if kind == "flipped" and drawer.value(name).ndim else name


def _operand(drawer):
    """An array or a number."""
    return drawer.pick(SCALARS) if drawer.integer(0, 4) == 0 else _array(drawer)


def _pair(drawer):
    """Two operands, an array among them."""
    pair = [_array(drawer), _operand(drawer)]
    return pair[::-1] if drawer.flip() else pair


def _elementwise(drawer):
    drawer.assign(f"np.{drawer.word(UNARY)}({_array(drawer)})")


def _binary(drawer):
    function, (left, right) = drawer.word(BINARY), _pair(drawer)
    if function == "copysign":  # the sign of a NaN that an operation made is not defined
        right = f"np.nan_to_num({right})"
    drawer.assign(f"np.{function}({left}, {right})")


def _extreme(drawer):
    left, right = _pair(drawer)
    drawer.assign(f"np.{drawer.word(EXTREMES)}({left}, {right}) + 0")


def _choice(drawer):
    condition, (left, right) = _array(drawer), _pair(drawer)
    drawer.assign(f"np.where({condition}, {left}, {right})")


def _cast(drawer):
    name, dtype = drawer.name(), drawer.pick(DTYPES)
    text = name
    if drawer.value(name).dtype.kind == "f" and dtype[0] in "iu":
        low = 0 if dtype[0] == "u" else -100
        text = f"np.clip(np.nan_to_num({name}), {low}, 100)"
    drawer.assign(f"({text}).astype('{dtype}')")


def _view(drawer):
    name = drawer.name()
    value = drawer.value(name)
    kind = drawer.pick(["index", "index", "index", "T", "ravel", "reshape", "swap", "squeeze"])
    views = {"T": ".T", "ravel": ".ravel()", "squeeze": ".squeeze()"}
    views["index"] = f"[{_index(drawer, value.shape)}]"
    views["swap"] = ".swapaxes(0, -1)"
    extents = [n for n in range(1, value.size + 1) if value.size % n == 0] or [0]
    views["reshape"] = f".reshape({drawer.pick(extents)}, -1)"
    drawer.assign(name + views[kind])


def _update(drawer):
    """Write into an array, or into a view of it."""
    name = drawer.name()
    value = drawer.value(name)
    target = f"{name}[{_index(drawer, value.shape)}]" if drawer.flip() else f"{name}[...]"
    kind = drawer.pick(["set", "set", "operator", "mask", "out"])
    if kind == "set":
        drawer.try_line(f"{target} = {_castable(drawer, value)}")
    elif kind == "operator":
        drawer.try_line(f"{target} {drawer.pick(IN_PLACE)} {_operand(drawer)}")
    elif kind == "mask":
        drawer.try_line(f"{name}[{name} > {drawer.pick(['0', '2', name + '[::-1]'])}] = 1")
    elif value.ndim:
        function = drawer.pick(["add", "multiply", "subtract"])
        drawer.try_line(f"np.{function}({_operand(drawer)}, {_operand(drawer)}, out={target})")


def _castable(drawer, target):
    """What can be assigned to elements: floats only to floats."""
    text = _operand(drawer)
    value = drawer.value(text)
    return "1" if value.dtype.kind == "f" and target.dtype.kind in "iub" else text


def _axis(drawer, value):
    return drawer.pick([None, *range(-value.ndim, value.ndim)])


def _fold(drawer):
    function, text = drawer.word(FOLDS), _array(drawer)
    value = drawer.value(text)
    if value.dtype.kind == "f" and function in ("sum", "prod", "ptp"):
        bound = 1 if function == "prod" else 8
        text = f"np.rint(np.clip({text}, -{bound}, {bound}))"
    settings = f"axis={_axis(drawer, value)}"
    if function not in ("argmax", "argmin") and drawer.flip():
        settings += ", keepdims=True"
    drawer.assign(f"np.{function}({text}, {settings}) + 0")


def _scan(drawer):
    text = _array(drawer)
    value = drawer.value(text)
    if value.dtype.kind == "f":
        text = f"np.rint(np.clip({text}, -4, 4))"
    drawer.assign(f"np.cumsum({text}, axis={_axis(drawer, value)})")


def _rearrange(drawer):
    name, other = drawer.name(), drawer.name()
    value = drawer.value(name)
    extent = value.shape[0] if value.ndim else 0
    places = [drawer.integer(-extent, extent - 1) for _ in range(3)] if extent else [0]
    texts = [
        f"np.concatenate([{name}, {other}, {name}])",
        f"np.stack([{name}, {name} * 2], axis={drawer.integer(-1, value.ndim)})",
        f"np.flip({name}, axis={_axis(drawer, value)})",
        f"np.roll({name}, {drawer.integer(-3, 3)}, axis={_axis(drawer, value)})",
        f"np.tile({name}, (2, 1))",
        f"np.repeat({name}, 2, axis={_axis(drawer, value)})",
        f"np.pad({name}, 1)",
        f"np.diff({name})",
        f"np.tril({name})",
        f"np.trace({name})",
        f"np.sort({name} + 0, axis=-1)",
        f"np.argsort({name}, kind='stable')",
        f"np.take({name}, {places}, axis=0)",
        f"{name}[{places}]",
        f"{name}[{name} > 1]",
        f"{name}[{places}, ..., 0]",
        f"np.select([{name} > 0, {name} < -1], [{name}, {other}], 7)",
        f"np.clip({name}, -1, 2)",
        f"np.nan_to_num({name})",
        f"np.isclose({name}, {other})",
        f"np.unique({name} + 0)",
        f"np.nanmax({name}, axis=-1) + 0",
        f"np.broadcast_to({name}, (2, *{value.shape}))",
        f"np.expand_dims({name}, 0)",
        f"np.append({name}, {other})",
        f"np.searchsorted(np.arange(5), {name})",
        f"np.digitize({name}, [-2, 0, 3])",
        f"np.count_nonzero({name}, axis={_axis(drawer, value)})",
        f"np.outer({name}[..., :2], {other}[..., :2])",
        f"np.trunc(np.clip({name}, -3, 3)) @ np.trunc(np.clip({name}, -3, 3)).T",
    ]
    drawer.assign(drawer.pick(texts))


STEPS = [_elementwise, _binary, _binary, _extreme, _choice, _cast, _view, _view, _update, _update]
STEPS += [_fold, _scan, _rearrange, _rearrange]


@st.composite
def array_programs(draw):
    """Draw a program of 1 to 30 lines, besides its inputs."""
    drawer = _Drawer(draw)
    for _ in range(draw(st.integers(1, 3))):
        _input(drawer)
    for _ in range(draw(st.integers(1, 30))):
        drawer.pick(STEPS)(drawer)
    return Program(tuple(drawer.lines))
