"""`tl.extra.cuda`: what kernels written for NVIDIA GPUs import from there."""

from __future__ import annotations

from lazyblock.language.constexpr import builtin
from lazyblock.language.extra import libdevice


@builtin
def gdc_wait() -> None:
    """Wait for the kernel launched before; launches run in order anyway."""


@builtin
def gdc_launch_dependents() -> None:
    """Let the next kernel start early; launches run in order anyway."""


__all__ = ["gdc_launch_dependents", "gdc_wait", "libdevice"]
