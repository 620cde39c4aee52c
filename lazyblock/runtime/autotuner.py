"""What chooses arguments of kernels, under the names Triton has them."""

from lazyblock.errors import OutOfResourcesError as OutOfResources
from lazyblock.language.autotune import Autotuner, Config, autotune
from lazyblock.language.heuristics import Heuristics, heuristics

__all__ = ["Autotuner", "Config", "Heuristics", "OutOfResources", "autotune", "heuristics"]
