"""NumPy-style code on lazy arrays, fused into few block kernels for the CPU and NVIDIA GPUs.

Public names only; each chapter of the array namespace lists its own in `__all__`.
`docs/` tells about them.
"""

from lazyblock import config, constants, dtypes, errors, events, language, runtime, testing, tools
from lazyblock.constants import *
from lazyblock.dtypes import *
from lazyblock.dtypes import bool_ as bool
from lazyblock.inspect import start_listeners
from lazyblock.inspect.dump import dump
from lazyblock.language.aggregate import aggregate
from lazyblock.language.autotune import Config, autotune
from lazyblock.language.constexpr import constexpr_function
from lazyblock.language.heuristics import heuristics
from lazyblock.language.jit import JitFunction, jit
from lazyblock.language.kernel_file import load_kernel
from lazyblock.runtime import set_allocator
from lazyblock.shapes import cdiv, next_power_of_2
from lazyblock.tracer import (
    calls,
    complex_numbers,
    creation,
    data_types,
    elementwise,
    evaluation,
    inspection,
    manipulation,
    reductions,
    scans,
    searching,
    sets,
    sorting,
    utility,
)
from lazyblock.tracer.array import Array
from lazyblock.tracer.calls import *
from lazyblock.tracer.compiled import compile
from lazyblock.tracer.complex_numbers import *
from lazyblock.tracer.creation import *
from lazyblock.tracer.data_types import *
from lazyblock.tracer.elementwise import *
from lazyblock.tracer.evaluation import *
from lazyblock.tracer.inspection import *
from lazyblock.tracer.manipulation import *
from lazyblock.tracer.reductions import *
from lazyblock.tracer.scans import *
from lazyblock.tracer.searching import *
from lazyblock.tracer.sets import *
from lazyblock.tracer.sorting import *
from lazyblock.tracer.utility import *
from lazyblock.version import __version__

start_listeners()

__all__ = [
    "Array",
    "Config",
    "JitFunction",
    "__version__",
    "aggregate",
    "autotune",
    "bool",
    "cdiv",
    "compile",
    "config",
    "constexpr_function",
    "dump",
    "errors",
    "events",
    "heuristics",
    "jit",
    "language",
    "load_kernel",
    "next_power_of_2",
    "runtime",
    "set_allocator",
    "testing",
    "tools",
]
__all__ += constants.__all__
__all__ += dtypes.__all__
__all__ += calls.__all__
__all__ += complex_numbers.__all__
__all__ += creation.__all__
__all__ += data_types.__all__
__all__ += elementwise.__all__
__all__ += evaluation.__all__
__all__ += inspection.__all__
__all__ += manipulation.__all__
__all__ += reductions.__all__
__all__ += scans.__all__
__all__ += searching.__all__
__all__ += sets.__all__
__all__ += sorting.__all__
__all__ += utility.__all__
