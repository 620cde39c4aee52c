"""The language's rules as people read them: tables, and NumPy for the values.

Nothing here is taken from the code under test.
"""

import ml_dtypes
import numpy as np

NUMPY = {
    "int1": np.dtype(bool),
    **{f"int{n}": np.dtype(f"int{n}") for n in (8, 16, 32, 64)},
    **{f"uint{n}": np.dtype(f"uint{n}") for n in (8, 16, 32, 64)},
    "fp16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp32": np.dtype(np.float32),
    "fp64": np.dtype(np.float64),
}
NAMES = list(NUMPY)
INTEGERS = [name for name in NAMES if "int" in name]
FLOATS = [name for name in NAMES if "int" not in name]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["int1", "uint8", "uint16", "uint32", "uint64"]

# where operands of + - * meet: rows left, columns right, both in the order of NAMES
_MEETING = """
int1   int8   int16  int32  int64  uint8  uint16 uint32 uint64 fp16 fp32 fp32 fp64
int8   int8   int16  int32  int64  uint8  uint16 uint32 uint64 fp16 fp32 fp32 fp64
int16  int16  int16  int32  int64  int16  uint16 uint32 uint64 fp16 fp32 fp32 fp64
int32  int32  int32  int32  int64  int32  int32  uint32 uint64 fp16 fp32 fp32 fp64
int64  int64  int64  int64  int64  int64  int64  int64  uint64 fp16 fp32 fp32 fp64
uint8  uint8  int16  int32  int64  uint8  uint16 uint32 uint64 fp16 fp32 fp32 fp64
uint16 uint16 uint16 int32  int64  uint16 uint16 uint32 uint64 fp16 fp32 fp32 fp64
uint32 uint32 uint32 uint32 int64  uint32 uint32 uint32 uint64 fp16 fp32 fp32 fp64
uint64 uint64 uint64 uint64 uint64 uint64 uint64 uint64 uint64 fp16 fp32 fp32 fp64
fp16   fp16   fp16   fp16   fp16   fp16   fp16   fp16   fp16   fp16 fp16 fp32 fp64
fp32   fp32   fp32   fp32   fp32   fp32   fp32   fp32   fp32   fp16 bf16 fp32 fp64
fp32   fp32   fp32   fp32   fp32   fp32   fp32   fp32   fp32   fp32 fp32 fp32 fp64
fp64   fp64   fp64   fp64   fp64   fp64   fp64   fp64   fp64   fp64 fp64 fp64 fp64
"""
MEETING = {
    (left, right): name
    for left, row in zip(NAMES, _MEETING.split("\n")[1:-1], strict=True)
    for right, name in zip(NAMES, row.split(), strict=True)
}


def has_sign(name):
    return name in SIGNED


def divides_in(left, right):
    """Where operands of / and % meet; None where integers of different signedness do."""
    if left in INTEGERS and right in INTEGERS:
        return None if has_sign(left) != has_sign(right) else MEETING[left, right]
    return "fp64" if "fp64" in (left, right) else "fp32"


def convert(array, name):
    """A cast in range: what NumPy's astype does."""
    with np.errstate(all="ignore"):
        return array.astype(NUMPY[name])


def sample(name, size=16, seed=0, low=-9):
    """Ordinary values with some extreme ones; of floats exact in every float type."""
    rng = np.random.default_rng([seed, NAMES.index(name)])
    dtype = NUMPY[name]
    if name == "int1":
        return rng.integers(0, 2, size).astype(bool)
    if name in FLOATS:
        return (rng.integers(-40, 40, size) * 0.25).astype(dtype)
    limits = np.iinfo(dtype)
    values = rng.integers(max(limits.min, low), 90, size).astype(dtype)
    values[:4] = [limits.min, limits.max, 0, 1]
    return values


def c_quotient(a, b):
    """Integers divided as C does."""
    quotient = np.abs(a.astype(object)) // np.abs(b.astype(object))
    negative = (a.astype(object) < 0) != (b.astype(object) < 0)
    return np.where(negative, -quotient, quotient)


def wrap(values, name):
    """Integers of any size, to the ones of a type."""
    bits = 1 if name == "int1" else NUMPY[name].itemsize * 8
    wrapped = [int(v) & ((1 << bits) - 1) for v in np.asarray(values, object).reshape(-1)]
    if has_sign(name):
        wrapped = [v - (1 << bits) if v >> (bits - 1) else v for v in wrapped]
    return np.array(wrapped, NUMPY[name]).reshape(np.shape(values))


def exactly(values):
    """Python's numbers, which do not round or wrap."""
    return np.array([int(v) for v in values.reshape(-1)], object).reshape(values.shape)
