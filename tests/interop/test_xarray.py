"""xarray on lazy arrays gives what it gives for NumPy arrays, and keeps them lazy."""

import numpy as np
import pytest

import lazyblock as lb

xr = pytest.importorskip("xarray", reason="xarray is in the extra 'consumers'")

VALUES = np.random.default_rng(0).random((4, 5, 6))
VALUES[0, 1, 2] = np.nan
CALLS = {
    "arithmetic": lambda d: (d * 2 + 1) / (d - d.mean("x")),
    "mean without NaN": lambda d: d.mean(("x", "y")),
    "sum with NaN": lambda d: d.sum("y", skipna=False),
    "deviation": lambda d: d.std("t"),
    "maximum": lambda d: d.max("t"),
    "count": lambda d: d.count("x"),
    "slice": lambda d: d.isel(t=1, y=slice(1, None, 2)),
    "labels": lambda d: d.sel(y=[30.0, 10.0]),
    "where": lambda d: d.where(d > 0.5),
    "fill": lambda d: d.fillna(0),
    "transpose": lambda d: d.transpose("x", "t", "y"),
    "concat": lambda d: xr.concat([d, d + 1], "t"),
    "roll": lambda d: d.roll(x=2),
    "shift": lambda d: d.shift(x=1),
    "difference": lambda d: d.diff("t"),
    "running sum": lambda d: d.cumsum("x"),
    "rolling mean": lambda d: d.rolling(x=3).mean(),
    "coarsen": lambda d: d.coarsen(x=2).mean(),
    "stack": lambda d: d.stack(z=("y", "x")).unstack("z"),
    "pad": lambda d: d.pad(x=(1, 2), constant_values=0),
    "product": lambda d: xr.dot(d.fillna(0), d.fillna(1), dim="x"),
    "ufunc": lambda d: np.exp(d),
    "groups": lambda d: d.groupby(d.t % 2).sum(),
    "median": lambda d: d.median("x"),
    "quantile": lambda d: d.quantile(0.3, "x"),
    "convert": lambda d: d.astype("float32"),
    "dataset": lambda d: xr.Dataset({"a": d, "b": d + 1}).to_dataarray(),
}


def label(values):
    coordinates = {"t": np.arange(4), "y": np.arange(5) * 10.0}
    return xr.DataArray(values, dims=("t", "y", "x"), coords=coordinates)


@pytest.mark.parametrize("name", CALLS)
def test_call(name):
    expected = CALLS[name](label(VALUES.copy()))
    found = CALLS[name](label(lb.asarray(VALUES, device="cpu")))
    assert isinstance(found.data, lb.Array)
    assert (found.dims, found.dtype) == (expected.dims, expected.dtype)
    np.testing.assert_allclose(found.data.numpy(), expected.data, rtol=1e-12, atol=1e-14)


def test_arithmetic_evaluates_nothing():
    data = label(lb.asarray(VALUES, device="cpu"))
    with lb.forbid_eval():
        anomaly = data - data.mean("t", skipna=False)
        scaled = np.tanh(anomaly.transpose("x", ...) / 2).isel(y=2)
    assert scaled.shape == (6, 4)
