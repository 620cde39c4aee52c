"""A block program as readable text in the block language: what dumps show and people edit.

Takes: a verified program. Gives: Python source with one `@lb.jit` function (and one per combine
that has no name in the language). It means what the program means, bit for bit: where the language
promotes and the IR does not, casts are written. Values used once are written where they are used;
scalars and extents of 1 broadcast without saying so. The text is the same in every process.
"""

from __future__ import annotations

import json
import keyword
import math
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from lazyblock.errors import ShapeError, UnsupportedError
from lazyblock.shapes import broadcast_shapes
from lazyblock.tiler import ops
from lazyblock.tiler.ir import Effect, Op, Parameter, Program, Region, Value, walk
from lazyblock.tiler.types import (
    SCALARS,
    BlockType,
    PointerType,
    ScalarType,
    bfloat16,
    float32,
    int1,
    int32,
)

HEADER = "import lazyblock as lb\nimport lazyblock.language as tl\n"
LONGEST_INLINE = 60  # characters of an expression that may stand inside another

# binding strength of Python's operators
COMPARISON, OR, XOR, AND, SHIFT, SUM, PRODUCT, UNARY, PRIMARY = range(9)


class Text(NamedTuple):
    """An expression: its source and how strongly it binds."""

    source: str
    strength: int = PRIMARY

    def at(self, strength: int) -> str:
        """The source, in parentheses if it binds less than `strength`."""
        return self.source if self.strength >= strength else f"({self.source})"


def unparse(program: Program, launch: Sequence[int] | None = None) -> str:
    """`program` in the block language; `launch`, its grid, is told in a comment at the end.

    Raises: UnsupportedError for ops the language has no words for.
    """
    helpers: list[str] = []
    name = to_identifier(program.name)
    writer = _Writer(program.body, helpers)
    parameters = [writer.parameter(parameter) for parameter in program.parameters]
    writer.region(program.body)
    kernel = _function(name, parameters, writer.lines)
    parts = [HEADER, *helpers, kernel]
    if launch is not None:
        arguments = ", ".join(parameter.name for parameter in program.parameters)
        hints = ", ".join(f"{hint}={value}" for hint, value in launch_hints(program).items())
        arguments = f"{arguments}, {hints}" if arguments else hints
        parts.append(f"# launch: {name}[{tuple(launch)}]({arguments})\n")
    return "\n\n".join(parts)


def launch_hints(program: Program) -> dict[str, int]:
    """The options of a launch that make the same program."""
    hints = {hint: getattr(program, hint) for hint in ("num_warps", "num_ctas", "num_stages")}
    return hints | ({"maxnreg": program.max_registers} if program.max_registers else {})


def _function(name: str, parameters: Sequence[str], lines: Sequence[str]) -> str:
    body = [f"    {line}" for line in lines] or ["    pass"]
    return "\n".join(["@lb.jit", f"def {name}({', '.join(parameters)}):", *body, ""])


# --- names ---------------------------------------------------------------------------------------

_TAKEN = frozenset({"lb", "tl", "range", "float", *keyword.kwlist})
_REDUCED = {"add": "total", "max": "largest", "min": "smallest"}
_SCANNED = {"add": "sums", "mul": "products"}
_TRANSPARENT = (ops.Splat, ops.Broadcast, ops.ExpandDims)  # written along with what they take


