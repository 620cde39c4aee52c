"""Names of libdevice that the block IR has no function for; float32 is computed in float64."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from lazyblock.language.context import current_builder
from lazyblock.language.dtypes import float32, float64
from lazyblock.language.extra import bessel, bessel_orders, inverse_error
from lazyblock.language.extra.operands import document, meet
from lazyblock.language.semantics.convert import cast, retype, to_tensor
from lazyblock.language.semantics.shapes import stretch_together
from lazyblock.language.tensor import tensor

_TABLE: dict[str, tuple[Callable[..., Any], str]] = {
    "erfcx": (inverse_error.erfcx, "exp(x^2) erfc(x)."),
    "erfinv": (inverse_error.erfinv, "What erf gives x for."),
    "erfcinv": (inverse_error.erfcinv, "What erfc gives x for."),
    "normcdfinv": (inverse_error.normcdfinv, "What normcdf gives x for."),
    "cyl_bessel_i0": (lambda b, x: bessel.i(b, 0, x), "The modified Bessel function I0."),
    "cyl_bessel_i1": (lambda b, x: bessel.i(b, 1, x), "The modified Bessel function I1."),
    "j0": (lambda b, x: bessel.j(b, 0, x), "The Bessel function J0."),
    "j1": (lambda b, x: bessel.j(b, 1, x), "The Bessel function J1."),
    "y0": (lambda b, x: bessel.y(b, 0, x), "The Bessel function Y0."),
    "y1": (lambda b, x: bessel.y(b, 1, x), "The Bessel function Y1."),
}
_INVERSES = ("erfinv", "erfcinv", "normcdfinv")


def _function(name: str, compute: Callable[..., Any], text: str) -> Any:
    def function(arg0: Any) -> tensor:
        (value,) = meet(name, arg0)
        b = current_builder()
        is_short = value.dtype == float32 and name in _INVERSES
        run = partial(compute, steps=1) if is_short else compute
        found = run(b, b.cast(value.handle, float64.ir))
        return retype(b.cast(found, value.dtype.ir), value.dtype)

    return document(function, name, text)


FUNCTIONS: dict[str, Any] = {
    name: _function(name, compute, text) for name, (compute, text) in _TABLE.items()
}


def _of_order(name: str, compute: Callable[..., Any]) -> Any:
    def function(arg0: Any, arg1: Any) -> tensor:
        (value,) = meet(name, arg1)
        order, wide = stretch_together(to_tensor(arg0), cast(value, float64), operation=name)
        return cast(compute(order, wide), value.dtype)

    return document(function, name, f"The Bessel function {name[0].upper()} of order arg0.")


FUNCTIONS |= {
    "jn": _of_order("jn", bessel_orders.j_of_order),
    "yn": _of_order("yn", bessel_orders.y_of_order),
}
