"""`@lb.jit`: functions in the block language, compiled for their arguments and launched on a grid.

A launch reads its arguments (see `arguments`), finds the kernel compiled for arguments of their
kind, and packs them; a kind that is new goes through the front end and the pipeline. Alignment to
16 is part of a kind, no other value of a number is: a new size is no new kernel.
"""

from __future__ import annotations

import functools
import inspect
import operator
import re
import textwrap
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from lazyblock import config, events
from lazyblock.errors import LaunchError, ValueRangeError
from lazyblock.language.arguments import Bound, as_example, make_binder
from lazyblock.language.array_arguments import Leaves
from lazyblock.language.compiled import CompiledKernel, Grid, not_on_one_device
from lazyblock.language.effects import find_written
from lazyblock.language.frontend import build_program
from lazyblock.language.function import KernelFunction
from lazyblock.language.interpreted import run_eagerly
from lazyblock.language.kernel_interface import KernelInterface, KernelParam
from lazyblock.language.kinds import CONSTANT, are_alike, describe_kind, devices_in, spec_of
from lazyblock.language.specs import ArgumentSpec, Constant, Pointer, Scalar
from lazyblock.language.unfilled import warn_about_unfilled_loads
from lazyblock.language.unparse import to_identifier
from lazyblock.lazy_imports import lazy_import
from lazyblock.tiler.call import ArrayNumber, BlockCall
from lazyblock.tiler.ir import Program

pipeline = lazy_import("lazyblock.pipeline")

DEFAULTS = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "maxnreg": 0}
_SWITCHES = ("launch_cooperative_grid", "debug")
DEFAULTS |= dict.fromkeys(_SWITCHES, False)
# What Triton's launches take beside those: hints that change nothing here.
IGNORED_OPTIONS = {
    *("enable_fp_fusion", "launch_cluster", "launch_pdl"),
    *("extern_libs", "ir_override", "sanitize_overflow", "supported_fp8_dtypes"),
    *("max_num_imprecise_acc_default", "default_dot_input_precision"),
    *("allowed_dot_input_precisions", "cluster_dims", "warp_size", "instrumentation_mode"),
    *("waves_per_eu", "matrix_instr_nonkdim", "kpack", "grf_mode"),
}
_DEFAULT_VALUES = tuple(DEFAULTS.values())
_MOST_WARPS, _MOST_CTAS = 32, 16
_MAX_RANK = 3
_MOST_KERNELS = 1024  # of one function; the pipeline keeps them on disk
_get_settings = operator.attrgetter("device", *config.CODE_FIELDS)


def jit(function: Callable[..., Any] | None = None, **settings: Any) -> Any:
    """Make a kernel of a function; launch it with `kernel[grid](*arguments)`.

    Parameters: as Triton's: version, repr (names the kernel), launch_metadata, do_not_specialize
    and do_not_specialize_on_alignment (parameters, by name or position, whose alignment kernels may
    not rely on), debug, noinline; interpret=True runs the Python body itself.
    """
    if function is None:
        return functools.partial(jit, **settings)
    return JitFunction(function, **settings)


