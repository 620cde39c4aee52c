"""Dead code elimination.

Takes: a verified program. Gives: the program without pure ops and loads whose results nobody needs.
Keeps: every write, and whatever a write or its control flow depends on.
Cost: one walk and one copy, linear in the ops.
"""

from __future__ import annotations

from lazyblock.tiler.ir import Effect, Op, Program, Region, walk
from lazyblock.tiler.passes.rewrite import copy_without

_UNNEEDED = (Effect.NONE, Effect.READ)


def eliminate_dead(program: Program) -> Program:
    """Drop ops without effect whose results are not used."""
    live = _find_live(program.body)
    return copy_without(program, {op for op in walk(program.body) if op not in live})


def _find_live(body: Region) -> set[Op]:
    parents = {inner: op for op in walk(body) for region in op.regions for inner in region.ops}
    pending = [op for op in walk(body) if op.effect not in _UNNEEDED]
    live: set[Op] = set()
    while pending:
        op = pending.pop()
        if op in live:
            continue
        live.add(op)
        pending.extend(value.owner for value in op.operands_flat if value.owner is not None)
        pending.extend(region.terminator for region in op.regions)
        if op in parents:
            pending.append(parents[op])
    return live
