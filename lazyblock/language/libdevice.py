"""`tl.libdevice`: where older kernels have `tl.extra.libdevice` from."""

from typing import Any

from lazyblock.language.extra import libdevice


def __getattr__(name: str) -> Any:
    return getattr(libdevice, name)
