"""The rules of the block IR, checked.

Takes: any program. Gives: nothing, or VerifyError that names the op and shows the ops around it.
Rules: a value is defined once, before its uses, in an enclosing region; result types are those
`infer` gives; extents are positive; parameters are scalars; nested regions end in a
terminator, the program does not; loops yield what they carry, combines what they combine, regions
of elements are elementwise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lazyblock.errors import VerifyError
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Op, Program, Region, Trait, Value
from lazyblock.tiler.printer import name_values, print_op
from lazyblock.tiler.types import BlockType, int1

CONTEXT = 3  # ops shown before and after a fault


def verify_program(program: Program) -> None:
    """Raise VerifyError unless `program` keeps every rule of the block IR."""
    _Verifier(program).run()


class _Verifier:
    """Walks once; `visible` holds the values the op at hand may read."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.names = name_values(program)
        self.visible: set[Value] = set()
        self.seen: set[Value] = set()

    def run(self) -> None:
        for parameter in self.program.parameters:
            if parameter.value.shape != ():
                raise self._error(f"parameter '{parameter.name}' is a block")
            if parameter.divisibility < 1:
                raise self._error(f"parameter '{parameter.name}' is divisible by nothing")
            self._define(parameter.value)
        if self.program.body.arguments:
            raise self._error("the program's body has arguments")
        self._check_region(self.program.body, is_nested=False)

    def _check_region(self, region: Region, is_nested: bool) -> None:
        outside = set(self.visible)
        for argument in region.arguments:
            self._define(argument)
        for position, op in enumerate(region.ops):
            is_last = position == len(region.ops) - 1
            try:
                self._check_op(op, must_end=is_nested and is_last)
            except VerifyError as error:
                raise self._locate(error, region, position) from error
        if is_nested and not region.ops:
            raise self._error("a region without a terminator")
        self.visible = outside

    def _check_op(self, op: Op, must_end: bool) -> None:
        for value in op.operands_flat:
            if value not in self.visible:
                raise VerifyError(f"%{self.names.get(value, '?')} is not defined here")
        if op.has(Trait.TERMINATOR) != must_end:
            raise VerifyError("a region must end here" if must_end else "a terminator inside")
        for region in op.regions:
            self._check_region(region, is_nested=True)
        self._check_types(op)
        for result in op.results:
            if result.owner is not op:
                raise VerifyError("a result belongs to another op")
            self._define(result)

    def _check_types(self, op: Op) -> None:
        actual = [result.type for result in op.results]
        expected = list(op.infer())
        if actual != expected:
            raise VerifyError(f"results are {_listed(actual)}, inferred {_listed(expected)}")
        check_regions = _REGION_RULES.get(type(op))
        if check_regions is not None:
            check_regions(op)

    def _define(self, value: Value) -> None:
        if value in self.seen:
            raise VerifyError(f"%{self.names.get(value, '?')} is defined twice")
        for extent in value.shape:
            if extent < 1:
                raise VerifyError(f"extent {extent} in {value.type} is not positive")
        self.seen.add(value)
        self.visible.add(value)

    def _error(self, message: str) -> VerifyError:
        return VerifyError(f"Program '{self.program.name}': {message}.")

    def _locate(self, error: VerifyError, region: Region, position: int) -> VerifyError:
        """Add the op's name and the ops around it; errors from inner regions have theirs."""
        if isinstance(error, _LocatedError):
            return error
        first = max(position - CONTEXT, 0)
        lines = [
            f"{'-->' if place == position else '   '} {print_op(op, self.names)}"
            for place, op in enumerate(region.ops[first : position + CONTEXT + 1], first)
        ]
        op = region.ops[position]
        head = f"Program '{self.program.name}', op '{op.name}' ({op.line}): {error}."
        return _LocatedError("\n".join([head, *lines]))


class _LocatedError(VerifyError):
    """A VerifyError that shows its op already."""


def _listed(types: Sequence[BlockType]) -> str:
    return ", ".join(map(str, types)) or "none"


def _require_types(what: str, actual: Sequence[Value], expected: Sequence[BlockType]) -> None:
    types = [value.type for value in actual]
    if types != list(expected):
        raise VerifyError(f"{what} {_listed(types)}, expected {_listed(expected)}")


def _check_for(op: ops.For) -> None:
    _require_types("induction variable is", op.body.arguments[:1], [op.lower.type])
    carried = [value.type for value in op.initial]
    _require_types("body yields", op.body.terminator.operands_flat, carried)


def _check_while(op: ops.While) -> None:
    _require_types("condition yields", op.condition.terminator.operands_flat, [BlockType(int1)])
    carried = [value.type for value in op.initial]
    _require_types("body yields", op.body.terminator.operands_flat, carried)


def _check_combine(op: ops.Combining) -> None:
    scalars = [BlockType(value.type.element) for value in op.values]
    _require_types("combine takes", op.combine.arguments, scalars * 2)
    _require_types("combine yields", op.combine.terminator.operands_flat, scalars)


def _check_rarely(op: ops.Rarely) -> None:
    yielded = [BlockType(op.value.type.element)]
    _require_types("rarely yields", op.rare.terminator.operands_flat, yielded)
    own = {*op.rare.arguments, *(value for inner in op.rare.ops for value in inner.results)}
    for inner in op.rare.ops:
        if not own.issuperset(inner.operands_flat):
            raise VerifyError("rarely uses a value from outside")
        is_plain = inner.has(Trait.ELEMENTWISE) or isinstance(inner, (ops.Constant, ops.Yield))
        if not is_plain:
            raise VerifyError(f"rarely computes elements, not '{inner.name}'")


_REGION_RULES: dict[type[Op], Callable[[Any], None]] = {
    ops.For: _check_for,
    ops.While: _check_while,
    ops.Reduce: _check_combine,
    ops.Scan: _check_combine,
    ops.Rarely: _check_rarely,
}
