"""Names that kernels written for Triton, and wrappers around them, import or ask for."""

import importlib
import inspect

import numpy as np
import pytest

import lazyblock as lb
import lazyblock.language as tl
from lazyblock.compiler import errors


@lb.jit(do_not_specialize=["n"])
def add(x, n, factor=2.0, BLOCK: tl.constexpr = 8):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, mask=i < n) + factor, mask=i < n)


@pytest.mark.parametrize(
    "name",
    [
        "runtime.jit.JITFunction",
        "runtime.jit.KernelInterface",
        "runtime.jit.reinterpret",
        "runtime.autotuner.Autotuner",
        "runtime.autotuner.Heuristics",
        "runtime.errors.OutOfResources",
        "compiler.CompiledKernel",
        "runtime.driver",
        "language.core.CONSTEXPR_0",
        "language.core.get_int_dtype",
        "language.standard.zeros_like",
        "language.standard._log2",
        "language.libdevice.pow",
    ],
)
def test_modules_have_the_names(name):
    module, _, last = name.rpartition(".")
    assert hasattr(importlib.import_module(f"lazyblock.{module}"), last)


def test_kernels_tell_their_parameters():
    assert isinstance(add, lb.JITFunction) and isinstance(add, lb.KernelInterface)
    assert add.arg_names == ["x", "n", "factor", "BLOCK"]
    assert [p.num for p in add.params if p.is_constexpr] == [3]
    assert [p.name for p in add.params if p.do_not_specialize] == ["n"]
    assert [p.default for p in add.params] == [inspect.Parameter.empty] * 2 + [2.0, 8]
    assert list(add.signature.parameters) == add.arg_names
    assert add.__globals__ is globals()
    assert add.src.startswith("def add(x, n, ") and add.src.endswith("mask=i < n)\n")
    assert add.cache_key == lb.jit(add.fn).cache_key


def test_wrappers_define_run_only():
    class Twice(lb.KernelInterface):
        def run(self, *args, grid, warmup):
            assert not warmup
            add[grid](*args)
            add[grid](*args)

    x = np.arange(4, dtype=np.float32)
    Twice()[(1,)](x, 4)
    np.testing.assert_array_equal(x, np.arange(4) + 4)


class Memory:
    """What has torch's `data_ptr` and `dtype`, over a NumPy array."""

    def __init__(self, array):
        self.array, self.dtype = array, array.dtype

    def data_ptr(self):
        return self.array.ctypes.data


def test_tensors_are_reinterpreted():
    x = np.arange(4, dtype=np.float32)
    bits = lb.reinterpret(Memory(x.view(np.int32)), tl.float32)
    add[(1,)](bits, 4)
    np.testing.assert_array_equal(x, np.arange(4) + 2)
    again = lb.reinterpret(bits, tl.int32)
    assert again.dtype == tl.int32 and again.data_ptr() == bits.data_ptr()
    with pytest.raises(lb.errors.LaunchError, match=r"x\.view"):
        lb.reinterpret(x, tl.int32)


@pytest.mark.parametrize("name", ["tanh", "pow", "log1p", "fast_expf", "isnan"])
def test_math_has_names_of_libdevice(name):
    assert getattr(tl.math, name) is getattr(tl.extra.libdevice, name)
    assert getattr(tl.libdevice, name) is getattr(tl.math, name)


def test_kinds_of_compilation_errors():
    @lb.jit
    def asserts(x):
        tl.static_assert(x.dtype == tl.int32, "integers only")

    @lb.jit
    def tries(x):
        try:
            tl.store(x, 0)
        finally:
            pass

    x = np.zeros(1, np.float32)
    with pytest.raises(errors.CompileTimeAssertionFailure, match="integers only"):
        asserts[(1,)](x)
    with pytest.raises(errors.UnsupportedLanguageConstruct, match="kernel"):
        tries[(1,)](x)
    assert issubclass(errors.CompileTimeAssertionFailure, errors.CompilationError)
