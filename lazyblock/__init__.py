"""NumPy-style code on lazy arrays, fused into few block kernels for the CPU and NVIDIA GPUs.

Public names only; each chapter of the array namespace lists its own in `__all__`.
`docs/` tells about them.
"""

import numpy

from lazyblock import (
    compiler,
    config,
    constants,
    errors,
    events,
    fft,
    language,
    lib,
    linalg,
    random,
    runtime,
    scalar_types,
    testing,
    tools,
)
from lazyblock.constants import *
from lazyblock.inspect import start_listeners
from lazyblock.inspect.dump import dump
from lazyblock.language.aggregate import aggregate
from lazyblock.language.autotune import Config, autotune
from lazyblock.language.constexpr import constexpr_function
from lazyblock.language.heuristics import heuristics
from lazyblock.language.jit import JitFunction, jit
from lazyblock.language.jit import JitFunction as JITFunction
from lazyblock.language.kernel_file import load_kernel
from lazyblock.language.kernel_interface import KernelInterface
from lazyblock.language.reinterpreted import TensorWrapper, reinterpret
from lazyblock.runtime import set_allocator
from lazyblock.runtime.errors import OutOfResources
from lazyblock.scalar_types import *
from lazyblock.shapes import cdiv, next_power_of_2
from lazyblock.tracer import (
    bits,
    calls,
    complex_numbers,
    convolutions,
    creation,
    data_types,
    diagonals,
    differences,
    elementwise,
    evaluation,
    grids,
    histograms,
    host_functions,
    imports,
    insertion,
    inspection,
    joining,
    linear_algebra,
    manipulation,
    nan_functions,
    numpy_names,
    order_statistics,
    overlap,
    padding,
    polynomials,
    putting,
    questions,
    ranges,
    reductions,
    scans,
    searching,
    selection,
    sets,
    sorting,
    statistics,
    subscripts,
    taking,
    utility,
)
from lazyblock.tracer.array import Array
from lazyblock.tracer.bits import *
from lazyblock.tracer.calls import *
from lazyblock.tracer.compiled import compile
from lazyblock.tracer.complex_numbers import *
from lazyblock.tracer.convolutions import *
from lazyblock.tracer.creation import *
from lazyblock.tracer.data_types import *
from lazyblock.tracer.diagonals import *
from lazyblock.tracer.differences import *
from lazyblock.tracer.elementwise import *
from lazyblock.tracer.evaluation import *
from lazyblock.tracer.grids import *
from lazyblock.tracer.histograms import *
from lazyblock.tracer.host_functions import *
from lazyblock.tracer.imports import *
from lazyblock.tracer.insertion import *
from lazyblock.tracer.inspection import *
from lazyblock.tracer.joining import *
from lazyblock.tracer.linear_algebra import *
from lazyblock.tracer.manipulation import *
from lazyblock.tracer.nan_functions import *
from lazyblock.tracer.numpy_names import *
from lazyblock.tracer.order_statistics import *
from lazyblock.tracer.overlap import *
from lazyblock.tracer.padding import *
from lazyblock.tracer.polynomials import *
from lazyblock.tracer.putting import *
from lazyblock.tracer.questions import *
from lazyblock.tracer.ranges import *
from lazyblock.tracer.reductions import *
from lazyblock.tracer.scans import *
from lazyblock.tracer.searching import *
from lazyblock.tracer.selection import *
from lazyblock.tracer.sets import *
from lazyblock.tracer.sorting import *
from lazyblock.tracer.statistics import *
from lazyblock.tracer.subscripts import *
from lazyblock.tracer.taking import *
from lazyblock.tracer.utility import *
from lazyblock.version import __version__

start_listeners()
numpy_names.accept_numpy_calls(globals(), numpy)

__all__ = [
    "Array",
    "Config",
    "JITFunction",
    "JitFunction",
    "KernelInterface",
    "OutOfResources",
    "TensorWrapper",
    "__version__",
    "aggregate",
    "autotune",
    "cdiv",
    "compile",
    "compiler",
    "config",
    "constexpr_function",
    "dump",
    "errors",
    "events",
    "fft",
    "heuristics",
    "jit",
    "language",
    "lib",
    "linalg",
    "load_kernel",
    "next_power_of_2",
    "random",
    "reinterpret",
    "runtime",
    "set_allocator",
    "testing",
    "tools",
]
__all__ += constants.__all__
__all__ += bits.__all__
__all__ += calls.__all__
__all__ += complex_numbers.__all__
__all__ += convolutions.__all__
__all__ += creation.__all__
__all__ += data_types.__all__
__all__ += diagonals.__all__
__all__ += differences.__all__
__all__ += elementwise.__all__
__all__ += evaluation.__all__
__all__ += grids.__all__
__all__ += histograms.__all__
__all__ += host_functions.__all__
__all__ += imports.__all__
__all__ += insertion.__all__
__all__ += inspection.__all__
__all__ += joining.__all__
__all__ += linear_algebra.__all__
__all__ += manipulation.__all__
__all__ += nan_functions.__all__
__all__ += numpy_names.__all__
__all__ += order_statistics.__all__
__all__ += overlap.__all__
__all__ += padding.__all__
__all__ += polynomials.__all__
__all__ += putting.__all__
__all__ += questions.__all__
__all__ += ranges.__all__
__all__ += reductions.__all__
__all__ += scalar_types.__all__
__all__ += scans.__all__
__all__ += searching.__all__
__all__ += selection.__all__
__all__ += sets.__all__
__all__ += sorting.__all__
__all__ += statistics.__all__
__all__ += subscripts.__all__
__all__ += taking.__all__
__all__ += utility.__all__
