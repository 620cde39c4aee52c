"""Kernels as files: they run as they stand, and edited ones go back in."""

import subprocess
import sys

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import errors, events

EXPRESSIONS = {
    "map": lambda x: (x * 2 + 1) * x,
    "softmax": lambda x: (e := lb.exp(x - x.max(axis=1, keepdims=True))) / e.sum(1, keepdims=True),
    "view": lambda x: x[::-1, 3] + x[1:2, :16].reshape(-1)[0],
    "argmax": lambda x: x.argmax(axis=1),
    "cumsum": lambda x: lb.cumsum(x, axis=1),
    "bool": lambda x: x > 0,
}


def array(dtype=np.float32):
    values = np.random.default_rng(0).standard_normal((16, 20)).astype(dtype)
    return lb.asarray(values, device="cpu")


def freeze(name, tmp_path, dtype=np.float32):
    """A frozen expression of one kernel, its input, and the kernel's file."""
    x = array(dtype)
    frozen = EXPRESSIONS[name](x).compile()
    (kernel,) = frozen.kernels
    path = tmp_path / f"{name}.py"
    path.write_text(kernel.source)
    return frozen, x, path


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16], ids=["f32", "f64", "f16"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_file_takes_the_place_of_the_kernel_it_came_from(name, dtype, tmp_path):
    frozen, x, path = freeze(name, tmp_path, dtype)
    before = frozen(x).numpy()
    frozen.replace(0, lb.load_kernel(path))
    np.testing.assert_array_equal(frozen(x).numpy(), before)


def test_a_file_runs_as_it_stands(tmp_path):
    *_, path = freeze("softmax", tmp_path)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True)
    assert "as the interpreter computes it" in done.stdout


def test_an_edit_that_computes_the_same_is_launched(tmp_path):
    frozen, x, path = freeze("map", tmp_path)
    text = path.read_text()
    assert "GRID = " in text
    path.write_text(text.replace("@lb.jit\ndef ", "@lb.jit\ndef edited_"))
    before = frozen(x).numpy()
    frozen.replace(0, lb.load_kernel(path))
    np.testing.assert_array_equal(frozen(x).numpy(), before)
    assert frozen.kernels[0].name.startswith("edited_")


def test_a_replacement_counts_wherever_its_kernel_does(tmp_path):
    frozen, x, path = freeze("map", tmp_path)
    others = [lb.asarray(np.zeros((17, 20), np.float32), device="cpu")[1:], array()[:, ::-1]]
    before = [frozen(a).numpy() for a in (x, *others)]
    text = path.read_text().replace("@lb.jit\ndef ", "@lb.jit\ndef edited_")
    path.write_text(text)
    frozen.replace(0, lb.load_kernel(path))
    launched = []
    with events.listen(lambda e: isinstance(e, events.KernelLaunch) and launched.append(e.kernel)):
        for a, expected in zip((x, *others), before, strict=True):
            np.testing.assert_array_equal(frozen(a).numpy(), expected)
    assert [name.startswith("edited_") for name in launched] == [True, True, False]


def test_an_edit_that_does_not_compile_is_told_with_its_line(tmp_path):
    frozen, x, path = freeze("map", tmp_path)
    before = frozen(x).numpy()
    text = path.read_text()
    (line,) = (line for line in text.splitlines() if " * c0" in line)
    path.write_text(text.replace(line, line.replace(" * c0", " * missing")))
    with pytest.raises(errors.CompileError) as caught:
        frozen.replace(0, lb.load_kernel(path))
    number = 1 + path.read_text().splitlines().index(line.replace(" * c0", " * missing"))
    shown = str(caught.value)
    assert "'missing'" in shown and f'File "{path}", line {number}' in shown and "^^^^" in shown
    path.write_text(text.replace("@lb.jit\ndef", "@lb.jit\n  def"))
    with pytest.raises(errors.CompileError, match=f"'{path}' is no Python: unexpected indent"):
        lb.load_kernel(path)
    np.testing.assert_array_equal(frozen(x).numpy(), before)


def test_an_edit_that_computes_something_else_is_refused(tmp_path):
    frozen, x, path = freeze("map", tmp_path)
    before = frozen(x).numpy()
    text = path.read_text()
    kernel = lb.load_kernel(path)
    path.write_text(text.replace(" * c0", " * c0 * 2"))
    assert path.read_text() != text
    with pytest.raises(errors.ReplacementError, match="writes other values into 'out1_ptr'"):
        frozen.replace(0, lb.load_kernel(path))
    np.testing.assert_array_equal(frozen(x).numpy(), before)
    with pytest.raises(errors.ReplacementError, match="There is no kernel 1 among 1"):
        frozen.replace(1, kernel)


def test_a_kernel_with_other_parameters_is_refused(tmp_path):
    frozen, _, path = freeze("map", tmp_path)
    *_, other = freeze("argmax", tmp_path)
    with pytest.raises(errors.ReplacementError, match=r"takes \d arguments"):
        frozen.replace(0, lb.load_kernel(other))
    path.write_text("x = 1\n")
    with pytest.raises(errors.CompileError, match="has no kernel to launch"):
        lb.load_kernel(path)


def test_kernels_of_compiled_functions_are_replaced(tmp_path):
    function = lb.compile(lambda x: x * 2 + 1)
    x = array()
    before = function(x).numpy()
    (path, *_) = lb.dump(function, tmp_path)
    function.replace(0, lb.load_kernel(path))
    np.testing.assert_array_equal(function(x).numpy(), before)
    with pytest.raises(errors.ReplacementError, match="not been called yet"):
        lb.compile(lambda x: x + 1).replace(0, lb.load_kernel(path))


def test_a_loaded_kernel_can_be_launched(tmp_path):
    *_, path = freeze("map", tmp_path)
    kernel = lb.load_kernel(path)
    names = [parameter.name for parameter in kernel.function.parameters]
    x, out = np.arange(320, dtype=np.float32), np.zeros(320, np.float32)
    values = {"x0_ptr": x, "out1_ptr": out, "c0": 2.0, "c1": 1.0, "n0": 320}
    kernel(*[values[name] for name in names])
    np.testing.assert_array_equal(out, (x * 2 + 1) * x)


@pytest.mark.parametrize("device", ["emulated:sm_90a", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_file_takes_the_place_of_a_kernel_with_a_workspace(device, tmp_path):
    values = np.ones(1 + (1 << 16), np.float32)
    x = lb.asarray(values, device=device)
    frozen = lb.cumsum(x).compile()
    (kernel,) = frozen.kernels
    assert "lb.zeros(" in kernel.source
    path = tmp_path / "scan.py"
    path.write_text(kernel.source)
    for _ in range(2):
        np.testing.assert_array_equal(frozen(x).numpy(), np.cumsum(values))
    frozen.replace(0, lb.load_kernel(path))
    for _ in range(2):
        np.testing.assert_array_equal(frozen(x).numpy(), np.cumsum(values))
