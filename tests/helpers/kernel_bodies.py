"""Bodies of kernels, as Python functions over tensors, run in every way there is.

`evaluate(function, *operands)` loads arrays as whole blocks, calls the function within a kernel,
stores what it gives and returns it with its types; every way to run must give the same bits.
`run_body(body, *arguments)` runs a body that loads and stores by itself. Where a test runs in
several ways, the device of `tests.helpers.elsewhere` is one more.
"""

from typing import Any, NamedTuple

import numpy as np

import lazyblock.language as tl
from lazyblock.language.context import use_builder
from lazyblock.language.dtypes import from_ir
from lazyblock.language.eager import EagerBuilder
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.passes.expand_math import expand_math
from lazyblock.tiler.passes.legalise_half import legalise_half
from lazyblock.tiler.types import PointerType, from_numpy, to_numpy
from lazyblock.tiler.verify import verify_program
from tests.helpers.cpu import assert_same_bits
from tests.helpers.elsewhere import other_device
from tests.helpers.emulator import run_on

WAYS = ("eager", "interpreter")
DEVICES = (*WAYS, "cpu")
ALL = (*DEVICES, "emulated")
NAMES = {"emulated": "emulated:sm_90a"}


class Result(NamedTuple):
    """What a function gave: the name of its type in the language, and its elements."""

    type: str
    data: np.ndarray


class Scalar(NamedTuple):
    """A scalar argument of a kernel, of a given type."""

    value: Any
    type: Any


def language_type(dtype) -> Any:
    """The language's type of a NumPy dtype."""
    return from_ir(from_numpy(dtype))


def evaluate(function, *operands, ways=WAYS, num_warps=2, exact=True):
    """What `function` gives for blocks, in each of `ways`; one Result, or a list of them.

    exact: all ways give the same bits; else a device may round sums of products in its own way.
    """
    found = None
    for way in _with_other(ways):
        results = _evaluate(function, operands, way, num_warps)
        if found is None:
            found = results
            continue
        assert [r.type for r in results] == [r.type for r in found]
        for ours, theirs in zip(results, found, strict=True):
            if exact or way not in (other_device(), "emulated"):
                assert_same_bits(ours.data, theirs.data)
            else:
                largest = float(np.abs(theirs.data).max())
                np.testing.assert_allclose(ours.data, theirs.data, 0, 1e-6 * largest)
    return found[0] if len(found) == 1 else found


def _with_other(ways):
    """The ways to run; where there is another device, the first of them and that device."""
    device = other_device()
    return (ways[0], device) if device and "interpreter" in ways and len(ways) > 1 else ways


def _evaluate(function, operands, way, num_warps):
    """One run: the kernel loads, calls and stores."""
    outputs = []

    def body(add_parameter, add_output):
        blocks = []
        for number, operand in enumerate(operands):
            if isinstance(operand, np.ndarray):
                pointer = add_parameter(f"x{number}", np.ascontiguousarray(operand).reshape(-1))
                blocks.append(_load(pointer, operand.shape))
            elif isinstance(operand, Scalar):
                blocks.append(add_parameter(f"x{number}", operand))
            else:
                blocks.append(operand)
        given = function(*blocks)
        for number, value in enumerate(given if isinstance(given, (tuple, list)) else [given]):
            shape = tuple(int(extent) for extent in value.shape)
            data = np.zeros(shape, to_numpy(value.dtype.ir))
            outputs.append(Result(str(value.dtype), data))
            _store(add_output(f"out{number}", data.reshape(-1)), value, shape)

    if way == "eager":
        builder = EagerBuilder()
        with use_builder(builder):
            body(_binder(builder), _binder(builder))
        return outputs
    builder, arguments = Builder("body", num_warps=num_warps), []
    with use_builder(builder):
        body(_declarer(builder, arguments), _declarer(builder, arguments))
    _run(builder.finish(), arguments, way)
    return outputs


def _load(pointer, shape):
    return tl.load(pointer + _places(shape))


def _places(shape):
    count = int(np.prod(shape))
    if shape == ():
        return 0
    return tl.arange(0, count).reshape(*shape)


def _store(pointer, value, shape):
    tl.store(pointer + _places(shape), value)


def _element(argument):
    """Type of an argument, and what is bound to it."""
    if isinstance(argument, np.ndarray):
        return PointerType(language_type(argument.dtype).ir), argument
    return argument.type.ir, argument.value


def _binder(builder):
    def add(name, argument):
        element, value = _element(argument)
        return tl.tensor(builder.argument(name, element, value))

    return add


def _declarer(builder, arguments):
    def add(name, argument):
        element, value = _element(argument)
        arguments.append(value)
        return tl.tensor(builder.parameter(name, element))

    return add


def _run(program, arguments, way, grid=(1, 1, 1)):
    verify_program(program)
    if way == "interpreter":
        interpret(expand_math(legalise_half(program)), arguments, grid)
    else:
        run_on(NAMES.get(way, way), program, arguments, grid)


def run_body(body, *arguments, grid=(1, 1, 1), ways=WAYS, num_warps=2):
    """Run a body over pointers and scalars on copies of `arguments`; gives the arrays after it."""
    found = None
    for way in _with_other(ways):
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        flat = [a.reshape(-1) if isinstance(a, np.ndarray) else a for a in copies]
        if way == "eager":
            _run_eagerly(body, flat, grid)
        else:
            builder, values = Builder("body", num_warps=num_warps), []
            with use_builder(builder):
                add = _declarer(builder, values)
                body(*(add(f"x{number}", a) for number, a in enumerate(flat)))
            _run(builder.finish(), values, way, grid)
        arrays = [a for a in copies if isinstance(a, np.ndarray)]
        for ours, theirs in zip(arrays, arrays if found is None else found, strict=True):
            assert_same_bits(ours, theirs)
        found = arrays
    return found


def _run_eagerly(body, arguments, grid):
    builder = EagerBuilder(grid=grid)
    add = _binder(builder)
    with use_builder(builder):
        values = [add(f"x{number}", a) for number, a in enumerate(arguments)]
        for z, y, x in np.ndindex(grid[::-1]):
            builder.place = (x, y, z)
            body(*values)
