"""`tl.core`: every name of `tl`, and a few that kernels take from Triton's module of this name."""

from __future__ import annotations

from typing import Any

import lazyblock.language as language
from lazyblock.language.aggregate import aggregate as _aggregate
from lazyblock.language.constexpr import builtin, constexpr_function, constexpr_type
from lazyblock.language.constexpr import unwrap as _unwrap_if_constexpr

__all__ = ["_aggregate", "_unwrap_if_constexpr", "builtin", "constexpr_function", "constexpr_type"]


def __getattr__(name: str) -> Any:
    return getattr(language, name)
