"""`tl.core`: every name of `tl`, and a few that kernels take from Triton's module of this name."""

from __future__ import annotations

from typing import Any

import lazyblock.language as language
from lazyblock.language.aggregate import aggregate as _aggregate
from lazyblock.language.constexpr import builtin, constexpr, constexpr_function, constexpr_type
from lazyblock.language.constexpr import unwrap as _unwrap_if_constexpr
from lazyblock.language.dtypes import dtype, parse_name

__all__ = ["_aggregate", "_unwrap_if_constexpr", "builtin", "constexpr_function", "constexpr_type"]
__all__ += ["CONSTEXPR_0", "get_int_dtype"]

CONSTEXPR_0 = constexpr(0)


def get_int_dtype(bitwidth: int, signed: bool) -> dtype:
    """The integer type of so many bits."""
    return parse_name(f"{'' if signed else 'u'}int{bitwidth}")


def __getattr__(name: str) -> Any:
    return getattr(language, name)
