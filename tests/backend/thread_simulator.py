"""Runs the code that `emit_nvptx` makes on the host: one operating-system thread per GPU thread.

The functions that touch hardware become callbacks into Python; shuffles and barriers are rendezvous
with a timeout, so divergence shows as an error. Slow: for a few warps and a few instances.
"""

import ctypes
import itertools
import threading

import llvmlite.binding as llvm
import numpy as np

from lazyblock.backend.llvm.nvptx import emit_nvptx
from lazyblock.backend.llvm.nvptx_thread import THREAD_FUNCTIONS
from lazyblock.target import cuda_target
from lazyblock.tiler.types import PointerType, to_numpy

TIMEOUT = 20.0  # seconds a thread waits for the others
_SIGNATURES = {"lazyblock.shuffle_xor": "i32 (i32, i32)", "lazyblock.barrier": "void ()"}


class _Instance:
    """One program instance: where it is, and where its threads meet."""

    def __init__(self, place, grid, num_threads):
        self.place = place
        self.grid = grid
        self.errors = []
        self.everyone = threading.Barrier(num_threads, timeout=TIMEOUT)
        self.warps = [threading.Barrier(32, timeout=TIMEOUT) for _ in range(num_threads // 32)]
        self.lanes = [[0] * 32 for _ in self.warps]


class _Callbacks:
    """The hardware functions, for the instance and thread that call them."""

    def __init__(self):
        self.here = threading.local()
        self.instance = None
        self._kept = []
        axes = enumerate("xyz")
        for axis, letter in axes:
            self._add(f"program_id.{letter}", lambda axis=axis: self.instance.place[axis])
            self._add(f"num_programs.{letter}", lambda axis=axis: self.instance.grid[axis])
        self._add("thread_index", lambda: self.here.index)
        self._add("shuffle_xor", self._shuffle, ctypes.c_int32, ctypes.c_int32)
        self._add("barrier", lambda: self._meet(self.instance.everyone) or 0)

    def _add(self, name, function, *arguments):
        callback = ctypes.CFUNCTYPE(ctypes.c_int32, *arguments)(function)
        self._kept.append(callback)
        address = ctypes.cast(callback, ctypes.c_void_p).value
        llvm.add_symbol(f"lazyblock.{name}", address)

    def _meet(self, barrier):
        try:
            barrier.wait()
        except threading.BrokenBarrierError:
            self.instance.errors.append(f"thread {self.here.index} waits alone")

    def _shuffle(self, value, mask):
        warp, lane = divmod(self.here.index, 32)
        values, barrier = self.instance.lanes[warp], self.instance.warps[warp]
        values[lane] = value
        self._meet(barrier)
        received = values[lane ^ mask]
        self._meet(barrier)
        return received


_callbacks = None


def simulate(program, arguments, grid=(1, 1, 1)):
    """Run every instance of `grid`; arrays are updated in place."""
    global _callbacks
    _callbacks = _callbacks or _Callbacks()
    kernel = emit_nvptx(program, cuda_target("sm_90a"), _declarations())
    engine = _compile(kernel)
    pairs = zip(program.parameters, arguments, strict=True)
    values = [_pass(p.value.type.element, a) for p, a in pairs]
    signature = ctypes.CFUNCTYPE(None, *(type(value) for value in values))
    function = signature(engine.get_function_address(kernel.name))
    for z, y, x in itertools.product(*(range(extent) for extent in reversed(grid))):
        _run_instance(function, values, _Instance((x, y, z), grid, kernel.num_threads))
    return kernel


def _run_instance(function, values, instance):
    def run(index):
        _callbacks.here.index = index
        function(*values)

    _callbacks.instance = instance
    count = range(instance.everyone.parties)
    threads = [threading.Thread(target=run, args=(index,)) for index in count]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not instance.errors, instance.errors


def _declarations():
    result = {}
    for name in THREAD_FUNCTIONS:
        returned, _, rest = _SIGNATURES.get(name, "i32 ()").partition(" ")
        result[name] = f"declare {returned} @{name}{rest}\n"
    return result


def _compile(kernel):
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    text = kernel.llvm.replace("ptx_kernel ", "").replace(
        "@smem = external addrspace(3) global [0 x i8]",
        f"@smem = internal addrspace(3) global [{kernel.shared_bytes} x i8] zeroinitializer",
    )
    module = llvm.parse_assembly(text)
    module.verify()
    host = llvm.Target.from_default_triple()
    machine = host.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=1
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return engine


_FLOATS = {"f32": ctypes.c_float, "f64": ctypes.c_double}


def _pass(element, argument):
    if isinstance(element, PointerType):
        return ctypes.c_void_p(argument.ctypes.data)
    if element.name in _FLOATS:
        return _FLOATS[element.name](argument)
    bits = np.asarray(argument).astype(to_numpy(element))
    return np.ctypeslib.as_ctypes_type(f"i{bits.itemsize}")(int(bits.view(f"i{bits.itemsize}")))
