"""Frozen expressions and compiled functions: planned once, then called with new data.

An expression's inputs are its leaf arrays in order of first use. A function is traced once per
signature: layouts of its arrays and values of everything else. A call looks its signature up,
launches, and wraps the results; no graph is walked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from lazyblock import config
from lazyblock.errors import (
    DTypeError,
    ReplacementError,
    ShapeError,
    UnsupportedError,
    ValueRangeError,
)
from lazyblock.graph import build
from lazyblock.graph.attrs import InputAttrs, Layout, Placeholder
from lazyblock.graph.node import Node
from lazyblock.graph.ops import Op
from lazyblock.graph.rewrite import with_inputs
from lazyblock.graph.traverse import topological
from lazyblock.recently_used import RecentlyUsed
from lazyblock.tracer.array import Array, ArrayCell, Cell, from_host
from lazyblock.tracer.evaluation import forbid_eval
from lazyblock.tracer.stages import pipeline

_MOST_SIGNATURES = 256  # kept per compiled function or expression
Made = TypeVar("Made")
_TRACING = "while 'lb.compile' traces the function; results may not steer Python code"


def compile(target: Any = None, *, mode: str | None = None, numerics: str | None = None) -> Any:
    """Freeze an array (or a list of arrays), or make a function of arrays that plans once.

    Parameters: target, arrays or a function (None: use as a decorator with settings); numerics,
    "strict" or "fast" for all signatures to come (None: as configured now).
    Raises: UnsupportedError for modes that are not offered.
    """
    if mode not in (None, "default"):
        raise UnsupportedError(f"mode '{mode}' is not offered yet.")
    if numerics not in (None, "strict", "fast"):
        raise ValueRangeError(f"numerics is {numerics!r}, expected 'strict' or 'fast'.")
    numerics = numerics or config.current.numerics
    if target is None:
        return functools.partial(compile, mode=mode, numerics=numerics)
    if isinstance(target, Array):
        return CompiledExpression(target, numerics)
    if isinstance(target, (list, tuple)):
        return CompiledExpression(target, numerics)
    if not callable(target):
        raise DTypeError(f"Cannot compile a {type(target).__name__}.")
    return CompiledFunction(target, numerics)


class _Signatures(Generic[Made]):
    """What was made for the signatures of calls. One caller mostly sticks to one."""

    def __init__(self) -> None:
        self._made: RecentlyUsed[Hashable, Made] = RecentlyUsed(_MOST_SIGNATURES)
        self._latest: tuple[Hashable, Made] | None = None

    @property
    def latest(self) -> Made | None:
        """What was found or added last."""
        return self._latest[1] if self._latest else None

    def find(self, key: Hashable) -> Made | None:
        """What was added for this signature; None if nothing was, or too long ago."""
        latest = self._latest
        if latest is not None and latest[0] == key:
            return latest[1]
        made = self._made.get(key)
        if made is not None:
            self._latest = key, made
        return made

    def add(self, key: Hashable, made: Made) -> None:
        self._made.put(key, made)
        self._latest = key, made


class _FrozenCall:
    """Outputs frozen over inputs; leaves that are not inputs are captured as they are."""

    def __init__(self, outputs: Sequence[Node], inputs: Sequence[Node], numerics: str):
        with config.scope(numerics=numerics):
            self.frozen = pipeline.freeze(outputs, inputs)
        self._run, self._devices = self.frozen.run, self.frozen.devices

    def replace(self, number: int, kernel: Any) -> None:
        self.frozen.replace(number, kernel)
        self._run = self.frozen.run

    def __call__(self, inputs: list[Node]) -> list[Array]:
        return [*map(Array, map(Cell, self._run(inputs), self._devices))]


def _input_node(value: Any, device: str | None) -> Node:
    """The data of an argument in memory; evaluates it if it is still pending."""
    if type(value) is Array:
        node = value._cell.node
        if node.op is Op.INPUT and value._view is None:
            return node
        return value.stored("call of a compiled function")
    if isinstance(value, (np.ndarray, np.generic)):
        return from_host(np.asarray(value), device)
    raise DTypeError(f"Expected an array, not a {type(value).__name__}.")


def _place(node: Node) -> tuple[Layout, Any]:
    """Where an INPUT lies, and how: what a plan depends on."""
    attrs = node.attrs
    return attrs.layout, attrs.storage.device  # type: ignore[union-attr]


# Expressions


class CompiledExpression:
    """One or several arrays as a function of their leaf arrays."""

    def __init__(self, target: Any, numerics: str) -> None:
        self._is_single = isinstance(target, Array)
        self._outputs = [array.node for array in ([target] if self._is_single else target)]
        if not self._outputs:
            raise ValueRangeError("Expected arrays to compile, got an empty list.")
        self._numerics = numerics
        self.inputs = tuple(n for n in topological(self._outputs) if n.op is Op.INPUT)
        self._device = pipeline.device_of(self.inputs[0]) if self.inputs else None
        self._calls: _Signatures[_FrozenCall] = _Signatures()
        self._replaced: list[tuple[str, Any]] = []  # block IR of a kernel, what stands for it
        self._first = self._freeze(self.inputs)

    def __call__(self, *arrays: Any) -> Any:
        """Run on arrays of the same shapes and dtypes. Raises: ShapeError, DTypeError."""
        nodes = [_input_node(array, self._device) for array in arrays]
        call = self._calls.find(tuple([_place(node) for node in nodes]))
        if call is None:
            self._check(nodes)
            call = self._freeze(nodes)
        results = call(nodes)
        return results[0] if self._is_single else results

    def _freeze(self, like: Sequence[Node]) -> _FrozenCall:
        """The expression over inputs that lie in memory as `like` do."""
        new: dict[Node, Node] = {}
        for leaf, model in zip(self.inputs, like, strict=True):
            new[leaf] = leaf if _place(leaf) == _place(model) else _placeholder(model)
        inputs = list(new.values())
        for node in topological(self._outputs):
            if node not in new:
                new[node] = with_inputs(node, [new[operand] for operand in node.inputs])
        call = _FrozenCall([new[node] for node in self._outputs], inputs, self._numerics)
        for before, kernel in self._replaced:
            for number, known in enumerate(call.frozen.kernels):
                if known.ir == before:
                    call.replace(number, kernel)
        self._calls.add(tuple(map(_place, like)), call)
        return call

    def _check(self, nodes: Sequence[Node]) -> None:
        if len(nodes) != len(self.inputs):
            raise DTypeError(f"Expected {len(self.inputs)} arrays, got {len(nodes)}.")
        for position, (given, expected) in enumerate(zip(nodes, self.inputs, strict=True)):
            if given.shape != expected.shape:
                raise ShapeError(
                    f"Input {position} has shape {given.shape}, expected {expected.shape}.",
                    note="the expression was frozen for this shape.",
                )
            if given.dtype != expected.dtype:
                raise DTypeError(
                    f"Input {position} has dtype {given.dtype}, expected {expected.dtype}."
                )

    def replace(self, number: int, kernel: Any) -> None:
        """Launch `kernel`, from `lb.load_kernel`, instead of kernel `number`.

        It counts for arrays that lie otherwise in memory too, where the same kernel computes them.
        Raises: ReplacementError when it does not compute the same.
        """
        before = self.kernels
        self._first.replace(number, kernel)
        self._replaced.append((before[number].ir, kernel))
        self._calls = _Signatures()  # others are made anew, with this kernel
        self._calls.add(tuple(map(_place, self.inputs)), self._first)

    @property
    def kernels(self) -> tuple[Any, ...]:
        """The kernels a call launches."""
        return self._first.frozen.kernels

    def explain(self) -> str:
        """Which operations share a kernel, and why others do not."""
        return self._first.frozen.explain()


def _placeholder(node: Node) -> Node:
    """An INPUT laid out like `node`, equal to no other."""
    attrs = node.attrs
    assert isinstance(attrs, InputAttrs)
    storage = Placeholder(attrs.storage.device, attrs.storage.nbytes)
    return build.input_array(storage, attrs.shape, attrs.dtype, attrs.strides, attrs.offset)


# Functions


@dataclass(frozen=True)
class _Slot:
    """Place of array number `position` in the structure a function returns."""

    position: int


class _Trace:
    """What a function did for one signature."""

    def __init__(
        self,
        function: Callable[..., Any],
        args: Any,
        kwargs: Any,
        nodes: list[Node],
        numerics: str,
    ) -> None:
        inputs = [_placeholder(node) for node in nodes]
        arrays = [Array(ArrayCell(node, pipeline.device_of(node))) for node in inputs]
        supply = iter(arrays)
        args, kwargs = _with_arrays(args, supply), _with_arrays(kwargs, supply)
        with forbid_eval(_TRACING):
            result = function(*args, **kwargs)
        if any(a._cell.node is not node for a, node in zip(arrays, inputs, strict=True)):
            raise UnsupportedError(
                "A compiled function may not write into its arguments.",
                hint="write into a copy, 'x = x.copy()', and return it.",
            )
        outputs: list[Node] = []
        self._structure = _take_arrays(result, outputs)
        self._gives_array = isinstance(self._structure, _Slot)
        self.call = _FrozenCall(outputs, inputs, numerics)

    def __call__(self, nodes: list[Node]) -> Any:
        results = self.call(nodes)
        return results[0] if self._gives_array else _fill(self._structure, results)


class CompiledFunction:
    """A function of arrays, traced and planned once per signature."""

    def __init__(self, function: Callable[..., Any], numerics: str) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._numerics = numerics
        self._traces: _Signatures[_Trace] = _Signatures()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the plan of this signature; gives what the function gives, evaluated."""
        nodes: list[Node] = []
        key: Hashable = tuple([_signature(value, nodes) for value in args])
        if kwargs:
            key = (key, _signature(kwargs, nodes))
        trace = self._traces.find(key)
        if trace is None:
            trace = _Trace(self._function, args, kwargs, nodes, self._numerics)
            self._traces.add(key, trace)
        return trace(nodes)

    def replace(self, number: int, kernel: Any) -> None:
        """Launch `kernel`, from `lb.load_kernel`, instead of kernel `number` of the latest call.

        Raises: ReplacementError when it does not compute the same.
        """
        latest = self._traces.latest
        if latest is None:
            raise ReplacementError("The function has not been called yet, so it has no kernels.")
        latest.call.replace(number, kernel)

    @property
    def kernels(self) -> tuple[Any, ...]:
        """The kernels the latest call launched; () before the first."""
        latest = self._traces.latest
        return latest.call.frozen.kernels if latest else ()

    def explain(self) -> str:
        """Which operations of the latest call share a kernel, and why others do not."""
        latest = self._traces.latest
        return latest.call.frozen.explain() if latest else "not called yet\n"