def to_identifier(text: str) -> str:
    """A name as a Python identifier that hides nothing."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII) or "v"
    return f"v{name}" if name[0].isdigit() or name in _TAKEN else name


def _suggest_name(value: Value) -> str:
    """A telling name for a value without one."""
    owner = value.owner
    if isinstance(owner, ops.ProgramId):
        return f"pid_{owner.axis}" if owner.axis else "pid"
    if isinstance(owner, ops.NumPrograms):
        return f"num_programs_{owner.axis}"
    if isinstance(owner, ops.Load):
        return _name_of_load(owner)
    if isinstance(owner, ops.Reduce):
        return _REDUCED.get(owner.kind, "reduced")
    if isinstance(owner, ops.Scan):
        return _SCANNED.get(owner.kind, "scanned")
    if value.type.is_pointer:
        return "ptrs"
    if value.type.scalar == int1:
        return "mask" if value.shape else "flag"
    if value.type.scalar.name in ("i32", "i64"):
        return "offs" if value.shape else "start"
    return "value"


def _name_of_load(op: ops.Load) -> str:
    """After the parameter behind the pointer: `x_ptr` gives `x`."""
    pointer = op.pointer
    while pointer.owner is not None and pointer.owner.operands_flat:
        if not isinstance(pointer.owner, (ops.AddPointer, ops.Reshape, *_TRANSPARENT)):
            return "value"
        pointer = pointer.owner.operands_flat[0]
    base = pointer.hint
    if not base:
        return "value"
    return base.removesuffix("_ptr") if base.endswith("_ptr") else f"{base}_values"


# --- literals ------------------------------------------------------------------------------------

_WORDS = {"i": "int", "u": "uint", "f": "float"}
_TYPE_NAMES = {"i1": "int1", "bf16": "bfloat16", "f8e5m2": "float8e5", "f8e4m3": "float8e4nv"}


def _type_name(scalar: ScalarType) -> str:
    name = _TYPE_NAMES.get(scalar.name)
    return f"tl.{name or _WORDS[scalar.kind] + scalar.name[1:]}"


def _number(value: bool | int | float) -> Text:
    if isinstance(value, float) and not math.isfinite(value):
        sign = "-" if math.copysign(1.0, value) < 0 else ""
        return Text(f'float("{sign}{str(value).lstrip("-")}")')
    source = repr(value)
    return Text(source, UNARY if source.startswith("-") else PRIMARY)


def _full(value: bool | int | float, type: BlockType) -> Text:
    """A constant with its type."""
    name = _type_name(type.scalar)
    is_zero = value == 0 and math.copysign(1.0, value) > 0
    if is_zero and type.shape:
        return Text(f"tl.zeros({_shape(type.shape)}, {name})")
    return Text(f"tl.full({_shape(type.shape)}, {_number(value).source}, {name})")


def _shape(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def _fits_float32(value: float) -> bool:
    if not math.isfinite(value):
        return True
    try:
        (back,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        return False
    return bool(back == value)


# --- writing -------------------------------------------------------------------------------------


class _Writer:
    """Writes one function; `texts` says how every value is written, `lines` grow as ops come."""

    def __init__(self, body: Region, helpers: list[str]) -> None:
        self.helpers = helpers
        self.lines: list[str] = []
        self.indent = ""
        self.texts: dict[Value, Text] = {}
        self.taken: set[str] = set(_TAKEN)
        self.sites = _find_sites(body)

    def parameter(self, parameter: Parameter) -> str:
        name = self.name(parameter.value, parameter.name)
        element = parameter.value.type.element
        is_plain = not isinstance(element, ScalarType) or element in (int32, float32, int1)
        return name if is_plain else f"{name}: {_type_name(parameter.value.type.scalar)}"

    def name(self, value: Value, wish: str = "") -> str:
        """Give `value` a name of its own."""
        wish = to_identifier(wish or value.hint or _suggest_name(value))
        name, count = wish, 0
        while name in self.taken:
            count += 1
            name = f"{wish}_{count}"
        self.taken.add(name)
        self.texts[value] = Text(name)
        return name

    def write(self, line: str) -> None:
        self.lines.append(self.indent + line)

    def region(self, region: Region) -> None:
        for op in region.ops:
            self.op(op, region)

    def op(self, op: Op, region: Region) -> None:
        statement = _STATEMENTS.get(type(op))
        if statement is not None:
            statement(self, op)
        elif type(op) not in _EXPRESSIONS:
            raise UnsupportedError(f"the block language has no words for '{op.name}'.")
        elif not isinstance(op, (ops.Constant, *_TRANSPARENT)):
            self._expression(op, region)

    def _expression(self, op: Op, region: Region) -> None:
        """Keep an expression for its only use, or assign it."""
        (result,) = op.results
        sites = self.sites.get(result, [])
        if not sites and op.effect is Effect.NONE:
            return
        text = _EXPRESSIONS[type(op)](self, op)
        if not sites and op.effect is Effect.ATOMIC:
            self.write(text.source)
            return
        is_inline = len(sites) == 1 and sites[0] is region and op.effect is Effect.NONE
        if is_inline and not result.hint and len(text.source) <= LONGEST_INLINE:
            self.texts[result] = text
            return
        self.write(f"{self.name(result)} = {text.source}")

    # --- operands ----------------------------------------------------------------------------

    def text(self, value: Value) -> Text:
        """`value` with its type and shape."""
        owner = value.owner
        if isinstance(owner, ops.Constant):
            is_plain = value.type in (BlockType(int32), BlockType(int1))
            return _number(owner.value) if is_plain else _full(owner.value, owner.type)
        if isinstance(owner, _TRANSPARENT):
            return _EXPRESSIONS[type(owner)](self, owner)
        if value not in self.texts:
            raise UnsupportedError("a combine may not read values from outside.")
        return self.texts[value]

    def typed(self, value: Value) -> Text:
        """`value` as it must stand where a variable gets its type."""
        owner = value.owner
        if isinstance(owner, ops.Constant) and owner.type != BlockType(int32):
            return _full(owner.value, owner.type)
        return self.text(value)

    def loose(self, value: Value) -> Text:
        """`value` where the surroundings convert and broadcast it, through float32 at worst."""
        owner = _strip(value).owner
        if isinstance(owner, ops.Constant):
            number = owner.value
            is_exact = not isinstance(number, float) or _fits_float32(number)
            return _number(number) if is_exact else _full(number, owner.type)
        return self.text(_strip(value))

    def together(self, shape: tuple[int, ...], *values: Value) -> list[Text]:
        """Operands of one op: constants as literals, broadcasts left out where they follow."""
        bare = [_strip(value) for value in values]
        if all(isinstance(value.owner, ops.Constant) for value in bare):
            bare[0] = values[0]
            texts = [self.typed(bare[0]), *(self._literal(value) for value in bare[1:])]
            shapes = [bare[0].shape, *(() for _ in bare[1:])]
        else:
            texts = [self._literal(value) for value in bare]
            shapes = [() if _is_constant(value) else value.shape for value in bare]
        for position, value in enumerate(values):
            if _broadcasts_to(shapes, shape):
                break
            if not _is_constant(bare[position]):
                texts[position], shapes[position] = self.text(value), value.shape
        return texts

    def _literal(self, value: Value) -> Text:
        owner = value.owner
        return _number(owner.value) if isinstance(owner, ops.Constant) else self.text(value)

    # --- blocks of lines ---------------------------------------------------------------------

    def nested(self, head: str, write_body: Callable[[], None]) -> None:
        self.write(head)
        before, self.indent = self.indent, self.indent + "    "
        count = len(self.lines)
        write_body()
        if len(self.lines) == count:
            self.write("pass")
        self.indent = before

    def assign(self, names: Sequence[str], values: Sequence[Value]) -> None:
        """All at once, since values may read the names."""
        texts = [self.typed(value).source for value in values]
        pairs = [(name, text) for name, text in zip(names, texts, strict=True) if name != text]
        if pairs:
            left, right = zip(*pairs, strict=True)
            self.write(f"{', '.join(left)} = {', '.join(right)}")


def _strip(value: Value) -> Value:
    """What a splat or broadcast repeats."""
    owner = value.owner
    return _strip(owner.value) if isinstance(owner, (ops.Splat, ops.Broadcast)) else value


def _is_constant(value: Value) -> bool:
    return isinstance(value.owner, ops.Constant)


def _broadcasts_to(shapes: Sequence[tuple[int, ...]], shape: tuple[int, ...]) -> bool:
    try:
        return broadcast_shapes(*shapes) == shape
    except ShapeError:
        return False


def _find_sites(body: Region) -> dict[Value, list[Region]]:
    """For every value the regions it is written in, once per use; transparent ops pass uses on."""
    sites: dict[Value, list[Region]] = {}
    regions = [body, *(region for op in walk(body) for region in op.regions)]
    uses = [(region, op) for region in regions for op in region.ops]
    for region, op in reversed(uses):
        if isinstance(op, _TRANSPARENT):
            continue
        for value in op.operands_flat:
            _add_site(sites, value, region)
    return sites


def _add_site(sites: dict[Value, list[Region]], value: Value, region: Region) -> None:
    sites.setdefault(value, []).append(region)
    if isinstance(value.owner, _TRANSPARENT):
        _add_site(sites, value.owner.value, region)


# --- statements ----------------------------------------------------------------------------------


def _store(w: _Writer, op: ops.Store) -> None:
    parts = [w.text(op.pointer).source, w.loose(op.value).source, *_memory_options(w, op)]
    w.write(f"tl.{'atomic_' * bool(op.sem)}store({', '.join(parts)})")


def _memory_options(w: _Writer, op: ops.Load | ops.Store) -> list[str]:
    parts = [] if op.mask is None else [f"mask={w.loose(op.mask).source}"]
    if isinstance(op, ops.Load) and op.other is not None and not op.sem:
        parts.append(f"other={w.loose(op.other).source}")
    settings = {"cache_modifier": op.cache, "eviction_policy": op.eviction}
    hints = [f'{name}="{setting}"' for name, setting in settings.items() if setting]
    return parts + hints + _order(op) * bool(op.sem)


def _order(op: Any) -> list[str]:
    return [f'sem="{op.sem}"', f'scope="{op.scope}"']


def _for(w: _Writer, op: ops.For) -> None:
    index, *carried = op.body.arguments
    names = [w.name(value, result.hint) for value, result in zip(carried, op.results, strict=True)]
    w.assign(names, op.initial)
    for result, argument in zip(op.results, carried, strict=True):
        w.texts[result] = w.texts[argument]
    bounds = [w.text(op.lower), w.text(op.upper)]
    if not (isinstance(op.step.owner, ops.Constant) and op.step.owner.value == 1):
        bounds.append(w.text(op.step))
    head = f"for {w.name(index)} in range({', '.join(bound.source for bound in bounds)}):"

    def write_body() -> None:
        w.region(op.body)
        w.assign(names, op.body.terminator.operands_flat)

    w.nested(head, write_body)


def _while(w: _Writer, op: ops.While) -> None:
    """A condition of several statements is written before the loop and at each round's end."""
    rows = zip(op.body.arguments, op.results, strict=True)
    names = [w.name(value, result.hint) for value, result in rows]
    w.assign(names, op.initial)
    carried = zip(op.condition.arguments, op.results, op.body.arguments, strict=True)
    for argument, result, written in carried:
        w.texts[argument] = w.texts[result] = w.texts[written]
    (condition,) = op.condition.terminator.operands_flat
    count = len(w.lines)
    w.region(op.condition)
    text, is_expression = w.text(condition).source, len(w.lines) == count
    if not is_expression:
        flag = w.name(condition, "goes_on")
        w.write(f"{flag} = {text}")
        text = flag

    def write_body() -> None:
        w.region(op.body)
        w.assign(names, op.body.terminator.operands_flat)
        if not is_expression:
            w.region(op.condition)
            w.write(f"{text} = {w.text(condition).source}")

    w.nested(f"while {text}:", write_body)