class JitFunction(KernelFunction, KernelInterface):
    """A kernel: `kernel[grid](...)` launches, `kernel.warmup(..., grid=...)` only compiles.

    pre_run_hooks: called with a launch's arguments before it.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        version: Any = None,
        repr: Callable[[Any], str] | None = None,
        launch_metadata: Callable[..., Any] | None = None,
        do_not_specialize: Sequence[str | int] | None = None,
        do_not_specialize_on_alignment: Sequence[str | int] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        interpret: bool | None = None,
    ) -> None:
        super().__init__(function)
        self.version = version
        self.launch_metadata = launch_metadata
        self.debug = bool(debug)
        self.noinline = bool(noinline)
        self.interpret = interpret
        self.pre_run_hooks: list[Callable[..., Any]] = []
        self._repr = repr
        self.do_not_specialize = tuple(do_not_specialize or ())
        plain = {*self.do_not_specialize, *(do_not_specialize_on_alignment or ())}
        self.arg_names = [parameter.name for parameter in self.parameters]
        self._bind: Callable[..., Bound] = make_binder(self.name, self.parameters, plain)
        self._compiled: dict[Hashable, CompiledKernel] = {}
        self._programs: dict[Hashable, Program] = {}
        self._lock = threading.RLock()

    # --- what wrappers ask for -------------------------------------------------------------------

    @functools.cached_property
    def params(self) -> list[KernelParam]:
        plain = self.do_not_specialize
        return [
            KernelParam(
                n, p.name, p.default, p.annotation, p.is_constexpr, bool({n, p.name} & {*plain})
            )
            for n, p in enumerate(self.parameters)
        ]

    @functools.cached_property
    def signature(self) -> inspect.Signature:
        return inspect.signature(self.python_function)

    @property
    def __globals__(self) -> dict[str, Any]:
        """Of the Python function."""
        return self.python_function.__globals__

    @property
    def src(self) -> str:
        """The text from `def` on."""
        text = textwrap.dedent(self.source.text)
        return text[re.search(r"^def\s", text, re.MULTILINE).start() :]  # type: ignore[union-attr]

    @property
    def cache_key(self) -> str:
        """`key()`, under the name Triton has it."""
        return self.key()

    # --- launching -------------------------------------------------------------------------------

    def __getitem__(self, grid: Any) -> Callable[..., CompiledKernel | None]:
        return functools.partial(self._launch, grid)

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """What `kernel[grid](...)` does; with `warmup`, compile only."""
        if warmup:
            return self.warmup(*args, grid=grid, **kwargs)
        return self._launch(grid, *args, **kwargs)

    def _launch(self, grid: Any, /, *args: Any, **kwargs: Any) -> CompiledKernel | None:
        """Enqueue it; gives the kernel that ran, None in interpreter mode."""
        for hook in self.pre_run_hooks:
            hook(*args, **kwargs)
        values, kinds, leaves, options = self._bind(*args, **kwargs)
        if grid.__class__ is tuple and len(grid) == 1 and grid[0].__class__ is int:
            grid = (grid[0], 1, 1)
        else:
            grid = self._as_grid(grid, values, options)
        if self.is_interpreted:
            self._interpret(grid, kinds, values, options, leaves)
            return None
        key = self._kernel_key(kinds, options)
        kernel = self._compiled.get(key) or self._compile(key, kinds, values, options)
        kernel.launch(grid, leaves)
        return kernel

    def bind_launch(self, grid: Any, *args: Any, **kwargs: Any) -> Callable[[], None]:
        """A launch with all arguments fixed, addresses included: call it to launch.

        Arrays must stay as they are: NumPy arrays alive, lazyblock arrays neither reassigned nor
        held by recorded expressions.
        """
        values, kinds, leaves, options = self._bind(*args, **kwargs)
        grid = self._as_grid(grid, values, options)
        key = self._kernel_key(kinds, options)
        kernel = self._compiled.get(key) or self._compile(key, kinds, values, options)
        return kernel.bind(grid, leaves)

    def _kernel_key(self, kinds: Hashable, options: dict[str, Any]) -> Hashable:
        """What a compiled kernel depends on."""
        current = _get_settings(config.current)
        if options:
            return self.key(), kinds, current, tuple(self._read_options(options).values())
        return self.key(), kinds, current, _DEFAULT_VALUES

    def _compile(
        self, key: Hashable, kinds: Sequence[Any], values: Sequence[Any], options: dict[str, Any]
    ) -> CompiledKernel:
        settings = self._read_options(options)
        places = devices_in(kinds)
        if len(places) > 1:
            raise not_on_one_device(self.name, places)
        device = pipeline.get_device(places[0] if places else None)
        with self._lock:
            kernel = self._compiled.get(key)
            if kernel is None:
                if events.is_observed():
                    self._tell_reason(kinds)
                program = self._build(kinds, values, settings)
                block = pipeline.load_block_program(program, device)
                kernel = CompiledKernel(self, block, kinds, settings, pipeline.expose_host)
                while len(self._compiled) >= _MOST_KERNELS:
                    del self._compiled[next(iter(self._compiled))]
                self._compiled[key] = kernel
        return kernel

    def _tell_reason(self, kinds: Sequence[Any]) -> None:
        """Say what is compiled, and what the last kernel was not compiled for."""
        words = list(map(describe_kind, kinds))
        arguments = ", ".join(f"{n}: {w}" for n, w in zip(self.arg_names, words, strict=True))
        reason = "the first of its kind"
        if self._compiled:
            last = list(map(describe_kind, self.kernels[-1].kinds))
            changes = zip(self.arg_names, last, words, strict=True)
            new = [f"{name} was {before}" for name, before, now in changes if before != now]
            reason = "; ".join(new) or "other options, settings or text"
        events.emit(events.Specialisation(self.name, arguments, reason))

    def _build(self, kinds: Sequence[Any], values: Sequence[Any], settings: dict[str, Any]) -> Any:
        """The block program for arguments of these kinds."""
        debug = settings["debug"] or self.debug or config.current.debug
        specs = self._specs(kinds, values)
        settings = {**settings, "debug": debug, "strict": config.current.strict}
        program = build_program(self, specs, **settings)
        if config.current.sanitize:
            warn_about_unfilled_loads(program)
        name = self.name if self._repr is None else self._repr(Specialization(self, specs))
        program.name = to_identifier(name)  # it becomes a symbol of machine code
        return program

    def _specs(self, kinds: Sequence[Any], values: Sequence[Any]) -> dict[str, ArgumentSpec]:
        """What the front end is told about the arguments."""
        return {
            parameter.name: spec_of(kind, value, parameter.is_const)
            for parameter, kind, value in zip(self.parameters, kinds, values, strict=True)
        }

    @property
    def is_interpreted(self) -> bool:
        """Whether launches run the Python body itself."""
        interpret = self.interpret
        return config.current.interpret if interpret is None else interpret

    def _interpret(
        self,
        grid: Grid,
        kinds: Sequence[Any],
        values: Sequence[Any],
        options: dict[str, Any],
        leaves: Leaves,
    ) -> None:
        """Run the Python body."""
        places = devices_in(kinds)
        if len(places) > 1:
            raise not_on_one_device(self.name, places)
        debug = self._read_options(options)["debug"] or self.debug or config.current.debug
        run_eagerly(self, self._specs(kinds, values), leaves.values, grid, debug)

    def _read_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Launch options with their defaults. Raises: LaunchError, ValueRangeError."""
        settings = dict(DEFAULTS)
        for name, value in options.items():
            if name in settings:
                if value is not None:
                    settings[name] = bool(value) if name in _SWITCHES else _as_count(name, value)
            elif name not in IGNORED_OPTIONS:
                raise LaunchError(
                    f"'{self.name}' has no parameter and a launch no option '{name}'.",
                    note=f"its parameters are {', '.join(self.arg_names) or 'none'}.",
                    hint=f"options are {', '.join(DEFAULTS)} and Triton's other hints.",
                )
        _check_power_of_two("num_warps", settings["num_warps"], _MOST_WARPS)
        _check_power_of_two("num_ctas", settings["num_ctas"], _MOST_CTAS)
        return settings

    def _as_grid(self, grid: Any, values: Sequence[Any], options: dict[str, Any]) -> Grid:
        """Three extents from 1 to 3 of them, a number, or a function of the arguments' names."""
        if callable(grid):
            grid = grid({**options, **dict(zip(self.arg_names, values, strict=True))})
        extents = grid if isinstance(grid, (tuple, list)) else (grid,)
        if not 1 <= len(extents) <= _MAX_RANK:
            raise ValueRangeError(f"A grid has 1 to 3 extents, got {grid!r}.")
        try:
            found = [operator.index(extent) for extent in extents]
        except TypeError:
            raise LaunchError(
                f"The grid of '{self.name}' is {grid!r}, expected integers.",
                hint="round up with lb.cdiv(n, BLOCK).",
            ) from None
        x, y, z = [*found, 1, 1][:_MAX_RANK]
        return x, y, z

    # --- without launching -----------------------------------------------------------------------

    def warmup(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> CompiledKernel:
        """Compile for arguments like these; a dtype stands for an array of it."""
        examples = [as_example(value) for value in args]
        named = {name: as_example(value) for name, value in kwargs.items()}
        values, kinds, _, options = self._bind(*examples, **named)
        key = self._kernel_key(kinds, options)
        return self._compiled.get(key) or self._compile(key, kinds, values, options)

    def preload(self, *args: Any, **kwargs: Any) -> CompiledKernel:
        """As `warmup`."""
        return self.warmup(*args, **kwargs)

    @property
    def kernels(self) -> tuple[CompiledKernel, ...]:
        """What has been compiled so far, oldest first."""
        return tuple(self._compiled.values())

    def launch_compiled(
        self, kernel: CompiledKernel, grid: Any, *args: Any, **kwargs: Any
    ) -> CompiledKernel:
        """Launch a kernel that was made for arguments of this kind.

        Arguments that it was compiled for may be left out. Raises: LaunchError for other kinds.
        """
        if len(args) + len(kwargs) < len(self.arg_names):
            args = tuple(self._with_constants(kernel, args))
        values, kinds, leaves, options = self._bind(*args, **kwargs)
        if not are_alike(kinds, kernel.kinds):
            raise LaunchError(
                f"This kernel of '{self.name}' was compiled for other arguments.",
                note=f"it takes {kernel.kinds}, got {kinds}.",
                hint=f"launch the function, '{self.name}[grid](...)'.",
            )
        kernel.launch(self._as_grid(grid, values, options), leaves)
        return kernel

    def _with_constants(self, kernel: CompiledKernel, args: Sequence[Any]) -> list[Any]:
        """Arguments with those put in that a kernel was compiled for."""
        given = iter(args)
        return [
            kind[2] if isinstance(kind, tuple) and kind[0] == CONSTANT else next(given)
            for kind in kernel.kinds
        ]

    def record(
        self, grid: Any, num_operands: int, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> BlockCall:
        """A launch as a value, for `lb.call`; arrays among the arguments are ArrayNumbers.

        Raises: LaunchError for a kernel that writes into one of its operands.
        """
        values, kinds, leaves, options = self._bind(*args, **kwargs)
        program = self._recorded(kinds, values, options)
        for position in find_written(program):
            argument = leaves.slots[position]
            if isinstance(argument, ArrayNumber) and argument.number < num_operands:
                raise LaunchError(
                    f"'{self.name}' writes into argument "
                    f"'{program.parameters[position].name}', which is not among 'out'.",
                    hint="name it in 'out', or launch the kernel: kernel[grid](...).",
                )
        return BlockCall(program, self._as_grid(grid, values, options), tuple(leaves.slots))

    def _recorded(
        self, kinds: Sequence[Any], values: Sequence[Any], options: dict[str, Any]
    ) -> Program:
        """The program of a recorded launch; one object for equal kinds."""
        key = self._kernel_key(kinds, options)
        with self._lock:
            program = self._programs.get(key)
            if program is None:
                program = self._build(kinds, values, self._read_options(options))
                self._programs[key] = program
        return program


def _as_count(name: str, value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise ValueRangeError(f"{name} is {value!r}, expected an integer.") from None


def _check_power_of_two(name: str, value: int, most: int) -> None:
    if value < 1 or value > most or value & (value - 1):
        raise ValueRangeError(f"{name} is {value}, expected a power of two up to {most}.")


class Specialization:
    """What a kernel is compiled for, as `repr=` functions of `jit` see it."""

    def __init__(self, function: JitFunction, specs: Mapping[str, ArgumentSpec]) -> None:
        self.name = function.name
        self.module = function.module
        self.signature = {name: _signature_of(spec) for name, spec in specs.items()}
        self.constants = {
            name: spec.value for name, spec in specs.items() if isinstance(spec, Constant)
        }


def _signature_of(spec: ArgumentSpec) -> str:
    if isinstance(spec, Pointer):
        return f"*{spec.dtype.short_name}"
    return spec.dtype.short_name if isinstance(spec, Scalar) else "constexpr"
