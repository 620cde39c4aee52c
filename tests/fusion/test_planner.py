"""What shares a kernel, what does not and why; chains of any length stay linear."""

import pytest

from lazyblock import config, dtypes
from lazyblock.fusion.plan import Form, Reason
from lazyblock.fusion.planner import plan_fusion
from lazyblock.fusion.printer import print_plan
from lazyblock.graph import build, index_map
from lazyblock.graph.ops import Op, ReduceKind
from lazyblock.graph.passes import GRAPH_PASSES
from tests.helpers.expressions import (
    apply,
    array,
    highest,
    mean,
    scalar,
    softmax,
    standardise,
    total,
)


def plan(*outputs):
    for run in GRAPH_PASSES:
        outputs = run(outputs)
    return plan_fusion(outputs)


def forms_of(fusion_plan):
    return [group.space.form for group in fusion_plan.groups]


def reasons(fusion_plan):
    return {verdict.reason for verdict in fusion_plan.verdicts if not verdict.is_fused}


X = array((4, 6))


def scan(x, axis=1, reverse=False):
    return build.scan(ReduceKind.SUM, x, axis, reverse)


def rows_then_columns():
    return standardise(standardise(X, (1,)), (0,))


@pytest.mark.parametrize(
    ("outputs", "forms"),
    [
        ([apply(Op.EXP, X)], [Form.MAP]),
        ([apply(Op.EXP, X), apply(Op.ADD, X, X)], [Form.MAP]),
        ([softmax(X)], [Form.ROWS]),
        ([softmax(softmax(X))], [Form.ROWS]),
        ([softmax(X, (0,))], [Form.ROWS]),
        ([standardise(X, (0, 1))], [Form.ROWS]),
        ([total(X, (1,)), highest(X, (1,)), apply(Op.EXP, X)], [Form.ROWS]),
        ([total(X, (1,)), total(X, (0,))], [Form.ROWS, Form.ROWS]),
        ([rows_then_columns()], [Form.ROWS, Form.ROWS]),
        ([apply(Op.EXP, scan(apply(Op.EXP, X)))], [Form.ROWS]),
        ([scan(scan(X)), softmax(X)], [Form.ROWS]),
        ([total(scan(softmax(X)), (1,))], [Form.ROWS]),
        ([scan(X), scan(X, 0)], [Form.ROWS, Form.ROWS]),
        ([build.permute(scan(X), (1, 0))], [Form.ROWS]),
        ([apply(Op.ADD, X, build.permute(scan(array((6, 4))), (1, 0)))], [Form.ROWS, Form.MAP]),
        ([build.permute(apply(Op.EXP, X), (1, 0))], [Form.MAP]),
        ([build.reshape(apply(Op.EXP, X), (24,))], [Form.MAP]),
        ([build.reshape(build.permute(X, (1, 0)), (24,))], [Form.MAP]),
    ],
)
def test_kernels(outputs, forms):
    assert forms_of(plan(*outputs)) == forms


def test_views_and_reshapes_of_inputs_need_no_kernel():
    view = build.view(X, index_map.slices((1, 0), (2, 3)), (2, 2))
    assert plan(view, build.permute(X, (1, 0)), build.reshape(X, (3, 8))).groups == ()


def test_a_slice_of_a_computed_array_computes_the_slice_only():
    big = apply(Op.EXP, array((100, 100)))
    (group,) = plan(build.view(big, index_map.slices((3, 4), (1, 1)), (2, 2))).groups
    assert group.space.shape == (2, 2)


def test_other_axes_are_not_fused():
    assert Reason.AXES in reasons(plan(rows_then_columns()))


def test_a_reduction_read_at_other_rows_is_not_fused():
    square = array((4, 4))
    sums = build.reduce(ReduceKind.SUM, square, (1,))
    across = apply(Op.SUBTRACT, square, build.broadcast_to(sums, (4, 4)))
    fusion_plan = plan(across)
    assert len(fusion_plan.groups) == 2
    assert Reason.POSITION in reasons(fusion_plan)


def test_scans_in_opposite_directions_are_not_fused():
    fusion_plan = plan(scan(scan(X), reverse=True))
    assert len(fusion_plan.groups) == 2
    assert Reason.DIRECTION in reasons(fusion_plan)
    both = apply(Op.ADD, scan(X, reverse=True), scan(apply(Op.EXP, X), reverse=True))
    assert len(plan(both).groups) == 1


def test_a_scan_read_elsewhere_is_not_fused():
    flipped = build.view(scan(X), index_map.slices((0, 5), (1, -1)), X.shape)
    fusion_plan = plan(apply(Op.EXP, flipped))
    assert len(fusion_plan.groups) == 2
    assert Reason.POSITION in reasons(fusion_plan)


def test_a_reshape_that_moves_elements_is_not_fused():
    sums = build.reshape(build.permute(standardise(X), (1, 0)), (24,))
    fusion_plan = plan(apply(Op.EXP, sums))
    assert Reason.RESHAPE in reasons(fusion_plan)
    copy = next(node for node in fusion_plan.groups[1].stored)
    assert copy.op is Op.VIEW


def test_a_reduction_is_stored_only_for_other_kernels():
    (group,) = plan(softmax(X)).groups
    assert len(group.roots) == 3
    assert len(group.stored) == 1


def test_parts_of_one_kernel_are_finished_in_one_kernel():
    x = array((64, 8, 32))
    partial = [build.reduce(kind, x, (1,)) for kind in (ReduceKind.MIN, ReduceKind.MAX)]
    outputs = [build.reduce(ReduceKind.SUM, part, (0,)) for part in partial]
    assert forms_of(plan(*outputs)) == [Form.ROWS, Form.ROWS]


