"""`lazyblock.linalg` against `numpy.linalg`: values, dtypes, shapes, errors."""

import inspect

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import errors
from tests.helpers.arrays import assert_same_error, interpret_array

DEVICES = ["cpu", "emulated:sm_90a"]
DTYPES = [np.int16, np.float32]


def matrices(dtype, *shape, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "bi":
        return rng.integers(-4, 4, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def positive(dtype, *shape):
    a = matrices(dtype, *shape)
    return (a @ a.swapaxes(-1, -2).conj() + np.eye(shape[-1])).astype(dtype)


def assert_same(function, *arrays, device="cpu", tolerance=50):
    """What `function(linalg, ...)` gives for lazy arrays is NumPy's, up to rounding."""
    expected = function(np.linalg, *arrays)
    lazy = [lb.asarray(array, device=device) for array in arrays]
    found = function(lb.linalg, *lazy)
    pairs = [(found, expected)]
    if isinstance(expected, tuple):
        assert isinstance(found, tuple)
        assert getattr(found, "_fields", None) == getattr(expected, "_fields", None)
        pairs = list(zip(found, expected, strict=True))
    for result, reference in pairs:
        reference = np.asarray(reference)
        assert (result.shape, result.dtype) == (reference.shape, reference.dtype)
        assert result.device == device
        for values in (result.numpy(), interpret_array(result)):
            if reference.dtype.kind in "biu":
                np.testing.assert_array_equal(values, reference)
            else:
                bound = tolerance * float(np.finfo(reference.dtype).eps)
                np.testing.assert_allclose(values, reference, rtol=bound, atol=bound)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["svd", "svdvals", "qr", "pinv", "slogdet", "det", "matrix_rank"])
def test_of_square_matrices(name, dtype, device):
    a = matrices(dtype, 2, 4, 4)
    assert_same(lambda xp, a: getattr(xp, name)(a), a, device=device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float64, np.complex64])
@pytest.mark.parametrize("name", ["cholesky", "inv", "eigh", "eigvalsh", "det", "slogdet"])
def test_of_positive_matrices(name, dtype, device):
    assert_same(lambda xp, a: getattr(xp, name)(a), positive(dtype, 3, 4, 4), device=device)


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, a: xp.svd(a, full_matrices=False),
        lambda xp, a: xp.svd(a, False),
        lambda xp, a: xp.svd(a, compute_uv=False),
        lambda xp, a: xp.svd(a[:, :3] @ a[:, :3].mT, hermitian=True).S,
        lambda xp, a: xp.qr(a, mode="complete"),
        lambda xp, a: xp.qr(a, mode="r"),
        lambda xp, a: xp.qr(a, mode="raw"),
        lambda xp, a: xp.cholesky(a @ a.mT + 5 * (a @ a.mT > 100), upper=True),
        lambda xp, a: xp.eigh(a @ a.mT, UPLO="U"),
        lambda xp, a: xp.eigvalsh(a @ a.mT, UPLO="U"),
        lambda xp, a: xp.pinv(a, rtol=0.5),
        lambda xp, a: xp.pinv(a @ a.mT, rtol=1e-6, hermitian=True),
        lambda xp, a: xp.pinv(a, rcond=a[:, 0, 0] * a[:, 0, 0] / 9),
        lambda xp, a: xp.pinv(a.mT),
        lambda xp, a: xp.matrix_rank(a, rtol=0.5),
        lambda xp, a: xp.matrix_rank(a, tol=1.5),
        lambda xp, a: xp.matrix_rank(a @ a.mT, hermitian=True),
        lambda xp, a: xp.matrix_rank(a[0, 0]),
        lambda xp, a: xp.cond(a),
        lambda xp, a: xp.cond(a[:, :, :3], -2),
        lambda xp, a: xp.cond(a[:, :, :3], 1),
        lambda xp, a: xp.svd(a[:0]),
        lambda xp, a: xp.svdvals(a[..., :0]),
        lambda xp, a: xp.inv(a[..., :0, :0]),
        lambda xp, a: xp.det(a[..., :0, :0]),
        lambda xp, a: xp.pinv(a[:, :0]),
    ],
)
def test_further_arguments_and_shapes(function):
    assert_same(function, matrices(np.float64, 2, 3, 5), tolerance=500)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_eigenvalues_are_complex(dtype, device):
    a = matrices(dtype, 2, 4, 4)
    values, vectors = lb.linalg.eig(lb.asarray(a, device=device))
    assert values.dtype == vectors.dtype == np.result_type(dtype, np.complex64)
    expected = np.sort_complex(np.linalg.eigvals(a))
    tolerance = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(np.sort_complex(values.numpy()), expected, rtol=0, atol=tolerance)
    alone = lb.linalg.eigvals(lb.asarray(a, device=device))
    np.testing.assert_allclose(alone.numpy(), values.numpy(), rtol=0, atol=tolerance)
    rebuilt = a @ vectors.numpy() - vectors.numpy() * values.numpy()[:, None]
    np.testing.assert_allclose(rebuilt, 0, atol=tolerance)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 3), (3,)),
        ((3, 3), (3, 2)),
        ((2, 3, 3), (3,)),
        ((2, 3, 3), (3, 4)),
        ((3, 3), (5, 3, 2)),
        ((2, 1, 3, 3), (4, 3, 1)),
        ((0, 0), (0, 2)),
        ((3, 3), (3, 0)),
    ],
)
def test_solve(left, right, device):
    a = positive(np.float64, *left)
    assert_same(lambda xp, a, b: xp.solve(a, b), a, matrices(np.float32, *right), device=device)


