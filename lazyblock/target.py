"""What a kernel is compiled for: plain data, so that planner, tiler and tests need no device."""

from __future__ import annotations

from dataclasses import dataclass, field

_PORTABLE_CLUSTER = 8  # CTAs of the largest cluster that every GPU with clusters runs


@dataclass(frozen=True)
class Target:
    """Description of a processor.

    kind: "cpu" or "cuda". arch: LLVM's CPU name, or "sm_90a" and the like. features: LLVM feature
    string. vector_bytes: widest vector register (CPU) or widest access of a thread (GPU).
    num_units: cores or multiprocessors that work at once. shared_bytes: scratch memory of a
    program. max_threads: of a CTA. max_ctas: of a cluster, 1 where there are none. is_emulated: a
    GPU whose threads the host plays. is_checked: a CPU that runs block programs in the interpreter,
    which checks every access.
    """

    kind: str
    arch: str
    features: str = ""
    vector_bytes: int = 16
    warp_size: int = 1
    num_units: int = 1
    shared_bytes: int = 0
    max_threads: int = field(default=1)
    is_emulated: bool = False
    is_checked: bool = False
    max_ctas: int = 1

    @property
    def is_gpu(self) -> bool:
        return self.kind == "cuda"

    @property
    def num_vector_registers(self) -> int:
        """Of a CPU; 0 on a GPU, whose kernels tell how many they take."""
        return 0 if self.is_gpu else 32 if self.vector_bytes == 64 else 16


def cuda_target(arch: str, num_units: int = 132) -> Target:
    """Target of an NVIDIA GPU; `arch` like "sm_80" or "sm_90a"."""
    shared = {"sm_80": 163, "sm_86": 99, "sm_89": 99}.get(arch, 227)
    has_clusters = int("".join(filter(str.isdigit, arch))) >= 90
    max_ctas = _PORTABLE_CLUSTER if has_clusters else 1
    return Target("cuda", arch, "", 16, 32, num_units, shared * 1024, 1024, max_ctas=max_ctas)