@pytest.mark.parametrize("is_last", [False, True])
def test_kernels_that_come_to_read_the_same_become_one(is_last):
    """The mean of the gradient starts a kernel, older or younger than that of the mean of x."""
    x, gradient = array((64, 32)), array((64, 32))
    scaled = mean(apply(Op.MULTIPLY, apply(Op.SUBTRACT, x, mean(x, (1,))), gradient), (1,))
    terms = [mean(x, (1,)), mean(gradient, (1,)), scaled]
    if not is_last:
        terms[:2] = terms[1::-1]
    (group,) = plan(*terms, apply(Op.MULTIPLY, x, apply(Op.ADD, terms[0], scaled))).groups
    assert len(group.roots) >= 4


def test_what_waits_for_another_kernel_is_not_moved_before_it():
    x, y = array((64, 32)), array((64, 32))
    first = total(x, (1,))
    columns = total(apply(Op.MULTIPLY, y, first), (0,))  # a kernel that waits for the first
    later = total(apply(Op.MULTIPLY, y, columns), (1,))  # and one that waits for it
    fusion_plan = plan(later, total(apply(Op.MULTIPLY, x, y), (1,)))
    numbers = {node: n for n, group in enumerate(fusion_plan.groups) for node in group.roots}
    sums = [node for node in numbers if node.op is Op.REDUCE]
    across, along = ([n for n in sums if n.attrs.axes == axes] for axes in ((0,), (1,)))
    assert [numbers[n] for n in across] == [1]
    assert sorted(numbers[n] for n in along) == [0, 2, 2]


def test_costly_shared_work_is_stored_and_cheap_work_repeated():
    def sums_of(node):
        return total(node, (0,)), total(node, (1,))

    costly = apply(Op.LGAMMA, apply(Op.TGAMMA, apply(Op.LGAMMA, array((64, 64)))))
    cheap = apply(Op.NEGATIVE, array((64, 64)))
    assert any(costly in group.stored for group in plan(*sums_of(costly)).groups)
    assert all(cheap not in group.stored for group in plan(*sums_of(cheap)).groups)


@pytest.mark.parametrize(
    ("shape", "forms"),
    [
        ((4096, 4096), [Form.MAP, Form.MAP]),
        ((8, 4096), [Form.MAP]),  # too few rows to matter
        ((256, 256), [Form.MAP]),  # computed again while a kernel would start
    ],
)
def test_costly_values_of_columns_are_computed_once(shape, forms):
    scale = apply(Op.EXP, apply(Op.SQRT, array(shape[1:])))
    spread = build.broadcast_to(scale, shape)
    assert forms_of(plan(apply(Op.MULTIPLY, array(shape), spread))) == forms


def test_cheap_values_of_columns_are_computed_again():
    shape = (4096, 4096)
    spread = build.broadcast_to(apply(Op.NEGATIVE, array(shape[1:])), shape)
    assert forms_of(plan(apply(Op.MULTIPLY, array(shape), spread))) == [Form.MAP]


def test_long_chains_are_cut():
    node = X
    for _ in range(3000):
        node = apply(Op.ADD, node, X)
    groups = plan(node).groups
    assert 3 <= len(groups) <= 6


def test_many_arrays_are_cut():
    node = array((8,))
    for _ in range(500):
        node = apply(Op.ADD, node, array((8,)))
    assert len(plan(node).groups) > 8


def test_repeated_squaring_is_one_kernel():
    node = X
    for _ in range(60):
        node = apply(Op.MULTIPLY, node, node)
    assert len(plan(node).groups) == 1


def test_groups_run_after_what_they_read():
    y = rows_then_columns()
    fusion_plan = plan(apply(Op.ADD, y, total(y, (1,))), total(apply(Op.EXP, y), (0,)))
    done = set()
    for group in fusion_plan.groups:
        done.update(group.stored)
    assert done >= {node for node in fusion_plan.outputs if node.op is not Op.VIEW}


def test_fusion_can_be_switched_off():
    with config.scope(fuse=False):
        groups = plan(softmax(X)).groups
    assert len(groups) == 5


def test_plan_text_names_lines_and_reasons():
    text = print_plan(plan(rows_then_columns()))
    assert "kernel 0: rows over [4, 6] reducing axes [1]" in text
    assert "test_planner.py" in text or "expressions.py" in text
    assert Reason.AXES.value in text


def test_scalars_of_different_dtype_stay_apart():
    assert scalar(1.0) is scalar(1.0)
    assert scalar(1.0) is not scalar(1.0, dtypes.float64)


def shifted_sum(node):
    """Add five neighbours along the rows."""
    columns = node.shape[1] - 4
    taps = [
        build.view(node, index_map.slices((0, k), (1, 1)), (node.shape[0], columns))
        for k in range(5)
    ]
    total_of_taps = taps[0]
    for tap in taps[1:]:
        total_of_taps = apply(Op.ADD, total_of_taps, tap)
    return total_of_taps


def test_a_cheap_value_under_a_stencil_is_computed_again():
    assert len(plan(shifted_sum(apply(Op.NEGATIVE, array((64, 64))))).groups) == 1


def test_a_costly_value_under_a_stencil_is_stored():
    costly = apply(Op.LGAMMA, array((64, 64)))
    first, _ = plan(shifted_sum(costly)).groups
    assert first.stored == (costly,)


def test_stencils_of_stencils_do_not_grow_without_bound():
    node = array((16, 200))
    for _ in range(30):
        node = shifted_sum(node)
    groups = plan(node).groups
    assert 3 < len(groups) <= 30
