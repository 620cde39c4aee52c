"""`@lb.autotune`: arguments of a kernel chosen by measuring.

A configuration is chosen per key: the values of the named arguments, dtypes and devices of arrays.
Times are kept on disk per configuration, so that a later process, or a longer list of
configurations, measures only what is new. Arrays that a kernel writes into are replaced by copies
while it is measured, so that tuning leaves no trace in them.
"""

from __future__ import annotations

import hashlib
import math
import sys
import threading
import time
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from lazyblock import config, testing
from lazyblock.errors import (
    CompileError,
    LaunchError,
    LazyBlockError,
    OutOfResourcesError,
    UnsupportedError,
    ValueRangeError,
)
from lazyblock.language.compiled import CompiledKernel
from lazyblock.language.heuristics import Wrapper
from lazyblock.language.jit import IGNORED_OPTIONS
from lazyblock.lazy_imports import lazy_import

pipeline = lazy_import("lazyblock.pipeline")

_FAILURES = (OutOfResourcesError, CompileError, LaunchError, UnsupportedError)
_SILENT_SECONDS = 5.0  # of tuning before it tells how far it is
_QUANTILES = (0.5, 0.2, 0.8)
_WARMUP, _REP = 25.0, 100.0  # milliseconds to spend


class Config:
    """One choice: values of constexpr parameters (`kwargs`) and launch options.

    pre_hook: called with all arguments by name before each launch with this configuration.
    """

    def __init__(
        self,
        kwargs: Mapping[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Callable[[dict[str, Any]], Any] | None = None,
        ir_override: str | None = None,
    ) -> None:
        self.kwargs = dict(kwargs)
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def all_kwargs(self) -> dict[str, Any]:
        """What a launch is given by name."""
        options = {"num_warps": self.num_warps, "num_stages": self.num_stages}
        options["num_ctas"] = self.num_ctas
        limits = {} if self.maxnreg is None else {"maxnreg": self.maxnreg}
        return {**self.kwargs, **options, **limits}

    def __str__(self) -> str:
        return ", ".join(f"{name}: {value}" for name, value in self.all_kwargs().items())

    def __repr__(self) -> str:
        return f"Config({self})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash((str(self), self.pre_hook))

    def _parts(self) -> tuple[Any, ...]:
        return self.all_kwargs(), self.pre_hook


# --- measuring -----------------------------------------------------------------------------------


class Autotuner(Wrapper):
    """A kernel that is launched with the fastest of several configurations.

    best_config: of the latest launch; cache: the best one by key; configs_timings: milliseconds of
    the latest tuning, by configuration; bench_time: seconds it took.
    """

    def __init__(
        self,
        fn: Any,
        arg_names: Sequence[str],
        configs: Sequence[Config],
        key: Sequence[str],
        reset_to_zero: Sequence[str] | None = None,
        restore_value: Sequence[str] | None = None,
        pre_hook: Callable[..., Any] | None = None,
        post_hook: Callable[..., Any] | None = None,
        prune_configs_by: Mapping[str, Any] | None = None,
        warmup: float | None = None,
        rep: float | None = None,
        use_cuda_graph: bool = False,
        do_bench: Callable[..., Any] | None = None,
        cache_results: bool = True,
    ) -> None:
        super().__init__(fn)
        self.arg_names = list(arg_names)
        self.configs = list(configs) or [Config({})]
        self.keys = list(key)
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self._check_names()
        self._prune_by = dict(prune_configs_by or {})
        self._pre_hook, self._post_hook = pre_hook, post_hook
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self.pre_hook = pre_hook or _do_nothing
        self.post_hook = post_hook or _do_nothing
        self.nargs: dict[str, Any] | None = None
        self._times: dict[str, Any] = {
            "warmup": _WARMUP if warmup is None else warmup,
            "rep": _REP if rep is None else rep,
        }
        self._do_bench = do_bench
        self._keeps_results = cache_results
        self.cache: dict[Hashable, Config] = {}
        self.best_config: Config | None = None
        self.configs_timings: dict[Config, float] = {}
        self.bench_time = 0.0
        self._lock = threading.RLock()

    def _check_names(self) -> None:
        for name in set(self.keys) - set(self.arg_names):
            text = f"'{self.__name__}' has no parameter '{name}', which is a key of its tuning."
            warnings.warn(text, stacklevel=4)
        for name in (*self.reset_to_zero, *self.restore_value):
            if name not in self.arg_names:
                raise ValueRangeError(
                    f"'{self.__name__}' has no parameter '{name}'.",
                    note=f"its parameters are {', '.join(self.arg_names)}.",
                )
        for choice in self.configs:
            if unknown := set(choice.kwargs) - {*self.arg_names, *IGNORED_OPTIONS}:
                raise ValueRangeError(
                    f"A configuration of '{self.__name__}' sets {sorted(unknown)}, which are not "
                    "among its parameters."
                )

    # --- launching -------------------------------------------------------------------------------

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        chosen = self._choose(args, kwargs, grid)
        self.best_config = chosen
        if chosen.pre_hook is not None:
            chosen.pre_hook({**self.by_name(args, kwargs), **chosen.all_kwargs()})
        named = {**kwargs, **chosen.all_kwargs()}
        return self.fn.run(*args, grid=grid, warmup=warmup, **named)

    def warmup(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> list[CompiledKernel]:
        """Compile every configuration for arguments like these."""
        named = self.by_name(args, kwargs)
        return [
            self.fn.warmup(*args, grid=grid, **{**kwargs, **choice.all_kwargs()})
            for choice in self._pruned(named, kwargs)
        ]

    def record(
        self, grid: Any, num_operands: int, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """A launch as a value, with the best configuration known, else the first."""
        chosen = self.cache.get(self._key(args, kwargs), self.configs[0])
        return self.fn.record(grid, num_operands, args, {**kwargs, **chosen.all_kwargs()})

    def _choose(self, args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any) -> Config:
        if len(self.configs) == 1 or self.base_fn.is_interpreted:
            return self.configs[0]
        key = self._key(args, kwargs)
        chosen = self.cache.get(key)
        if chosen is None:
            with self._lock:
                chosen = self.cache.get(key) or self._tune(key, args, kwargs, grid)
                self.cache[key] = chosen
        return chosen

    def _key(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        named = self.by_name(args, kwargs)
        values = [named[name] for name in self.keys if name in named]
        arrays = [value for value in named.values() if hasattr(value, "dtype")]
        kinds = [(str(array.dtype), str(getattr(array, "device", ""))) for array in arrays]
        return (*values, *kinds)

    # --- tuning ----------------------------------------------------------------------------------

    def prune_configs(self, kwargs: dict[str, Any]) -> list[Config]:
        """The configurations worth trying, for subclasses that set `nargs` and choose."""
        return self._pruned({**(self.nargs or {}), **kwargs}, kwargs)

    def _bench(
        self, *args: Any, config: Config, grid: Any, warmup: bool = False, **kwargs: Any
    ) -> list[float]:
        """Milliseconds of a launch, for the same subclasses: median and quantiles."""
        return [_Trial(self, args, kwargs, grid).measure(config)] * len(_QUANTILES)

    def _pruned(self, named: dict[str, Any], kwargs: Mapping[str, Any]) -> list[Config]:
        """The configurations worth trying."""
        choices = list(self.configs)
        early = self._prune_by.get("early_config_prune")
        if early is not None:
            choices = list(early(choices, named, **kwargs))
            if not choices:
                raise ValueRangeError(
                    f"'early_config_prune' of '{self.__name__}' leaves no configuration."
                )
        model = self._prune_by.get("perf_model")
        if model is None:
            return choices
        top = self._prune_by.get("top_k", 1.0)
        count = int(len(self.configs) * top) if isinstance(top, float) and top <= 1.0 else int(top)
        if len(choices) <= count:
            return choices
        estimates = {choice: model(**named, **choice.all_kwargs()) for choice in choices}
        return sorted(choices, key=estimates.__getitem__)[: max(count, 1)]

    def _tune(
        self, key: tuple[Any, ...], args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any
    ) -> Config:
        """The fastest configuration. Raises: what the last one raised if all fail."""
        start = time.perf_counter()
        choices = self._pruned(self.by_name(args, kwargs), kwargs)
        trial = _Trial(self, args, kwargs, grid)
        record_key = trial.record_key(key)
        known = self._read(record_key)
        timings: dict[Config, float] = {}
        told = start
        for number, choice in enumerate(choices):
            name = str(choice)
            timings[choice] = known[name] if name in known else trial.measure(choice)
            now = time.perf_counter()
            if now - told > _SILENT_SECONDS:
                told = now
                _tell(self.__name__, key, number + 1, len(choices), timings)
        self.bench_time = time.perf_counter() - start
        self.configs_timings = timings
        best = min(timings, key=timings.__getitem__)
        if timings[best] == math.inf:
            raise trial.failure or LaunchError(f"No configuration of '{self.__name__}' runs.")
        finite = {str(choice): t for choice, t in timings.items() if t != math.inf}
        self._write(record_key, {**known, **finite})
        return best

    def _read(self, key: str) -> dict[str, float]:
        return (pipeline.read_record(key) or {}) if self._keeps_results else {}

    def _write(self, key: str, timings: dict[str, float]) -> None:
        if self._keeps_results:
            pipeline.write_record(key, timings)


class _Trial:
    """Measures configurations of one launch, on copies of what the kernel writes."""

    def __init__(
        self, tuner: Autotuner, args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any
    ) -> None:
        self.tuner = tuner
        self.grid = grid
        self.failure: LazyBlockError | None = None
        self._device: str | None = None
        written = self._find_written(args, kwargs)
        named = tuner.by_name(args, kwargs)
        self._copies = {name: _copy(value) for name, value in named.items() if name in written}
        names = tuner.arg_names
        self.args = [
            self._copies.get(names[n], value) if n < len(names) else value
            for n, value in enumerate(args)
        ]
        self.kwargs = {name: self._copies.get(name, value) for name, value in kwargs.items()}
        self._kept = {
            name: _copy(value)
            for name, value in self._named().items()
            if name in tuner.restore_value
        }

    def _named(self) -> dict[str, Any]:
        return self.tuner.by_name(self.args, self.kwargs)

    def _find_written(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> set[str]:
        """Names of the arrays that some configuration writes into."""
        hooked = {*self.tuner.reset_to_zero, *self.tuner.restore_value}
        for choice in self.tuner.configs:
            try:
                named = {**kwargs, **choice.all_kwargs()}
                kernel = self.tuner.fn.warmup(*args, grid=self.grid, **named)
            except _FAILURES as error:
                self.failure = error
                continue
            self._device = kernel.device
            return {*hooked, *kernel.written}
        return hooked

    def record_key(self, key: tuple[Any, ...]) -> str:
        """Where the times are kept on disk."""
        tuner = self.tuner
        place = pipeline.get_device(self._device)
        parts = ("autotune", tuner.base_fn.key(), repr(key), place.name, repr(place.target))
        text = "\0".join((*parts, config.code_settings(), repr(tuner._times)))
        return hashlib.sha256(text.encode()).hexdigest()

    def measure(self, choice: Config) -> float:
        """Milliseconds of one launch; infinity if it cannot be compiled or launched."""
        tuner = self.tuner
        named = {**self.kwargs, **choice.all_kwargs()}

        def launch() -> None:
            everything = {**self._named(), **choice.all_kwargs()}
            if choice.pre_hook is not None:
                choice.pre_hook(everything)
            self._prepare(everything)
            error = None
            try:
                tuner.fn.run(*self.args, grid=self.grid, **named)
            except Exception as exception:
                error = exception
                raise
            finally:
                if tuner._post_hook is not None:
                    tuner._post_hook(everything, exception=error)

        bench = tuner._do_bench
        try:
            if bench is None:
                found = testing.do_bench(
                    launch, **tuner._times, quantiles=_QUANTILES, device=self._device
                )
            else:
                found = bench(launch, quantiles=_QUANTILES)
        except _FAILURES as error:
            self.failure = error
            return math.inf
        return float(found[0] if isinstance(found, (list, tuple)) else found)

    def _prepare(self, everything: dict[str, Any]) -> None:
        if self.tuner._pre_hook is not None:
            self.tuner._pre_hook(everything, reset_only=False)
        for name in self.tuner.reset_to_zero:
            _fill(everything[name], 0)
        for name, value in self._kept.items():
            _fill(everything[name], value)


def _do_nothing(*args: Any, **kwargs: Any) -> None:
    """A hook that is not there."""


def _copy(value: Any) -> Any:
    """An array with the same elements that lie in the same way."""
    if isinstance(value, np.ndarray):
        return _copy_memory(value)
    for name in ("clone", "copy"):
        if hasattr(value, name):
            return getattr(value, name)()
    return value


def _copy_memory(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy with the same strides."""
    if array.size == 0:
        return array.copy()
    low, high = np.lib.array_utils.byte_bounds(array)
    first = array.__array_interface__["data"][0]
    memory = np.empty(high - low, np.uint8)
    copy: np.ndarray[Any, Any] = np.ndarray(
        array.shape, array.dtype, memory.data, first - low, array.strides
    )
    copy[...] = array
    return copy


def _fill(array: Any, value: Any) -> None:
    if hasattr(array, "copy_") and hasattr(array, "zero_"):
        array.zero_() if isinstance(value, int) else array.copy_(value)
    elif array is not None:
        array[...] = value


def _tell(
    name: str, key: tuple[Any, ...], done: int, total: int, timings: Mapping[Config, float]
) -> None:
    """Say how far a long tuning is."""
    best = min(timings, key=timings.__getitem__)
    print(
        f"lazyblock: tuning '{name}' for {key}: {done} of {total} configurations, "
        f"best {timings[best]:.4g} ms with {best}",
        file=sys.stderr,
    )


def autotune(
    configs: Sequence[Config],
    key: Sequence[str],
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    **settings: Any,
) -> Callable[[Any], Any]:
    """Launch a kernel with the fastest of `configs`, measured once per key.

    Parameters: key, names of arguments for whose values (with dtypes and devices of all arrays) it
    is measured anew; prune_configs_by, {"early_config_prune": f(configs, arguments, **kwargs),
    "perf_model": f(**arguments), "top_k": number or share}; reset_to_zero and restore_value, names
    of arrays to reset before each run; pre_hook and post_hook, called around each run that is
    measured; warmup and rep, milliseconds per configuration; do_bench, measures instead of
    `testing.do_bench`; cache_results, keep times on disk.
    """
    settings["prune_configs_by"] = prune_configs_by
    settings |= {"reset_to_zero": reset_to_zero, "restore_value": restore_value}
    return lambda fn: Autotuner(fn, getattr(fn, "arg_names", ()), configs, key, **settings)
