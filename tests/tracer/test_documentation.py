"""docs/arrays.md: every example gives what stands behind it."""

import doctest
from pathlib import Path

import lazyblock as lb

PAGE = Path(__file__).resolve().parents[2] / "docs" / "arrays.md"


def test_examples_of_the_page_on_arrays():
    with lb.config.scope(device="cpu"):
        found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.failed == 0
    assert found.attempted > 40
