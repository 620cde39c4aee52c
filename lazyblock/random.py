"""Random numbers, lazy and the same on every device: NumPy's `Generator`, by Philox."""

from lazyblock.tracer.random import Generator, SeedSequence, default_rng

__all__ = ["Generator", "SeedSequence", "default_rng"]
