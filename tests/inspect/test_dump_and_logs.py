"""Dumps and logs: which files and lines an evaluation leaves."""

import os
import subprocess
import sys

import numpy as np
import pytest

import lazyblock as lb
from lazyblock import config, events
from lazyblock.__main__ import describe_installation, main
from lazyblock.errors import ValueRangeError
from lazyblock.inspect import logs

PROGRAM = """
import numpy as np, lazyblock as lb
x = lb.asarray(np.ones((4, 5), np.float32), device="cpu")
np.asarray(x / x.sum(axis=1, keepdims=True))
"""


def run_program(**environment):
    return subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def lazy_ratio():
    x = lb.asarray(np.ones((4, 5), np.float32), device="cpu")
    return x / x.sum(axis=1, keepdims=True)


def test_dump_writes_every_stage(tmp_path):
    paths = lb.dump(lazy_ratio(), tmp_path / "out")
    names = [path.name for path in paths]
    assert names == [
        "k0_0_source.py",
        "k0_1_block.txt",
        "k0_2_llvm.ll",
        "k0_3_asm.s",
        "explain.txt",
    ]
    assert "@lb.jit" in paths[0].read_text()
    assert "program fused_sum_divide_f32" in paths[1].read_text()
    assert "define void" in paths[2].read_text()
    assert "rows over [4, 5] reducing axes [1]" in paths[-1].read_text()


def test_whole_run_is_dumped(tmp_path):
    assert run_program(LAZYBLOCK_DUMP=str(tmp_path / "all")).returncode == 0
    names = sorted(path.name for path in (tmp_path / "all").iterdir())
    assert [name.split("_")[0] for name in names] == ["0000", "0001", "0002", "0003", "0004"]
    assert names[0].endswith("graph.txt")
    assert names[-1].endswith("asm.s")


def test_logs_tell_chosen_topics():
    errors = run_program(LAZYBLOCK_LOGS="eval,kernels,fusion,graph,cache").stderr
    for words in (
        "lazyblock eval:",
        "launched 'fused_sum_divide_f32' with grid",
        "kernel 0: rows over [4, 5]",
        "reduce(n0) {kind=sum, axes=(1,)}",
        "cache",
    ):
        assert words in errors
    assert "<string>:4" in errors
    assert run_program(LAZYBLOCK_LOGS="").stderr == ""


def test_unknown_topic_is_refused():
    with config.scope(logs="eval,nonsense"), pytest.raises(ValueRangeError, match="nonsense"):
        logs.start_from_environment()


def test_explain_tells_kernels_bytes_and_reasons():
    x = lb.asarray(np.ones((4, 4), np.float32), device="cpu")
    text = (x.sum(axis=0) / x.sum(axis=1)).explain()
    assert "kernel 1 is" in text
    assert "bytes" in text
    assert "not fused" in text
    assert "test_dump_and_logs.py" in text


def test_kernel_texts():
    (kernel,) = lazy_ratio().kernels
    assert kernel.name == "fused_sum_divide_f32"
    assert kernel.ptx == ""
    assert kernel.stats["nbytes"] == 2 * 4 * 5 * 4
    assert kernel.name in kernel.asm


def test_nothing_is_logged_without_listeners():
    assert not events.is_observed()


def test_info_names_devices_and_settings(capsys):
    assert main(["info"]) == 0
    text = capsys.readouterr().out
    assert text.strip() == describe_installation().strip()
    for words in ("NumPy", "LLVM", "cpu:", "gpu:", "LAZYBLOCK_DEVICE"):
        assert words in text