def _if(w: _Writer, op: ops.If) -> None:
    names = [w.name(result) for result in op.results]

    def write_branch(region: Region) -> Callable[[], None]:
        def write_body() -> None:
            w.region(region)
            w.assign(names, region.terminator.operands_flat)

        return write_body

    w.nested(f"if {w.text(op.condition).source}:", write_branch(op.then))
    if len(op.otherwise.ops) > 1 or names:
        w.nested("else:", write_branch(op.otherwise))


def _combining(w: _Writer, op: ops.Combining) -> None:
    text = _known_combine(w, op) or _written_combine(w, op)
    names = ", ".join(w.name(result) for result in op.results)
    w.write(f"{names} = {text.source}")


def _known_combine(w: _Writer, op: ops.Combining) -> Text | None:
    """`tl.sum`, `tl.cumsum` and their like, cast back where they widen."""
    scalar = op.values[0].type.scalar
    is_scan = isinstance(op, ops.Scan)
    function = (_SCANS if is_scan else _REDUCTIONS)[scalar.is_floating].get(op.kind)
    if function is None or scalar == int1 or (is_scan and scalar == bfloat16):
        return None  # the language's scans of bfloat16 run in float32
    name, option, widened = function
    option += ", reverse=True" if isinstance(op, ops.Scan) and op.reverse else ""
    text = Text(f"tl.{name}({w.text(op.values[0]).source}, axis={op.axis}{option})")
    widens = scalar.bits < widened
    return _cast_to(text, scalar) if widens else text


