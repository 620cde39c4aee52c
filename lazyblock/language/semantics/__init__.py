"""What operations of the block language mean: types promote, shapes broadcast, literals adapt.

Functions here take tensors and plain Python numbers, check them, and append to the builder in use.
"""

from lazyblock.language.semantics.convert import to_tensor

__all__ = ["to_tensor"]
