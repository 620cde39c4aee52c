"""Lower a group of CALL nodes: the results of one block kernel that is not ours to change."""

from __future__ import annotations

import math

from lazyblock.fusion.plan import FusionGroup
from lazyblock.graph.attrs import CallAttrs
from lazyblock.tiler.call import ArrayNumber, BlockCall
from lazyblock.tiler.lowered import Argument, ArrayArgument, LoweredKernel, SizeArgument


def is_call(group: FusionGroup) -> bool:
    """Whether a group is a call."""
    return isinstance(group.roots[0].attrs, CallAttrs)


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
