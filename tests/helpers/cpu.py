"""Block programs run on the CPU device and by the block interpreter, which must agree."""

import numpy as np

from lazyblock.backend.llvm.host import emit_host
from lazyblock.backend.llvm.optimize import to_object
from lazyblock.backend.runtime.cpu import CpuDevice
from lazyblock.backend.runtime.device import pack_pointer, pack_scalar
from lazyblock.dtypes import bfloat16, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2fnuz
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.types import to_numpy
from lazyblock.tiler.verify import verify_program

UNKNOWN_TO_NUMPY = (bfloat16, float8_e4m3fn, float8_e4m3fnuz, float8_e5m2fnuz)  # floats all


def load_on_cpu(program, target=None, level=3):
    """Compile and load a program; gives its LLVM text and the kernel."""
    verify_program(program)
    device = CpuDevice()
    target = target or device.target
    text = emit_host(program, target).llvm
    image = to_object(text, target, level)
    return text, device.load(image, program.name, 1, 0)


def pack_slots(program, arguments):
    """Slots of a launch; arrays are passed by the address of their first element."""
    slots = bytearray()
    for parameter, argument in zip(program.parameters, arguments, strict=True):
        if isinstance(argument, np.ndarray):
            slots += pack_pointer(argument.ctypes.data)
        else:
            slots += pack_scalar(argument, to_numpy(parameter.value.type.scalar))
    return slots + bytes(24)


def run_on_cpu(program, arguments, grid=(1, 1, 1), work=0, target=None, level=3):
    """Run a program on arrays (updated in place) and numbers."""
    _, kernel = load_on_cpu(program, target, level)
    CpuDevice().launch(kernel, grid, pack_slots(program, arguments), work)


def assert_same_bits(actual, expected):
    """Equal bit for bit, save that any NaN equals any NaN."""
    assert actual.dtype == expected.dtype and actual.shape == expected.shape
    if actual.dtype.kind == "f" or actual.dtype in UNKNOWN_TO_NUMPY:
        same_nan = np.isnan(actual) & np.isnan(expected)
        integers = f"u{actual.dtype.itemsize}"
        different = (actual.view(integers) != expected.view(integers)) & ~same_nan
    else:
        different = actual != expected
    where = np.argwhere(different)[:5].tolist()
    assert not different.any(), (where, actual[different][:5], expected[different][:5])


def assert_same_as_interpreter(program, arguments, grid=(1, 1, 1), target=None):
    """Run a program both ways on copies of `arguments`; gives the arrays after it."""
    ours, theirs = (
        [a.copy() if isinstance(a, np.ndarray) else a for a in arguments] for _ in range(2)
    )
    run_on_cpu(program, ours, grid, target=target)
    interpret(program, theirs, grid)
    arrays = [n for n, argument in enumerate(arguments) if isinstance(argument, np.ndarray)]
    for n in arrays:
        assert_same_bits(ours[n], theirs[n])
    return [ours[n] for n in arrays]
