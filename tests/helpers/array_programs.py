"""Random NumPy programs as source text: views, updates in place, mixed dtypes, special values.

A program is drawn call by call (`array_calls`, `array_phrases`); NumPy runs each line at once, so
that shapes and dtypes are known and lines that it refuses are left out. Variables v0, v1, ... have
one right value, bit for bit; w0, w1, ... are right within a tolerance; e0, e1, ... are errors of
calls that are refused. Printed, a program is a script.
"""

import re
import textwrap
import warnings
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from ml_dtypes import bfloat16, finfo

from tests.helpers.array_calls import CHOICES, EXACT, LARGE, NOT_BFLOAT16, ROUNDED, UPDATES
from tests.helpers.array_dtypes import DTYPES, REFUSALS, dtype_text
from tests.helpers.array_phrases import PHRASES, SUBJECTS, created, new_array

MOST_ELEMENTS = {False: 2000, True: 500_000}  # of results, in programs of small and large arrays
# Errors of computed indices, which show later, and of scalars, which are arrays here.
OTHER_ERRORS = "xp.asarray|'numpy|must be (array|of Array)|out of bounds for axis"
OTHER_ERRORS += "|numpy[.]ndarray, not|be broadcast to index|'ml_dtypes|only 0-dim|convert float"
OTHER_ERRORS += "|be contiguous|like=|=.*v[0-9].*Python int|too large to convert"
ONE_BY_ONE = "for row in|flat|ndenumerate|tolist"  # calls that take long for large arrays


@dataclass
class Program:
    """Lines that set variables: first the inputs, then what is computed from them."""

    inputs: tuple[str, ...]
    lines: tuple[str, ...]

    @cached_property
    def expected(self):
        """The variables after NumPy ran it."""
        return self.run(np)

    @property
    def script(self):
        """Text to paste: prints where the values of NumPy and lazyblock differ."""
        body = textwrap.indent("\n".join((*self.inputs, *self.lines)), "    ")
        return _SCRIPT.format(body=body)

    def run(self, namespace):
        """The variables after the program, its arrays made by `namespace.asarray`."""
        return self.compute(namespace, self.make_inputs(namespace))

    def make_inputs(self, namespace):
        """The variables that it starts from."""
        return _execute(self.inputs, {"np": np, "xp": namespace, "bfloat16": bfloat16})

    def compute(self, namespace, inputs):
        """The variables after its lines."""
        return _execute(self.lines, {"np": np, "xp": namespace, "bfloat16": bfloat16, **inputs})

    def shortened(self, fails):
        """The program without the lines that it `fails` without too."""
        shortest = replace(self)  # which NumPy runs anew
        for part in ("lines", "inputs"):
            for line in getattr(self, part)[::-1]:
                kept = [other for other in getattr(shortest, part) if other is not line]
                shorter = replace(shortest, **{part: tuple(kept)})
                if shorter.is_valid and fails(shorter):
                    shortest = shorter
        return shortest

    @property
    def is_valid(self):
        """Whether NumPy takes it."""
        try:
            _ = self.expected
        except (*REFUSALS, NameError):
            return False
        return True


def _execute(lines, variables):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec("\n".join(lines), variables)
    return _results(variables)


def _results(variables):
    return {name: value for name, value in variables.items() if name[0] in "vwe"}


_SCRIPT = """
import numpy as np
import lazyblock as lb
from ml_dtypes import bfloat16, finfo

def program(xp):
{body}
    return {{name: value for name, value in locals().items() if name[0] in "vwe"}}

with np.errstate(all="ignore"):
    expected, actual = program(np), program(lb)
for name, value in expected.items():
    if isinstance(value, Exception):
        print(name, repr(value), repr(actual.get(name)))
        continue
    found = np.asarray(actual[name])
    same = found.dtype == value.dtype and np.array_equal(value, found, equal_nan=True)
    print(name, "same" if same else f"differs: {{value!r}} {{found!r}}")
"""


_REFUSED = """\
try:
    {line}
except Exception as error:
    {name} = error.with_traceback(None)"""


