"""What the examples share: arrays to compute on, and the check of results."""

import numpy as np

import lazyblock as lb

rng = np.random.default_rng(0)


def normal(*shape, dtype=np.float32):
    """Normally distributed numbers."""
    return rng.standard_normal(shape, np.float32).astype(dtype)


def to_device(device, *arrays):
    """The NumPy arrays themselves (device None: the CPU), or lazyblock arrays on a device."""
    if device is None:
        return arrays
    return tuple(lb.asarray(array, device=device) for array in arrays)


def check(name, actual, expected, tolerance=1e-5):
    """Compare a kernel's result with NumPy's in float64; the error is relative to the largest."""
    error = np.abs(np.asarray(actual, np.float64) - expected).max() / np.abs(expected).max()
    if not error <= tolerance:
        raise AssertionError(f"{name}: off by {error:.1e}, allowed {tolerance:.0e}")
    print(f"{name}: right, off by {error:.1e} at most")
