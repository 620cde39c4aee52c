"""Block program and target to a compiled kernel, through LLVM."""

from __future__ import annotations

from lazyblock import config
from lazyblock.backend.kernel import CompiledKernel
from lazyblock.backend.llvm.emulated import EMULATED_LEVEL, emit_emulated
from lazyblock.backend.llvm.host import emit_host
from lazyblock.backend.llvm.nvptx import NvptxKernel, emit_nvptx
from lazyblock.backend.llvm.optimize import host_target, llvm_version, to_object
from lazyblock.backend.llvm.ptx import to_ptx
from lazyblock.backend.runtime.checked import make_image
from lazyblock.errors import DeviceError
from lazyblock.target import Target
from lazyblock.tiler.ir import Program


def toolchain_version() -> str:
    """What compiles: part of every cache key."""
    return f"LLVM {llvm_version()}"


def compile_program(program: Program, target: Target, key: str, block_text: str) -> CompiledKernel:
    """Compile a legalised program.

    Parameters: key, the cache key; block_text, the program before legalisation, kept as a stage.
    Raises: CompileError naming the stage and the kernel; DeviceError for a GPU under `sanitize`.
    """
    if target.is_checked:
        return CompiledKernel(program.name, target, key, make_image(program), {"block": block_text})
    if target.is_emulated:
        emitted = emit_emulated(program, target)
        image = to_object(emitted.llvm, host_target(), EMULATED_LEVEL)
        texts = {"block": block_text, "llvm": emitted.llvm}
        return _launchable(program, target, key, image, texts, emitted)
    if target.is_gpu:
        if config.current.sanitize:
            hint = "move the arrays with lb.asarray(x, device='cpu')."
            raise DeviceError("Kernels are sanitized on the CPU only.", hint=hint)
        emitted = emit_nvptx(program, target)
        ptx = to_ptx(emitted.llvm, target)
        texts = {"block": block_text, "llvm": emitted.llvm, "ptx": ptx}
        image = ptx.encode() + b"\0"
        return _launchable(program, target, key, image, texts, emitted)
    host = emit_host(program, target)
    image = to_object(host.llvm, target)
    texts = {"block": block_text, "llvm": host.llvm}
    return CompiledKernel(program.name, target, key, image, texts, shared_bytes=host.scratch_bytes)


def _launchable(
    program: Program,
    target: Target,
    key: str,
    image: bytes,
    texts: dict[str, str],
    emitted: NvptxKernel,
) -> CompiledKernel:
    """A kernel with the frame that its threads run in."""
    frame = emitted.num_threads, emitted.shared_bytes, emitted.num_ctas, program.is_cooperative
    return CompiledKernel(program.name, target, key, image, texts, *frame)
