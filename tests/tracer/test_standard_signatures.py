"""Every call that the array API standard (2025.12) allows binds, with the standard's defaults."""

import inspect

import pytest

import lazyblock as lb

UNARY = """
    abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag
    isfinite isinf isnan log log10 log1p log2 logical_not negative positive real reciprocal round
    sign signbit sin sinh sqrt square tan tanh trunc
    matrix_transpose nonzero unique_all unique_counts unique_inverse unique_values
"""
BINARY = """
    add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign
    divide equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and
    logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract
    matmul
"""
OTHERS = """
    arange(start, /, stop=None, step=1, *, dtype=None, device=None)
    asarray(obj, /, *, dtype=None, device=None, copy=None)
    empty(shape, *, dtype=None, device=None)
    empty_like(x, /, *, dtype=None, device=None)
    eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
    from_dlpack(x, /, *, device=None, copy=None)
    full(shape, fill_value, *, dtype=None, device=None)
    full_like(x, /, fill_value, *, dtype=None, device=None)
    linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
    meshgrid(*arrays, indexing="xy")
    ones(shape, *, dtype=None, device=None)
    ones_like(x, /, *, dtype=None, device=None)
    tril(x, /, *, k=0)
    triu(x, /, *, k=0)
    zeros(shape, *, dtype=None, device=None)
    zeros_like(x, /, *, dtype=None, device=None)
    astype(x, dtype, /, *, copy=True, device=None)
    can_cast(from_, to, /)
    finfo(type, /)
    iinfo(type, /)
    isdtype(dtype, kind)
    result_type(*arrays_and_dtypes)
    clip(x, /, min=None, max=None)
    take(x, indices, /, *, axis=None)
    take_along_axis(x, indices, /, *, axis=-1)
    broadcast_arrays(*arrays)
    broadcast_shapes(*shapes)
    broadcast_to(x, /, shape)
    concat(arrays, /, *, axis=0)
    expand_dims(x, /, axis)
    flip(x, /, *, axis=None)
    moveaxis(x, source, destination, /)
    permute_dims(x, /, axes)
    repeat(x, repeats, /, *, axis=None)
    reshape(x, /, shape, *, copy=None)
    roll(x, /, shift, *, axis=None)
    squeeze(x, /, axis)
    stack(arrays, /, *, axis=0)
    tile(x, repetitions, /)
    unstack(x, /, *, axis=0)
    argmax(x, /, *, axis=None, keepdims=False)
    argmin(x, /, *, axis=None, keepdims=False)
    count_nonzero(x, /, *, axis=None, keepdims=False)
    searchsorted(x1, x2, /, *, side="left", sorter=None)
    where(condition, x1, x2, /)
    isin(x1, x2, /, *, invert=False)
    argsort(x, /, *, axis=-1, descending=False, stable=True)
    sort(x, /, *, axis=-1, descending=False, stable=True)
    cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
    cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
    max(x, /, *, axis=None, keepdims=False)
    mean(x, /, *, axis=None, keepdims=False)
    min(x, /, *, axis=None, keepdims=False)
    prod(x, /, *, axis=None, dtype=None, keepdims=False)
    std(x, /, *, axis=None, correction=0.0, keepdims=False)
    sum(x, /, *, axis=None, dtype=None, keepdims=False)
    var(x, /, *, axis=None, correction=0.0, keepdims=False)
    all(x, /, *, axis=None, keepdims=False)
    any(x, /, *, axis=None, keepdims=False)
    diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
    tensordot(x1, x2, /, *, axes=2)
    vecdot(x1, x2, /, *, axis=-1)
    __array_namespace_info__()
"""
LINALG = """
    cholesky(x, /, *, upper=False)
    cross(x1, x2, /, *, axis=-1)
    det(x, /)
    diagonal(x, /, *, offset=0)
    eig(x, /)
    eigh(x, /)
    eigvals(x, /)
    eigvalsh(x, /)
    inv(x, /)
    matmul(x1, x2, /)
    matrix_norm(x, /, *, keepdims=False, ord="fro")
    matrix_power(x, n, /)
    matrix_rank(x, /, *, rtol=None)
    matrix_transpose(x, /)
    outer(x1, x2, /)
    pinv(x, /, *, rtol=None)
    qr(x, /, *, mode="reduced")
    slogdet(x, /)
    solve(x1, x2, /)
    svd(x, /, *, full_matrices=True)
    svdvals(x, /)
    tensordot(x1, x2, /, *, axes=2)
    trace(x, /, *, offset=0, dtype=None)
    vecdot(x1, x2, /, *, axis=-1)
    vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
"""
FFT = """
    fft(x, /, *, n=None, axis=-1, norm="backward")
    ifft(x, /, *, n=None, axis=-1, norm="backward")
    fftn(x, /, *, s=None, axes=None, norm="backward")
    ifftn(x, /, *, s=None, axes=None, norm="backward")
    rfft(x, /, *, n=None, axis=-1, norm="backward")
    irfft(x, /, *, n=None, axis=-1, norm="backward")
    rfftn(x, /, *, s=None, axes=None, norm="backward")
    irfftn(x, /, *, s=None, axes=None, norm="backward")
    hfft(x, /, *, n=None, axis=-1, norm="backward")
    ihfft(x, /, *, n=None, axis=-1, norm="backward")
    fftfreq(n, /, *, d=1.0, dtype=None, device=None)
    rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
    fftshift(x, /, *, axes=None)
    ifftshift(x, /, *, axes=None)
"""
UNARY_METHODS = """
    __abs__ __bool__ __complex__ __dlpack_device__ __float__ __index__ __int__ __invert__ __neg__
    __pos__
"""
BINARY_METHODS = """
    __add__ __and__ __eq__ __floordiv__ __ge__ __gt__ __le__ __lshift__ __lt__ __matmul__ __mod__
    __mul__ __ne__ __or__ __pow__ __rshift__ __sub__ __truediv__ __xor__ __getitem__
"""
METHODS = """
    __array_namespace__(*, api_version=None)
    __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)
    __setitem__(key, value)
    to_device(device, /, *, stream=None)
"""


