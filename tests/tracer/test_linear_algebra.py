"""Products of vectors and matrices against NumPy's, in every dtype and form."""

import inspect

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lazyblock as lb
from lazyblock.graph.ops import Op
from lazyblock.graph.traverse import topological
from tests.helpers.arrays import assert_same_error, interpret_array

DEVICES = ["cpu", "emulated:sm_90a"]
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]
COMPLEX = [np.complex64, np.complex128]
DTYPES = [np.bool_, np.int8, np.uint8, np.int16, np.uint32, np.int64, np.uint64, *FLOATS, *COMPLEX]


def values(dtype, *shape, seed=0):
    """Numbers that fill the dtype's range of integers, or are near 1."""
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype, endpoint=True)
    if np.dtype(dtype).kind == "b":
        return rng.random(shape) < 0.3
    numbers = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * rng.standard_normal(shape)
    return numbers.astype(dtype)


def assert_product(result, expected, wide, magnitude, length):
    """Integers are equal; floats are as far from the product in float64 as their sums may be.

    Parameters: expected, NumPy's result; wide, that of float64; magnitude, that of absolute values;
    length, of the sums.
    """
    assert isinstance(result, lb.Array)
    assert (result.shape, result.dtype) == (np.shape(expected), np.asarray(expected).dtype)
    for got in (result.numpy(), interpret_array(result)):
        if result.dtype.kind in "biu":
            np.testing.assert_array_equal(got, expected)
            continue
        dtype = result.dtype
        eps = float(ml_dtypes.finfo(dtype).eps)
        summed = min(eps, float(np.finfo(np.float32).eps))
        bound = (eps / 2 + summed * (length + 2)) * magnitude + float(ml_dtypes.finfo(dtype).tiny)
        assert np.all(np.abs(got.astype(wide.dtype) - wide) <= bound)


def check(function, arrays, length, device="cpu"):
    lazy = [lb.asarray(array, device=device) for array in arrays]
    is_complex = any(array.dtype.kind == "c" for array in arrays)
    doubles = [array.astype(np.complex128 if is_complex else np.float64) for array in arrays]
    half = next((a.dtype for a in arrays if a.dtype == ml_dtypes.bfloat16), None)
    plain = [a.astype(np.float32) if half else a for a in arrays]
    expected = np.asarray(function(np, *plain))
    expected = expected.astype(half) if half else expected
    magnitude = function(np, *map(np.abs, doubles))
    assert_product(function(lb, *lazy), expected, function(np, *doubles), magnitude, length)


SHAPES = [
    ((3, 4), (4, 5)),
    ((33, 17), (17, 40)),
    ((4,), (4,)),
    ((4,), (4, 5)),
    ((3, 4), (4,)),
    ((2, 3, 4), (4, 5)),
    ((3, 4), (2, 4, 5)),
    ((7, 1, 3, 4), (5, 4, 2)),
    ((2, 1, 1), (1, 1, 3)),
    ((2, 0), (0, 3)),
    ((0, 3), (3, 2)),
    ((0, 3, 2), (2, 4)),
    ((5, 3, 4), (1, 4, 1)),
    ((1, 300), (300, 1)),
]


@pytest.mark.parametrize(("left", "right"), SHAPES)
def test_matmul(left, right):
    arrays = values(np.float32, *left), values(np.float32, *right, seed=1)
    check(lambda xp, a, b: xp.matmul(a, b), arrays, left[-1])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_matmul_of_dtypes(dtype, device):
    for left, right in (((2, 33, 17), (17, 20)), ((20, 40), (40,))):
        arrays = values(dtype, *left), values(dtype, *right, seed=1)
        check(lambda xp, a, b: xp.matmul(a, b), arrays, left[-1], device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    "view",
    [
        lambda xp, a: (a.T, a),
        lambda xp, a: (a[::-1, ::2], a[3:25].T[::2, :]),
        lambda xp, a: (xp.broadcast_to(a[:1], (20, 30)), a.T),
        lambda xp, a: (a[:, 11:], a[:19, 4:24] + 1),
        lambda xp, a: (a.reshape(10, 6, 10)[:, 2], a.reshape(10, 6, 10)[:, 3].T),
    ],
)
def test_operands_may_lie_anyhow(view, device):
    a = values(np.float32, 20, 30)
    check(lambda xp, a: xp.matmul(*view(xp, a)), [a], 30, device)


