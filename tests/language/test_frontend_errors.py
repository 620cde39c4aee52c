"""What a kernel's author is told: one sentence, the place, the calls around, a cure."""

import linecache
import re
import traceback

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.errors import CompileError
from lazyblock.language.frontend import build_program
from lazyblock.language.frontend.errors import CompilationError
from lazyblock.language.function import KernelFunction
from tests.helpers.kernels import jit, program_of

FLOATS = np.zeros(8, np.float32)
TABLE = np.arange(3)


def error_of(kernel, *arguments, **constants):
    with pytest.raises(CompilationError) as caught:
        program_of(kernel, *(arguments or (FLOATS, 3)), **constants)
    return caught.value


@jit
def load_more(p, q: tl.constexpr):
    return tl.load(p) + undefined_name  # noqa: F821


@jit
def outer(p):
    return load_more(p, 3)


def test_the_whole_message():
    def kernel(x, n):
        a = tl.arange(0, 8)
        outer(x + a)

    file = re.escape(__file__)
    first = load_more.source.first_line
    inner = jit(kernel).source.first_line + 2
    assert re.fullmatch(
        rf"""'undefined_name' is not defined\.
  File "{file}", line {first + 2}, in load_more
    return tl\.load\(p\) \+ undefined_name  # noqa: F821
                        \^\^\^\^\^\^\^\^\^\^\^\^\^\^
  in call of 'load_more' at {file}:{first + 7}
  in call of 'outer' at {file}:{inner}""",
        str(error_of(kernel)),
    )


def test_the_traceback_shows_no_internals():
    def kernel(x, n):
        tl.store(x, nothing)  # noqa: F821

    try:
        program_of(kernel, FLOATS, 3)
    except CompileError as error:
        frames = traceback.extract_tb(error.__traceback__)  # this test, its helper, build_program
        assert len(frames) == 3 and error.__suppress_context__


def test_carets_point_at_the_operation_and_types_are_told():
    def kernel(x, n):
        tl.store(x, tl.arange(0, 8) + tl.arange(0, 4) * 2)

    error = error_of(kernel)
    assert error.message == "Shapes (8,) and (4,) do not broadcast together in '+'."
    assert "    tl.store(x, tl.arange(0, 8) + tl.arange(0, 4) * 2)\n" in str(error)
    assert "\n                ^" + "^" * (len("tl.arange(0, 8) + tl.arange(0, 4) * 2") - 1) in str(
        error
    )


# --- scoping -------------------------------------------------------------------------------------


def one_branch(x, n):
    if n > 3:
        a = 1
    tl.store(x, a)


def two_types(x, n):
    if n > 3:  # noqa: SIM108
        a = 1
    else:
        a = 2.5
    tl.store(x, a)


def loop_changes_type(x, n):
    total = 0
    for i in range(n):
        total += tl.load(x + i)
    tl.store(x, total)


def loop_changes_shape(x, n):
    total = 0.0
    while n > 0:
        total = total + tl.zeros((4,), tl.float32)
        n -= 1
    tl.store(x, tl.sum(total, 0))


def only_in_loop(x, n):
    for i in range(n):
        last = i
    tl.store(x, last)


def read_before(x, n):
    tl.store(x, later)  # noqa: F821
    later = 3  # noqa: F841


def loop_from_none(x, n):
    best = None
    for i in range(n):
        best = i
    tl.store(x, best)


def returns_two_types(x, n):
    tl.store(x, pick(n))


@jit
def pick(n):
    if n > 2:
        return n
    return 1.0


def returns_sometimes(x, n):
    tl.store(x, sometimes(n))


@jit
def sometimes(n):
    if n > 2:
        return n


def ternary_of_two_types(x, n):
    tl.store(x, 1 if n > 2 else 2.0)