def test_solve_meets_dtypes():
    a, b = matrices(np.int8, 3, 3) + 9 * np.eye(3, dtype=np.int8), matrices(np.float32, 3)
    assert_same(lambda xp, a, b: xp.solve(a, b), a, b)


def test_lstsq():
    a, b = matrices(np.float64, 6, 3), matrices(np.float64, 6, 2, seed=1)
    for right in (b, b[:, 0]):
        found = lb.linalg.lstsq(lb.asarray(a), lb.asarray(right))
        expected = np.linalg.lstsq(a, right)
        assert found[2] == expected[2] == 3
        for n in (0, 1, 3):
            np.testing.assert_allclose(found[n].numpy(), expected[n], rtol=1e-12)


def test_of_tensors():
    a = matrices(np.float64, 2, 3, 6)
    b = matrices(np.float64, 2, 3, seed=1)
    assert_same(lambda xp, a, b: xp.tensorsolve(a, b), a, b, tolerance=5000)
    turned = np.moveaxis(a, 0, 2)
    assert_same(lambda xp, a, b: xp.tensorsolve(a, b, axes=(1,)), turned, b.T, tolerance=5000)
    assert_same(lambda xp, a: xp.tensorinv(a, ind=2), a, tolerance=5000)
    assert_same(lambda xp, a: xp.tensorinv(a.T, ind=1), a, tolerance=5000)


# --- norms ---------------------------------------------------------------------------------------

ORDERS = [0, 1, 2, 3, -1, -2, 0.5, np.inf, -np.inf]


@pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.float16, np.complex64])
def test_vector_norm(dtype):
    a = matrices(dtype, 3, 5) + np.asarray(3, dtype)
    with np.errstate(divide="ignore"):
        for ord in ORDERS:
            assert_same(lambda xp, a, ord=ord: xp.vector_norm(a, axis=-1, ord=ord), a)


@pytest.mark.parametrize(
    "function",
    [
        lambda xp, a: xp.vector_norm(a),
        lambda xp, a: xp.vector_norm(a, keepdims=True, ord=1),
        lambda xp, a: xp.vector_norm(a, axis=(0, 2), keepdims=True),
        lambda xp, a: xp.vector_norm(a, axis=1, ord=np.inf),
        lambda xp, a: xp.vector_norm(a[0, 0, 0], ord=3),
        lambda xp, a: xp.vector_norm(a[:0], axis=1),
        lambda xp, a: xp.matrix_norm(a),
        lambda xp, a: xp.matrix_norm(a, keepdims=True, ord=1),
        lambda xp, a: xp.matrix_norm(a, ord=-1),
        lambda xp, a: xp.matrix_norm(a, ord=np.inf),
        lambda xp, a: xp.matrix_norm(a, ord=-np.inf, keepdims=True),
        lambda xp, a: xp.matrix_norm(a, ord=2),
        lambda xp, a: xp.matrix_norm(a, ord=-2, keepdims=True),
        lambda xp, a: xp.matrix_norm(a, ord="nuc"),
        lambda xp, a: xp.norm(a),
        lambda xp, a: xp.norm(a, keepdims=True),
        lambda xp, a: xp.norm(a[0]),
        lambda xp, a: xp.norm(a[0], "fro"),
        lambda xp, a: xp.norm(a[0], 2),
        lambda xp, a: xp.norm(a[0], 1, keepdims=True),
        lambda xp, a: xp.norm(a[0, 0], 3),
        lambda xp, a: xp.norm(a[0, 0], 2),
        lambda xp, a: xp.norm(a, axis=1),
        lambda xp, a: xp.norm(a, np.inf, axis=0, keepdims=True),
        lambda xp, a: xp.norm(a, axis=(0, 2)),
        lambda xp, a: xp.norm(a, 1, axis=(0, 2)),
        lambda xp, a: xp.norm(a, 1, axis=(2, 0), keepdims=True),
        lambda xp, a: xp.norm(a, "nuc", axis=(1, 2)),
        lambda xp, a: xp.norm(a, -2, axis=(2, 1), keepdims=True),
    ],
)
def test_norms(function):
    assert_same(function, matrices(np.float32, 2, 3, 4))


