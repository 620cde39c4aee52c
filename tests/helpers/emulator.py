"""Block programs run on a device: an emulated GPU, or the CPU."""

import numpy as np

from lazyblock.backend.devices import get_device
from lazyblock.backend.runtime.device import pack_pointer, pack_scalar
from lazyblock.pipeline import compile_block_program
from lazyblock.tiler.types import to_numpy


def emulate(program, arguments, grid=(1, 1, 1), arch="sm_90a", compile=compile_block_program):
    """Run every instance of `grid`; arrays are updated in place."""
    return run_on(f"emulated:{arch}", program, arguments, grid, compile)


def run_on(name, program, arguments, grid=(1, 1, 1), compile=compile_block_program):
    """Run every instance of `grid` on the device called `name`; arrays are updated in place."""
    device = get_device(name)
    kernel = compile(program, device.target)
    frame = kernel.num_threads, kernel.shared_bytes, kernel.num_ctas
    loaded = device.load(kernel.image, kernel.name, *frame)
    slots, buffers = bytearray(), []
    for parameter, argument in zip(program.parameters, arguments, strict=True):
        if isinstance(argument, np.ndarray):
            buffers.append((argument, device.from_host(argument)))
            slots += pack_pointer(buffers[-1][1].pointer)
        else:
            slots += pack_scalar(argument, to_numpy(parameter.value.type.scalar))
    device.launch(loaded, grid, slots + bytes(24), 1)
    for array, buffer in buffers:
        strides = np.array(array.strides) // array.itemsize
        array[...] = device.to_host(buffer, 0, array.dtype, array.shape, strides)
    return kernel
