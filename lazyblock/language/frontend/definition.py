"""A function as the front end sees it: its tree, its parameters, what its names mean.

`Definition` is what the evaluator needs of any function; `PythonDefinition` is that of a Python
function: names are looked up in its closure, its globals and the builtins at the time of asking.
"""

from __future__ import annotations

import ast
import builtins
import difflib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import CellType, FunctionType
from typing import Any

from lazyblock.errors import CompileError
from lazyblock.language.constexpr import const, constexpr
from lazyblock.language.dtypes import dtype, parse_name, pointer_type
from lazyblock.language.frontend.analysis import (
    assigned_names,
    captured_names,
    loaded_names,
)
from lazyblock.language.frontend.source import Source, find_source

_COMMON_BUILTINS = ("range", "len", "min", "max", "abs", "int", "float", "print")
REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True)
class Parameter:
    """A parameter: its default (or REQUIRED), its annotation and what that says.

    dtype: the type asked for, a pointer_type for "*fp32"; None where the argument decides.
    """

    name: str
    default: Any = REQUIRED
    annotation: Any = None
    is_constexpr: bool = False
    dtype: dtype | None = None
    is_const: bool = False
    is_variadic: bool = False


class Definition(ABC):
    """A function that can be evaluated."""

    name: str
    file: str
    parameters: tuple[Parameter, ...]

    @property
    @abstractmethod
    def body(self) -> Sequence[ast.stmt]:
        """The statements."""

    @abstractmethod
    def resolve(self, name: str) -> Any:
        """The value of a name that is not local. Raises KeyError."""

    @abstractmethod
    def visible_names(self) -> Sequence[str]:
        """Names that `resolve` knows, for suggestions."""

    def names_in(self, node: ast.AST) -> frozenset[str]:
        """Names that a node of the tree reads."""
        known = self._names_in.get(node)
        if known is None:
            known = self._names_in[node] = loaded_names([node])
        return known

    @cached_property
    def _names_in(self) -> dict[ast.AST, frozenset[str]]:
        return {}

    @cached_property
    def local_names(self) -> frozenset[str]:
        """Names that belong to each call."""
        return frozenset(assigned_names(self.body)) | {p.name for p in self.parameters}

    @cached_property
    def captured_names(self) -> frozenset[str]:
        """Names that may be read wherever a function defined inside is called."""
        return captured_names(self.body)

    def suggest(self, name: str) -> str:
        """A hint for a name that is not known."""
        known = [*self.local_names, *self.visible_names(), *_COMMON_BUILTINS]
        close = difflib.get_close_matches(name, known, 1, cutoff=0.75)
        return f"did you mean '{close[0]}'?" if close else ""

    def bind(self, arguments: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments by parameter, defaults filled in. Raises: CompileError."""
        values: dict[str, Any] = {}
        given = list(arguments)
        for parameter in self.parameters:
            if parameter.is_variadic:
                values[parameter.name], given = tuple(given), []
            elif given:
                values[parameter.name] = given.pop(0)
        if given:
            raise CompileError(
                f"'{self.name}' takes {len(self.parameters)} arguments, got {len(arguments)}."
            )
        known = {parameter.name for parameter in self.parameters}
        for name, value in named.items():
            if name not in known:
                raise CompileError(f"'{self.name}' has no parameter '{name}'.")
            if name in values:
                raise CompileError(f"'{self.name}' gets two values for '{name}'.")
            values[name] = value
        return {p.name: self._value_of(p, values) for p in self.parameters}

    def _value_of(self, parameter: Parameter, values: Mapping[str, Any]) -> Any:
        if parameter.name in values:
            return values[parameter.name]
        if parameter.default is REQUIRED:
            raise CompileError(f"'{self.name}' needs a value for '{parameter.name}'.")
        return parameter.default


class Cells(Mapping[str, Any]):
    """A closure's variables; those that have no value yet are not there."""

    def __init__(self, cells: Mapping[str, CellType]) -> None:
        self._cells = cells

    def __getitem__(self, name: str) -> Any:
        try:
            return self._cells[name].cell_contents
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._cells)

    def __len__(self) -> int:
        return len(self._cells)


class PythonDefinition(Definition):
    """Of a Python function; its source is read when it is first needed."""

    def __init__(self, function: Any) -> None:
        function = inspect.unwrap(function)
        if not isinstance(function, FunctionType):
            raise CompileError(
                f"A {type(function).__name__} cannot be compiled.", hint="decorate a function."
            )
        self.python_function = function
        self.name = function.__name__
        self.file = function.__code__.co_filename

    @cached_property
    def source(self) -> Source:
        return find_source(self.python_function)

    @property
    def body(self) -> Sequence[ast.stmt]:
        return self.source.node.body

    @cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.python_function)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:  # type: ignore[override]
        return tuple(self._read_parameter(p) for p in self.signature.parameters.values())

    def _read_parameter(self, parameter: inspect.Parameter) -> Parameter:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            raise CompileError(
                f"'{self.name}' takes '**{parameter.name}', which a kernel cannot.",
                hint="name its parameters one by one.",
            )
        annotation = parameter.annotation
        if annotation is inspect.Parameter.empty:
            annotation = None
        if isinstance(annotation, str):
            annotation = self._evaluate_annotation(annotation)
        return Parameter(
            parameter.name,
            parameter.default,
            annotation,
            is_variadic=parameter.kind is inspect.Parameter.VAR_POSITIONAL,
            **read_annotation(annotation),
        )

    def _evaluate_annotation(self, text: str) -> Any:
        """A name of a type, or what postponed evaluation has left as text."""
        if _is_type_name(text):
            return text
        try:
            value = eval(text, self.python_function.__globals__, self._cells)
        except Exception:
            return None
        return value

    @cached_property
    def _cells(self) -> Cells:
        function = self.python_function
        names, cells = function.__code__.co_freevars, function.__closure__ or ()
        return Cells(dict(zip(names, cells, strict=True)))

    def outside(self, name: str) -> Mapping[str, Any]:
        """Where a name that is not local is looked up, builtins aside; it need not be there."""
        function = self.python_function
        return self._cells if name in function.__code__.co_freevars else function.__globals__

    def resolve(self, name: str) -> Any:
        value = self.outside(name).get(name, REQUIRED)
        return vars(builtins)[name] if value is REQUIRED else value

    def visible_names(self) -> Sequence[str]:
        function = self.python_function
        return [*function.__code__.co_freevars, *function.__globals__]


def read_annotation(annotation: Any) -> dict[str, Any]:
    """What an annotation says, as fields of Parameter; annotations of other kinds say nothing."""
    if isinstance(annotation, str) and _is_type_name(annotation):
        annotation = parse_name(annotation)
    if isinstance(annotation, constexpr):
        annotation = annotation.value
    if annotation is constexpr:
        return {"is_constexpr": True}
    if annotation is const:
        return {"is_const": True}
    if isinstance(annotation, pointer_type):
        return {"dtype": annotation, "is_const": annotation.const}
    return {"dtype": annotation} if isinstance(annotation, dtype) else {}


def _is_type_name(text: str) -> bool:
    return dtype.is_dtype(text.removeprefix("*").removeprefix("k"))
