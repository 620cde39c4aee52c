"""A kernel's body as Python runs it in interpreter mode.

Python's own control flow runs the body on values that are known. The tree is rewritten where Python
means something else than the block language: assigned numbers become tensors, `and`, `or`, `not`
and chains of comparisons combine tensors, ranges give tensors. Lines stay, so that print,
breakpoint() and pdb show the user's source.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from types import CellType, CodeType, FunctionType
from typing import Any

from lazyblock.language import iterators
from lazyblock.language.constexpr import constexpr, type_of, unwrap
from lazyblock.language.frontend import logic
from lazyblock.language.frontend.builtins import ON_TENSORS
from lazyblock.language.frontend.definition import PythonDefinition, read_annotation
from lazyblock.language.frontend.iteration import range_of, static_items
from lazyblock.language.frontend.variables import as_variable
from lazyblock.language.semantics.convert import scalar
from lazyblock.language.tensor import tensor

OUTER, INNER = "__outer__", "__body__"
HELPERS = "__lazyblock__"  # the name rewritten code knows this module's functions by


def eager_function(function: PythonDefinition) -> Callable[..., Any]:
    """The body as a Python function that takes tensors, constexprs and tuples.

    It runs under a builder that evaluates ops at once; known arguments arrive as plain values.
    """
    body = _compile(function)

    def run(*arguments: Any, **named: Any) -> Any:
        bound = function.bind(arguments, named)
        return body(*(unwrap(bound[parameter.name]) for parameter in function.parameters))

    return run


def _compile(function: PythonDefinition) -> Callable[..., Any]:
    """Compile the rewritten body inside a function that has its free names; cells are shared."""
    original = function.python_function
    cells = dict(zip(original.__code__.co_freevars, original.__closure__ or (), strict=True))
    cells[HELPERS] = CellType(_Helpers)
    inner = _rewrite(function)
    outer = ast.copy_location(_function(OUTER, list(cells), [inner]), inner)
    module = ast.fix_missing_locations(ast.Module([outer], []))
    code = _code_in(_code_in(compile(module, function.file, "exec"), OUTER), INNER)
    closure = tuple(cells[name] for name in code.co_freevars)
    code = code.replace(co_name=function.name)
    return FunctionType(code, original.__globals__, function.name, None, closure)


def _code_in(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


def _rewrite(function: PythonDefinition) -> ast.FunctionDef:
    source = function.source.node
    rewriter = _Rewriter()
    body = [rewriter.visit(_copy(statement)) for statement in source.body]
    names = [parameter.name for parameter in function.parameters]
    return ast.copy_location(_function(INNER, names, body), source.body[0])


def _copy(node: Any) -> Any:
    """A tree of its own, so that rewriting leaves the original alone."""
    copy = type(node)()
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            value = _copy(value)
        elif isinstance(value, list):
            value = [_copy(item) if isinstance(item, ast.AST) else item for item in value]
        setattr(copy, name, value)
    return ast.copy_location(copy, node) if hasattr(node, "lineno") else copy


def _function(name: str, parameters: Sequence[str], body: list[Any]) -> ast.FunctionDef:
    arguments = ast.arguments([], [ast.arg(p) for p in parameters], None, [], [], None, [])
    made = ast.FunctionDef(name, arguments, body, [], None)
    if "type_params" in ast.FunctionDef._fields:  # Python 3.12
        made.type_params = []  # type: ignore[attr-defined]
    return made


# --- the tree ------------------------------------------------------------------------------------


def _helper(name: str, node: ast.AST, *arguments: ast.expr) -> Any:
    """A call of one of the helpers at `node`."""
    function = ast.Attribute(ast.Name(HELPERS, ast.Load()), name, ast.Load())
    made = ast.Call(function, list(arguments), [])
    for part in (made, function, function.value):
        ast.copy_location(part, node)
    return made


def _later(node: ast.expr) -> ast.expr:
    """An expression that is evaluated when it is asked for; at once if it assigns a name."""
    if any(isinstance(inner, ast.NamedExpr) for inner in ast.walk(node)):
        made: ast.expr = _helper("given", node, node)
        return made
    nothing = ast.arguments([], [], None, [], [], None, [])
    return ast.copy_location(ast.Lambda(nothing, node), node)


def _literal(value: Any, node: ast.AST) -> ast.expr:
    return ast.copy_location(ast.Constant(value), node)


class _Rewriter(ast.NodeTransformer):
    """Puts helpers where the block language differs from Python."""

    def visit_Assign(self, node: ast.Assign) -> Any:
        node = self._inside(node)
        node.value = _helper("variable", node.value, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        node = self._inside(node)
        reads = _copy(node.target)
        reads.ctx = ast.Load()
        value = ast.copy_location(ast.BinOp(reads, node.op, node.value), node)
        return ast.copy_location(ast.Assign([node.target], _helper("variable", node, value)), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        node = self._inside(node)
        value = _helper("annotated", node, node.value or node.target, node.annotation)
        return ast.copy_location(ast.Assign([node.target], value), node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        node = self._inside(node)
        node.value = _helper("variable", node.value, node.value)
        return node

    def visit_For(self, node: ast.For) -> Any:
        node = self._inside(node)
        node.iter = _helper("iterate", node.iter, node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> Any:
        node = self._inside(node)
        node.iter = _helper("iterate", node.iter, node.iter)
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        node = self._inside(node)
        node.test = _helper("holds", node.test, node.test)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        node = self._inside(node)
        is_and = _literal(isinstance(node.op, ast.And), node)
        return _helper("logical", node, is_and, *map(_later, node.values))

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        node = self._inside(node)
        return _helper("negate", node, node.operand) if isinstance(node.op, ast.Not) else node

    def visit_Compare(self, node: ast.Compare) -> Any:
        node = self._inside(node)
        names = [_literal(type(op).__name__, node) for op in node.ops]
        signs = ast.copy_location(ast.Tuple(list(names), ast.Load()), node)
        return _helper("compare", node, signs, *map(_later, [node.left, *node.comparators]))

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        node = self._inside(node)
        return _helper("choose", node, node.test, _later(node.body), _later(node.orelse))

    def visit_List(self, node: ast.List) -> Any:
        node = self._inside(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        return ast.copy_location(ast.Tuple(node.elts, ast.Load()), node)

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        return _helper("tuple", node, self._inside(node))

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return _helper("tuple", node, self._inside(node))

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        node = self._inside(node)
        if node.attr in ("value", "type") and isinstance(node.ctx, ast.Load):
            return _helper(node.attr, node, node.value)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        node = self._inside(node)
        if isinstance(node.func, ast.Name):
            node.func = _helper("function", node.func, node.func)
        return node

    def _inside(self, node: Any) -> Any:
        self.generic_visit(node)
        return node


# --- what the rewritten body calls ---------------------------------------------------------------


class _Helpers:
    """Functions by the names the rewritten tree uses."""

    variable = staticmethod(as_variable)
    negate = staticmethod(logic.negate)
    type = staticmethod(type_of)
    tuple = staticmethod(builtins.tuple)

    @staticmethod
    def annotated(value: Any, annotation: Any) -> Any:
        """`x: annotation = value`."""
        is_constexpr = read_annotation(annotation).get("is_constexpr")
        return unwrap(value) if is_constexpr else as_variable(value)

    @staticmethod
    def iterate(iterable: Any) -> Any:
        """Tensors for a range, items for what is known."""
        if isinstance(iterable, iterators.range) and not isinstance(
            iterable, iterators.static_range
        ):
            type, indices = range_of(iterable)
            return (scalar(index, type) for index in indices)
        return map(unwrap, static_items(iterable))

    @staticmethod
    def given(value: Any) -> Callable[[], Any]:
        """An operand that was evaluated early."""
        return lambda: value

    @staticmethod
    def holds(condition: Any) -> bool:
        """Whether a condition holds in every element."""
        if not isinstance(condition, tensor):
            return bool(condition)
        return bool(getattr(condition.handle, "datum").all())  # noqa: B009 (of eager values only)

    @staticmethod
    def logical(is_and: bool, *operands: Callable[[], Any]) -> Any:
        """`and`, `or`."""
        return logic.logical(is_and, (operand() for operand in operands))

    @staticmethod
    def compare(signs: Sequence[str], *operands: Callable[[], Any]) -> Any:
        """A chain of comparisons."""
        kinds = [getattr(ast, sign) for sign in signs]
        return logic.chain(kinds, (operand() for operand in operands))

    @staticmethod
    def choose(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
        """`then if condition else otherwise`."""
        value = then() if condition else otherwise()
        return as_variable(value) if isinstance(condition, tensor) else value

    @staticmethod
    def value(holder: Any) -> Any:
        """`holder.value`, of a constexpr that is a plain value here."""
        return getattr(holder, "value", holder)

    @staticmethod
    def function(function: Any) -> Any:
        """What a name that is called means: builtins know tensors."""
        try:
            known = ON_TENSORS.get(function)
        except TypeError:  # not hashable
            return function
        return function if known is None else _plain(known)


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*arguments: Any, **named: Any) -> Any:
        result = function(*arguments, **named)
        return unwrap(result) if isinstance(result, constexpr) else result

    return call
