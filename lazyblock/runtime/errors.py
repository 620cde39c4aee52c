"""Errors of launches, under the names Triton has them."""

from lazyblock.errors import OutOfResourcesError as OutOfResources

__all__ = ["OutOfResources"]