def test_dtypes_meet_as_in_numpy():
    a, b = values(np.int16, 20, 30), values(np.float32, 30, 20)
    check(lambda xp, a, b: xp.matmul(a, b), [a, b], 30)
    check(lambda xp, a, b: xp.tensordot(a, b, axes=1), [a, values(np.uint8, 30)], 30)
    result = lb.matmul(lb.asarray(a), lb.asarray(b).astype(lb.bfloat16))
    assert result.dtype == np.float32


def test_a_half_product_is_rounded_once():
    a, b = values(np.float16, 64, 500), values(np.float16, 500, 64)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    result = lb.matmul(lb.asarray(a), lb.asarray(b)).numpy()
    spacing = np.abs(np.spacing(exact.astype(np.float16)).astype(np.float64))
    assert np.all(np.abs(result - exact) <= 0.51 * spacing + 1e-4)


def test_bool_products_are_any_of_all():
    a, b = np.ones((20, 256), bool), np.ones((256, 20), bool)
    check(lambda xp, a, b: xp.matmul(a, b), [a, b], 256)


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("axis", [-1, -2])
def test_vecdot(axis, dtype):
    shapes = ((3, 4, 5), (4, 5)) if axis == -1 else ((3, 5, 4), (5, 4))
    arrays = values(dtype, *shapes[0]), values(dtype, *shapes[1], seed=1)
    check(lambda xp, a, b: xp.vecdot(a, b, axis=axis), arrays, 5)


@pytest.mark.parametrize(
    ("left", "right", "axes", "length"),
    [
        ((2, 3, 4), (4, 5), 1, 4),
        ((2, 3, 4), (3, 4, 5), 2, 12),
        ((2, 3), (4,), 0, 1),
        ((2, 3, 4), (4, 2, 5), ([0, 2], [1, 0]), 8),
        ((2, 3, 4), (4, 2, 5), ((-1,), (0,)), 4),
        ((2, 3), (5, 3), (1, 1), 3),
        ((2, 3), (2, 3), 2, 6),
        ((0, 3), (3, 0), 1, 3),
        ((), (), 0, 1),
    ],
)
def test_tensordot(left, right, axes, length):
    arrays = values(np.float16, *left), values(np.float16, *right, seed=1)
    check(lambda xp, a, b: xp.tensordot(a, b, axes=axes), arrays, length)


FORMS = [((3, 4), (4, 5)), ((4,), (4,)), ((2, 3, 4), (4,)), ((2, 3, 4), (5, 4, 6)), ((), (3,))]


@pytest.mark.parametrize(("left", "right"), FORMS)
def test_dot(left, right):
    arrays = values(np.float32, *left), values(np.float32, *right, seed=1)
    check(lambda xp, a, b: xp.dot(a, b), arrays, 4)


@pytest.mark.parametrize("name", ["inner", "outer", "vdot"])
@pytest.mark.parametrize("dtype", [np.bool_, np.complex64])
@pytest.mark.parametrize(
    ("left", "right"), [((3, 4), (3, 4)), ((4,), (4,)), ((2, 6, 2), (6, 2, 2)), ((), ())]
)
def test_other_products(name, left, right, dtype):
    arrays = values(dtype, *left), values(dtype, *right, seed=1)
    check(lambda xp, a, b: getattr(xp, name)(a, b), arrays, 24)


@pytest.mark.parametrize(
    ("name", "left", "right"),
    [("matvec", (2, 3, 4), (4,)), ("vecmat", (5, 1, 4), (2, 4, 3)), ("matvec", (3, 4), (5, 4))],
)
def test_vectors_and_matrices(name, left, right):
    arrays = values(np.float64, *left), values(np.float64, *right, seed=1)
    check(lambda xp, a, b: getattr(xp, name)(a, b), arrays, 4)


