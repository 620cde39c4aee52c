"""What kernels are and take, under the names Triton has them."""

from lazyblock.language.constexpr import constexpr_function
from lazyblock.language.jit import JitFunction as JITFunction
from lazyblock.language.jit import jit
from lazyblock.language.kernel_interface import KernelInterface, KernelParam
from lazyblock.language.reinterpreted import TensorWrapper, reinterpret

__all__ = [
    "JITFunction",
    "KernelInterface",
    "KernelParam",
    "TensorWrapper",
    "constexpr_function",
    "jit",
    "reinterpret",
]
