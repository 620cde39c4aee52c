"""docs/numpy_coverage.md: every function of NumPy, and whether it takes lazy arrays.

Made from the table of calls that the differential tests run: a function that is offered and has
calls is "yes", or "partly" when DIFFERENCES says what differs; all others are "no".
"""

import numpy as np

import lazyblock as lb
from lazyblock.graph.ops import Op
from lazyblock.graph.traverse import topological
from tests.helpers.numpy_calls import attempt, dispatching, find_arrays, is_offered, to_lazy
from tests.tracer.numpy_cases import CALLS

# Functions that take no arrays, or print and configure: NumPy's own do as they are.
_APART = """
    base_repr binary_repr format_float_positional format_float_scientific frompyfunc get_include
    get_printoptions getbufsize geterr geterrcall info isscalar issubdtype iterable mintypecode
    nested_iters printoptions set_printoptions setbufsize seterr seterrcall show_config
    show_runtime test typename isdtype promote_types
    busday_count busday_offset datetime_as_string datetime_data is_busday isnat
    asmatrix bmat isfortran
"""
DIFFERENCES = {
    "argsort": "equal elements keep their order, whatever `kind` says",
    "ndarray.argsort": "equal elements keep their order, whatever `kind` says",
    "asfortranarray": "arrays have no memory order to ask for",
    "ndarray.view": "of complex numbers, or a dtype of another size: a copy, which is read-only",
    "linalg.eig": "always complex",
    "linalg.eigvals": "always complex",
    "unique_values": "sorted, where NumPy leaves the order open",
    "polyval": "values of polynomials, no compositions with `poly1d`",
}
_HEAD = """# NumPy's functions on lazy arrays

Made by `pytest tests/tracer/test_numpy_coverage.py --update-golden` from the table of calls in
`tests/tracer/numpy_cases`, which the tests compare with NumPy {version}, call by call.

*yes*: tested to give NumPy's values, dtypes, shapes and errors. *partly*: but for what the remark
says. *no*: raises a `TypeError` that says so. Remarks: *host*: NumPy computes it on the host when
the result is evaluated; *evaluates*: the result's shape or kind depends on data, so operands
evaluate at the call. Everything else only records, and fuses.

Left out are functions that take no arrays, such as `np.seterr`, and those of datetimes, which are
refused with a `TypeError`.
"""


def make_page():
    """The page as text."""
    sections = [
        ("Functions", _public(np, ""), "np."),
        ("Linear algebra", _public(np.linalg, "linalg."), "np."),
        ("Fourier transforms", _public(np.fft, "fft."), "np."),
        ("Methods of arrays", _methods(np.ndarray, "ndarray."), ""),
        ("Methods of ufuncs", [f"ufunc.{name}" for name in _UFUNC_METHODS], ""),
        ("Methods of random generators", _methods(np.random.Generator, "random."), ""),
    ]
    version = ".".join(np.__version__.split(".")[:2])
    parts = [_HEAD.format(version=version)]
    for title, names, prefix in sections:
        rows = [f"| `{prefix}{name}` | {' | '.join(find_status(name))} |" for name in names]
        counts = [sum(find_status(name)[0] == status for name in names) for status in _STATUSES]
        shown = ", ".join(f"{n} {status}" for n, status in zip(counts, _STATUSES, strict=True))
        parts.append(
            f"\n## {title}: {shown}\n\n| | | remark |\n|---|---|---|\n" + "\n".join(rows) + "\n"
        )
    return "".join(parts)


_STATUSES = ("yes", "partly", "no")
_UFUNC_METHODS = ("accumulate", "at", "outer", "reduce", "reduceat")


def _public(module, prefix):
    names = [
        name for name in dir(module) if not name.startswith("_") and name not in _APART.split()
    ]
    found = [name for name in names if callable(getattr(module, name))]
    return [prefix + name for name in found if not isinstance(getattr(module, name), type)]


def _methods(kind, prefix):
    names = [name for name in dir(kind) if not name.startswith("_")]
    return [prefix + name for name in names if callable(getattr(kind, name))]


def find_status(name):
    """yes, partly or no, and a remark."""
    if name.startswith("random."):
        return _find_random(name.partition(".")[2])
    calls = [call for call in CALLS if _names(call, name)]
    if not calls or not is_offered(calls[0].name):
        return "no", ""
    remarks = [DIFFERENCES[name]] if name in DIFFERENCES else []
    if all(call.evaluates for call in calls):
        remarks.append("evaluates")
    elif _is_on_host(calls):
        remarks.append("host")
    return "partly" if name in DIFFERENCES else "yes", "; ".join(remarks)


def _names(call, name):
    if not name.startswith("ufunc."):
        return call.name == name
    ufunc, _, method = call.name.partition(".")
    return method == name.partition(".")[2] and isinstance(getattr(np, ufunc, None), np.ufunc)


def _is_on_host(calls):
    """Whether the first call that records one has a host call in what it records."""
    for call in calls:
        if not call.evaluates:
            result, _ = attempt(call, to_lazy, dispatching(call))
            nodes = [array.node for array in find_arrays(result)]
            if nodes:
                return any(node.op is Op.HOST for node in topological(nodes))
    return False


def _find_random(name):
    generator = getattr(getattr(lb, "random", None), "Generator", None)
    if not hasattr(generator, name):
        return "no", ""
    return "partly", "other numbers than NumPy's from the same seed"
