"""xarray on lazy arrays gives what it gives for NumPy arrays, and keeps them lazy."""

import copy
import pickle

import numpy as np
import pytest

import lazyblock as lb

xr = pytest.importorskip("xarray", reason="xarray is in the extra 'consumers'")

DAYS = np.timedelta64(10, "D").astype("timedelta64[ns]")
VALUES = np.random.default_rng(0).random((4, 5, 6))
VALUES[0, 1, 2] = np.nan
NUMBERS = np.arange(6.0)


def assign(index, values):
    def run(data):
        data = data.copy(deep=True)
        data[index] = values
        return data

    return run


def update(data):
    data = data.copy(deep=True)
    view = data.isel(t=1)
    data += 1
    view *= 2
    return data


ELEMENTWISE = {
    "arithmetic": lambda d: (d * 2 + 1) / (d - d.mean("x")),
    "floor and power": lambda d: (d // 0.3) % 2 - (-d) ** 2,
    "logic": lambda d: (d > 0.5) & (d < 0.7) | ~(d == d),
    "where": lambda d: d.where(d > 0.5),
    "where other": lambda d: xr.where(d > 0.5, d, 0.0),
    "where drop": lambda d: d.where(d.x > 2, drop=True),
    "fill": lambda d: d.fillna(d.mean()),
    "fill from": lambda d: d.combine_first(d + 1),
    "clip": lambda d: d.clip(0.2, 0.7),
    "is null": lambda d: d.isnull(),
    "is in": lambda d: d.fillna(0).isin([0.0]),
    "ufunc": lambda d: np.exp(d),
    "ufunc of two": lambda d: np.hypot(d, d.isel(t=0)),
    "apply": lambda d: xr.apply_ufunc(np.hypot, d, d + 1),
    "apply along": lambda d: xr.apply_ufunc(lambda a: a.mean(axis=-1), d, input_core_dims=[["x"]]),
    "convert": lambda d: d.fillna(0).astype("float32"),
    "round": lambda d: d.round(2),
    "complex": lambda d: (d * 1j).real + np.conj(d + 1j).imag,
    "like": lambda d: xr.full_like(d, 2.0) + xr.zeros_like(d),
}
REDUCTIONS = {
    "mean without NaN": lambda d: d.mean(("x", "y")),
    "sum with NaN": lambda d: d.sum("y", skipna=False),
    "sum of enough": lambda d: d.sum("x", min_count=6),
    "product of elements": lambda d: d.prod("x"),
    "deviation": lambda d: d.std("t", ddof=1),
    "maximum": lambda d: d.max("t"),
    "count": lambda d: d.count("x"),
    "any": lambda d: (d > 0.9).any("x"),
    "place of maximum": lambda d: d.argmax("x"),
    "median": lambda d: d.median("x"),
    "quantile": lambda d: d.quantile([0.3, 0.5], "x"),
    "running sum": lambda d: d.cumsum("x"),
    "running product": lambda d: d.cumprod("x"),
    "product": lambda d: xr.dot(d.fillna(0), d.fillna(1), dim="x"),
    "covariance": lambda d: xr.cov(d, d**2, "x"),
    "correlation": lambda d: xr.corr(d, d**2, "x"),
    "weighted mean": lambda d: d.weighted(d.fillna(1)).mean("x"),
    "weighted deviation": lambda d: d.weighted(d.fillna(1)).std(),
    "difference": lambda d: d.diff("t", n=2),
    "derivative": lambda d: d.differentiate("y"),
    "integral": lambda d: d.fillna(0).integrate("y"),
    "groups": lambda d: d.groupby(d.t % 2).sum(),
    "mapped groups": lambda d: d.groupby(d.y % 20).map(lambda g: g - g.mean()),
    "running sum of groups": lambda d: d.groupby(d.y % 20).cumsum(),
    "median of groups": lambda d: d.groupby(d.y % 20).median(),
    "bins": lambda d: d.groupby_bins("x", [0, 2, 6]).mean(),
    "rolling mean": lambda d: d.rolling(x=3).mean(),
    "rolling in two": lambda d: d.rolling(x=3, y=2, min_periods=1).sum(),
    "rolling windows": lambda d: d.rolling(x=3, center=True).construct("w"),
    "rolling maximum": lambda d: d.rolling(x=3).max(),
    "rolling median": lambda d: d.rolling(x=3).median(),
    "cumulative": lambda d: d.cumulative("x").sum(),
    "coarsen": lambda d: d.coarsen(x=2, y=5).mean(),
    "coarsen by trimming": lambda d: d.coarsen(x=4, boundary="trim").max(),
    "resample": lambda d: in_days(d).resample(t="20D").mean(),
    "resample more often": lambda d: in_days(d).resample(t="5D").ffill(),
    "months": lambda d: in_days(d).groupby("t.month").sum(),
}
SHAPES = {
    "slice": lambda d: d.isel(t=1, y=slice(1, None, 2)),
    "backwards": lambda d: d.isel(x=-1, y=slice(None, None, -2)),
    "positions": lambda d: d.isel(x=[0, 2, 5], y=[4, 1]),
    "mask": lambda d: d.isel(x=np.array([1, 0, 1, 0, 1, 1], bool)),
    "labels": lambda d: d.sel(y=[30.0, 10.0]),
    "label ranges": lambda d: d.sel(y=slice(10, 30)),
    "nearest labels": lambda d: d.sel(y=[9.0, 31.0], method="nearest"),
    "label access": lambda d: d.loc[:, 10.0:30.0],
    "thin": lambda d: d.thin(2),
    "transpose": lambda d: d.transpose("x", "t", "y"),
    "concat": lambda d: xr.concat([d, d + 1], "t"),
    "concat outer": lambda d: xr.concat([d[:, :3], d[:, 2:]], "t", join="outer"),
    "merge": lambda d: xr.merge(
        [d.rename("a")[:, :3], d.rename("b")[:, 2:]], join="outer", compat="no_conflicts"
    ).to_dataarray(),
    "align": lambda d: xr.align(d[:, :3], d[:, 2:], join="outer")[0],
    "reindex": lambda d: d.reindex(y=[0.0, 30.0, 90.0]),
    "broadcast": lambda d: xr.broadcast(d.isel(x=0), d.isel(t=0))[0],
    "expand": lambda d: d.expand_dims(n=3),
    "roll": lambda d: d.roll(x=2),
    "shift": lambda d: d.shift(x=1),
    "stack": lambda d: d.stack(z=("y", "x")).unstack("z"),
    "sort": lambda d: d.sortby("y", ascending=False),
    "pad": lambda d: d.pad(x=(1, 2), constant_values=0),
    "pad by edges": lambda d: d.pad(x=2, mode="edge"),
    "pad by reflection": lambda d: d.pad(x=2, mode="reflect"),
    "dataset": lambda d: xr.Dataset({"a": d, "b": d + 1}).to_dataarray(),
    "mean of a dataset": lambda d: d.to_dataset(name="a").mean("x").a,
    "tree": lambda d: xr.DataTree(xr.Dataset({"a": d})).mean("x").to_dataset().a,
    "coordinates": lambda d: d.assign_coords(z=(("y", "x"), d.isel(t=0).data)).z,
    "write an element": assign(0, 1.0),
    "write a slice": assign({"x": slice(1, 4)}, 2.0),
    "write an array": assign({"t": 2}, NUMBERS),
    "write in place": update,
    "deep copy": lambda d: copy.deepcopy(d),
    "pickle": lambda d: pickle.loads(pickle.dumps(d)),
}
CALLS = {**ELEMENTWISE, **REDUCTIONS, **SHAPES}


def in_days(data):
    return data.assign_coords(t=np.datetime64("2020-01-01", "ns") + np.arange(4) * DAYS)


def label(values):
    coordinates = {"t": np.arange(4), "y": np.arange(5) * 10.0}
    return xr.DataArray(values, dims=("t", "y", "x"), coords=coordinates)


@pytest.mark.filterwarnings("ignore")
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


def test_text_and_comparison():
    data = label(lb.asarray(VALUES, device="cpu"))
    assert "Array([[[0.63" in repr(data) and data._repr_html_()
    assert data.equals(data.copy()) and data.identical(data + 0)
    assert (data.nbytes, data.size) == (VALUES.nbytes, VALUES.size)
