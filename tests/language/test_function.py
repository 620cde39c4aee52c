"""Functions: source, parameters, names, keys, and how Python runs them."""

from __future__ import annotations

import functools
import linecache
import math
import sys
import traceback

import numpy as np
import pytest

import lazyblock as lb
import lazyblock.language as tl
from lazyblock.errors import CompileError, SemanticError
from lazyblock.language import dtypes
from lazyblock.language.frontend import build_program
from lazyblock.language.frontend.errors import CompilationError
from lazyblock.language.function import REQUIRED, Constant, KernelFunction, Pointer, Scalar, Tuple
from tests.helpers.kernels import jit, program_of, run_eagerly, run_kernel, specs_of

SCALE = 2
OTHER = tl.constexpr(5)


def ints(size=1):
    return np.zeros(size, np.int32)


# --- source --------------------------------------------------------------------------------------


def logged(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)

    return wrapper


def test_decorated_and_indented_functions_are_found():
    if True:

        @jit
        @logged
        def kernel(out, n):
            """Text
            that is less indented than the code."""
            tl.store(out, n + 1)

    assert kernel.source.text.lstrip().startswith("@jit")
    assert run_kernel(kernel, ints(), 3) == 4


def test_methods_are_functions_of_their_object():
    class Model:
        SIZE = tl.constexpr(3)

        @jit
        def kernel(out, n):
            tl.store(out, n * Model.SIZE)

    assert run_kernel(Model.kernel, ints(), 4) == 12


def test_cells_of_a_notebook_are_found():
    cell = "@jit\ndef kernel(out, n):\n    tl.store(out, n + 7)\n"
    name = "<ipython-input-1-abc>"
    linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)
    scope = {"jit": jit, "tl": tl}
    exec(compile(cell, name, "exec"), scope)
    assert run_kernel(scope["kernel"], ints(), 3) == 10
    assert scope["kernel"].source.file == name


def test_lines_and_columns_are_those_of_the_file():
    def kernel(out, n):
        tl.store(out,
                 n + missing)  # fmt: skip # noqa: F821

    with pytest.raises(CompilationError) as caught:
        program_of(kernel, ints(), 3)
    place = caught.value.place
    assert place.line == kernel.__code__.co_firstlineno + 2
    assert linecache.getline(place.file, place.line)[place.column : place.end_column] == "missing"


# --- parameters ----------------------------------------------------------------------------------


def annotated(
    a,
    b: tl.constexpr,
    c: tl.int64 = 3,
    d: "*fp16" = None,  # noqa: F722
    e: "*kbf16" = None,  # noqa: F722
    f: tl.const = None,
    g: tl.constexpr = 4,
    h: int = 5,
    *rest,
):
    pass


def test_parameters_know_their_annotations():
    parameters = {p.name: p for p in jit(annotated).parameters}
    assert [n for n, p in parameters.items() if p.is_constexpr] == ["b", "g"]
    assert [n for n, p in parameters.items() if p.is_const] == ["e", "f"]
    assert parameters["c"].dtype == tl.int64 and parameters["c"].default == 3
    assert parameters["d"].dtype == tl.pointer_type(tl.float16)
    assert parameters["e"].dtype == dtypes.pointer_type(tl.bfloat16, const=True)
    assert parameters["a"].default is REQUIRED and parameters["a"].annotation is None
    assert parameters["h"].annotation is int and parameters["h"].dtype is None
    assert parameters["rest"].is_variadic


def test_programs_have_the_parameters_that_are_not_known():
    def kernel(x, pair, BLOCK: tl.constexpr, flag=False, y=None):
        tl.static_assert(y is None and not flag)
        tl.store(x + pair[0], pair[1][1] + BLOCK)

    specs = {
        "x": Pointer(tl.int64, 16, is_const=False),
        "pair": Tuple((Scalar(tl.int32, 16), Tuple((Constant("a"), Scalar(tl.int64))))),
        "BLOCK": Constant(8),
    }
    program = build_program(jit(kernel), specs, num_warps=8, num_stages=2, num_ctas=1)
    found = [(p.name, str(p.value.type), p.divisibility) for p in program.parameters]
    assert found == [("x", "*i64", 16), ("pair_0", "i32", 16), ("pair_1_1", "i64", 1)]
    assert (program.name, program.num_warps, program.num_stages) == ("kernel", 8, 2)


def test_variadic_parameters_are_tuples():
    @jit
    def total(first, *others):
        for other in others:
            first += other
        return first

    def kernel(out, n):
        tl.store(out, total(n, 2, n * 2))

    assert run_kernel(kernel, ints(), 3) == 11


# --- keys ----------------------------------------------------------------------------------------


@jit
def scaled(x):
    return x * SCALE


@jit
def outer(out, n):
    tl.store(out, scaled(n) + OTHER + math.floor(1.5))


