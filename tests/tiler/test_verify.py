"""Every rule of the block IR, broken once."""

import numpy as np
import pytest

from lazyblock.errors import VerifyError
from lazyblock.tiler import ops
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Parameter, Value
from lazyblock.tiler.types import BlockType, float32, int1, int32
from lazyblock.tiler.verify import verify_program
from tests.helpers.programs import ZOO, random_program


@pytest.mark.parametrize("name", ZOO)
def test_the_zoo_is_sound(name):
    verify_program(ZOO[name]())


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_are_sound(seed):
    verify_program(random_program(np.random.default_rng(seed)))


def assert_fault(program, message):
    with pytest.raises(VerifyError) as caught:
        verify_program(program)
    assert message in str(caught.value)
    return str(caught.value)


def test_use_before_definition():
    b = Builder("early")
    a = b.program_id(0)
    b.add(a, b.program_id(1))
    program = b.finish()
    program.body.ops.reverse()
    text = assert_fault(program, "Program 'early', op 'binary'")
    assert "is not defined here" in text
    assert "--> %0 = binary add, %" in text  # the op, marked
    assert "program_id 1 : i32" in text  # and one beside it


def test_a_value_does_not_leave_its_region():
    b = Builder()
    inner = []

    def then():
        inner.append(b.program_id(0))
        return []

    b.if_(b.constant(True, int1), then)
    b.add(inner[0], 1)
    assert_fault(b.finish(), "is not defined here")


def test_faults_inside_regions_show_the_inner_op():
    program = ZOO["branch"]()
    branch = next(op for op in program.body.ops if isinstance(op, ops.If))
    branch.then.ops[0].kind = "frob"
    assert_fault(program, "op 'binary'")


def test_results_have_the_inferred_types():
    b = Builder()
    b.program_id(0).type = BlockType(float32)
    assert_fault(b.finish(), "results are f32, inferred i32")


def test_operands_that_do_not_fit():
    b = Builder()
    total = b.add(b.program_id(0), 1)
    total.owner.rhs = b.constant(1.0, float32)
    program = b.finish()
    program.body.ops.insert(1, program.body.ops.pop())
    assert_fault(program, "operands of different types: f32, i32")


def test_defined_twice():
    b = Builder()
    b.program_id(0)
    program = b.finish()
    program.body.ops.append(program.body.ops[0])
    assert_fault(program, "is defined twice")


def test_extents_are_positive():
    b = Builder()
    b.append(ops.Constant, value=1, type=BlockType(int32, (0,)))
    assert_fault(b.finish(), "extent 0 in <0xi32> is not positive")


def test_parameters_are_scalars():
    b = Builder()
    b.program.parameters.append(Parameter(Value(BlockType(int32, (4,))), "n"))
    assert_fault(b.finish(), "parameter 'n' is a block")


def test_nested_regions_end_in_a_terminator():
    program = ZOO["branch"]()
    branch = next(op for op in program.body.ops if isinstance(op, ops.If))
    branch.then.ops.append(branch.then.ops.pop(0))
    assert_fault(program, "")


def test_the_program_has_no_terminator():
    b = Builder()
    b.yield_()
    assert_fault(b.finish(), "a terminator inside")


def test_loops_yield_what_they_carry():
    b = Builder()
    b.for_(0, 4, 1, [b.constant(0, int32)], lambda i, total: [b.add(total, i)])
    program = b.finish()
    loop = program.body.ops[-1]
    loop.body.terminator.values = ()
    assert_fault(program, "body yields none, expected i32")


def test_reductions_yield_scalars_of_their_operands():
    b = Builder()
    row = b.cast(b.arange(0, 8), float32)
    b.reduce([row], 0, lambda left, right: [b.compare("lt", left, right)])
    assert_fault(b.finish(), "combine yields i1, expected f32")


def test_scans_yield_scalars_of_their_operands():
    b = Builder()
    b.scan([b.arange(0, 8)], 0, lambda left, right: [b.compare("lt", left, right)])
    assert_fault(b.finish(), "combine yields i1, expected i32")