_NAN = ", propagate_nan=tl.PropagateNan.ALL"

# Binary kind -> function, options, width below which the language widens the result
_FLOAT_REDUCTIONS = {
    "add": ("sum", "", 0),
    "max": ("max", _NAN, 32),
    "min": ("min", _NAN, 32),
    "maxnum": ("max", "", 32),
    "minnum": ("min", "", 32),
}
_INTEGER_REDUCTIONS = {
    "add": ("sum", "", 32),
    "max": ("max", "", 32),
    "min": ("min", "", 32),
    "xor": ("xor_sum", "", 0),
    "or": ("reduce_or", "", 0),
}
_REDUCTIONS = {True: _FLOAT_REDUCTIONS, False: _INTEGER_REDUCTIONS}  # by whether floats
_SCANS = {
    is_float: {"add": ("cumsum", "", widened), "mul": ("cumprod", "", widened)}
    for is_float, widened in ((True, 0), (False, 32))
}


def _written_combine(w: _Writer, op: ops.Combining) -> Text:
    name = f"combine_{len(w.helpers)}"
    w.taken.add(name)
    w.helpers.append(_helper(name, op.combine, w.helpers))
    values = ", ".join(w.text(value).source for value in op.values)
    values = f"({values})" if len(op.values) > 1 else values
    if isinstance(op, ops.Scan):
        option = ", reverse=True" if op.reverse else ""
        return Text(f"tl.associative_scan({values}, {op.axis}, {name}{option})")
    return Text(f"tl.reduce({values}, {op.axis}, {name})")


