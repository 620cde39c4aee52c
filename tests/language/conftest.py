"""The conformance suite on every device: each test that runs kernels has a twin for the GPU.

`--device emulated:sm_90a` runs the kernels of all tests on that device too.
"""

import pytest

from tests.helpers.elsewhere import elsewhere, runs_kernels


def pytest_generate_tests(metafunc):
    if runs_kernels(metafunc.function):
        gpu = pytest.param("cuda", marks=pytest.mark.gpu)
        metafunc.parametrize("place", [None, gpu], ids=["host", "gpu"], indirect=True)


@pytest.fixture(autouse=True)
def place(request):
    """Runs the kernels of a test on a device more."""
    device = getattr(request, "param", None) or request.config.getoption("--device")
    with elsewhere(device):
        yield
