"""Ways to run a drawn program on lazy arrays, and their comparison with NumPy.

A way gives the variables of a program as NumPy arrays.
"""

import re
import warnings
from unittest import mock

import numpy as np
from ml_dtypes import finfo

import lazyblock as lb
from lazyblock import config, dtypes, pipeline
from lazyblock.errors import EvaluationForbiddenError
from lazyblock.graph.interpret import interpret
from lazyblock.graph.ops import Op
from lazyblock.graph.traverse import topological
from lazyblock.tracer import stages


def run_interpreted(program):
    """What is recorded means, by the graph interpreter; it evaluates all that has to be."""
    with mock.patch.object(stages.pipeline, "evaluate", _interpret):
        return run_fused(program)


def _interpret(outputs, reason):
    leaves = [node for node in topological(outputs) if node.op is Op.INPUT]
    values = interpret(outputs, {leaf: pipeline.to_numpy(leaf) for leaf in leaves})
    return [pipeline.from_numpy(np.asarray(value, order="C"), "cpu") for value in values]


def run_fused(program, device="cpu"):
    """All variables in one plan."""
    with config.scope(device=device):
        return _values(program.run(lb))


def run_unfused(program):
    """One operation at a time."""
    with config.scope(fuse=False):
        return run_fused(program)


def run_emulated(program):
    """On a GPU that is emulated."""
    return run_fused(program, "emulated:sm_90a")


def run_compiled(program):
    """As a compiled function of its inputs; None for programs that evaluate, or write into them."""
    errors = {}  # raised while it is recorded
    names = [line.partition(" = ")[0] for line in program.inputs]

    def compute(*inputs):
        copies = (x.copy() for x in inputs)
        values = program.compute(lb, dict(zip(names, copies, strict=True)))
        errors.update((name, value) for name, value in values.items() if name[0] == "e")
        return {name: value for name, value in values.items() if name[0] != "e"}

    with config.scope(device="cpu"):
        inputs = program.make_inputs(lb)
        compiled = lb.compile(compute)
        try:
            compiled(*inputs.values())
        except EvaluationForbiddenError:
            return None
        if any(isinstance(error, EvaluationForbiddenError) for error in errors.values()):
            return None
        return _values(compiled(*inputs.values())) | errors


def _values(variables):
    arrays = {name: value for name, value in variables.items() if name[0] != "e"}
    lb.eval(*arrays.values())
    return variables | {name: array.numpy() for name, array in arrays.items()}


def assert_program_agrees(program, run):
    """Raises: AssertionError naming the first variable that differs."""
    actual = run(program)
    if actual is None:
        return
    for name, reference in program.expected.items():
        if name[0] == "e":
            _assert_refused(name, actual.get(name), reference)
            continue
        value, reference = actual[name], np.asarray(reference)
        kinds = [(x.shape, x.dtype) for x in (value, reference)]
        assert kinds[0] == kinds[1], f"{name}: {kinds[0]}, expected {kinds[1]}"
        assert_same = _assert_near if name[0] == "w" else _assert_same
        if reference.dtype.kind == "c":  # no number if one part is none
            value, reference = (np.where(np.isnan(x), np.nan, x) for x in (value, reference))
        for part in ("real", "imag") if reference.dtype.kind == "c" else (None,):
            parts = (getattr(x, part) if part else x for x in (value, reference))
            assert_same(name, *parts)


def _assert_refused(name, error, reference):
    """An error of the same class, as far as it has a public name."""
    kind = next(base for base in type(reference).__mro__ if "._" not in base.__module__)
    assert isinstance(error, kind), f"{name}: {error!r}, expected {reference!r}"


def check(program, run):
    """Raises: AssertionError with the shortest script found that differs, and how."""
    if find_difference(program, run) is None:
        return
    program = program.shortened(lambda shorter: find_difference(shorter, run) is not None)
    difference = find_difference(program, run)
    if difference is not None:
        raise AssertionError(f"{difference}\n\n{program.script}")


def find_difference(program, run):
    """What is raised when a program runs so, and its first line; None if it agrees with NumPy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            assert_program_agrees(program, run)
        except Exception as error:
            text = re.sub(r"\s*\n\s*", " / ", str(error).strip())
            return f"{type(error).__name__}: {text}"
    return None


def _assert_same(name, value, reference):
    """Equal bits; any NaN equals any NaN."""
    if dtypes.is_floating(reference.dtype):
        value, reference = value.astype(np.float64), reference.astype(np.float64)
        numbers = ~np.isnan(reference)
        signs = np.signbit(value), np.signbit(reference)
        np.testing.assert_array_equal(*(sign[numbers] for sign in signs), err_msg=name)
    np.testing.assert_array_equal(value, reference, err_msg=name)


def _assert_near(name, value, reference):
    if not dtypes.is_floating(reference.dtype):
        return np.testing.assert_array_equal(value, reference, err_msg=name)
    tolerance = 64 * float(finfo(reference.dtype).eps)
    value, reference = value.astype(np.float64), reference.astype(np.float64)
    finite = np.abs(reference[np.isfinite(reference)])
    scale = max(1.0, float(finite.max())) if finite.size else 1.0
    np.testing.assert_allclose(
        value, reference, tolerance, tolerance * scale, equal_nan=True, err_msg=name
    )
