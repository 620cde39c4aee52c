"""Steps of a check: logs of all are kept, also of what fails or takes too long."""

import sys

from benchmarks.gpu_check import Step, run_steps
from benchmarks.sanitizer_check import make_steps


def python(name, code, seconds=60.0):
    return Step(name, (sys.executable, "-c", code), seconds, 2)


def test_the_first_bad_status_is_the_result_and_all_logs_are_kept(tmp_path, capsys):
    steps = [
        python("good", "print('a'); print('b'); print('c')"),
        python("bad", "import sys; print('bad'); sys.exit(3)"),
        python("worse", "import sys; sys.exit('worse')"),
    ]
    assert run_steps(steps, tmp_path / "logs") == 3
    logs = [(tmp_path / "logs" / f"{step.name}.log").read_text() for step in steps]
    assert logs == ["a\nb\nc\n", "bad\n", "worse\n"]
    printed = capsys.readouterr().out
    assert printed.startswith("=== good: passed\nb\nc\n=== bad: exit status 3\nbad\n")


def test_what_takes_too_long_is_ended_and_its_log_kept(tmp_path, capsys):
    code = "import time; print('begun'); time.sleep(600)"
    assert run_steps([python("slow", code, 3)], tmp_path) == 124
    assert capsys.readouterr().out == "=== slow: ended, out of time\nbegun\n"


def test_the_sanitizer_runs_the_tests_of_every_tool():
    steps = make_steps("sanitizer", ["memcheck", "racecheck"], 100)
    assert [step.name.split("_")[0] for step in steps] == ["memcheck"] * 3 + ["racecheck"] * 3
    for step in steps:
        assert step.command[0] == "sanitizer"
        assert step.command[step.command.index("--tool") + 1] == step.name.split("_")[0]
        assert "pytest" in step.command