def _helper(name: str, combine: Region, helpers: list[str]) -> str:
    writer = _Writer(combine, helpers)
    half = len(combine.arguments) // 2
    wishes = [f"left_{n}" for n in range(half)] + [f"right_{n}" for n in range(half)]
    if half == 1:
        wishes = ["left", "right"]
    parameters = [
        writer.name(value, wish) for value, wish in zip(combine.arguments, wishes, strict=True)
    ]
    writer.region(combine)
    results = (writer.typed(value).source for value in combine.terminator.operands_flat)
    writer.write(f"return {', '.join(results)}")
    return _function(name, parameters, writer.lines)


def _split(w: _Writer, op: ops.Split) -> None:
    value = w.typed(op.value).source
    w.write(f"{', '.join(w.name(result) for result in op.results)} = tl.split({value})")


def _print(w: _Writer, op: ops.Print) -> None:
    values = [w.typed(value).source for value in op.values]
    options = ["hex=True"] if op.hex else []
    w.write(f"tl.device_print({', '.join([_quoted(op.prefix), *values, *options])})")


def _assert(w: _Writer, op: ops.Assert) -> None:
    options = [] if op.mask is None else [f"mask={w.typed(op.mask).source}"]
    parts = [w.typed(op.condition).source, _quoted(op.message), *options]
    w.write(f"tl.device_assert({', '.join(parts)})")


