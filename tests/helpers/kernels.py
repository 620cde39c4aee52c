"""Kernels in the block language run by everything that can run them, which must agree."""

import numpy as np

from lazyblock.language import constexpr, dtypes, tensor
from lazyblock.language.context import use_builder
from lazyblock.language.eager import EagerBuilder
from lazyblock.language.frontend import build_program, eager_function
from lazyblock.language.function import Constant, KernelFunction, Pointer, Scalar, Tuple
from lazyblock.pipeline import CPU_PASSES
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.printer import print_program
from lazyblock.tiler.types import from_numpy
from lazyblock.tiler.verify import verify_program
from tests.helpers.cpu import assert_same_bits, run_on_cpu
from tests.helpers.elsewhere import other_device
from tests.helpers.emulator import run_on

jit = KernelFunction


def spec_of(argument):
    """Arrays are pointers, NumPy scalars and floats and ints values, everything else known."""
    if isinstance(argument, np.ndarray):
        return Pointer(dtypes.from_ir(from_numpy(argument.dtype)), 16)
    if isinstance(argument, np.generic):
        return Scalar(dtypes.from_ir(from_numpy(argument.dtype)))
    if isinstance(argument, tuple):
        return Tuple(tuple(map(spec_of, argument)), type(argument))
    if isinstance(argument, float):
        return Scalar(dtypes.float32)
    if isinstance(argument, int) and not isinstance(argument, bool):
        return Scalar(dtypes.int32)
    return Constant(argument)


def specs_of(function, arguments, constants):
    """Specs by parameter: `arguments` by position, `constants` by name."""
    names = [p.name for p in function.parameters]
    found = {name: spec_of(a) for name, a in zip(names, arguments, strict=False)}
    return found | {name: Constant(value) for name, value in constants.items()}


def program_of(function, *arguments, **constants):
    """The verified program of a kernel for such arguments."""
    function = function if isinstance(function, KernelFunction) else jit(function)
    program = build_program(function, specs_of(function, arguments, constants))
    verify_program(program)
    return program


def text_of(function, *arguments, **constants):
    """The program's text."""
    return print_program(program_of(function, *arguments, **constants))


def leaves_of(arguments):
    for argument in arguments:
        if isinstance(argument, tuple):
            yield from leaves_of(argument)
        elif not isinstance(spec_of(argument), Constant):
            yield argument


def copy(argument):
    if isinstance(argument, tuple):
        return getattr(type(argument), "_make", tuple)([copy(item) for item in argument])
    return argument.copy() if isinstance(argument, np.ndarray) else argument


def run_eagerly(function, arguments, constants, grid):
    """Run the body by Python, instance by instance."""
    builder = EagerBuilder(function.name, grid)
    body = eager_function(function)

    def value_of(name, argument):
        spec = spec_of(argument)
        if isinstance(spec, Constant):
            return argument
        if isinstance(spec, Tuple):
            return spec.make([value_of(name, item) for item in argument])
        is_pointer = isinstance(spec, Pointer)
        type = dtypes.pointer_type(spec.dtype) if is_pointer else spec.dtype
        return tensor(builder.argument(name, type.ir, argument), type)

    names = [p.name for p in function.parameters]
    values = [value_of(n, a) for n, a in zip(names, arguments, strict=False)]
    named = {name: constexpr(value) for name, value in constants.items()}
    with use_builder(builder):
        for z in range(grid[2]):
            for y in range(grid[1]):
                for x in range(grid[0]):
                    builder.place = (x, y, z)
                    body(*values, **named)


def run_kernel(function, *arguments, grid=(1, 1, 1), exact=True, arch="", **constants):
    """Run a kernel by interpreter, CPU device and Python; gives the arrays after it.

    exact: all must agree bit for bit; else the devices within rounding of the result's type or
    of float32. arch: of an emulated GPU to run it on too, unless another device stands in.
    """
    function = function if isinstance(function, KernelFunction) else jit(function)
    grid = (*grid, 1, 1)[:3]
    program = program_of(function, *arguments, **constants)
    expected, on_cpu, on_gpu, eager = ([copy(a) for a in arguments] for _ in range(4))
    device = other_device() or (f"emulated:{arch}" if arch else None)
    if device:
        run_on(device, program, list(leaves_of(on_gpu)), grid)
    for run in CPU_PASSES:
        program = run(program)
    interpret(program, list(leaves_of(expected)), grid)
    run_on_cpu(program, list(leaves_of(on_cpu)), grid)
    run_eagerly(function, eager, constants, grid)
    results = [a for a in leaves_of(expected) if isinstance(a, np.ndarray)]
    for others, is_exact in ((on_cpu, exact), (eager, True), (on_gpu if device else eager, exact)):
        found = [a for a in leaves_of(others) if isinstance(a, np.ndarray)]
        for one, other in zip(results, found, strict=True):
            if is_exact:
                assert_same_bits(other, one)
            else:
                rtol = 2e-3 if one.dtype == np.float16 else 1e-5
                np.testing.assert_allclose(other, one, rtol=rtol, atol=1e-6)
    return results if len(results) > 1 else results[0]
