"""Settings of every test run: options, the gpu marker, and a kernel cache of its own."""

import ctypes
import os
import tempfile

import pytest
from hypothesis import HealthCheck, settings

# Set before lazyblock is imported; xdist's workers inherit them and so share one cache directory.
os.environ.setdefault("LAZYBLOCK_VERIFY", "1")
if "LAZYBLOCK_CACHE_DIR" not in os.environ:
    cache_directory = tempfile.TemporaryDirectory(prefix="lazyblock-tests-")
    os.environ["LAZYBLOCK_CACHE_DIR"] = cache_directory.name

# No deadlines: an example may compile a kernel. CI draws the same examples every time.
settings.register_profile(
    "lazyblock",
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("lazyblock")


def pytest_addoption(parser):
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write the golden files from what the tests see instead of comparing",
    )
    parser.addoption(
        "--device",
        help="device on which the kernels of tests/language run too, as 'emulated:sm_90a'",
    )


@pytest.fixture
def update_golden(request):
    """Whether golden files are to be written."""
    return request.config.getoption("--update-golden")


def pytest_collection_modifyitems(items):
    gpu_items = [item for item in items if item.get_closest_marker("gpu")]
    reason = explain_missing_gpu() if gpu_items else None
    if reason:
        for item in gpu_items:
            item.add_marker(pytest.mark.skip(reason=reason))


def explain_missing_gpu():
    """Return why no NVIDIA GPU can be used, or None when one can."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "needs a GPU: there is no NVIDIA driver (libcuda.so.1)"
    status = driver.cuInit(0)
    if status != 0:
        return f"needs a GPU: the NVIDIA driver does not start (cuInit gives error {status})"
    count = ctypes.c_int()
    driver.cuDeviceGetCount(ctypes.byref(count))
    return None if count.value else "needs a GPU: the NVIDIA driver finds none"