@pytest.mark.parametrize(
    "kernel, message, hint",
    [
        (
            one_branch,
            "'a' is assigned in only one branch of the 'if' at line {1}.",
            "give 'a' a value before the 'if', or in both branches.",
        ),
        (
            two_types,
            "'a' has two types after the 'if' at line {1}: {int32} and {fp32}.",
            "convert one of them with .to(...).",
        ),
        (
            loop_changes_type,
            "'total' is {int32} before the loop at line {2} and {fp32} after an iteration.",
            "start 'total' with the type it gets in the loop, or convert with .to(...).",
        ),
        (
            only_in_loop,
            "'last' has a value only inside the loop at line {1}.",
            "give 'last' a value before the loop.",
        ),
        (read_before, "'later' is read before it is assigned.", ""),
        (
            loop_from_none,
            "'best' is None before the loop at line {2} and {int32} after an iteration.",
            "start 'best' with the type it gets in the loop, or convert with .to(...).",
        ),
        (
            returns_two_types,
            "The function returns {int32} on one path and 1.0 (float) on another.",
            "return values of one type on every path.",
        ),
        (
            returns_sometimes,
            "'sometimes' returns {int32} on some paths and nothing on others.",
            "end the function with a 'return' of the same type.",
        ),
        (
            ternary_of_two_types,
            "The two values of a conditional expression must have one type,"
            " got {int32} and {fp32}.",
            "convert one of them with .to(...).",
        ),
    ],
)
def test_names_and_types_that_do_not_agree(kernel, message, hint):
    first = jit(kernel).source.first_line
    error = error_of(kernel)
    for number in (1, 2):
        message = message.replace(f"{{{number}}}", str(first + number))
    pattern = re.escape(message)
    for name in ("int32", "fp32"):
        pattern = pattern.replace(rf"\{{{name}\}}", f"a scalar of {name}")
    assert re.fullmatch(pattern, error.message) and error.hint == hint


# --- what the language does not have -------------------------------------------------------------


