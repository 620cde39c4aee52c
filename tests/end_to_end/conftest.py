"""Tests of whole expressions on several devices."""

import pytest

from lazyblock import config


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def default_device(request):
    """Where arrays are made during the test: on the CPU, and in a second test on a GPU."""
    with config.scope(device=request.param):
        yield request.param
