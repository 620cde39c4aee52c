"""A compiled kernel: the text of every stage, the image a device loads, what it uses."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from lazyblock.backend.llvm.optimize import to_assembly
from lazyblock.target import Target


@dataclass(frozen=True)
class CompiledKernel:
    """What compiling a block program gives. `image` is what a device loads.

    texts: of stages, by name: "block", "llvm", and "ptx" (GPU). num_ctas: of a cluster, which runs
    one instance; num_threads and shared_bytes are those of a CTA (on a CPU: of an instance).
    is_cooperative: all instances of a launch run at once.
    """

    name: str
    target: Target
    key: str
    image: bytes = field(repr=False)
    texts: dict[str, str] = field(repr=False, hash=False)
    num_threads: int = 1
    shared_bytes: int = 0
    num_ctas: int = 1
    is_cooperative: bool = False

    @functools.cached_property
    def stages(self) -> dict[str, str]:
        """`texts`, and "asm" of a CPU kernel, which is made when somebody reads it."""
        if self.target.is_gpu or self.target.is_emulated or "llvm" not in self.texts:
            return self.texts
        return {**self.texts, "asm": to_assembly(self.texts["llvm"], self.target)}