@pytest.mark.parametrize(
    "line, message, hint",
    [
        ("a = {1: 2}", "There are no dicts in a kernel.", "use a tuple, or a class"),
        ("a = {1, 2}", "There are no sets in a kernel.", "use a tuple."),
        ("a = {i: i for i in (1, 2)}", "There are no dicts in a kernel.", "use a tuple"),
        ("with tl.foo(): pass", "There is no 'with' in a kernel.", "write its body alone."),
        ("raise ValueError()", "Exceptions cannot be raised in a kernel.", "tl.static_assert"),
        ("import math", "Nothing can be imported in a kernel.", "at the top of the file."),
        ("class A: pass", "Classes cannot be defined in a kernel.", "@lb.aggregate"),
        ("global FLOATS", "Global names cannot be assigned to in a kernel.", "return the value"),
        ("a = yield n", "There are no generators in a kernel.", "return a tuple."),
        ("x[0] = 1", "Items of a value cannot be assigned to in a kernel.", "tl.where"),
        (
            "x.y = 1",
            "Attributes of a scalar of pointer<fp32> cannot be assigned to",
            "@lb.aggregate",
        ),
        ("a, b = (1, 2, 3)", "2 names cannot take 3 values.", ""),
        ("for i in n: pass", "cannot be iterated over.", "loop over range(...)"),
        ("for i in range(3): pass\n    else: pass", "A loop has no 'else' in a kernel.", "flag"),
        ("while True: pass", "This loop never ends.", "'break' or 'return'"),
        ("for i in range(0, 9, 0): pass", "The step of a range must not be 0.", ""),
        ("for i in range(1.5): pass", "The bounds of a range are integer scalars, got", ""),
        ("if tl.arange(0, 4) > n: pass", "The condition of an 'if' must be a scalar", "tl.where"),
        ("if x: pass", "A pointer is neither true nor false.", "tl.int64"),
        ("a = n in (1, 2)", "'in' needs operands known at compile time", "by `or`"),
        ("a = f'{n}'", "An f-string cannot hold", "tl.device_print"),
        ("a = n + None", "'+' has no meaning for", ""),
        ("a = 1 // 0", "Integer division or modulo by zero.", ""),
        ("tl.strore(x, 1)", "Module 'lazyblock.language' has no attribute 'strore'.", ""),
        ("tl.store(x)", "store() missing 1 required positional argument: 'value'.", ""),
        (
            "a = TABLE",
            "'TABLE' is a ndarray from outside the kernel, which it cannot read.",
            "pass",
        ),
        (
            "a = np.sqrt(n)",
            "'sqrt' is a plain Python function, which cannot compute",
            "lazyblock.language",
        ),
        ("a = outer(*x)", "cannot be iterated over.", ""),
        ("a = outer(**n)", "'**' cannot spread arguments in a kernel.", "one by one"),
        ("a = outer()", "'outer' needs a value for 'p'.", ""),
        ("a = outer(x, x)", "'outer' takes 1 arguments, got 2.", ""),
        ("a = outer(x, q=1)", "'outer' has no parameter 'q'.", ""),
        ("a = outer[1](x)", "A kernel cannot launch another.", "f(x), not f[grid](x)"),
        ("a = n(3)", "cannot be called.", ""),
        ("a = (1, 2)[n]", "can only be indexed by a constant", "tl.constexpr"),
        (
            "a = [i for i in (1, 2) if n > 1]",
            "A filter of a comprehension must be known",
            "tl.where",
        ),
        ("return n", "returns", "store it: tl.store(pointer, value)."),
        ("assert 1 == 2, 'never'", "The assertion '1 == 2' does not hold: never.", ""),
        ("tl.static_assert(1 == 2, 'never')", "The static assertion does not hold: never", ""),
        ("FLOAT", "'FLOAT' is not defined.", "did you mean 'FLOATS'?"),
        ("a = recursive(n)", "Calls and branches nest too deep.", "tl.constexpr"),
        ("a = n @ n", "'@' has no meaning for", ""),
        ("a = b''", "b'' has no meaning in a kernel.", ""),
    ],
)
def test_every_refusal_has_a_sentence_and_a_cure(line, message, hint):
    text = f"def kernel(x, n):\n    {line}\n"
    name = f"<refused {line}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = dict(globals())
    exec(compile(text, name, "exec"), scope)
    error = error_of(scope["kernel"])
    assert message.lower() in error.message.lower()
    assert hint in error.hint
    assert error.place.line in (1, 2, 3) or error.calls
    assert error.message.count(".\n") == 0 and not error.message.startswith("The compiler failed")


@jit
def recursive(n):
    return recursive(n - 1)


# --- functions without source --------------------------------------------------------------------


def test_lambdas_are_refused():
    with pytest.raises(CompileError, match=r"is a lambda, which cannot be compiled"):
        build_program(KernelFunction(lambda x: x), {})


def test_functions_without_text_are_refused():
    scope = {}
    exec("def kernel(x):\n    pass\n", scope)
    with pytest.raises(CompileError, match=r"The source of 'kernel' .* cannot be found"):
        build_program(KernelFunction(scope["kernel"]), {})


def test_text_that_has_changed_is_noticed():
    name, text = "<changed>", "def kernel(x):\n    pass\n"
    linecache.cache[name] = (0, None, ["def other(x):\n", "    pass\n"], name)
    scope = {}
    exec(compile(text, name, "exec"), scope)
    with pytest.raises(CompileError, match="is not that of 'kernel'"):
        build_program(KernelFunction(scope["kernel"]), {})


def test_kernels_are_not_called():
    with pytest.raises(CompileError, match="'outer' was called like a Python function"):
        outer(3)


def test_other_objects_are_refused():
    with pytest.raises(CompileError, match="A int cannot be compiled"):
        KernelFunction(3)
    with pytest.raises(CompileError, match=r"takes '\*\*named', which a kernel cannot"):
        build_program(KernelFunction(takes_anything), {})


def takes_anything(**named):
    pass
