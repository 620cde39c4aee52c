"""Type checks shared by the ops."""

from __future__ import annotations

from lazyblock.errors import VerifyError
from lazyblock.tiler.ir import Value


def require(condition: bool, message: str) -> None:
    """Raise VerifyError(message) unless `condition`."""
    if not condition:
        raise VerifyError(message)


def require_same_type(*values: Value) -> None:
    """All values must have one type."""
    types = {str(value.type) for value in values}
    require(len(types) == 1, f"operands of different types: {', '.join(sorted(types))}")


def require_same_shape(*values: Value) -> None:
    """All values must have one shape."""
    shapes = {value.shape for value in values}
    require(len(shapes) == 1, f"operands of different shapes: {sorted(shapes)}")
