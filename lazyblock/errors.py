"""Every error lazyblock raises on purpose.

User errors derive both from `LazyBlockError` and from the builtin they refine, so `except
ValueError` keeps working. A message is one sentence with what was given and what was expected;
`note` says why, `hint` what to do. `assert` is for our own mistakes.
"""

from __future__ import annotations

from numpy._core._exceptions import UFuncTypeError as NumPyUFuncTypeError  # has no public name
from numpy.exceptions import AxisError as NumPyAxisError


class LazyBlockError(Exception):
    """Base of all lazyblock errors; `note` and `hint` become further lines of the message."""

    def __init__(self, message: str, *, note: str = "", hint: str = "") -> None:
        self.message, self.note, self.hint = message, note, hint
        lines = [message]
        if note:
            lines.append(f"Note: {note}")
        if hint:
            lines.append(f"Hint: {hint}")
        super().__init__("\n".join(lines))


class ShapeError(LazyBlockError, ValueError):
    """Shapes that do not fit together."""


class ValueRangeError(LazyBlockError, ValueError):
    """An argument of the right type with a value that is not allowed."""


class AxisError(ShapeError, NumPyAxisError):
    """An axis outside the array's dimensions."""

    def __init__(self, axis: int, ndim: int, operation: str) -> None:
        super().__init__(f"{operation}: axis {axis} is out of bounds for array of dimension {ndim}")
        self.axis, self.ndim, self._msg = axis, ndim, operation  # of which NumPy's makes its text


class DTypeError(LazyBlockError, TypeError):
    """A dtype that is not supported, or not by this operation."""


class UFuncTypeError(DTypeError, NumPyUFuncTypeError):
    """A cast that the casting rule of a ufunc or an in-place operator forbids."""


class IndexingError(LazyBlockError, IndexError):
    """An index outside its axis, or of a kind that is not understood."""


class UnsupportedError(LazyBlockError, NotImplementedError):
    """A request lazyblock understands but does not offer."""


class VerifyError(LazyBlockError):
    """An IR that breaks its own rules; always lazyblock's mistake, never the user's."""


class ParseError(LazyBlockError, ValueError):
    """Text of a program that does not follow its grammar; names the line."""


class CompileError(LazyBlockError):
    """A kernel that could not be compiled; carries stage, kernel name and the dump's path."""


class SemanticError(CompileError):
    """An operation of the block language on operands it has no meaning for.

    Raised where the operation is called, so without a place in the kernel: the front end adds it,
    and where Python itself runs the kernel the traceback shows it.
    """


class ReplacementError(LazyBlockError, ValueError):
    """A kernel that cannot take another's place: it takes or computes something else."""


class DeviceError(LazyBlockError, RuntimeError):
    """A device that is missing or cannot be used."""


class LaunchError(LazyBlockError, RuntimeError):
    """A kernel that could not be launched or failed while running."""


class ArgumentRangeError(LaunchError, OverflowError):
    """A number that is too large to be an argument."""


class SanitizerError(LaunchError):
    """A kernel that did what a GPU leaves undefined: a race, an access out of bounds."""


class SanitizerWarning(UserWarning):
    """A kernel under `config.sanitize` whose result may not be what was meant."""


class KernelWarning(UserWarning):
    """Something in a kernel that is surely not meant."""


class OutOfResourcesError(LazyBlockError, MemoryError):
    """Not enough memory, registers or shared memory."""


class EvaluationForbiddenError(LazyBlockError, RuntimeError):
    """An evaluation inside `lb.forbid_eval()`."""
