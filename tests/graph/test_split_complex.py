"""Complex numbers as pairs: every form against NumPy's function, special values included."""

import itertools

import numpy as np
import pytest

from lazyblock import dtypes
from lazyblock.graph import build, index_map
from lazyblock.graph.attrs import InputAttrs
from lazyblock.graph.host_call import make_host_call
from lazyblock.graph.interpret import interpret
from lazyblock.graph.ops import ELEMENTWISE, Op, ReduceKind
from lazyblock.graph.passes.complex_arithmetic import ARITHMETIC
from lazyblock.graph.passes.complex_functions import FUNCTIONS
from lazyblock.graph.passes.split_complex import complex_of, split_complex, split_input
from lazyblock.graph.traverse import topological
from lazyblock.graph.verify import verify_graph
from tests.helpers.graphs import count_op, new_input

FORMS = [op for op in ARITHMETIC | FUNCTIONS if op is not Op.WHERE]
FUSED_BY_NUMPY = (Op.MULTIPLY,)  # its loops may contract products and sums
CANCELLING = (Op.EXPM1,)  # NumPy's formula subtracts what is nearly equal

PARTS = [0.0, -0.0, 1.0, -1.0, 0.6, -2.5, 1e-3, 24.0, 800.0, -800.0, np.inf, -np.inf, np.nan]
PARTS += [1e300, 1e-310, np.pi / 2]


def special_values(dtype):
    """Every pair of PARTS."""
    with np.errstate(over="ignore"):
        parts = np.array(PARTS).astype(dtypes.part_dtype(dtype))
    return pairs_of(*np.array(list(itertools.product(parts, parts))).T).astype(dtype)


def ordinary_values(dtype):
    rng = np.random.default_rng(0)
    turn = np.exp(1j * rng.uniform(0, 2 * np.pi, 300))
    return np.concatenate([rng.normal(size=(2, 700)).T @ [1, 1j], turn]).astype(dtype)


def pairs_of(real, imag):
    result = np.empty(real.shape, np.result_type(real, 1j))
    result.real, result.imag = real, imag
    return result


def split_and_interpret(output, inputs):
    """The value of `output` by the pass and the interpreter of real graphs."""
    (split,) = split_complex([output])
    verify_graph([split])
    assert not any(dtypes.is_complex(node.dtype) for node in topological([split]))
    by_storage = {id(node.attrs.storage): array for node, array in inputs.items()}
    leaves = [n for n in topological([split]) if isinstance(n.attrs, InputAttrs)]
    given = {leaf: parts_as(leaf, by_storage[id(leaf.attrs.storage)]) for leaf in leaves}
    (value,) = interpret([split], given)
    return value.view(output.dtype)[..., 0] if dtypes.is_complex(output.dtype) else value


def parts_as(leaf, array):
    if not dtypes.is_complex(array.dtype):
        return array
    return np.stack((array.real, array.imag), -1).reshape(leaf.shape)


def assert_close(actual, expected, ulp):
    """Equal NaNs, infinities and signs; finite numbers to so many ULP."""
    if expected.dtype.kind == "c":
        assert_close(actual.real, expected.real, ulp)
        assert_close(actual.imag, expected.imag, ulp)
        return
    np.testing.assert_array_equal(np.isnan(actual), np.isnan(expected))
    known = ~np.isnan(expected)
    actual, expected = actual[known], expected[known]
    np.testing.assert_array_equal(np.signbit(actual), np.signbit(expected))
    np.testing.assert_array_equal(np.isinf(actual), np.isinf(expected))
    finite = np.isfinite(expected)
    actual, expected = actual[finite], expected[finite]
    distance = np.abs(actual - expected.astype(np.longdouble))
    assert (distance <= ulp * np.spacing(np.abs(expected)).astype(np.longdouble)).all()


def check_form(op, arrays, ulp):
    inputs = {new_input(array.shape, array.dtype): array for array in arrays}
    output = build.elementwise(op, *inputs)
    (expected,) = interpret([output], inputs)
    actual = split_and_interpret(output, inputs)
    assert actual.dtype == expected.dtype
    if expected.dtype == np.bool:
        np.testing.assert_array_equal(actual, expected)
    else:
        assert_close(actual, expected, ulp)


def operands_of(op, values):
    if ELEMENTWISE[op].arity == 1:
        return [values]
    return [np.repeat(values, len(values)), np.tile(values, len(values))]


@pytest.mark.parametrize("dtype", dtypes.COMPLEX, ids=str)
@pytest.mark.parametrize("op", [f for f in FORMS if f not in FUSED_BY_NUMPY], ids=lambda o: o.value)
def test_a_form_is_numpys_function_of_special_values(op, dtype):
    ulp = 1 if op is Op.ABSOLUTE else 0 if op in ARITHMETIC else 4
    check_form(op, operands_of(op, special_values(dtype)), ulp)


