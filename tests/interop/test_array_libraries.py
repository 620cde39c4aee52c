"""Libraries for every array library know lazy arrays by the standard's namespace."""

import numpy as np
import pytest

import lazyblock as lb
from tests.interop.calls import call, check, lazy

compat = pytest.importorskip("array_api_compat", reason="it is in the extra 'consumers'")
RNG = np.random.default_rng(0)
A, PLACES = RNG.normal(size=(3, 4)), np.array([1, 2, 2, 0])
ARITHMETIC = {
    "at, all of a row": lambda xpx, a: xpx.at(a)[1].set(5.0),
    "at, a mask": lambda xpx, a: xpx.at(a)[a > 0].set(0.0),
    "at, added to a copy": lambda xpx, a: xpx.at(a)[:, 0].add(5.0, copy=True),
    "apply_where": lambda xpx, a: xpx.apply_where(a > 0, a, lambda x: x * 2, lambda x: -x),
    "lazy_apply": lambda xpx, a: xpx.lazy_apply(np.sort, a, as_numpy=True),
    "atleast_nd": lambda xpx, a: xpx.atleast_nd(a, ndim=3),
    "cov": lambda xpx, a: xpx.cov(a),
    "create_diagonal": lambda xpx, a: xpx.create_diagonal(a[0]),
    "isclose": lambda xpx, a: xpx.isclose(a, a + 1e-9),
    "kron": lambda xpx, a: xpx.kron(a, a[:2, :2]),
    "pad": lambda xpx, a: xpx.pad(a, 2),
    "sinc": lambda xpx, a: xpx.sinc(a),
    "nan_to_num": lambda xpx, a: xpx.nan_to_num(a / (a - a)),
    "partition": lambda xpx, a: xpx.partition(a, 1, axis=0)[1],
}


def test_compat_finds_the_namespace():
    x = lazy(A)
    assert compat.array_namespace(x, x) is lb and compat.is_array_api_obj(x)
    assert (compat.device(x), compat.size(x)) == (x.device, 12)
    assert compat.is_writeable_array(x) and not compat.is_lazy_array(x)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ARITHMETIC)
def test_array_api_extra(name):
    xpx = pytest.importorskip("scipy._lib.array_api_extra")
    check(call(lambda a: ARITHMETIC[name](xpx, a), A))


def test_counts_and_sets():
    xpx = pytest.importorskip("scipy._lib.array_api_extra")
    check(call(lambda i: [xpx.nunique(i), xpx.setdiff1d(i, i[:1]), xpx.one_hot(i, 3)], PLACES))


def test_einops():
    einops = pytest.importorskip("einops.array_api")
    check(call(lambda a: einops.rearrange(a, "a (b c) -> c a b", b=2), A))
    check(call(lambda a: einops.reduce(a, "a (b c) -> a b", "mean", b=2), A))
    check(call(lambda a: einops.repeat(a, "a b -> a b c", c=3), A))


@pytest.mark.parametrize("subscripts", ["ij,kj,kl->il", "ij,ij,ij->", "...j,...j,aj->a..."])
def test_opt_einsum(subscripts):
    opt_einsum = pytest.importorskip("opt_einsum")
    check(call(lambda a: opt_einsum.contract(subscripts, a, a, a), A))
