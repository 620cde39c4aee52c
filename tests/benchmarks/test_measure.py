"""Records of a measurement: who was absent and why, who differed, and what ratios mean."""

import pytest

from benchmarks import gpu, measure, peers
from benchmarks.peers import LazyBlock, NumPy
from benchmarks.report import header, markdown, notes, row
from benchmarks.workloads import Workload, make_workloads

AXPY = make_workloads(scale=1 << 14)[0]


class Failing(NumPy):
    """Fails at call number `failing_call`."""

    name = "failing"

    def __init__(self, failing_call):
        super().__init__()
        self._calls_left = failing_call

    def compile(self, workload):
        run = super().compile(workload)

        def call(*arrays):
            self._calls_left -= 1
            if not self._calls_left:
                raise MemoryError("no room for 8 bytes\nat all")
            return run(*arrays)

        return call


class Wrong(NumPy):
    name = "wrong"

    def compile(self, workload):
        return lambda x, y: 2.5 * x


def run_measure(workload, *libraries, **options):
    return measure.measure(workload, LazyBlock("cpu"), libraries, rounds=3, **options)


def test_ratio_is_the_time_of_the_best_peer_over_ours():
    record = run_measure(AXPY, NumPy())
    times = {name: summary["ms"] for name, summary in record["times"].items()}
    assert set(times) == {"lazyblock", "NumPy", "copy"}
    assert record["best_peer"] == "NumPy"
    assert record["ratio"] == times["NumPy"] / times["lazyblock"]
    assert record["of_copy"] == times["copy"] / times["lazyblock"]
    assert record["tb_s"] == pytest.approx(AXPY.nbytes / times["lazyblock"] / 1e9)
    assert record["absent"] == {}
    assert notes([record]) == []
    assert len(record["times"]["lazyblock"]["kernels"]) == 1


@pytest.mark.parametrize("failing_call", [1, 2, 20])  # at first, while warming up, in a round
def test_what_fails_is_absent_with_the_reason(failing_call):
    record = run_measure(AXPY, Failing(failing_call), NumPy())
    assert set(record["times"]) == {"lazyblock", "NumPy", "copy"}
    assert record["absent"] == {"failing": "MemoryError: no room for 8 bytes"}
    assert notes([record]) == ["failing is absent from axpy: MemoryError: no room for 8 bytes"]


def test_a_workload_that_lazyblock_lacks_has_peers_only():
    workload = Workload("lacking", lambda xp, x: xp.lacking(x), ((8,),))
    record = run_measure(workload, NumPy())
    assert "no attribute 'lacking'" in record["absent"]["lazyblock"]
    assert "ratio" not in record
    assert row(record, ["NumPy"]).split() == ["lacking", "-", "-"]


def test_eager_libraries_sit_out_where_they_would_fill_the_memory():
    (workload,) = (w for w in make_workloads(scale=1 << 14) if not w.is_eager)
    record = run_measure(workload, NumPy())
    assert record["absent"]["NumPy"].startswith("not run")
    assert set(record["times"]) == {"lazyblock", "copy"}


def test_results_that_differ_are_noted():
    (line,) = notes([run_measure(AXPY, Wrong())])
    assert line.startswith("wrong differs in axpy by 0.")


def test_a_reason_is_noted_once():
    absent = {"axpy": {"jax": "a"}, "gelu": {"jax": "a", "cupy": "b"}, "sum": {"jax": "c"}}
    records = [{"name": name, "absent": found, "times": {}} for name, found in absent.items()]
    assert notes(records) == [
        "jax is absent from axpy, gelu: a",
        "cupy is absent from gelu: b",
        "jax is absent from sum: c",
    ]
    assert notes(records[:2])[0] == "jax is absent from all: a"


def test_peers_that_do_not_start_are_missing(monkeypatch):
    def refuse():
        raise ImportError("No module named 'torch'")

    monkeypatch.setattr(peers, "PEERS", {"torch": refuse, "NumPy": NumPy})
    opened, missing = peers.open_peers(["torch", "NumPy"])
    assert [library.name for library in opened] == ["NumPy"]
    assert missing == {"torch": "ImportError: No module named 'torch'"}
    record = run_measure(AXPY, *opened, missing=missing)
    assert record["absent"] == missing


def test_columns_of_header_and_rows_line_up():
    names = ["NumPy", "jax"]
    record = run_measure(AXPY, NumPy())
    ends = [header(names).index(name) + len(name) for name in names]
    cells = [row(record, names)[:end].split()[-1] for end in ends]
    assert cells == [f"{record['times']['NumPy']['ms']:.4f}", "-"]


def test_markdown_has_a_cell_for_every_column():
    record = run_measure(AXPY, NumPy())
    names, rule, cells = (line.split(" | ") for line in markdown([record], ["NumPy"]).splitlines())
    assert len(names) == len(rule) == len(cells) == 7
    assert cells[0] == "| axpy"
    assert cells[4] == f"{record['times']['NumPy']['ms']:.4f}"


def test_numerics_are_those_of_the_workload_unless_chosen():
    defaults = gpu.choose_workloads(gpu.parse_arguments(["--only", "n-body"]))
    assert [workload.numerics for workload in defaults] == ["fast"]
    chosen = gpu.choose_workloads(gpu.parse_arguments(["--numerics", "strict"]))
    assert {workload.numerics for workload in chosen} == {"strict"}


def test_peers_are_chosen_by_name():
    assert gpu.parse_arguments(["--peers", "none"]).peers == []
    assert gpu.parse_arguments(["--peers", "jax,torch"]).peers == ["jax", "torch"]
    assert gpu.parse_arguments([]).peers == ["torch", "torch.compile", "jax", "cupy"]
    with pytest.raises(SystemExit):
        gpu.parse_arguments(["--peers", "numba"])