def _quoted(text: str) -> str:
    return json.dumps(text)


_STATEMENTS: dict[type[Op], Callable[[_Writer, Any], None]] = {
    ops.Store: _store,
    ops.For: _for,
    ops.While: _while,
    ops.Barrier: lambda w, op: w.write("tl.debug_barrier()"),
    ops.If: _if,
    ops.Reduce: _combining,
    ops.Scan: _combining,
    ops.Split: _split,
    ops.Print: _print,
    ops.Assert: _assert,
    ops.Yield: lambda w, op: None,  # written by the op around it
}


# --- expressions ---------------------------------------------------------------------------------


def _cast_to(text: Text, scalar: ScalarType, option: str = "") -> Text:
    return Text(f"{text.at(PRIMARY)}.to({_type_name(scalar)}{option})")


def _call(function: str, *texts: Text | str) -> Text:
    sources = (text if isinstance(text, str) else text.source for text in texts)
    return Text(f"{function}({', '.join(sources)})")


_OPERATORS = {
    "add": ("+", SUM),
    "sub": ("-", SUM),
    "mul": ("*", PRODUCT),
    "rem": ("%", PRODUCT),
    "and": ("&", AND),
    "or": ("|", OR),
    "xor": ("^", XOR),
    "shl": ("<<", SHIFT),
    "shr": (">>", SHIFT),
}
_EXTREMES = {
    "max": ("tl.maximum", ["propagate_nan=tl.PropagateNan.ALL"]),
    "min": ("tl.minimum", ["propagate_nan=tl.PropagateNan.ALL"]),
    "maxnum": ("tl.maximum", []),
    "minnum": ("tl.minimum", []),
}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _infix(sign: str, strength: int, left: Text, right: Text) -> Text:
    first = strength + 1 if strength == COMPARISON else strength
    return Text(f"{left.at(first)} {sign} {right.at(strength + 1)}", strength)


def _binary(w: _Writer, op: ops.Binary) -> Text:
    if op.kind in _EXTREMES:
        return _extreme(w, op)
    left, right = w.together(op.result.shape, op.lhs, op.rhs)
    scalar = op.lhs.type.scalar
    if op.kind == "mulhi":
        return _high_product(w, op)
    if op.kind in ("div", "div_normal"):
        text = _infix("/" if scalar.is_floating else "//", PRODUCT, left, right)
    else:
        text = _infix(*_OPERATORS[op.kind], left, right)
    is_widened = scalar.is_half and op.kind in ("div", "div_normal", "rem")
    return _cast_to(text, scalar) if is_widened else text


def _extreme(w: _Writer, op: ops.Binary) -> Text:
    """Where a literal does not adapt, as it does to an operator: it is an int32 or a float32."""
    scalar, operands = op.lhs.type.scalar, (op.lhs, op.rhs)
    texts = w.together(op.result.shape, *operands)
    literals = [_is_constant(_strip(value)) for value in operands]
    if scalar.name == "f64":
        known = zip(operands, texts, literals, strict=True)
        texts = [w.typed(value) if is_literal else text for value, text, is_literal in known]
    function, options = _EXTREMES[op.kind]
    text = _call(function, *texts, *(options if scalar.is_floating else []))
    is_widened = scalar.name == "bf16" or (1 < scalar.bits < 32 and any(literals))
    return _cast_to(text, scalar) if is_widened else text


