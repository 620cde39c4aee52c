"""Text back to programs: the round trip, and what is refused."""

import numpy as np
import pytest

from lazyblock.errors import ParseError
from lazyblock.tiler.interpret import interpret
from lazyblock.tiler.parser import parse_program
from lazyblock.tiler.printer import print_program
from lazyblock.tiler.verify import verify_program
from tests.helpers.programs import GRID, ZOO, copy_arguments, make_arguments, random_program


def assert_round_trip(program):
    text = print_program(program)
    again = parse_program(text)
    verify_program(again)
    assert print_program(again) == text
    return again


@pytest.mark.parametrize("name", ZOO)
def test_the_zoo_survives_the_round_trip(name):
    program = ZOO[name]()
    again = assert_round_trip(program)
    arguments = make_arguments(program, np.random.default_rng(0))
    copies = copy_arguments(arguments)
    interpret(program, arguments, GRID)
    interpret(again, copies, GRID)
    for left, right in zip(arguments, copies, strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs_survive_the_round_trip(seed):
    assert_round_trip(random_program(np.random.default_rng(seed)))


def test_an_empty_program():
    program = parse_program("program nothing() {\n}\n")
    assert (program.name, program.parameters, program.body.ops) == ("nothing", [], [])


def test_layout_does_not_matter():
    program = parse_program("program p(%n: i32)\n{ %a = binary add, %n,\n   %n : i32 }")
    assert print_program(program).splitlines()[1] == "  %a = binary add, %n, %n : i32"


HEAD = "program p(%n: i32, %x: *f32) num_warps=4 {\n"


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "line 1: expected a word"),
        ("kernel p() {}", "line 1: a program starts with 'program'"),
        ("program p() {", "line 1: expected a word, found 'the end'"),
        ("program p() colour=3 {}", "colour"),
        ("program p(%n: i33) {}", "line 1: 'i33' is no type"),
        ("program p(%n: i32, %n: i32) {}", "line 1: %n is defined twice"),
        ("program p() {}\nprogram", "line 2: 'program' after the program's end"),
        (HEAD + "  %a = frobnicate %n : i32\n}", "line 2: there is no op 'frobnicate'"),
        (HEAD + "  %a = binary add, %n, %m : i32\n}", "line 2: %m is not defined"),
        (HEAD + "  %n = binary add, %n, %n : i32\n}", "line 2: %n is defined twice"),
        (HEAD + "  %a = binary add, %n, %n, %n : i32\n}", "line 2: '%n' is one too many"),
        (HEAD + "  %a = binary add, %n : i32\n}", "line 2: 'binary'"),
        (HEAD + "  %a = binary add, %n, %n : i64\n}", "line 2: results are i32"),
        (HEAD + "  binary add, %n, %n\n}", "line 2: results are i32"),
        (HEAD + "  %a = binary frob, %n, %n : i32\n}", "line 2: 'binary': unknown binary kind"),
        (HEAD + "  %a = cast %n, i33 : i32\n}", "line 2: 'cast'"),
        (HEAD + "\n  %a = load %x, what=%n : f32\n}", "line 3: 'load'"),
        (HEAD + "  %a = ; : f32\n}", "line 2: cannot read '; : f32'"),
        (HEAD + "  %a = unary abs, , %n : i32\n}", "line 2: expected a value, found ','"),
    ],
)
def test_faults_are_named_with_their_line(text, message):
    with pytest.raises(ParseError) as caught:
        parse_program(text)
    assert message in str(caught.value)
