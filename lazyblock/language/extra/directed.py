"""Names of libdevice that say how they round: `add_rd`, `sqrt_ru`, `double2float_rz`..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lazyblock.language.context import current_builder
from lazyblock.language.dtypes import dtype, float32, float64
from lazyblock.language.extra import rounding
from lazyblock.language.extra.operands import document, meet
from lazyblock.language.semantics.convert import to_tensor
from lazyblock.language.tensor import tensor

_WORDS = {"rd": "down", "ru": "up", "rz": "toward zero"}
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "add": rounding.add,
    "sub": rounding.sub,
    "mul": rounding.mul,
    "div": rounding.div,
    "fma": rounding.fma,
    "sqrt": rounding.sqrt,
}
_SOURCES = ("int2float", "uint2float", "ll2float", "ull2float", "ll2double", "ull2double")


def _operation(name: str, operation: Callable[..., Any], mode: str) -> Any:
    def function(*arguments: Any) -> tensor:
        handles = [value.handle for value in meet(name, *arguments)]
        return tensor(operation(current_builder(), mode, *handles))

    return document(function, name, f"`{name[:-3]}` of floats, rounded {_WORDS[mode]}.")


def _reciprocal(name: str, mode: str) -> Any:
    def function(arg0: Any) -> tensor:
        one, value = meet(name, 1.0, arg0)
        return tensor(rounding.div(current_builder(), mode, one.handle, value.handle))

    return document(function, name, f"1 / x, rounded {_WORDS[mode]}.")


def _conversion(name: str, type: dtype, mode: str) -> Any:
    def function(arg0: Any) -> tensor:
        value = to_tensor(arg0).handle
        return tensor(rounding.to_float(current_builder(), mode, value, type.ir))

    return document(function, name, f"As {type}, rounded {_WORDS[mode]}.")


def _make() -> dict[str, Any]:
    found = {}
    for mode in rounding.MODES:
        for operation, compute in _OPERATIONS.items():
            name = f"{operation}_{mode}"
            found[name] = _operation(name, compute, mode)
        found[f"rcp_{mode}"] = _reciprocal(f"rcp_{mode}", mode)
        for source in (*_SOURCES, "double2float"):
            name = f"{source}_{mode}"
            found[name] = _conversion(name, float64 if "2double" in name else float32, mode)
    return found


FUNCTIONS: dict[str, Any] = _make()