@pytest.mark.parametrize("dtype", dtypes.COMPLEX, ids=str)
@pytest.mark.parametrize(
    "op", [f for f in FUNCTIONS if f not in CANCELLING], ids=lambda op: op.value
)
def test_a_form_is_numpys_function_of_ordinary_values(op, dtype):
    check_form(op, [ordinary_values(dtype)], 12)


def test_products_are_those_of_the_parts():
    values = special_values(dtypes.complex128)
    x, y = operands_of(Op.MULTIPLY, values)
    nodes = [new_input(x.shape, x.dtype) for _ in range(2)]
    product = split_and_interpret(
        build.elementwise(Op.MULTIPLY, *nodes), dict(zip(nodes, (x, y), strict=True))
    )
    with np.errstate(all="ignore"):
        real, imag = x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real
    assert_close(product, pairs_of(real, imag), 0)


def test_logarithms_near_one_do_not_cancel():
    angles = np.linspace(0.01, 3.1, 200)
    values = np.exp(1j * angles)
    node = new_input(values.shape, values.dtype)
    result = split_and_interpret(build.elementwise(Op.LOG, node), {node: values})
    wide = values.real.astype(np.longdouble) ** 2 + values.imag.astype(np.longdouble) ** 2
    np.testing.assert_allclose(result.real, np.log1p(wide - 1) / 2, rtol=0, atol=1e-19)


# Structure


def random_complex(shape, dtype=np.complex128):
    rng = np.random.default_rng(1)
    return (rng.integers(-4, 5, shape) + 1j * rng.integers(-4, 5, shape)).astype(dtype)


STRUCTURE = {
    "transposed": lambda x: build.permute(x, (1, 0)),
    "sliced": lambda x: build.view(x, index_map.slices((1, 4), (1, -2)), (3, 2)),
    "reshaped": lambda x: build.reshape(x, (2, 10)),
    "reshaped product": lambda x: build.reshape(build.elementwise(Op.MULTIPLY, x, x), (2, 10)),
    "copied": build.copy,
    "widened": lambda x: build.cast(build.cast(x, dtypes.complex64), dtypes.complex128),
    "as bool": lambda x: build.cast(x, dtypes.bool_),
    "as real": lambda x: build.cast(x, dtypes.float32),
    "of real": lambda x: build.cast(build.elementwise(Op.REAL, x), dtypes.complex64),
    "sum of columns": lambda x: build.reduce(ReduceKind.SUM, x, (0,)),
    "sum of rows": lambda x: build.reduce(ReduceKind.SUM, x, (1,)),
    "sum": lambda x: build.reduce(ReduceKind.SUM, x, (0, 1)),
    "running sum": lambda x: build.scan(ReduceKind.SUM, x, 1, reverse=True),
    "with a number": lambda x: build.elementwise(Op.ADD, x, build.constant(1 - 2j, x.dtype)),
    "number": lambda x: build.constant(1 - 2j, x.dtype),
    "chosen": lambda x: build.where(
        build.elementwise(Op.EQUAL, x, build.fixed(0, x.dtype)), build.fixed(1j, x.dtype), x
    ),
    "padded": lambda x: build.pad(x, 1, 2, 1, 1j),
    "on the host": lambda x: build.host_call(
        make_host_call(np.conj, {}), [build.permute(x, (1, 0))], [((5, 4), x.dtype)]
    )[0],
    "host to real": lambda x: build.host_call(
        make_host_call(np.angle, {}), [x], [((4, 5), np.dtype(float))]
    )[0],
}


@pytest.mark.parametrize("name", STRUCTURE)
def test_structure_keeps_its_meaning(name):
    values = random_complex((4, 5))
    x = new_input(values.shape, values.dtype)
    output = STRUCTURE[name](x)
    (expected,) = interpret([output], {x: values})
    actual = split_and_interpret(output, {x: values})
    assert (actual.shape, actual.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(actual, expected)


def test_what_treats_parts_alike_runs_over_the_array_of_both():
    x, y = (new_input((4, 5), dtypes.complex64) for _ in range(2))
    total = build.elementwise(Op.ADD, build.elementwise(Op.NEGATIVE, x), y)
    for output in (total, build.reduce(ReduceKind.SUM, total, (0,)), build.permute(x, (1, 0))):
        (split,) = split_complex([output])
        assert count_op(split, Op.WHERE) == 0
        assert split.shape == (*output.shape, 2)
    (product,) = split_complex([build.elementwise(Op.MULTIPLY, x, y)])
    assert count_op(product, Op.WHERE) == 1


def test_parts_of_one_array_are_that_array():
    x = new_input((3,), dtypes.complex64)
    parts = split_input(x)
    assert split_complex([complex_of(parts)]) == [parts]


def test_real_graphs_stay_the_same_objects():
    x = new_input((3,))
    output = build.elementwise(Op.EXP, x)
    assert split_complex([output]) == [output]


def test_new_nodes_name_the_line_that_was_recorded():
    x = new_input((3,), dtypes.complex64)
    output = build.elementwise(Op.MULTIPLY, x, x)
    (split,) = split_complex([output])
    assert {node.line for node in topological([split]) if node.op is Op.SUBTRACT} == {output.line}
