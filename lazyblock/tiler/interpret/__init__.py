"""The block IR run by NumPy: the oracle of both backends, and the rules of eager kernels."""

from lazyblock.tiler.interpret.instance import Datum, Grid, Touch
from lazyblock.tiler.interpret.run import Steps, evaluate, interpret

__all__ = ["Datum", "Grid", "Steps", "Touch", "evaluate", "interpret"]