@pytest.mark.parametrize("offset", [0, 1, -1, 3, -2, 9, -9])
def test_diagonal_and_trace(offset):
    a = matrices(np.int8, 2, 3, 4)
    assert_same(lambda xp, a: xp.diagonal(a, offset=offset), a)
    assert_same(lambda xp, a: xp.trace(a, offset=offset), a)
    assert_same(lambda xp, a: xp.trace(a, offset=offset, dtype=np.float64), a)


def test_a_diagonal_is_a_view():
    x = lb.asarray(matrices(np.float64, 3, 3))
    seen = lb.linalg.diagonal(x, offset=-1)
    x += 1
    np.testing.assert_array_equal(seen.numpy(), np.diagonal(x.numpy(), -1))


@pytest.mark.parametrize("dtype", [np.int8, np.complex64])
@pytest.mark.parametrize(
    ("left", "right", "axis"),
    [((3,), (3,), -1), ((4, 3), (3,), -1), ((3, 4), (3, 4), 0), ((2, 1, 3), (5, 3), -1)],
)
def test_cross(left, right, axis, dtype):
    a, b = matrices(dtype, *left), matrices(dtype, *right, seed=1)
    assert_same(lambda xp, a, b: xp.cross(a, b, axis=axis), a, b)


@pytest.mark.parametrize("dtype", [np.int16, np.float64])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, -1, -2])
def test_matrix_power(n, dtype):
    a = matrices(dtype, 2, 3, 3) + 5 * np.eye(3, dtype=dtype)
    assert_same(lambda xp, a: xp.matrix_power(a, n), a, tolerance=1000)


@pytest.mark.parametrize(
    "shapes",
    [
        [(3, 4), (4, 5)],
        [(3, 40), (40, 2), (2, 30), (30, 4)],
        [(4,), (4, 5), (5,)],
        [(4,), (4, 5)],
        [(2, 4), (4, 5), (5,)],
    ],
)
def test_multi_dot(shapes):
    arrays = [matrices(np.float64, *shape, seed=n) for n, shape in enumerate(shapes)]
    assert_same(lambda xp, *arrays: xp.multi_dot(arrays), *arrays, tolerance=5000)


def test_the_same_functions_are_here():
    for name in ("matmul", "matrix_transpose", "tensordot", "vecdot"):
        assert getattr(lb.linalg, name) is getattr(lb, name)
    a, b = matrices(np.int16, 4), matrices(np.int16, 3)
    assert_same(lambda xp, a, b: xp.outer(a, b), a, b)


# --- mistakes ------------------------------------------------------------------------------------

ONE, TWO, WIDE = np.ones(3), np.ones((3, 3)), np.ones((2, 3))


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda xp, a, b, c: xp.inv(c), np.linalg.LinAlgError),
        (lambda xp, a, b, c: xp.inv(a), np.linalg.LinAlgError),
        (lambda xp, a, b, c: xp.eigh(c), np.linalg.LinAlgError),
        (lambda xp, a, b, c: xp.svd(a), np.linalg.LinAlgError),
        (lambda xp, a, b, c: xp.qr(b, mode="x"), ValueError),
        (lambda xp, a, b, c: xp.eigh(b, UPLO="x"), ValueError),
        (lambda xp, a, b, c: xp.solve(b, c), ValueError),
        (lambda xp, a, b, c: xp.solve(b, c[:, 0]), ValueError),
        (lambda xp, a, b, c: xp.matrix_power(b, 2.0), TypeError),
        (lambda xp, a, b, c: xp.matrix_power(c, 2), np.linalg.LinAlgError),
        (lambda xp, a, b, c: xp.cross(c[:, :2], c[:, :2]), ValueError),
        (lambda xp, a, b, c: xp.outer(a, b), ValueError),
        (lambda xp, a, b, c: xp.trace(a), ValueError),
        (lambda xp, a, b, c: xp.norm(b, "x"), ValueError),
        (lambda xp, a, b, c: xp.norm(a, "fro"), ValueError),
        (lambda xp, a, b, c: xp.norm(b[None], 2), ValueError),
        (lambda xp, a, b, c: xp.multi_dot([b]), ValueError),
        (lambda xp, a, b, c: xp.multi_dot([b, c]), ValueError),
        (lambda xp, a, b, c: xp.multi_dot([a, a, a]), np.linalg.LinAlgError),
        (lambda xp, a, b, c: xp.tensorinv(b, ind=0), ValueError),
        (lambda xp, a, b, c: xp.cond(b[:0]), np.linalg.LinAlgError),
    ],
)
def test_errors_are_numpys_and_come_at_once(function, kind):
    def call(*arrays):
        return function(lb.linalg if isinstance(arrays[0], lb.Array) else np.linalg, *arrays)

    assert_same_error(call, ONE, TWO, WIDE, kind=kind)