def _high_product(w: _Writer, op: ops.Binary) -> Text:
    if op.lhs.type.scalar.bits < 32:
        raise UnsupportedError(f"the block language has no words for 'mulhi' of {op.lhs.type}.")
    return _call("tl.umulhi", w.typed(op.lhs), w.typed(op.rhs))


def _compare(w: _Writer, op: ops.Compare) -> Text:
    return _infix(_COMPARISONS[op.kind], COMPARISON, *w.together(op.result.shape, op.lhs, op.rhs))


def _select(w: _Writer, op: ops.Select) -> Text:
    condition, *values = w.together(op.result.shape, op.condition, op.on_true, op.on_false)
    if _is_constant(_strip(op.on_true)) and _is_constant(_strip(op.on_false)):
        values[0] = w.typed(op.on_true)
    return _call("tl.where", condition, *values)


_LANGUAGE_FUNCTIONS = frozenset(
    {"abs", "sqrt", "floor", "ceil", "exp", "exp2", "log", "log2", "sin", "cos", "rsqrt", "erf"}
)


def _function_call(name: str, scalar: ScalarType, texts: Sequence[Text]) -> Text:
    """A function the language has for float32 and float64 only."""
    prefix = "tl." if name in _LANGUAGE_FUNCTIONS else "tl.extra.libdevice."
    if not scalar.is_half:
        return _call(prefix + name, *texts)
    return _cast_to(_call(prefix + name, *(_cast_to(text, float32) for text in texts)), scalar)


def _unary(w: _Writer, op: ops.Unary) -> Text:
    text, scalar = w.text(op.value), op.value.type.scalar
    if op.kind in ("neg", "not"):
        return Text(f"{'-' if op.kind == 'neg' else '~'}{text.at(UNARY)}", UNARY)
    if op.kind == "abs":
        return _call("tl.abs", text)
    return _function_call(op.kind, scalar, [text])


def _math(w: _Writer, op: ops.Math) -> Text:
    texts = [w.text(value) for value in op.arguments]
    return _function_call(op.function, op.result.type.scalar, texts)


def _approximate(w: _Writer, op: ops.Approximate) -> Text:
    """The exact function: how loose it may be is the setting's business."""
    text = w.text(op.value)
    if op.function == "reciprocal":
        return Text(f"1.0 / {text.at(UNARY)}", PRODUCT)
    return _function_call(op.function, float32, [text])


def _fma(w: _Writer, op: ops.Fma) -> Text:
    return _call("tl.fma", *(w.text(value) for value in (op.a, op.b, op.c)))


def _cast(w: _Writer, op: ops.Cast) -> Text:
    rounding = f', fp_downcast_rounding="{op.rounding}"' if op.rounding else ""
    return _cast_to(w.typed(op.value), SCALARS[op.element], rounding)


def _bitcast(w: _Writer, op: ops.Bitcast) -> Text:
    element = op.result.type.element
    if isinstance(element, PointerType):
        name = f"tl.pointer_type({_type_name(element.pointee)})"
        return Text(f"{w.typed(op.value).at(PRIMARY)}.to({name}, bitcast=True)")
    return _cast_to(w.typed(op.value), element, ", bitcast=True")


def _add_pointer(w: _Writer, op: ops.AddPointer) -> Text:
    return _infix("+", SUM, *w.together(op.result.shape, op.pointer, op.offset))


def _atomic_rmw(w: _Writer, op: ops.AtomicRmw) -> Text:
    mask = [] if op.mask is None else [f"mask={w.loose(op.mask).source}"]
    operands = w.text(op.pointer), w.loose(op.value)
    return _call(f"tl.atomic_{op.kind}", *operands, *mask, *_order(op))


