"""LLVM IR text to PTX text, through llvmlite.

LLVM ends the process on what it cannot select, so only text that our own emission made may come
here (`emit_nvptx` uses no function that NVPTX lacks). Loops are unrolled by whoever writes the
program, not by LLVM.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.lazy_imports import lazy_import
from lazyblock.target import Target

llvm = lazy_import("llvmlite.binding")

TRIPLE = "nvptx64-nvidia-cuda"
PTX_VERSION = "+ptx86"  # what wgmma and its kin need; drivers from CUDA 12.7 on read it
_OPTIMIZATION_LEVEL = 3


def to_ptx(text: str, target: Target) -> str:
    """Compile a module for `target`. Raises: CompileError with LLVM's words for a faulty text."""
    machine = _target_machine(target.arch)
    try:
        module = llvm.parse_assembly(text)
        module.triple = TRIPLE
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CompileError("LLVM refuses a kernel's text.", note=str(error)) from error
    options = llvm.create_pipeline_tuning_options(speed_level=_OPTIMIZATION_LEVEL)
    options.loop_vectorization = options.loop_unrolling = False
    options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return str(machine.emit_assembly(module))


@cache
def _initialize() -> None:
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def _target_machine(arch: str) -> Any:
    _initialize()
    return llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu=arch, features=PTX_VERSION, opt=_OPTIMIZATION_LEVEL, codemodel="default"
    )