@pytest.mark.parametrize("device", DEVICES)
def test_a_singular_matrix_is_found_when_evaluated(device):
    inverse = lb.linalg.inv(lb.ones((2, 2), device=device) * 1) + 1
    with pytest.raises(lb.linalg.LinAlgError, match="Singular matrix"):
        inverse.numpy()
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        lb.linalg.cholesky(lb.asarray([[1.0, 2.0], [2.0, 1.0]], device=device)).numpy()


def test_an_axis_counts_once():
    with pytest.raises(ValueError, match="can't be both set"):
        lb.linalg.pinv(np.eye(2), rtol=0.5, rcond=0.5)
    with pytest.raises(ValueError, match="Duplicate axis"):
        lb.linalg.norm(lb.ones((3, 3)), axis=(0, 0))


def test_half_types_are_refused():
    with pytest.raises(errors.DTypeError, match="array type float16 is unsupported in linalg"):
        lb.linalg.inv(lb.ones((2, 2), dtype=np.float16))


def test_explain_tells_where_it_runs():
    x = lb.asarray(TWO * 2)
    assert "no kernel: numpy.linalg.inv() runs NumPy on the host" in lb.linalg.inv(x).explain()


STANDARD = {
    "cholesky": ["x", "upper"],
    "cross": ["x1", "x2", "axis"],
    "det": ["x"],
    "diagonal": ["x", "offset"],
    "eigvals": ["x"],
    "inv": ["x"],
    "matrix_norm": ["x", "keepdims", "ord"],
    "matrix_power": ["x", "n"],
    "outer": ["x1", "x2"],
    "qr": ["x", "mode"],
    "slogdet": ["x"],
    "solve": ["x1", "x2"],
    "svdvals": ["x"],
    "trace": ["x", "offset", "dtype"],
    "vector_norm": ["x", "axis", "keepdims", "ord"],
}


@pytest.mark.parametrize("name", STANDARD)
def test_signatures_are_the_standards(name):
    parameters = inspect.signature(getattr(lb.linalg, name)).parameters.values()
    assert [p.name for p in parameters] == STANDARD[name]
    for parameter in parameters:
        is_array = parameter.name in ("x", "x1", "x2", "n")
        expected = parameter.POSITIONAL_ONLY if is_array else parameter.KEYWORD_ONLY
        assert parameter.kind is expected


@pytest.mark.parametrize(
    "function",
    [
        lambda a: np.linalg.inv(a),
        lambda a: np.linalg.svd(a, False).U,
        lambda a: np.linalg.svd(a, compute_uv=False),
        lambda a: np.linalg.qr(a, "r"),
        lambda a: np.linalg.eigh(a + a.T, "U").eigenvalues,
        lambda a: np.linalg.matrix_rank(a),
        lambda a: np.linalg.norm(a, 1, axis=0),
        lambda a: np.linalg.norm(x=a, ord="fro"),
        lambda a: np.linalg.solve(a, a[0]),
        lambda a: np.linalg.matrix_power(a, 3),
        lambda a: np.linalg.multi_dot([a, a, a[0]]),
        lambda a: np.linalg.lstsq(a, a[0])[0],
        lambda a: np.linalg.trace(a, offset=1),
        lambda a: np.linalg.pinv(a, 1e-3),
        lambda a: np.linalg.cond(a, 1),
        lambda a: np.linalg.tensordot(a, a, axes=1),
        lambda a: np.tensordot(a, a, 1),
        lambda a: np.dot(a, b=a),
        lambda a: np.inner(a, a),
        lambda a: np.vdot(a, a),
        lambda a: np.einsum("ij,jk", a, a, optimize=True),
        lambda a: np.einsum("ij->i", a, dtype=np.float32, casting="same_kind"),
        lambda a: np.matmul(a, a),
        lambda a: np.vecdot(a, a),
        lambda a: np.fft.fft(a, 5, 0),
        lambda a: np.fft.rfft2(a),
        lambda a: np.fft.fftshift(a, axes=1),
        lambda a: a.dot(a),
    ],
)
def test_numpys_functions_record(function):
    a = matrices(np.float64, 4, 4) + 3 * np.eye(4)
    expected, result = np.asarray(function(a)), function(lb.asarray(a))
    assert isinstance(result, lb.Array)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    bound = 1e-5 if expected.dtype == np.float32 else 1e-10
    np.testing.assert_allclose(result.numpy(), expected, rtol=bound, atol=bound)
