"""From the source of a Python function to the block IR, or to what Python runs in eager mode."""

from lazyblock.language.frontend.eager import eager_function
from lazyblock.language.frontend.evaluator import build_program

__all__ = ["build_program", "eager_function"]