def test_out_is_written():
    x = lb.asarray(values(np.float32, 3, 4))
    out = lb.zeros((3, 3), dtype=np.float32)
    assert lb.dot(x, x.T, out=out) is out
    np.testing.assert_allclose(out.numpy(), x.numpy() @ x.numpy().T, rtol=1e-5)
    on_host = np.zeros((3, 3), np.float32)
    assert lb.dot(x, x.T, out=on_host) is on_host
    np.testing.assert_array_equal(on_host, out.numpy())


def test_the_operator():
    a, b = values(np.float32, 20, 30), values(np.float32, 30, 20)
    check(lambda xp, a, b: a @ b, [a, b], 30)
    x = lb.asarray(a)
    for result in (a.T @ x, x.T @ a, np.matmul(a.T, x)):
        np.testing.assert_allclose(result.numpy(), a.T @ a, rtol=1e-4, atol=1e-4)
    y, seen = lb.asarray(b @ a), lb.asarray(b @ a)
    alias = y
    y @= seen
    assert y is alias
    np.testing.assert_allclose(y.numpy(), (b @ a) @ (b @ a), rtol=1e-3, atol=1e-3)
    with pytest.raises(TypeError, match="unsupported operand"):
        x @ None
    with pytest.raises(ValueError, match="does not have enough dimensions"):
        x @ 2


ONES = [np.ones(shape) for shape in [(2, 3), (2, 4), (3,), (4,), (2, 2, 3), ()]]


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (lambda xp, a, b, c, d, e, f: xp.matmul(a, b), ValueError),
        (lambda xp, a, b, c, d, e, f: xp.matmul(c, d), ValueError),
        (lambda xp, a, b, c, d, e, f: xp.matmul(f, d), ValueError),
        (lambda xp, a, b, c, d, e, f: xp.matmul(a, f), ValueError),
        (lambda xp, a, b, c, d, e, f: xp.dot(c, d), ValueError),
        (lambda xp, a, b, c, d, e, f: xp.dot(a, b), ValueError),
        (lambda xp, a, b, c, d, e, f: xp.inner(a, b), ValueError),
        (lambda xp, a, b, c, d, e, f: xp.vdot(c, d), ValueError),
        (lambda xp, a, b, c, d, e, f: xp.vecdot(c, d), ValueError),
        (lambda xp, a, b, c, d, e, f: xp.tensordot(a, b), ValueError),
        (lambda xp, a, b, c, d, e, f: xp.tensordot(a, b, axes=([0], [0, 1])), ValueError),
    ],
)
def test_errors_are_numpys(function, kind):
    def call(*arrays):
        return function(lb if isinstance(arrays[0], lb.Array) else np, *arrays)

    assert_same_error(call, *ONES, kind=kind)


def test_stacks_that_do_not_broadcast_are_refused():
    with pytest.raises(ValueError, match="operands could not be broadcast together"):
        lb.matmul(lb.ones((3, 2, 3)), lb.ones((2, 3, 4)))


def test_where_products_are_computed():
    a = values(np.float32, 40, 50)
    text = lb.matmul(lb.asarray(a, device="cpu"), lb.asarray(a.T, device="cpu")).explain()
    assert "multiply_matrices(dtype=dtype('float32')) runs NumPy on the host" in text
    x = lb.asarray(a, device="emulated:sm_90a")
    assert [kernel.name for kernel in lb.matmul(x, x.T).kernels] == ["contract_f32"]
    fused = lb.matmul(x + 1, x[0] * 2) * 3
    assert len(fused.kernels) == 1


def test_a_product_with_one_matrix_is_one_product():
    stack = lb.matmul(lb.ones((5, 6, 30)), lb.ones((30, 40)))
    (product,) = [n for n in topological([stack.node]) if n.op is Op.CONTRACT]
    assert product.shape == (1, 30, 40)


