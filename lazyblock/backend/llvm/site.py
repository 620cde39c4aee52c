"""Where rules write LLVM IR: an emitter and target, and the element and width they compute in."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lazyblock.backend.llvm.emit import Emitter
from lazyblock.backend.llvm.types import constant_text, llvm_scalar, llvm_type, mangled, vector_of
from lazyblock.target import Target
from lazyblock.tiler.types import Element, ScalarType, int1


@dataclass(frozen=True)
class Site:
    """Where a rule writes: emitter and target, and the element and width it computes in."""

    emitter: Emitter
    target: Target
    element: Element
    width: int

    @property
    def type(self) -> str:
        return llvm_type(self.element, self.width)

    @property
    def scalar(self) -> ScalarType:
        assert isinstance(self.element, ScalarType)
        return self.element

    @property
    def mask_type(self) -> str:
        return llvm_type(int1, self.width)

    def of(self, element: Element) -> Site:
        return replace(self, element=element)

    def constant(self, value: bool | int | float) -> str:
        return constant_text(value, self.scalar, self.width)

    def do(self, opcode: str, *operands: str) -> str:
        """One instruction on operands of this type, or a comparison of them."""
        return self.emitter.value(f"{opcode} {self.type} {', '.join(operands)}")

    def call(self, intrinsic: str, *operands: str) -> str:
        """An intrinsic overloaded on this type, which is also the type of its result."""
        suffix = mangled(llvm_scalar(self.element), self.width)
        typed = [(self.type, operand) for operand in operands]
        return self.emitter.call(self.type, f"llvm.{intrinsic}.{suffix}", *typed)

    def select(self, condition: str, on_true: str, on_false: str) -> str:
        choices = f"{self.type} {on_true}, {self.type} {on_false}"
        return self.emitter.value(f"select {self.mask_type} {condition}, {choices}")

    def convert(self, opcode: str, value: str, to: Element | str) -> str:
        """A conversion instruction from this type; `to` may name an LLVM scalar."""
        scalar = to if isinstance(to, str) else llvm_scalar(to)
        target = vector_of(scalar, self.width)
        return self.emitter.value(f"{opcode} {self.type} {value} to {target}")


def emit_all(masks: Site, mask: str) -> str:
    """Whether all lanes of a mask are true, as i1."""
    return _fold("and", masks, mask)


def emit_any(masks: Site, mask: str) -> str:
    """Whether a lane of a mask is true, as i1."""
    return _fold("or", masks, mask)


def _fold(kind: str, masks: Site, mask: str) -> str:
    if masks.width == 1:
        return mask
    name = f"llvm.vector.reduce.{kind}.v{masks.width}i1"
    return masks.emitter.call("i1", name, (masks.type, mask))
