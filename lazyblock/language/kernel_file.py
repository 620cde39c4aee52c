"""Kernels as files: what `kernel.source` is, and how an edited one comes back.

A file has the kernel in the block language, its grid and options, and a `main` that makes arguments
like those it was made for, runs it, compares the results with the interpreter's and measures it.
"""

from __future__ import annotations

import importlib.util
import linecache
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from lazyblock import dtypes as array_dtypes
from lazyblock.errors import CompileError, ReplacementError
from lazyblock.language import dtypes
from lazyblock.language.frontend import build_program
from lazyblock.language.jit import JitFunction
from lazyblock.language.specs import ArgumentSpec, Pointer, Scalar
from lazyblock.language.unparse import HEADER, launch_hints, to_identifier, unparse
from lazyblock.testing import random_array
from lazyblock.tiler.ir import Parameter, Program
from lazyblock.tiler.types import PointerType

NDArray = npt.NDArray[Any]
Grid = tuple[int, int, int]


@dataclass(frozen=True)
class ArraySample:
    """Memory of `size` elements; the argument points to number `offset` of it.

    is_workspace: zeros for the kernel to work in, else numbers.
    """

    size: int
    offset: int
    dtype: str
    is_workspace: bool = False


Sample = ArraySample | bool | int | float


# --- writing -------------------------------------------------------------------------------------


def write_file(program: Program, samples: Sequence[Sample], grid: Grid) -> str:
    """The text of a kernel's file. samples: one per parameter of the program."""
    name = to_identifier(program.name)
    kernel = unparse(program).removeprefix(HEADER).strip()
    names = [to_identifier(parameter.name) for parameter in program.parameters]
    kept = [n for n, s in enumerate(samples) if not (isinstance(s, ArraySample) and s.is_workspace)]
    made = [
        f"    {parameter} = {_sample_text(sample)}"
        for parameter, sample in zip(names, samples, strict=True)
    ]
    options = launch_hints(program)
    return _TEMPLATE.format(
        name=name,
        header=HEADER.strip(),
        kernel=kernel,
        grid=tuple(grid),
        options=", ".join(f'"{hint}": {value}' for hint, value in options.items()),
        samples="\n".join(made) or "    pass",
        names=", ".join(names),
        compared=tuple(kept),
    )


def _sample_text(sample: Sample) -> str:
    if isinstance(sample, ArraySample):
        if sample.is_workspace:
            return f'lb.zeros({sample.size}, dtype="{sample.dtype}")'
        array = f'lb.testing.random_array({sample.size}, "{sample.dtype}")'
        offset = f"[{sample.offset}:]" if sample.offset else ""
        return f"lb.asarray({array}){offset}"
    if isinstance(sample, float) and not math.isfinite(sample):
        return f'float("{sample}")'
    return repr(sample)


_TEMPLATE = '''"""{name}: a kernel as lazyblock made it.

Run this file to compare the kernel with the interpreter and to measure it. Edited, it goes back in:
`f.replace(number, lb.load_kernel("this file"))` for a compiled expression or function `f`.
"""

{header}


{kernel}


GRID = {grid}
OPTIONS = {{{options}}}


def make_arguments():
    """Arguments like those it was made for, the same at each call."""
{samples}
    return [{names}]


def main():
    """Run it, compare it with the interpreter, measure it."""
    arguments, expected = make_arguments(), make_arguments()
    launch = {name}[GRID]
    launch(*arguments, **OPTIONS)
    with lb.config.scope(interpret=True):
        launch(*expected, **OPTIONS)
    for number in {compared}:
        lb.testing.assert_near(arguments[number], expected[number])
    milliseconds = lb.testing.do_bench(lambda: launch(*arguments, **OPTIONS))
    print(f"{name}: as the interpreter computes it, {{milliseconds:.4f}} ms")


if __name__ == "__main__":
    main()
'''


# --- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class KernelFile:
    """A kernel read from a file, to launch or to put in the place of another."""

    path: Path
    function: JitFunction
    grid: Grid
    options: dict[str, Any]

    def __call__(self, *arguments: Any) -> Any:
        """Launch it on its grid."""
        return self.function[self.grid](*arguments, **self.options)

    def build(self, like: Sequence[Parameter], noalias: bool) -> Program:
        """The program for arguments like these parameters, whose promise `noalias` it keeps.

        Raises: ReplacementError for another number of parameters, CompileError.
        """
        parameters = self.function.parameters
        if len(parameters) != len(like):
            raise ReplacementError(
                f"'{self.function.name}' in {self.path} takes {len(parameters)} arguments, the "
                f"kernel it would replace {len(like)}."
            )
        specs = {
            parameter.name: _spec_like(model)
            for parameter, model in zip(parameters, like, strict=True)
        }
        program = build_program(self.function, specs, **self.options)
        program.noalias = noalias
        return program


def _spec_like(parameter: Parameter) -> ArgumentSpec:
    element = parameter.value.type.element
    if isinstance(element, PointerType):
        return Pointer(dtypes.from_ir(element.pointee), parameter.divisibility)
    return Scalar(dtypes.from_ir(element), parameter.divisibility)


def load_kernel(path: str | Path) -> KernelFile:
    """Read a kernel's file, as `kernel.source` and `lb.dump` write them.

    The kernel is the last `@lb.jit` function of the file; GRID and OPTIONS say how to launch it.
    Raises: CompileError for a file without a kernel or without GRID.
    """
    path = Path(path)
    linecache.checkcache(str(path))  # the file may have been edited since it was read last
    spec = importlib.util.spec_from_file_location(f"lazyblock_kernel_{path.stem}", path)
    if spec is None or spec.loader is None or not path.is_file():
        raise CompileError(f"There is no kernel's file '{path}'.")
    module = importlib.util.module_from_spec(spec)
    try:
        code = compile(path.read_text(), str(path), "exec")
    except SyntaxError as error:
        raise CompileError(f"'{path}' is no Python: {error.msg}, line {error.lineno}.") from None
    exec(code, vars(module))
    kernels = [value for value in vars(module).values() if isinstance(value, JitFunction)]
    if not kernels or not hasattr(module, "GRID"):
        raise CompileError(
            f"'{path}' has no kernel to launch.",
            note="a kernel's file has a function with @lb.jit, GRID and OPTIONS.",
        )
    x, y, z = [*module.GRID, 1, 1][:3]
    return KernelFile(path, kernels[-1], (x, y, z), dict(getattr(module, "OPTIONS", {})))


def make_arrays(samples: Sequence[Sample]) -> list[NDArray | None]:
    """An array for each sample of one, the same at each call."""
    return [_make_array(sample) if isinstance(sample, ArraySample) else None for sample in samples]


def _make_array(sample: ArraySample) -> NDArray:
    dtype = array_dtypes.as_dtype(sample.dtype)
    make = np.zeros if sample.is_workspace else random_array
    array: NDArray = make(sample.size, dtype)
    return array