def _is_array(value: Any) -> bool:
    return isinstance(value, (Array, np.ndarray, np.generic))


def _signature(value: Any, nodes: list[Node]) -> Hashable:
    """What a plan depends on in an argument; its arrays go to `nodes`."""
    if type(value) is Array or _is_array(value):
        node = _input_node(value, None)
        nodes.append(node)
        attrs = node.attrs
        return attrs.layout, attrs.storage.device  # type: ignore[union-attr]
    if isinstance(value, float):
        return float, value.hex()  # tells -0.0 from 0.0, finds NaN again
    if isinstance(value, (list, tuple)):
        return type(value), *[_signature(item, nodes) for item in value]
    if isinstance(value, dict):
        return dict, *[(name, _signature(item, nodes)) for name, item in value.items()]
    try:
        hash(value)
    except TypeError:
        raise DTypeError(
            f"An argument of type {type(value).__name__} cannot be part of a signature."
        ) from None
    return type(value), value


def _with_arrays(value: Any, supply: Iterator[Array]) -> Any:
    """The same structure with its arrays taken from `supply`."""
    if _is_array(value):
        return next(supply)
    return _rebuild(value, lambda item: _with_arrays(item, supply))


def _take_arrays(value: Any, outputs: list[Node]) -> Any:
    """The same structure with slots for its arrays, whose nodes go to `outputs`."""
    if isinstance(value, Array):
        outputs.append(value.node)
        return _Slot(len(outputs) - 1)
    return _rebuild(value, lambda item: _take_arrays(item, outputs))


def _fill(structure: Any, results: list[Array]) -> Any:
    """The same structure with arrays in its slots."""
    if isinstance(structure, _Slot):
        return results[structure.position]
    return _rebuild(structure, lambda item: _fill(item, results))


def _rebuild(value: Any, change: Callable[[Any], Any]) -> Any:
    """A list, tuple or dict with its items changed; anything else as it is."""
    if isinstance(value, dict):
        return {name: change(item) for name, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(change, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(change, value))
    return value
