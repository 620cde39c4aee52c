"""What compiling a kernel gives or raises, under the names Triton has them."""

from lazyblock.compiler import errors
from lazyblock.compiler.errors import CompilationError
from lazyblock.language.compiled import CompiledKernel

__all__ = ["CompilationError", "CompiledKernel", "errors"]
