"""The evaluator put together: which rule is for which node, and how a kernel starts.

    function + what is known of its arguments -> Program

The body is walked once with values of the language; functions of the language append to the
builder, so that what is left at the end is the program.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.language import specs
from lazyblock.language.context import use_builder
from lazyblock.language.dtypes import pointer_type
from lazyblock.language.frontend.branches import run_block
from lazyblock.language.frontend.calls import CALLS, as_argument, call, evaluate_in_place
from lazyblock.language.frontend.definition import (
    REQUIRED,
    Definition,
    Parameter,
    PythonDefinition,
)
from lazyblock.language.frontend.errors import CompilationError
from lazyblock.language.frontend.expressions import EXPRESSIONS, plain_to_constexpr
from lazyblock.language.frontend.frame import Frame, Rules, current_frame
from lazyblock.language.frontend.scope import UNSET, Scope, say
from lazyblock.language.frontend.statements import REFUSED, STATEMENTS
from lazyblock.language.tensor import tensor
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Program

RULES = Rules({**EXPRESSIONS, **CALLS}, STATEMENTS, run_block, call, REFUSED)


def build_program(
    function: PythonDefinition,
    arguments: Mapping[str, specs.ArgumentSpec],
    *,
    num_warps: int = 4,
    num_stages: int = 3,
    num_ctas: int = 1,
    maxnreg: int = 0,
    launch_cooperative_grid: bool = False,
    debug: bool = False,
    strict: bool = False,
) -> Program:
    """Compile a kernel for arguments of certain types and constants to a block program.

    Parameters: arguments, one spec per parameter (defaults count as constants); debug, keep
    device asserts and check integers for overflow; maxnreg, registers that a thread may have (0:
    any number); launch_cooperative_grid, all instances run at once. The program's parameters are
    the leaves of the specs in order.
    Raises: CompilationError with the place in the source.
    """
    builder = Builder(function.name, num_warps, num_stages, num_ctas)
    builder.program.max_registers = maxnreg
    builder.program.is_cooperative = launch_cooperative_grid
    frame = Frame(function, Scope(), RULES)
    try:
        with (
            use_builder(builder, debug=debug, strict=strict),
            frame.entered(),
            frame.locating(function.source.node),
        ):
            for parameter in function.parameters:
                _bind_parameter(frame, parameter, arguments)
            frame.run(function.body)
            _check_returned(frame)
    except CompilationError as error:
        raise error.with_traceback(None) from error.__cause__
    return builder.finish()


def _bind_parameter(
    frame: Frame, parameter: Parameter, arguments: Mapping[str, specs.ArgumentSpec]
) -> None:
    definition = frame.definition
    spec = arguments.get(parameter.name)
    if spec is None:
        if parameter.default is REQUIRED:
            raise CompileError(f"'{definition.name}' needs a value for '{parameter.name}'.")
        spec = specs.Constant(parameter.default)
    value = _make_argument(frame.builder, parameter.name, spec)
    frame.scope.set(parameter.name, as_argument(value))


def _make_argument(builder: Builder, name: str, spec: specs.ArgumentSpec) -> Any:
    """The kernel's value of an argument; adds the parameters of the program it needs."""
    if isinstance(spec, specs.Constant):
        return spec.value
    if isinstance(spec, specs.Tuple):
        items = [_make_argument(builder, f"{name}_{n}", s) for n, s in enumerate(spec.items)]
        return spec.make([plain_to_constexpr(item) for item in items])
    type = spec.dtype
    if isinstance(spec, specs.Pointer):
        type = pointer_type(spec.dtype, const=spec.is_const)
    return tensor(builder.parameter(name, type.ir, spec.divisibility), type)


def _check_returned(frame: Frame) -> None:
    returned = frame.scope.returned
    if returned is not None and returned is not UNSET:
        raise CompileError(
            f"Kernel '{frame.definition.name}' returns {say(returned)}.",
            note="nobody can take a kernel's result.",
            hint="store it: tl.store(pointer, value).",
        )


def evaluate_inline(function: Definition, *arguments: Any, **named: Any) -> Any:
    """Call a function in the builder at hand, from a kernel or from a function of the language."""
    frame = current_frame()
    if frame is not None:
        return frame.call(function, *arguments, **named)
    return evaluate_in_place(RULES, None, function, list(arguments), named)[0]