def test_signatures_are_the_standards():
    shown = {name: str(inspect.signature(getattr(lb, name))) for name in ("matmul", "vecdot")}
    assert shown["matmul"] == "(x1: 'Any', x2: 'Any', /) -> 'Array'"
    assert shown["vecdot"] == "(x1: 'Any', x2: 'Any', /, *, axis: 'int' = -1) -> 'Array'"
    tensordot = str(inspect.signature(lb.tensordot))
    assert tensordot == "(x1: 'Any', x2: 'Any', /, *, axes: 'Any' = 2) -> 'Array'"


# --- einsum --------------------------------------------------------------------------------------

EXTENTS = dict(zip("abcdefij", [2, 3, 4, 5, 6, 1, 3, 2], strict=True))


def operands_of(subscripts, dtype):
    terms = subscripts.replace(" ", "").split("->")[0].split(",")
    shapes = [[EXTENTS[letter] for letter in term] for term in terms]
    return [values(dtype, *shape, seed=seed) for seed, shape in enumerate(shapes)]


@pytest.mark.parametrize(
    "subscripts",
    [
        *["ab,bc->ac", "ab,bc", "ba", "ab->ba", "aa", "aa->a", "aab->b", "aba->ab", "a->", "", ","],
        *["abc,abd->abcd", "abc,cba->b", "ab,ab->ab", "ab,ab", "a,b", "a,b->ba", "a,b->", "ab->b"],
        *["aba,bcb->ac", "ab,bc,cd->ad", "ab,cd,bc->ad", "a,ab,b", "abc,bd,cd->a", "a,a,a->a"],
        *[
            "af,fb->ab",
            "af,bf->ab",
            "f,f",
            "ff->f",
            " a b , b c -> c a ",
            "ab,b,a,ab->b",
            "a,,b->ba",
        ],
        *["abcd,cdbe->ae", "abcd,dcbe->ae", "abc,abc->", "ai,ij->aj"],
    ],
)
def test_einsum(subscripts):
    for dtype in (np.int8, np.complex64):
        check(lambda xp, *a: xp.einsum(subscripts, *a), operands_of(subscripts, dtype), 200)


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("...ab,...bc->...ac", [(2, 1, 3, 4), (5, 4, 3)]),
        ("a...", [(2, 3, 4)]),
        ("...", [(2, 3)]),
        ("...a->a...", [(2, 3, 4)]),
        ("a...,b...->...ab", [(2, 3, 4), (5, 1)]),
        ("...a,...a", [(4,), (2, 4)]),
        ("a...b,b", [(2, 3, 4), (4,)]),
        ("ab...,b->a...", [(2, 3), (3,)]),
        ("ab->...", [(2, 3)]),
        ("ab,ab->ab", [(1, 3), (2, 1)]),
        ("ab,ab", [(1, 3), (2, 1)]),
        ("Ba", [(2, 3)]),
        ("ab,bc", [(2, 0), (0, 3)]),
    ],
)
def test_einsum_broadcasts(subscripts, shapes):
    arrays = [values(np.float64, *shape, seed=seed) for seed, shape in enumerate(shapes)]
    check(lambda xp, *a: xp.einsum(subscripts, *a), arrays, 50)


@pytest.mark.parametrize(
    "form",
    [
        lambda xp, a, b: xp.einsum(a, [0, 1], b, [1, 2]),
        lambda xp, a, b: xp.einsum(a, [0, 1], b, [1, 2], [2, 0]),
        lambda xp, a, b: xp.einsum(a, [3, Ellipsis], [Ellipsis, 3]),
        lambda xp, a, b: xp.einsum("ab,bc->ac", a, b, optimize=True),
        lambda xp, a, b: xp.einsum("ab,bc,ad->cd", a, b, a, optimize="optimal"),
        lambda xp, a, b: xp.einsum(
            "ab,bc,ad->cd", a, b, a, optimize=["einsum_path", (1, 2), (0, 1)]
        ),
        lambda xp, a, b: xp.einsum("ab,bc,ad->cd", a, b, a, optimize=["einsum_path", (0, 1, 2)]),
        lambda xp, a, b: xp.einsum("ab,bc->ac", a, b, order="C"),
        lambda xp, a, b: xp.einsum("ab->b", a, dtype=np.float64),
        lambda xp, a, b: xp.einsum("ab->b", a, dtype=np.int32, casting="unsafe"),
    ],
)
def test_forms_of_einsum(form):
    check(form, [values(np.float32, 3, 4), values(np.float32, 4, 5)], 50)


