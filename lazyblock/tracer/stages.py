"""The pipeline, loaded when first used: it brings every stage along."""

from typing import TYPE_CHECKING

from lazyblock.lazy_imports import lazy_import

if TYPE_CHECKING:
    from lazyblock import pipeline
else:
    pipeline = lazy_import("lazyblock.pipeline")

__all__ = ["pipeline"]
