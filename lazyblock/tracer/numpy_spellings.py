"""Functions with NumPy's signatures where those of the namespace are the standard's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SPELLINGS: dict[str, Callable[..., Any]] = {}
