"""Unparsed text as a program again: executed as a module, and compiled by the front end."""

import hashlib
import itertools
import linecache
import types

import lazyblock.language as tl
from lazyblock.language import dtypes
from lazyblock.language.frontend import build_program
from lazyblock.language.function import KernelFunction, Pointer, Scalar
from lazyblock.pipeline import TIDY_PASSES
from lazyblock.tiler.ir import Effect, Trait
from lazyblock.tiler.types import PointerType
from lazyblock.tiler.verify import verify_program

_numbers = itertools.count()


def read_text(text, program):
    """The program that the last function of `text` means, for the parameters of `program`."""
    name = f"<unparsed {next(_numbers)}>"
    lines = [f"# {line}" if line.startswith("import ") else line for line in text.splitlines()]
    lines = [line + "\n" for line in lines]
    linecache.cache[name] = (len(text), None, lines, name)
    scope = {"lb": types.SimpleNamespace(jit=KernelFunction), "tl": tl}
    exec(compile("".join(lines), name, "exec"), scope)
    kernel = list(scope.values())[-1]
    named = zip(kernel.parameters, program.parameters, strict=True)
    specs = {mine.name: _spec_of(theirs) for mine, theirs in named}
    settings = {s: getattr(program, s) for s in ("num_warps", "num_stages", "num_ctas")}
    read = build_program(kernel, specs, **settings)
    verify_program(read)
    return read


def _spec_of(parameter):
    element = parameter.value.type.element
    if isinstance(element, PointerType):
        return Pointer(dtypes.from_ir(element.pointee), parameter.divisibility)
    return Scalar(dtypes.from_ir(element), parameter.divisibility)


def meaning_of(program):
    """A digest of what a program computes and writes, whatever the order of its other ops."""
    for run in TIDY_PASSES:
        program = run(program)
    names = {p.value: f"{p.name}: {p.value.type} {p.divisibility}" for p in program.parameters}
    return _meaning_of_region(program.body, names, 0)


def _meaning_of_region(region, names, depth):
    names = names | {a: f"{depth}.{n}: {a.type}" for n, a in enumerate(region.arguments)}
    written = []
    for op in region.ops:
        inner = [_meaning_of_region(r, names, depth + 1) for r in op.regions]
        operands = [names[value] for value in op.operands_flat]
        if Trait.COMMUTATIVE in op.traits:
            operands.sort()
        text = f"{op.name} {sorted(op.attributes.items(), key=str)} {operands} {inner}"
        digest = hashlib.sha256(text.encode()).hexdigest()
        names |= {result: f"{digest} {n}" for n, result in enumerate(op.results)}
        if op.effect not in (Effect.NONE, Effect.READ) or op.has(Trait.TERMINATOR):
            written.append(digest)
    return " ".join(written)
