"""Errors of compilation, under the names Triton has them."""

from lazyblock.language.frontend.errors import CompilationError
from lazyblock.language.frontend.errors import (
    StaticAssertionFailure as CompileTimeAssertionFailure,
)
from lazyblock.language.frontend.errors import UnsupportedSyntax as UnsupportedLanguageConstruct

__all__ = ["CompilationError", "CompileTimeAssertionFailure", "UnsupportedLanguageConstruct"]
