"""What kernels check and print."""

import numpy as np
import pytest

import lazyblock.language as tl
from lazyblock.errors import LaunchError, SemanticError
from lazyblock.language.context import use_builder
from lazyblock.language.eager import EagerBuilder
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.interpret import interpret
from tests.helpers.kernel_bodies import WAYS


def run(body, way, debug=True):
    """Run a body without arguments."""
    if way == "eager":
        with use_builder(EagerBuilder("body"), debug=debug):
            return body()
    builder = Builder("body")
    with use_builder(builder, debug=debug):
        body()
    return interpret(builder.finish(), [])


def test_static_asserts():
    run(lambda: tl.static_assert(tl.constexpr(4) == 4, "never"), "interpreter")
    with pytest.raises(SemanticError, match="static assertion does not hold: BLOCK is odd"):
        run(lambda: tl.static_assert(tl.constexpr(3) % 2 == 0, "BLOCK is odd"), "interpreter")
    with pytest.raises(AssertionError):
        run(lambda: tl.static_assert(False), "interpreter")
    with pytest.raises(SemanticError, match="a condition known at compile time"):
        run(lambda: tl.static_assert(tl.program_id(0) == 0), "interpreter")


def test_static_prints(capsys):
    run(lambda: tl.static_print("BLOCK", tl.constexpr(4), sep="="), "interpreter")
    assert capsys.readouterr().out == "BLOCK=4\n"


@pytest.mark.parametrize("way", WAYS)
def test_device_prints(way, capsys):
    run(lambda: tl.device_print("i", tl.arange(0, 2)), way)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 and all(line.startswith("pid (0, 0, 0)") for line in lines)
    assert [line.split()[-1] for line in lines] == ["0", "1"]
    with pytest.raises(SemanticError, match="needs an ASCII text first"):
        run(lambda: tl.device_print(tl.arange(0, 2)), way)


@pytest.mark.parametrize("way", WAYS)
def test_device_asserts(way):
    def body():
        i = tl.arange(0, 8)
        tl.device_assert(i < 8, "never")
        tl.device_assert(i < 6, "masked", mask=i < 4)
        tl.device_assert(i < 5, "too large")

    with pytest.raises(LaunchError, match="assertion 'too large' failed"):
        run(body, way)
    run(body, way, debug=False)  # inert


@pytest.mark.parametrize("way", WAYS)
def test_assumptions_are_asserted_in_debug_mode(way):
    with pytest.raises(LaunchError, match="assumption does not hold"):
        run(lambda: tl.assume(tl.program_id(0) > 0), way)
    run(lambda: tl.assume(tl.program_id(0) > 0), way, debug=False)


OVERFLOWS = {
    "add": (lambda x: x + x, np.int32, 2**30),
    "sub": (lambda x: x - 3, np.uint8, 2),
    "mul": (lambda x: x * x, np.int16, 200),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", OVERFLOWS)
def test_overflow_is_found_in_debug_mode(name, way):
    function, type, value = OVERFLOWS[name]
    element = tl.dtype(np.dtype(type).name)
    with pytest.raises(LaunchError, match=r"overflows"):
        run(lambda: function(tl.full((4,), value, element)), way)
    run(lambda: function(tl.full((4,), 3, element)), way)
    run(lambda: function(tl.full((4,), value, element)), way, debug=False)
    run(lambda: tl.add(*[tl.full((4,), 2**31 - 1, tl.int32)] * 2, sanitize_overflow=False), way)


def test_what_overflows_by_design_is_not_watched():
    run(lambda: tl.rand(7, tl.arange(0, 8)), "eager")
    run(lambda: tl.sum(tl.full((4,), 2**31 - 1, tl.int32)), "eager")


def test_expect_zero():
    run(lambda: tl.expect_zero(tl.zeros((4,), tl.int32)), "eager")
    with pytest.raises(LaunchError, match="expected zero"):
        run(lambda: tl.expect_zero(tl.full((4,), 1, tl.int32)), "eager")
