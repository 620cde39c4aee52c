"""The block IR: SSA values that are blocks, ops with declared fields, regions, programs.

Every op is a dataclass whose fields are declared `operand`, `operands` (a tuple), `attribute` or
`region`; printing, parsing, cloning, CSE, DCE and verification follow from the declarations and
know no op by name. Ops state their effect and traits as data. A program is what one instance of
the grid runs; parameters are scalars or pointers, block shapes are static, masks explicit.
Ops are made by `builder.Builder` only.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from lazyblock.source import UNKNOWN, SourceLine
from lazyblock.tiler.types import BlockType


class Effect(enum.Enum):
    """What an op does beyond giving results."""

    NONE = "none"
    READ = "read"
    WRITE = "write"
    ATOMIC = "atomic"
    BARRIER = "barrier"
    OUTPUT = "output"


class Trait(enum.Enum):
    """Facts passes may rely on."""

    ELEMENTWISE = "elementwise"  # results[i] depends on operands[i] only; all shapes equal
    COMMUTATIVE = "commutative"
    TERMINATOR = "terminator"
    ISOLATED = "isolated"  # regions use no value from outside


class Value:
    """A block or scalar: result of an op, argument of a region, or parameter of a program."""

    __slots__ = ("hint", "owner", "type")

    def __init__(self, type: BlockType, owner: Op | None = None, hint: str = "") -> None:
        self.type = type
        self.owner = owner
        self.hint = hint

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape

    def __repr__(self) -> str:
        return f"Value({self.hint or '?'}: {self.type})"


def operand(optional: bool = False) -> Any:
    """Declare a field that holds a Value (or None if optional)."""
    metadata = {"role": "operand"}
    return field(default=None, metadata=metadata) if optional else field(metadata=metadata)


def operands() -> Any:
    """Declare a field that holds a tuple of Values."""
    return field(default=(), metadata={"role": "operands"})


def attribute(default: Any = dataclasses.MISSING) -> Any:
    """Declare a static setting: int, str, bool, float, tuple of ints, BlockType or None."""
    return field(default=default, metadata={"role": "attribute"})


def region() -> Any:
    """Declare a nested region."""
    return field(metadata={"role": "region"})


@dataclass(eq=False)
class Region:
    """A straight list of ops with arguments; the last op is a terminator where values leave it."""

    arguments: list[Value] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)

    @property
    def terminator(self) -> Op:
        return self.ops[-1]


@dataclass(eq=False)
class Op:
    """Base of all block ops. Subclasses set `name`, `effect`, `traits` and declare their fields."""

    name: ClassVar[str] = ""
    effect: ClassVar[Effect] = Effect.NONE
    traits: ClassVar[frozenset[Trait]] = frozenset()

    results: tuple[Value, ...] = field(default=(), init=False, repr=False)
    line: SourceLine = field(default=UNKNOWN, init=False, repr=False)

    @classmethod
    def declared(cls, role: str) -> tuple[str, ...]:
        """Names of the fields declared with `role`, in order."""
        return _declared(cls, role)

    def infer(self) -> Sequence[BlockType]:
        """Types of the results; raises VerifyError when the operands do not fit together."""
        raise NotImplementedError(type(self).__name__)

    @property
    def operands_flat(self) -> tuple[Value, ...]:
        """All Values this op reads directly, in field order, Nones left out."""
        found: list[Value] = []
        for name, role in _roles(type(self)):
            if role == "operands":
                found.extend(getattr(self, name))
            elif role == "operand":
                value = getattr(self, name)
                if value is not None:
                    found.append(value)
        return tuple(found)

    @property
    def attributes(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.declared("attribute")}

    @property
    def regions(self) -> tuple[Region, ...]:
        names = _declared(type(self), "region")
        return tuple(getattr(self, name) for name in names) if names else ()

    @property
    def result(self) -> Value:
        """The only result."""
        (value,) = self.results
        return value

    def has(self, trait: Trait) -> bool:
        return trait in self.traits


_known_fields: dict[Any, dict[str, tuple[str, ...]]] = {}  # asked for at every op of every pass
_known_roles: dict[Any, tuple[tuple[str, str], ...]] = {}


def _roles(op_type: type[Op]) -> tuple[tuple[str, str], ...]:
    """Name and role of the fields an op declares, in order."""
    roles = _known_roles.get(op_type)
    if roles is None:
        declared = dataclasses.fields(op_type)
        roles = tuple((f.name, f.metadata["role"]) for f in declared if "role" in f.metadata)
        _known_roles[op_type] = roles
    return roles


def _declared(op_type: type[Op], role: str) -> tuple[str, ...]:
    """Names of the fields declared with `role`."""
    known = _known_fields.get(op_type)
    if known is None:
        known = {}
        for name, declared in _roles(op_type):
            known[declared] = (*known.get(declared, ()), name)
        _known_fields[op_type] = known
    return known.get(role, ())


@dataclass(frozen=True)
class Parameter:
    """A program's parameter.

    divisibility: what its value is known to be a multiple of: bytes for a pointer, units for an
    integer (1 = nothing known).
    """

    value: Value
    name: str
    divisibility: int = 1


@dataclass(eq=False)
class Program:
    """One kernel: what each instance of the grid runs.

    num_warps and num_ctas are scheduling hints for GPUs: an instance runs on a cluster of num_ctas
    CTAs of num_warps warps each. max_registers: of a thread, where the compiler would take more
    than pays (0: as it likes).
    is_cooperative: instances wait for later ones, so that all of a launch have to run at once.
    noalias promises that no two pointer parameters reach the same memory; writes_once, that no
    element of memory is written twice.
    """

    name: str
    parameters: list[Parameter]
    body: Region
    num_warps: int = 4
    num_ctas: int = 1
    num_stages: int = 1
    noalias: bool = False
    writes_once: bool = False
    max_registers: int = 0
    is_cooperative: bool = False


# --- walking and copying -------------------------------------------------------------------------


def walk(region: Region) -> Iterator[Op]:
    """All ops of a region and of the regions inside, outermost first, in order."""
    stack: list[Iterator[Op]] = [iter(region.ops)]
    while stack:
        op = next(stack[-1], None)
        if op is None:
            stack.pop()
            continue
        yield op
        for inner in reversed(op.regions):
            stack.append(iter(inner.ops))


def users_of(region: Region) -> dict[Value, list[Op]]:
    """For every value read anywhere in `region`: the ops that read it, in order."""
    users: dict[Value, list[Op]] = {}
    for op in walk(region):
        for value in op.operands_flat:
            users.setdefault(value, []).append(op)
    return users


def map_operands(op: Op, change: Callable[[Value], Value]) -> dict[str, Any]:
    """Field values of `op` with every operand passed through `change`."""
    values: dict[str, Any] = {}
    for name, role in _roles(type(op)):
        value = getattr(op, name)
        if role == "operand":
            values[name] = None if value is None else change(value)
        elif role == "operands":
            values[name] = tuple(change(v) for v in value)
        else:
            values[name] = value
    return values


def make_op(op_type: type[Op], line: SourceLine = UNKNOWN, /, **values: Any) -> Op:
    """Make an op with inferred result types. For builder, parser and cloning only."""
    op = op_type(**values)
    op.line = line
    op.results = tuple(Value(type, op) for type in op.infer())
    return op


def clone_op(op: Op, mapping: dict[Value, Value]) -> Op:
    """Copy `op` with operands replaced by `mapping`; adds its results to `mapping`."""
    values = map_operands(op, lambda value: mapping.get(value, value))
    for name in op.declared("region"):
        values[name] = clone_region(getattr(op, name), mapping)
    copy = make_op(type(op), op.line, **values)
    for old, new in zip(op.results, copy.results, strict=True):
        new.hint = old.hint
        mapping[old] = new
    return copy


def clone_region(source: Region, mapping: dict[Value, Value]) -> Region:
    """Copy a region; `mapping` gains its arguments and results."""
    copy = Region()
    for argument in source.arguments:
        mapping[argument] = Value(argument.type, None, argument.hint)
        copy.arguments.append(mapping[argument])
    copy.ops = [clone_op(op, mapping) for op in source.ops]
    return copy


def with_body(program: Program, body: Region) -> Program:
    """`program` with another body over the same parameters; the same object if nothing changed."""
    return program if body is program.body else dataclasses.replace(program, body=body)


def substitute(op: Op, mapping: Mapping[Value, Value]) -> bool:
    """Replace operands of `op` in place (for passes, on bodies they own). Tells if any changed."""
    changed = False
    for name, value in map_operands(op, lambda v: mapping.get(v, v)).items():
        before = getattr(op, name)
        if value is not before and value != before:
            setattr(op, name, value)
            changed = True
    return changed
