"""Calls of reductions, scans, products and linear algebra."""

import numpy as np

from tests.helpers.numpy_calls import call, evaluating, sample

REALS = sample((3, 4, 5))
SINGLES = sample((3, 4, 5), "float32", 1)
HALVES = sample((3, 5), "float16", 1)
INTS = sample((3, 4), "int32", 2)
BYTES = sample((3, 4), "uint8", 2)
BOOLS = sample((3, 4), "bool", 2)
NOTHING = np.zeros((0, 3))
SCALAR = np.array(2.5)
OPERANDS = [REALS, SINGLES, HALVES, INTS, BYTES, BOOLS, NOTHING, SCALAR]
ROTATION = np.array([[0.6, -0.8], [0.8, 0.6]])
FOLDS = ["sum", "prod", "max", "min", "any", "all", "mean", "std", "var", "argmax", "argmin"]
SCANS = ["cumsum", "cumprod", "cumulative_sum", "cumulative_prod"]

CALLS = [
    *(call(name, x, axis=axis) for name in FOLDS for x in OPERANDS for axis in (None, 0, -1)),
    *(call(f"ndarray.{name}", x) for name in FOLDS for x in (REALS, INTS, BOOLS)),
    *(call(name, REALS, axis=1, keepdims=True) for name in FOLDS),
    *(call(name, REALS, (0, 2)) for name in FOLDS[:9]),
    *(call(name, INTS, 0, None, np.zeros(4)) for name in ("sum", "mean", "var")),
    *(call(name, INTS, where=BOOLS) for name in ("sum", "prod", "any", "all", "mean", "std")),
    *(call(name, INTS, where=BOOLS, initial=3) for name in ("sum", "prod", "max", "min")),
    call("amax", REALS, 1),
    call("amin", REALS, 1),
    call("std", REALS, ddof=1),
    call("var", REALS, axis=0, correction=1),
    call("sum", REALS, dtype=np.float32),
    *(call(name, x) for name in SCANS for x in (INTS[0], HALVES[0], SCALAR)),
    *(call(name, x, axis=1) for name in SCANS for x in (REALS, INTS, BYTES)),
    *(call(f"ndarray.{name}", INTS) for name in SCANS[:2]),
    call("cumulative_sum", INTS, axis=0, include_initial=True),
    *(call("count_nonzero", x, axis=axis) for x in (REALS, INTS, BOOLS) for axis in (0, (0, 1))),
    *(call("diff", x) for x in (REALS, INTS, BOOLS)),
    call("diff", REALS, 2, 0),
    call("diff", INTS, prepend=0, append=INTS[:, :2]),
    # products
    call("matmul", REALS, REALS[0].T),
    call("dot", INTS, INTS.T),
    call("dot", REALS, REALS[0, 0]),
    call("vdot", INTS, INTS),
    call("inner", INTS, BYTES),
    call("outer", INTS[0], REALS[0, 0]),
    call("vecdot", REALS, REALS),
    call("matvec", REALS, REALS[0, 0]),
    call("vecmat", REALS[0, :, 0], REALS[0]),
    call("tensordot", REALS, REALS, axes=([1, 2], [1, 2])),
    call("tensordot", REALS, REALS, axes=([1, 1], [1, 1])),
    call("einsum", "ijk,ljk->il", REALS, REALS),
    call("einsum", "ij->j", INTS),
    call("einsum", "...i,...i->...", np.full((2, 1), np.nan), np.zeros((2, 0))),
    *(
        call("einsum", "ij->j", INTS, out=np.zeros(INTS.shape[1], int), dtype=float, casting=rule)
        for rule in ("safe", "unsafe")
    ),
    evaluating("einsum_path", "ij,jk->ik", INTS, INTS.T),
    call("linalg.norm", INTS),
    call("linalg.norm", REALS, axis=1),
    call("linalg.trace", INTS),
    call("linalg.det", REALS[:, :3, :3])._replace(rtol=1e-9),
    call("linalg.slogdet", REALS[:, :3, :3])._replace(rtol=1e-9),
    call("linalg.inv", REALS[:, :3, :3])._replace(rtol=1e-9),
    call("linalg.pinv", REALS[0])._replace(rtol=1e-9),
    call("linalg.solve", REALS[:, :3, :3], REALS[:, :3])._replace(rtol=1e-9),
    call("linalg.qr", REALS[0])._replace(rtol=1e-9),
    call("linalg.svd", REALS[0])._replace(rtol=1e-9),
    call("linalg.svdvals", REALS[0])._replace(rtol=1e-9),
    call("linalg.cholesky", REALS[0] @ REALS[0].T)._replace(rtol=1e-9),
    call("linalg.eigh", REALS[0] @ REALS[0].T)._replace(rtol=1e-9),
    call("linalg.eigvalsh", REALS[0] @ REALS[0].T)._replace(rtol=1e-9),
    call("linalg.matrix_power", INTS[:, :3], 3),
    call("linalg.matrix_rank", REALS[0]),
    call("linalg.multi_dot", [INTS, INTS.T, INTS]),
    call("linalg.cond", REALS[0])._replace(rtol=1e-9),
    call("linalg.cross", REALS[:, :, :3], REALS[:, :, :3]),
    call("linalg.diagonal", REALS, offset=1),
    call("linalg.matmul", REALS, REALS[0].T),
    call("linalg.matrix_norm", REALS),
    call("linalg.matrix_transpose", REALS),
    call("linalg.outer", INTS[0], INTS[1]),
    call("linalg.tensordot", INTS, INTS, axes=2),
    call("linalg.vecdot", REALS, REALS),
    call("linalg.vector_norm", REALS, axis=1),
    evaluating("linalg.lstsq", REALS[0], REALS[0, :, 0])._replace(rtol=1e-9),
    call("linalg.eig", ROTATION)._replace(rtol=1e-9),
    call("linalg.eigvals", ROTATION)._replace(rtol=1e-9),
    call("linalg.tensorinv", sample((4, 2, 2)), ind=1)._replace(rtol=1e-9),
    call("linalg.tensorsolve", sample((2, 3, 6)), sample((2, 3)))._replace(rtol=1e-9),
    *(call(f"fft.{name}", REALS) for name in ("fft", "ifft", "fft2", "ifft2", "fftn", "ifftn")),
    *(call(f"fft.{name}", REALS) for name in ("rfft", "rfft2", "rfftn", "irfft", "ihfft", "hfft")),
    *(call(f"fft.{name}", REALS) for name in ("irfft2", "irfftn", "fftshift", "ifftshift")),
    *(call(f"fft.{name}", 5, 0.5) for name in ("fftfreq", "rfftfreq")),
]

FUSED = []