def list_rows(text, **shared):
    """Signatures by name: the rows of `text`, and names that share a list of parameters."""
    rows = {
        row.partition("(")[0].strip(): row.partition("(")[2] for row in text.strip().split("\n")
    }
    shared_rows = {name: row for row, names in shared.items() for name in names.split()}
    return rows | {name: f"{', '.join(row.split('_'))}, /)" for name, row in shared_rows.items()}


NAMESPACE_ROWS = list_rows(OTHERS, x=UNARY, x1_x2=BINARY)
METHOD_ROWS = list_rows(METHODS, other=BINARY_METHODS) | dict.fromkeys(UNARY_METHODS.split(), ")")
EXTENSION_ROWS = {
    (extension, name): row
    for extension, rows in {"linalg": LINALG, "fft": FFT}.items()
    for name, row in list_rows(rows).items()
}


def read_parameters(row):
    scope = {}
    exec(f"def function({row}: ...", scope)
    return list(inspect.signature(scope["function"]).parameters.values())


def list_calls(parameters):
    """Arguments of the fullest calls, by place and by name where both may be, and the shortest."""
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    only_places = [p for p in places if p.kind is p.POSITIONAL_ONLY]
    only_names = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    required = [p for p in places if p.default is p.empty]
    several = [0, 0] if any(p.kind is p.VAR_POSITIONAL for p in parameters) else []
    yield [*places, *several], only_names
    yield [*only_places, *several], names
    yield required, []


def assert_takes_calls_of(function, row):
    signature, expected = inspect.signature(function), read_parameters(row)
    for positional, names in list_calls(expected):
        signature.bind(*positional, **dict.fromkeys(names))
    own = list(signature.parameters.values())
    for number, parameter in enumerate(expected):
        if parameter.default is not parameter.empty:
            is_placed = parameter.kind is parameter.POSITIONAL_ONLY
            found = own[number] if is_placed else signature.parameters[parameter.name]
            assert found.default == parameter.default, found


def assert_leaves_names_free(function, row):
    """Parameters without a name in the standard have none here."""
    own = inspect.signature(function).parameters.values()
    for parameter, found in zip(read_parameters(row), own, strict=False):
        if parameter.kind is parameter.POSITIONAL_ONLY:
            assert found.kind is parameter.POSITIONAL_ONLY, found


@pytest.mark.parametrize("name", NAMESPACE_ROWS)
def test_function(name):
    assert_takes_calls_of(getattr(lb, name), NAMESPACE_ROWS[name])
    assert_leaves_names_free(getattr(lb, name), NAMESPACE_ROWS[name])


@pytest.mark.parametrize(("extension", "name"), EXTENSION_ROWS)
def test_function_of_an_extension(extension, name):
    function = getattr(getattr(lb, extension), name)
    assert_takes_calls_of(function, EXTENSION_ROWS[extension, name])
    assert_leaves_names_free(function, EXTENSION_ROWS[extension, name])


@pytest.mark.parametrize("name", METHOD_ROWS)
def test_method(name):
    assert_takes_calls_of(getattr(lb.asarray(1), name), METHOD_ROWS[name])


def test_other_signatures_are_told_apart():
    def function(x, /, *, axis=1, more=None): ...

    assert_takes_calls_of(function, "y, /, *, axis=1)")
    for row in ["x, /, *, axis=0)", "x, axis, /)", "x, /, *, keepdims=False)", "x, y, /)"]:
        with pytest.raises((AssertionError, TypeError, KeyError)):
            assert_takes_calls_of(function, row)
    with pytest.raises(AssertionError):
        assert_leaves_names_free(lambda x: x, "x, /)")


def test_attributes_and_constants():
    x = lb.ones((2, 3))
    assert (x.dtype, x.device, x.ndim, x.shape, x.size) == (lb.float64, "cpu", 2, (2, 3), 6)
    assert x.T.shape == x.mT.shape == (3, 2)
    assert (lb.newaxis, lb.inf, round(lb.e, 3), round(lb.pi, 3)) == (
        None,
        float("inf"),
        2.718,
        3.142,
    )
    assert lb.nan != lb.nan