def _atomic_cas(w: _Writer, op: ops.AtomicCas) -> Text:
    operands = w.text(op.pointer), w.text(op.compare), w.text(op.value)
    return _call("tl.atomic_cas", *operands, *_order(op))


def _load(w: _Writer, op: ops.Load) -> Text:
    options = _memory_options(w, op)
    if not op.sem:
        return _call("tl.load", w.text(op.pointer), *options)
    text = _call("tl.atomic_load", w.text(op.pointer), *options)
    if op.mask is None or op.other is None:
        return text
    return _call("tl.where", w.text(op.mask), text, w.text(op.other))


def _dot(w: _Writer, op: ops.Dot) -> Text:
    operands = [w.typed(value) for value in (op.a, op.b, op.acc)]
    return _call("tl.dot", *operands, f'input_precision="{op.precision}"')


def _broadcast(w: _Writer, op: ops.Splat | ops.Broadcast) -> Text:
    return _call("tl.broadcast_to", w.typed(op.value), _shape(op.shape))


def _expand_dims(w: _Writer, op: ops.ExpandDims) -> Text:
    if op.value.shape == ():
        return _call("tl.broadcast_to", w.typed(op.value), _shape(op.result.shape))
    indices = [":"] * len(op.value.shape)
    indices.insert(op.axis, "None")
    return Text(f"{w.text(op.value).at(PRIMARY)}[{', '.join(indices)}]")


def _reshape(w: _Writer, op: ops.Reshape) -> Text:
    return _call("tl.reshape", w.typed(op.value), _shape(op.shape))


def _transpose(w: _Writer, op: ops.Transpose) -> Text:
    if op.permutation == (1, 0):
        return _call("tl.trans", w.text(op.value))
    return _call("tl.permute", w.text(op.value), _shape(op.permutation))


def _join(w: _Writer, op: ops.Join) -> Text:
    return _call("tl.join", w.typed(op.lhs), w.typed(op.rhs))


def _exchange_bits(w: _Writer, op: ops.ExchangeBits) -> Text:
    value = w.typed(op.value)
    if op.mask == op.value.shape[op.axis] - 1:
        return _call("tl.flip", value, str(op.axis))
    return _call("tl.exchange", value, str(op.axis), str(op.mask))


def _gather(w: _Writer, op: ops.Gather) -> Text:
    return _call("tl.gather", w.typed(op.value), w.typed(op.index), str(op.axis))


def _histogram(w: _Writer, op: ops.Histogram) -> Text:
    options = [] if op.mask is None else [f"mask={w.typed(op.mask).source}"]
    return _call("tl.histogram", w.typed(op.value), str(op.num_bins), *options)


_EXPRESSIONS: dict[type[Op], Callable[[_Writer, Any], Text]] = {
    ops.ProgramId: lambda w, op: Text(f"tl.program_id({op.axis})"),
    ops.NumPrograms: lambda w, op: Text(f"tl.num_programs({op.axis})"),
    ops.Arange: lambda w, op: Text(f"tl.arange({op.start}, {op.end})"),
    ops.Constant: lambda w, op: _full(op.value, op.type),
    ops.Binary: _binary,
    ops.Compare: _compare,
    ops.Select: _select,
    ops.Unary: _unary,
    ops.Math: _math,
    ops.Approximate: _approximate,
    ops.Fma: _fma,
    ops.Cast: _cast,
    ops.Bitcast: _bitcast,
    ops.AddPointer: _add_pointer,
    ops.Load: _load,
    ops.AtomicRmw: _atomic_rmw,
    ops.AtomicCas: _atomic_cas,
    ops.Dot: _dot,
    ops.Splat: _broadcast,
    ops.Broadcast: _broadcast,
    ops.ExpandDims: _expand_dims,
    ops.Reshape: _reshape,
    ops.Transpose: _transpose,
    ops.Join: _join,
    ops.ExchangeBits: _exchange_bits,
    ops.Gather: _gather,
    ops.Histogram: _histogram,
}
