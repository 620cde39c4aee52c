"""One scope from the two at the ends of an `if`: which values need a choice at run time.

Takes: the scopes and the regions of both branches. Gives: the scope after, and the values each
region must yield for it. A branch that control leaves (return, break, continue) has no say about
names that only the other one defines: they get zeros on its side, which nothing reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.language.frontend.scope import (
    MAYBE,
    RETURN,
    UNSET,
    Missing,
    Scope,
    have_same_form,
    is_number,
    leaves_of,
    parts_of,
    say,
    with_leaves,
    with_parts,
)
from lazyblock.language.semantics import to_tensor
from lazyblock.language.tensor import tensor
from lazyblock.tiler.builder import Builder
from lazyblock.tiler.ir import Region, Value
from lazyblock.tiler.types import PointerType, int64


@dataclass
class Side:
    """The end of a branch; is_left: control does not go on to what follows the branch."""

    scope: Scope
    region: Region
    is_left: bool


@dataclass
class Merge:
    """Builds the scope after two branches.

    yields: pairs of leaves to choose from. makers: what sets the new scope's entries once the
    chosen leaves are known.
    """

    builder: Builder
    sides: tuple[Side, Side]
    line: int
    scope: Scope = field(default_factory=Scope)
    yields: list[tuple[tensor, tensor]] = field(default_factory=list)
    makers: list[Callable[[list[tensor]], None]] = field(default_factory=list)

    def add_names(self, is_needed: Callable[[str], bool]) -> None:
        """Merge all variables; those that nothing reads any more are forgotten."""
        left, right = (side.scope for side in self.sides)
        self.scope.missing = {**left.missing, **right.missing}
        for name in dict.fromkeys((*left.values, *right.values)):
            self._add_name(name, is_needed(name))

    def _add_name(self, name: str, is_needed: bool) -> None:
        values = [side.scope.values.get(name, UNSET) for side in self.sides]
        if values[0] is values[1]:
            self.scope.values[name] = values[0]
        elif is_needed:
            missing = self._why_missing(name, values)
            pair = None if missing else self.pair(values)
            if pair is None:
                self.scope.missing[name] = missing or self._clash(values)
            else:
                self.choose(pair, lambda value: self.scope.set(name, value))

    def _why_missing(self, name: str, values: list[Any]) -> Missing | None:
        for value, side in zip(values, self.sides, strict=True):
            if value is UNSET and not side.is_left:
                if name in side.scope.missing:
                    return side.scope.missing[name]
                reason = f"is assigned in only one branch of the 'if' at line {self.line}"
                return Missing(
                    reason, f"give '{name}' a value before the 'if', or in both branches."
                )
        return None

    def _clash(self, values: list[Any]) -> Missing:
        first, second = map(say, values)
        reason = f"has two types after the 'if' at line {self.line}: {first} and {second}"
        return Missing(reason, "convert one of them with .to(...).")

    # --- ways out --------------------------------------------------------------------------------

    def add_exits(self, is_followed: bool) -> None:
        """Merge what was returned, and the flags if anything follows that depends on them."""
        left, right = (side.scope for side in self.sides)
        for name in left.exits:
            flags = left.exits[name], right.exits[name]
            if flags[0] is flags[1]:
                self.scope.exits[name] = flags[0]
            elif not is_followed:
                self.scope.exits[name] = MAYBE
            else:
                pair = self._tensors(list(flags))
                self.choose(pair, partial(self._set_flag, name))
        self._add_returned(left, right)

    def _set_flag(self, name: str, flag: tensor) -> None:
        self.scope.exits[name] = flag

    def _add_returned(self, left: Scope, right: Scope) -> None:
        values = [left.returned, right.returned]
        if values[0] is values[1]:
            self.scope.returned = values[0]
            return
        pair = self.pair(values, ignores=lambda n: self.sides[n].scope.exits[RETURN] is False)
        if pair is None:
            raise CompileError(
                f"The function returns {say(values[0])} on one path and {say(values[1])} on"
                " another.",
                hint="return values of one type on every path.",
            )
        self.choose(pair, lambda value: setattr(self.scope, "returned", value))

    # --- pairs of values -------------------------------------------------------------------------

    def pair(
        self, values: list[Any], ignores: Callable[[int], bool] | None = None
    ) -> tuple[Any, Any] | None:
        """Both values with equal forms; None if they do not agree."""
        if have_same_form(*values):
            return values[0], values[1]
        agreed = self._agree(*values)
        if agreed is not None:
            return agreed
        for number, side in enumerate(self.sides):
            has_value = values[number] is not UNSET and side.scope.exits[RETURN] is not True
            is_ignored = side.is_left and not has_value if ignores is None else ignores(number)
            if is_ignored:
                values[number] = self._zeros(values[1 - number], side.region)
                return values[0], values[1]
        return None

    def _agree(self, left: Any, right: Any) -> tuple[Any, Any] | None:
        """Numbers become tensors where the other side has another number or a tensor."""
        if have_same_form(left, right):
            return left, right
        if all(isinstance(value, tensor) or is_number(value) for value in (left, right)):
            pair = self._tensors([left, right])
            return pair if pair[0].type == pair[1].type else None
        parts, others = parts_of(left), parts_of(right)
        if parts is None or others is None or type(left) is not type(right):
            return None
        if len(parts) != len(others):
            return None
        pairs = [self._agree(part, other) for part, other in zip(parts, others, strict=True)]
        if any(pair is None for pair in pairs):
            return None
        firsts, seconds = zip(*pairs, strict=True)
        return with_parts(left, firsts), with_parts(right, seconds)

    def _tensors(self, values: list[Any]) -> tuple[tensor, tensor]:
        made = []
        for value, side in zip(values, self.sides, strict=True):
            with self.builder.open_region(side.region):
                made.append(value if isinstance(value, tensor) else to_tensor(value))
        return made[0], made[1]

    def _zeros(self, like: Any, region: Region) -> Any:
        """A value of `like`'s form that nobody reads."""
        with self.builder.open_region(region):
            leaves = [
                tensor(zeros(self.builder, leaf.handle), leaf.type) for leaf in leaves_of(like)
            ]
        return with_leaves(like, leaves)

    def choose(self, pair: tuple[Any, Any], assign: Callable[[Any], None]) -> None:
        """Call `assign` with the value of the branch that is taken, once results are known."""
        leaves = list(zip(*map(leaves_of, pair), strict=True))
        differing = [two for two in leaves if two[0].handle is not two[1].handle]
        self.yields += differing

        def make(results: list[tensor]) -> None:
            chosen = [a if a.handle is b.handle else results.pop(0) for a, b in leaves]
            assign(with_leaves(pair[0], chosen))

        self.makers.append(make)

    def finish(self, results: list[tensor]) -> Scope:
        """The scope after; `results` correspond to `yields`."""
        for make in self.makers:
            make(results)
        return self.scope


def zeros(builder: Builder, like: Value) -> Value:
    """Zero of `like`'s type; a null pointer for pointers."""
    element = like.type.element
    if isinstance(element, PointerType):
        return builder.bitcast(builder.constant(0, int64, like.shape), element)
    return builder.constant(0, element, like.shape)
