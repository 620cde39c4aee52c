"""Graph interpreter = block interpreter = CPU (= GPU) on random expressions."""

import numpy as np
import pytest
from hypothesis import given, settings

from lazyblock import config, dtypes, pipeline
from lazyblock.backend import devices
from lazyblock.graph.interpret import interpret
from lazyblock.graph.ops import Op
from lazyblock.graph.rewrite import replace_nodes
from lazyblock.graph.traverse import topological
from tests.helpers.arrays import assert_equal_values
from tests.helpers.drawing import exact_graphs, random_values, smooth_graphs
from tests.helpers.lowering import run_blocks


def inputs_of(outputs, draw_values=random_values):
    nodes = [node for node in topological(outputs) if node.op is Op.INPUT]
    return {node: draw_values(node, seed) for seed, node in enumerate(nodes)}


def evaluate_on(device, outputs, inputs):
    """Return the outputs computed by compiled kernels."""
    on_device = {node: pipeline.from_numpy(data, device) for node, data in inputs.items()}
    nodes = pipeline.evaluate(replace_nodes(outputs, on_device), "test")
    return [pipeline.to_numpy(node) for node in nodes]


def assert_exact(outputs, run):
    inputs = inputs_of(outputs)
    for result, expected in zip(run(outputs, inputs), interpret(outputs, inputs), strict=True):
        assert_equal_values(result, expected)


def on_blocks(outputs, inputs):
    return run_blocks(outputs, inputs, devices.get_device("cpu").target)


def on_cpu(outputs, inputs):
    return evaluate_on("cpu", outputs, inputs)


def on_gpu(outputs, inputs):
    return evaluate_on("cuda", outputs, inputs)


@settings(max_examples=300)
@given(exact_graphs())
def test_exact_expressions(outputs):
    assert_exact(outputs, on_blocks)
    assert_exact(outputs, on_cpu)


@settings(max_examples=60)
@given(exact_graphs())
def test_exact_expressions_without_fusion(outputs):
    with config.scope(fuse=False):
        assert_exact(outputs, on_cpu)


@pytest.mark.gpu
@settings(max_examples=150)
@given(exact_graphs())
def test_exact_expressions_on_a_gpu(outputs):
    assert_exact(outputs, on_gpu)


def assert_smooth(outputs, run):
    """Errors of a few roundings per step against the same expression in float64."""
    inputs = inputs_of(outputs, lambda node, seed: small_values(node.shape, seed))
    wide = {node: data.astype(np.float64) for node, data in inputs.items()}
    expected = interpret(outputs, wide)
    for result, reference in zip(run(outputs, inputs), expected, strict=True):
        assert result.dtype == dtypes.float32
        np.testing.assert_allclose(result, reference, rtol=2e-5, atol=2e-5)


def small_values(shape, seed):
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


@settings(max_examples=120)
@given(smooth_graphs())
def test_functions_and_sums(outputs):
    assert_smooth(outputs, on_blocks)
    assert_smooth(outputs, on_cpu)


@pytest.mark.gpu
@settings(max_examples=60)
@given(smooth_graphs())
def test_functions_and_sums_on_a_gpu(outputs):
    assert_smooth(outputs, on_gpu)
