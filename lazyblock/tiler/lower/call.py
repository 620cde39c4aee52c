"""Lower a group of CALL nodes: the results of one block kernel that is not ours to change.

And of HOST nodes: the results of a NumPy function.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from lazyblock.fusion.plan import FusionGroup
from lazyblock.fusion.storage import find_storage
from lazyblock.graph.attrs import CallAttrs
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.tiler.call import ArrayNumber, BlockCall
from lazyblock.tiler.lowered import (
    Argument,
    ArrayArgument,
    LoweredHostCall,
    LoweredKernel,
    SizeArgument,
)


def is_call(group: FusionGroup) -> bool:
    """Whether a group is a call of a block kernel."""
    return group.roots[0].op is Op.CALL


def lower_call(group: FusionGroup) -> LoweredKernel:
    """The program of a call with its arrays put in place of their numbers."""
    first = group.roots[0]
    attrs = first.attrs
    assert isinstance(attrs, CallAttrs)
    call: BlockCall = attrs.call
    arrays = [*first.inputs, *group.roots]
    arguments: list[Argument] = []
    for parameter, argument in zip(call.program.parameters, call.arguments, strict=True):
        if isinstance(argument, ArrayNumber):
            is_result = argument.number >= len(first.inputs)
            arguments.append(ArrayArgument(arrays[argument.number], 0, is_result))
        else:
            arguments.append(SizeArgument(argument, parameter.value.type.scalar))
    size = sum(node.size for node in arrays)
    nbytes = sum(node.nbytes for node in arrays)
    work = size if math.prod(call.grid) else 0
    return LoweredKernel(call.program, tuple(arguments), call.grid, work, nbytes, 0)


def lower_host_call(group: FusionGroup, stored: Collection[Node]) -> LoweredHostCall:
    """Where the operands of a host call lie; `stored` nodes of other groups are in memory."""
    operands = [find_storage(operand, stored) for operand in group.roots[0].inputs]
    assert all(operands), "the planner has put them in memory"
    return LoweredHostCall(tuple(filter(None, operands)), group.roots)
