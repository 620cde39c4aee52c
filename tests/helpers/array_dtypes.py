"""Dtypes and numbers of drawn programs."""

EXTENTS = [0, 1, 1, 2, 3, 3, 4, 5, 8, 17, 33]
INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
DTYPES = ["bool", *INTEGERS, *FLOATS, "complex64", "complex128"]
DRAWN = [*DTYPES, "float32", "float64", "int64", "int32"]  # with these more often
SPECIAL = ["0.0", "-0.0", "1.0", "-2.5", "3.0", "1e30", "1e-40", "np.inf", "-np.inf", "np.nan"]
WHOLE = ["0", "1", "3", "-2", "True", "False", "200", "np.int8(7)", "np.uint64(9)", "np.bool(True)"]
SCALARS = [*WHOLE, "2.0", "-0.5", "np.float32(1.5)", "np.float64(-3.0)", "np.nan", "-0.0", "1e300"]
EXACT_BOUNDS = {"float16": 1, "bfloat16": 1}
MOST_ADDED = {"float16": 2048, "bfloat16": 256}  # whose sums are exact
REFUSALS = (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError, AttributeError)
LARGE_SHAPES = [(1000,), (4097,), (32768,), (99991,), (31, 33), (1, 5000), (1024, 3), (1000, 100)]
LARGE_SHAPES += [(257, 129), (3, 4099), (40, 30, 20), (7, 1, 1000), (64, 64, 16)]


def dtype_text(name):
    """How a program names a dtype; NumPy needs ml_dtypes for bfloat16."""
    return "bfloat16" if name == "bfloat16" else f"'{name}'"


def is_float(value):
    return value.dtype.name in FLOATS
