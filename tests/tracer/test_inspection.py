"""What the namespace tells about itself."""

import pytest

import lazyblock as lb


def test_the_namespace_is_of_the_standard():
    x = lb.ones(3)
    assert lb.__array_api_version__ == "2025.12"
    for version in (None, "2021.12", "2024.12", "2025.12"):
        assert x.__array_namespace__(api_version=version) is lb
    with pytest.raises(ValueError, match=r"'2019\.12'"):
        x.__array_namespace__(api_version="2019.12")


def test_devices_can_be_compared_and_used():
    info = lb.__array_namespace_info__()
    assert info.default_device() in info.devices() and "cpu" in info.devices()
    x = lb.ones(3, device=info.devices()[0])
    assert x.device == info.devices()[0]
    moved = (x + 1).to_device("emulated:sm_90a")
    assert (moved.device, moved.tolist()) == ("emulated:sm_90a", [2.0, 2.0, 2.0])
    assert moved.device != x.device
    with lb.config.scope(device="emulated:sm_90a"):
        assert info.devices()[-1] == info.default_device() == "emulated:sm_90a"
    with pytest.raises(ValueError, match="stream"):
        x.to_device("cpu", stream=1)


def test_capabilities_and_dtypes():
    info = lb.__array_namespace_info__()
    assert info.capabilities() == {
        "boolean indexing": True,
        "data-dependent shapes": True,
        "max dimensions": 64,
    }
    assert info.default_dtypes() == {
        "real floating": lb.float64,
        "complex floating": lb.complex128,
        "integral": lb.int64,
        "indexing": lb.int64,
    }
    assert info.dtypes(kind="bool") == {"bool": lb.bool}
    assert list(info.dtypes(kind=("real floating", "complex floating"))) == [
        *("float32", "float64", "complex64", "complex128"),
    ]
    assert len(info.dtypes(device="cpu")) == 13