def test_keys_follow_what_a_function_reaches(monkeypatch):
    before = outer.key()
    assert before == outer.key() == KernelFunction(outer.fn).key() != scaled.key()
    monkeypatch.setitem(globals(), "SCALE", 3)
    changed = outer.key()
    assert changed != before
    monkeypatch.setitem(globals(), "OTHER", tl.constexpr(6))
    assert outer.key() not in (before, changed)
    monkeypatch.undo()
    assert outer.key() == before


def test_keys_follow_attributes_of_classes_and_methods_of_objects(monkeypatch):
    class Base:
        SIZE = 3

    class Model(Base):
        pass

    def span_class(step):
        class Span:
            start: tl.tensor

            @jit
            def end(self):
                return self.start + step

        return tl.aggregate(Span)

    def kernel_with(span):
        @jit
        def kernel(out, n):
            tl.store(out, span(n).end() + Model.SIZE)

        return kernel

    kernel = kernel_with(span_class(1))
    assert run_kernel(kernel, ints(), 5) == 9
    assert kernel.key() == kernel_with(span_class(1)).key() != kernel_with(span_class(2)).key()
    before = kernel.key()
    monkeypatch.setattr(Base, "SIZE", 4)
    assert kernel.key() != before


def test_keys_of_functions_that_call_each_other():
    @jit
    def even(n: tl.constexpr):
        return True if n == 0 else odd(n - 1)

    @jit
    def odd(n: tl.constexpr):
        return False if n == 0 else even(n - 1)

    def kernel(out):
        tl.store(out, even(4))

    assert even.key() != odd.key()
    assert run_kernel(kernel, ints()) == 1


# --- run by Python -------------------------------------------------------------------------------


def test_python_runs_the_users_own_lines():
    def kernel(out, n):
        total = 0
        for i in range(n):
            total += i
            if i == 2:
                seen.append((sys._getframe().f_lineno, repr(total), sys._getframe().f_code.co_name))
        tl.store(out, total)

    seen = []
    kernel_lines = kernel.__code__.co_firstlineno
    program = jit(kernel)
    out = ints()
    run_eagerly(program, (out, 4), {}, (1, 1, 1))
    assert out == 6 and seen == [(kernel_lines + 5, "tensor(3, int32)", "kernel")]


def test_errors_in_python_mode_show_the_users_line():
    def kernel(out, n):
        a = tl.arange(0, 4)
        tl.store(out + a, a + tl.arange(0, 8))

    with pytest.raises(SemanticError) as caught:
        run_eagerly(jit(kernel), (ints(8), 3), {}, (1, 1, 1))
    frames = traceback.extract_tb(caught.value.__traceback__)
    users = [frame for frame in frames if frame.filename == __file__]
    assert users[-1].lineno == kernel.__code__.co_firstlineno + 2


def test_calls_outside_of_kernels_are_refused():
    with pytest.raises(CompileError, match=r"launch it on a grid: outer\[grid\]\(\.\.\.\)"):
        outer(ints(), 3)


# --- settings ------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", ["break", "continue"])
def test_strict_mode_refuses_what_is_added_to_the_language(line):
    text = f"def kernel(out, n):\n    for i in range(n):\n        if i > 3:\n            {line}\n"
    name = f"<strict {line}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {}
    exec(compile(text, name, "exec"), scope)
    function = jit(scope["kernel"])
    with pytest.raises(CompilationError, match=f"'{line}' is no part of the language in strict"):
        build_program(function, specs_of(function, (ints(), 3), {}), strict=True)


def test_names_that_inner_functions_read_live_on():
    def kernel(out, n):
        def shifted():
            return value + 1

        value = 0
        if n > 3:
            value = n
        tl.store(out, shifted())

    assert run_kernel(kernel, ints(), 5) == 6


def test_block_pointers_are_carried_by_loops():
    def kernel(x, out, n, BLOCK: tl.constexpr):
        block = tl.make_block_ptr(x, (n,), (1,), (0,), (BLOCK,), (0,))
        total = tl.zeros((BLOCK,), tl.float32)
        for _ in range(0, n, BLOCK):
            total += tl.load(block, boundary_check=(0,))
            if n > 2:
                block = tl.advance(block, (BLOCK,))
        tl.store(out, tl.sum(total, 0))

    x = np.arange(10, dtype=np.float32)
    assert run_kernel(kernel, x, np.zeros(1, np.float32), 10, BLOCK=4)[1] == 45


def test_the_language_has_its_other_names():
    assert tl.core.constexpr is tl.constexpr and tl.core.arange is tl.arange
    assert tl.core._aggregate is tl.aggregate is lb.aggregate

    @lb.constexpr_function
    def doubled(n):
        return n * 2

    def kernel(out, N: tl.constexpr):
        tl.static_assert(doubled(N) == 6)
        tl.store(out + tl.arange(0, doubled(N - 1)), doubled(N))

    assert run_kernel(kernel, ints(4), N=3).tolist() == [6, 6, 6, 6]
