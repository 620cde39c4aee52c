"""A compiled kernel: the text of every stage, the image a device loads, what it uses."""

from __future__ import annotations

from dataclasses import dataclass, field

from lazyblock.target import Target


@dataclass(frozen=True)
class CompiledKernel:
    """What compiling a block program gives. `image` is what a device loads.

    stages: texts by name: "block", "llvm", and "asm" (CPU) or "ptx" (GPU). num_ctas: of a cluster,
    which runs one instance; num_threads and shared_bytes are those of a CTA. is_cooperative: all
    instances of a launch run at once.
    """

    name: str
    target: Target
    key: str
    image: bytes = field(repr=False)
    stages: dict[str, str] = field(repr=False, hash=False)
    num_threads: int = 1
    shared_bytes: int = 0
    num_ctas: int = 1
    is_cooperative: bool = False
