"""LLVM as a library: the host as a Target, and LLVM IR text to an object file or assembly.

Our loops are vectorised already, so LLVM's own loop vectoriser stays off: it would only add tails.
Unrolling makes most of the time of long modules: it is less for them, or not at all.
Objects are position independent: another process on the same kind of processor may load them.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.lazy_imports import lazy_import
from lazyblock.target import Target

llvm = lazy_import("llvmlite.binding")

_numbers = itertools.count()
_lock = threading.RLock()  # one thread at a time touches LLVM's global state, and llvmlite's


@functools.cache
def initialize() -> None:
    """Register the targets, once."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


def llvm_version() -> str:
    """Version of the LLVM that compiles, as "22.1.0"."""
    return ".".join(map(str, llvm.llvm_version_info))


@functools.cache
def host_target(is_checked: bool = False) -> Target:
    """Describe the processor this process runs on."""
    with _lock:
        initialize()
        features = llvm.get_host_cpu_features()
        arch = llvm.get_host_cpu_name()
    # each load of an AVX-512 register is a whole cache line; wider is not better on older ones
    vector_bytes = 64 if features.get("avx512vl") else 32 if features.get("avx2") else 16
    num_units = len(os.sched_getaffinity(0))
    features = features.flatten()
    return Target("cpu", arch, features, vector_bytes, num_units=num_units, is_checked=is_checked)


def to_object(llvm_text: str, target: Target, level: int = 3) -> bytes:
    """Optimise a module (`level` 0 to 3) and compile it for `target`, the host: an object file.

    Raises: CompileError with LLVM's words and the text when the module is not valid.
    """
    with _lock:
        machine, module = _optimized(llvm_text, target, level)
        image: bytes = machine.emit_object(module)
        return image


def to_assembly(llvm_text: str, target: Target) -> str:
    """The same code as text, for reading."""
    with _lock:
        machine, module = _optimized(llvm_text, target, 3)
        return str(machine.emit_assembly(module))


def _optimized(llvm_text: str, target: Target, level: int) -> tuple[Any, Any]:
    """What emits code, and the module."""
    initialize()
    machine = _target_machine(target, level)
    module = _parse(llvm_text, machine)
    _optimize(module, machine, level, llvm_text.count("\n"))
    return machine, module


def _target_machine(target: Target, level: int = 3) -> Any:
    triple = llvm.Target.from_triple(llvm.get_process_triple())
    return triple.create_target_machine(
        cpu=target.arch, features=target.features, opt=level, reloc="pic", codemodel="default"
    )


def _parse(text: str, machine: Any) -> Any:
    try:
        module = llvm.parse_assembly(text)
        module.triple = machine.triple
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CompileError(f"LLVM does not accept its input: {error}") from error
    return module


_LONG, _VERY_LONG = 2000, 6000  # lines; a matmul has 300, attention 900
_TOO_LONG = 20000  # for one function: LLVM's time grows faster than its length
_DEEPEST = 3  # over program instances, a loop of the kernel, a nest over a block's elements


def _optimize(module: Any, machine: Any, level: int, num_lines: int) -> None:
    if num_lines > _LONG:
        level = min(level, 2)  # unrolls to half the size that level 3 does
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    options.loop_vectorization = False
    options.slp_vectorization = False
    options.loop_unrolling = num_lines <= _VERY_LONG
    builder = llvm.create_pass_builder(machine, options)
    if num_lines > _TOO_LONG and level > 0:  # code that is not optimised need not be short
        _outline_loops(module, builder)
    builder.getModulePassManager().run(module, builder)


def _outline_loops(module: Any, builder: Any) -> None:
    """Make the loops functions, and equal ones the same function.

    A kernel gets this long by saying the same again: its steps differ in the buffers they use.
    """
    before = {function.name for function in module.functions}
    for _ in range(_DEEPEST):  # one level of loops a run
        passes = llvm.create_new_module_pass_manager()
        passes.add_loop_simplify_pass()
        passes.add_loop_extract_pass()
        passes.run(module, builder)
    passes = llvm.create_new_module_pass_manager()
    passes.add_merge_functions_pass()
    passes.run(module, builder)
    for function in module.functions:
        if function.name not in before and not function.is_declaration:
            function.add_function_attribute("noinline")


# --- loading -------------------------------------------------------------------------------------


@functools.cache
def _linker() -> Any:
    """The JIT that takes object files; made once, without running the optimiser."""
    initialize()
    return llvm.create_lljit_compiler(_target_machine(host_target()), use_jit_link=True)


def link(
    image: bytes, names: Sequence[str], imports: Mapping[str, int] | None = None
) -> tuple[dict[str, int], Any]:
    """Make an object file callable: the addresses of `names`, and what keeps its code alive.

    imports: addresses of symbols that the object file may refer to.
    Raises: RuntimeError with LLVM's words for an image that is no object file or lacks symbols.
    """
    with _lock:
        builder = llvm.JITLibraryBuilder().add_current_process().add_object_img(image)
        for name in names:
            builder.export_symbol(name)
        for name, address in (imports or {}).items():
            builder.import_symbol(name, address)
        library = builder.link(_linker(), f"lazyblock.{next(_numbers)}")
        return {name: library[name] for name in names}, library
