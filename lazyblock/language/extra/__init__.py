"""`tl.extra`: functions beyond the language's own."""

from lazyblock.language.extra import cuda, libdevice

__all__ = ["cuda", "libdevice"]