class Drawer:
    """A program while it is drawn; `variables` holds NumPy's values.

    integer(low, high) makes all choices, both bounds included.
    is_large: whether arrays have thousands of elements.
    text, subject: the first array of the call that is drawn now, and its value.
    """

    def __init__(self, integer, is_large=False):
        self.integer, self.is_large = integer, is_large
        self.lines = []
        self.variables = {"np": np, "xp": np, "bfloat16": bfloat16}
        self.count = self.rounded = self.errors = 0
        self.text, self.subject = "", None

    def pick(self, options):
        return options[self.integer(0, len(options) - 1)]

    def flip(self):
        return self.integer(0, 1) == 1

    def name(self):
        return f"v{self.integer(0, self.count - 1)}"

    def value(self, text):
        """What an expression gives now."""
        return np.asarray(eval(text, self.variables))

    def about(self, text):
        """Make an array the subject, if there is none."""
        if self.subject is None:
            self.text, self.subject = text, self.value(text)
        return text

    def draw_line(self):
        """Draw a call, and keep it if NumPy takes it."""
        kind = self.integer(0, 9)
        exact = LARGE if self.is_large else EXACT
        template = self.pick(UPDATES if kind < 3 else ROUNDED if kind == 3 else self.pick(exact))
        if self.is_large and re.search(ONE_BY_ONE, template):
            return
        text = self.fill(template)
        if not self.is_of_bfloat16(template, text):
            keep = self.execute if kind < 3 else self.compare if kind == 3 else self.assign
            keep(text)

    def is_of_bfloat16(self, template, text):
        """Whether variables have this dtype in calls that NumPy does not take them for floats in.

        It also writes complex numbers into them.
        """
        kinds = {self.variables[name].dtype for name in re.findall(r"v\d+", text)}
        has_complex = any(kind.kind == "c" for kind in kinds)
        return np.dtype(bfloat16) in kinds and (
            has_complex or bool(re.search(NOT_BFLOAT16, template))
        )

    def fill(self, template):
        """A line of a table with its phrases drawn, its subject first."""
        self.text, self.subject = "", None
        names = dict.fromkeys(re.findall(r"\{(\w+)\}", template))
        drawn = {name: self.phrase(name) for name in sorted(names, key=lambda n: n not in SUBJECTS)}
        return template.format(**drawn)

    def phrase(self, name):
        """Draw what stands for a name in braces."""
        kind = name.rstrip("0123456789")
        words = CHOICES.get(kind)
        return self.pick(words.split()) if words else PHRASES[kind](self)

    def assign(self, text):
        """Give an expression's value a name, if it is one that arrays may have."""
        try:
            value = eval(text, self.variables)
        except REFUSALS as error:
            self.expect(error, f"np.asarray({text})")
            return
        if not self._may_have(value):
            return
        if isinstance(value, np.generic):  # which NumPy never sees change: here it is an array
            text, value = f"xp.asarray({text})", np.asarray(value)
        elif not value.flags.c_contiguous and not self._is_view(value):  # lazy ones lie in C order
            text, value = f"({text}).copy(order='C')", value.copy(order="C")
        self.keep(f"v{self.count}", text, value)
        self.count += 1

    def keep(self, name, text, value):
        """A line that gives a value a name."""
        self.variables[name] = value
        self.lines.append(f"{name} = {text}")

    def _is_view(self, value):
        """Whether it shows elements of a variable."""
        names = [f"v{number}" for number in range(self.count)]
        return any(np.may_share_memory(value, self.variables[name]) for name in names)

    def _may_have(self, value):
        is_array = isinstance(value, (np.ndarray, np.generic))
        return (
            is_array and value.size <= MOST_ELEMENTS[self.is_large] and value.dtype.name in DTYPES
        )

    def compare(self, text):
        """Let an expression's value be compared, within a tolerance, but not used."""
        try:
            value = eval(text, self.variables)
        except REFUSALS:
            return
        if not self._may_have(value):
            return
        name = self._coarsest(text)
        if value.dtype.kind == "c" and name in ("float16", "bfloat16"):
            return
        if value.dtype in (np.float32, np.float64) and finfo(name).eps > finfo(value.dtype).eps:
            text = f"({text}).astype({dtype_text(name)})"  # some of it is rounded to this
            value = value.astype(name)
        self.keep(f"w{self.rounded}", text, value)
        self.rounded += 1

    def _coarsest(self, text):
        """The name of the coarsest floats in which variables of an expression may be computed."""
        kinds = [self.variables[name].dtype for name in re.findall(r"v\d+", text)]
        floats = [np.real(np.exp(np.zeros(1, kind))).dtype for kind in kinds]
        finest = np.dtype("float32" if self.is_large else "float64")  # long sums lose digits
        return max([finest, *floats], key=lambda kind: finfo(kind).eps).name

    def execute(self, line):
        """Keep a line that NumPy takes, or refuses without having written anything."""
        before = {
            name: value.copy() for name, value in _results(self.variables).items() if name[0] != "e"
        }
        try:
            exec(line, self.variables)
        except REFUSALS as error:
            if all(
                value.tobytes() == self.variables[name].tobytes() for name, value in before.items()
            ):
                self.expect(error, line)
            return
        self.lines.append(line)

    def expect(self, error, line):
        """Keep some of the lines that NumPy refuses."""
        if self.is_large or self.integer(0, 3) or re.search(OTHER_ERRORS, f"{line} {error}"):
            return
        name = f"e{self.errors}"
        self.lines.append(_REFUSED.format(line=line, name=name))
        self.variables[name] = error.with_traceback(None)
        self.errors += 1


def draw_program(integer, is_large=False):
    """A program of 1 to 30 lines, besides its inputs."""
    drawer = Drawer(integer, is_large)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(integer(1, 3)):
            drawer.assign(new_array(drawer) if integer(0, 3) else created(drawer))
        inputs, drawer.lines = tuple(drawer.lines), []
        if not inputs:
            return Program((), ())
        for _ in range(integer(1, 30)):
            drawer.draw_line()
    program = Program(inputs, tuple(drawer.lines))
    program.expected = _results(drawer.variables)
    return program
