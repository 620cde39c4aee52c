"""Which parameters of a program its stores and atomic updates may reach."""

from __future__ import annotations

from lazyblock.tiler.ir import Effect, Op, Program, Value, walk


def find_written(program: Program) -> tuple[int, ...]:
    """Positions of the pointer parameters that may be written through, in order."""
    sources: dict[Value, set[Value]] = {}  # of a pointer: those it is made from
    stack: list[Value] = []
    for op in walk(program.body):
        _add_sources(op, sources)
        if op.effect in (Effect.WRITE, Effect.ATOMIC):
            stack += [value for value in op.operands_flat if value.type.is_pointer]
    reached: set[Value] = set()
    while stack:
        value = stack.pop()
        if value not in reached:
            reached.add(value)
            stack += sources.get(value, ())
    parameters = enumerate(program.parameters)
    return tuple(n for n, parameter in parameters if parameter.value in reached)


def _add_sources(op: Op, sources: dict[Value, set[Value]]) -> None:
    results = op.results
    if not op.regions:
        pointers = {value for value in op.operands_flat if value.type.is_pointer}
        for result in results:
            if result.type.is_pointer:
                sources.setdefault(result, set()).update(pointers)
        return
    initial = getattr(op, "initial", ())
    for region in op.regions:
        yielded = region.terminator.operands_flat if region.ops else ()
        carried = region.arguments[-len(results) :] if results else []
        incoming = [initial, yielded if len(yielded) == len(results) else ()]
        for values in incoming:
            for targets in (results, carried):
                for target, value in zip(targets, values, strict=False):
                    if target.type.is_pointer:
                        sources.setdefault(target, set()).add(value)