def test_einsum_of_python_numbers():
    assert lb.einsum(",", 2, 3).item() == 6
    result = lb.einsum("a,", lb.asarray(np.ones(3, np.float32)), 2.0)
    assert result.dtype == np.float64


def test_a_transposed_or_diagonal_einsum_is_a_view():
    x = lb.asarray(np.arange(9.0).reshape(3, 3))
    diagonal, turned = lb.einsum("ii->i", x), lb.einsum("ij->ji", x)
    x += 1
    np.testing.assert_array_equal(diagonal.numpy(), [1, 5, 9])
    np.testing.assert_array_equal(turned.numpy(), np.arange(1.0, 10.0).reshape(3, 3).T)


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ii", [(2, 3)]),
        ("ij", [(3,)]),
        ("i", [(3, 2)]),
        ("ij->ik", [(3, 2)]),
        ("ij->ii", [(3, 2)]),
        ("ij,j", [(3, 2)]),
        ("i.j", [(3, 2)]),
        ("i$", [(3,)]),
        ("i-", [(3,)]),
        ("i...->i", [(2, 3)]),
        ("i", []),
    ],
)
def test_errors_of_einsum_are_numpys(subscripts, shapes):
    def call(*arrays):
        lazy = arrays and isinstance(arrays[0], lb.Array)
        return (lb if lazy else np).einsum(subscripts, *arrays)

    if shapes:
        assert_same_error(call, *map(np.ones, shapes), kind=ValueError)
    else:
        with pytest.raises(ValueError, match="at least one operand"):
            lb.einsum(subscripts)


def test_more_errors_of_einsum():
    x = lb.ones((2, 3))
    with pytest.raises(ValueError, match="must specify the einstein sum subscripts string"):
        lb.einsum()
    with pytest.raises(ValueError, match="together: subscript 'j' is 3 and 4"):
        lb.einsum("ij,jk", x, lb.ones((4, 3)))
    with pytest.raises(ValueError, match=r"not within the valid range \[0, 52\)"):
        lb.einsum(x, [0, 60])
    with pytest.raises(TypeError, match=r"could not be cast from dtype\('float64'\)"):
        lb.einsum("ij->i", x, dtype=np.float32)
    with pytest.raises(ValueError, match="collapsing index 'i' don't match"):
        lb.einsum("ii->i", lb.ones((1, 3)))


@st.composite
def einsums(draw):
    """Subscripts of one to four operands over few letters, and shapes."""
    letters = "abcd"
    extents = {letter: draw(st.integers(0, 4)) for letter in letters}
    terms = draw(st.lists(st.text(letters, max_size=3), min_size=1, max_size=4))
    used = sorted({letter for term in terms for letter in term})
    out = draw(st.permutations(used))[: draw(st.integers(0, len(used)))] if used else []
    arrow = draw(st.booleans())
    text = ",".join(terms) + ("->" + "".join(out) if arrow else "")
    return text, [tuple(extents[letter] for letter in term) for term in terms]


@given(einsums(), st.sampled_from([np.int16, np.float64]))
@settings(max_examples=25, deadline=None)
def test_einsum_of_drawn_subscripts(drawn, dtype):
    subscripts, shapes = drawn
    arrays = [values(dtype, *shape, seed=seed) for seed, shape in enumerate(shapes)]
    check(lambda xp, *a: xp.einsum(subscripts, *a), arrays, 300)
