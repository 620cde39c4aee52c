"""Settings: the environment, and scopes that end where they began."""

import os
import subprocess
import sys
import threading

import pytest

from lazyblock import config
from lazyblock.errors import ValueRangeError


def test_scopes_of_threads_do_not_meet():
    inside, leave = threading.Event(), threading.Event()

    def work():
        with config.scope(numerics="fast"):
            inside.set()
            leave.wait(10)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(10)
    with config.scope(numerics="fast"):  # begins inside the other one, ends after it
        leave.set()
        thread.join()
    assert config.current.numerics == "strict"


def test_every_thread_starts_from_the_environment():
    code = (
        "import threading; from lazyblock import config; seen = []\n"
        "work = lambda: seen.append((config.current.fuse, config.current.num_threads))\n"
        "thread = threading.Thread(target=work); thread.start(); thread.join(); print(seen)"
    )
    environment = {**os.environ, "LAZYBLOCK_FUSE": "0", "LAZYBLOCK_NUM_THREADS": "3"}
    run = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[(False, 3)]"


def test_values_that_a_setting_cannot_have_are_refused():
    words = "numerics is 'sloppy', expected 'strict' or 'fast'"
    with pytest.raises(ValueRangeError, match=words), config.scope(numerics="sloppy"):
        pass
    environment = {**os.environ, "LAZYBLOCK_NUMERICS": "quick"}
    command = [sys.executable, "-c", "import lazyblock"]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "LAZYBLOCK_NUMERICS is 'quick', expected 'strict' or 'fast'" in run.stderr


def test_unknown_settings_are_refused():
    with pytest.raises(ValueRangeError, match="There is no setting 'fuze'"), config.scope(fuze=1):
        pass
