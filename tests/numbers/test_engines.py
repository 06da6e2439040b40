"""Every engine and every kind of array against the formulas in plain NumPy, in double and in single precision.

Rows are all pairs of two tables, so that one data set serves as rows and as `Dyads`. Results in double precision agree
to 1e-10: rounding of sums of 600 rows, times condition numbers below 100 and gaps between singular values above 1/100.
Those of float32 are compared with the formulas on the same rounded numbers, and agree to 2e-4 for the same reasons, and
to 2e-3 where views are sparse: these are folded about 0, at a distance of a few standard deviations from their means.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from jointdr import IHT, JDR, OLS, PCA, PHD, SAVE, SIR, Dyads, Views
from jointdr.engines import lanes, stream
from jointdr.io import arrays as npy
from jointdr.io import on_device, scan_arrays, scan_blocks, scan_npy, scan_parquet, scan_partitions, scan_zarr
from tests.numbers import plain

EDGES = [-2.0, 0.0, 3.0]
METHODS = {
    "exact": (JDR(2), plain.algorithm_1),
    "fast": (JDR(2, solver="randomized", normalize="feature", n_iter=8, random_state=0), plain.algorithm_2),
    "tensor": (JDR(2), plain.tensor),
    "PCA": (PCA(2), plain.pca),
    "OLS": (OLS(), plain.ols),
    "SIR": (SIR(2, edges=EDGES), plain.sir(EDGES)),
    "PHD": (PHD(2), plain.phd),
    "IHT": (IHT(2), plain.iht),
    "SAVE": (SAVE(2, edges=EDGES), plain.save(EDGES)),
}
SPARSE = ("CSR", "CSC", "sparse blocks")


@dataclass
class Data:
    """Rows, and the tables whose pairs they are; `folder` has them in files."""

    tables: tuple[np.ndarray, np.ndarray]
    views: tuple[np.ndarray, ...]
    y: np.ndarray
    weight: np.ndarray | None
    folder: str

    @property
    def named(self):
        weight = {} if self.weight is None else {"w": self.weight}
        return {**dict(zip("abc", self.views, strict=True)), "y": self.y, **weight}

    def blocks(self, names, size=130):
        for start in range(0, len(self.y), size):
            at = slice(start, start + size)
            views = tuple(self.views["abc".index(n)][at] for n in names)
            yield views, self.y[at], None if self.weight is None else self.weight[at]


@pytest.fixture(scope="module", params=["float64", "weighted", "float32"])
def data(request, tmp_path_factory):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((30, 6)) @ (np.eye(6) + 0.3 * rng.standard_normal((6, 6))) + 2.0
    B = rng.standard_normal((20, 5)) @ (np.eye(5) + 0.3 * rng.standard_normal((5, 5))) - 1.0
    dtype = "float32" if request.param == "float32" else "float64"
    A, B = A.astype(dtype), B.astype(dtype)
    rows = np.repeat(A, 20, axis=0), np.tile(B, (30, 1)), rng.standard_normal((600, 4)).astype(dtype)
    a, b, c = (X.astype(float) - X.mean(axis=0) for X in rows)
    y = a[:, 0] * b[:, 1] + 2 * a[:, 1] + b[:, 2] + a[:, 2] ** 2 - b[:, 0] ** 2 + 2 * a[:, 3] * b[:, 0] * c[:, 0]
    y = y + a[:, 4] * b[:, 3] * c[:, 1] * 0.7 + rng.standard_normal(600)
    weight = rng.random(600) + 0.1 if request.param == "weighted" else None
    made = Data((A, B), rows, y, weight, str(tmp_path_factory.mktemp(request.param)))
    _write(made)
    return made


def _write(data):
    columns = {}
    for name, X in data.named.items():
        np.save(f"{data.folder}/{name}.npy", X)
        np.save(f"{data.folder}/{name}-columns.npy", np.asfortranarray(X))
        columns |= {f"{name}{j}": X[:, j] for j in range(X.shape[1])} if X.ndim > 1 else {name: X}
    pd.DataFrame(columns).to_parquet(f"{data.folder}/rows.parquet", row_group_size=110)


# ---------------------------------------------------------------- where rows may be


def in_memory(convert, data, names):
    views = tuple(convert(data.views["abc".index(n)]) for n in names)
    return lambda model: model.fit(views, data.y, sample_weight=data.weight)


def source(scan, data, names):
    return lambda model: model.fit(scan(data, names))


def torch_tensor(X):
    return pytest.importorskip("torch", reason="PyTorch is not installed").asarray(X)


def strict_array(X):
    return pytest.importorskip("array_api_strict").asarray(X)


def frame(X):
    return pd.DataFrame(X)


def strided(X):
    wide = np.zeros((2 * len(X), 3 * X.shape[1]), dtype=X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def memory_map(data, names):
    maps = tuple(np.load(f"{data.folder}/{n}.npy", mmap_mode="r") for n in names)
    return lambda model: model.fit(maps, data.y, sample_weight=data.weight)


def of_files(data, names, ending=".npy"):
    files = {n: f"{data.folder}/{n}{ending}" for n in names}
    return scan_npy(**files, y=f"{data.folder}/y.npy", weight=None if data.weight is None else f"{data.folder}/w.npy")


def of_parquet(data, names):
    views = {n: f"{n}*" for n in names}
    return scan_parquet(
        f"{data.folder}/rows.parquet", views=views, response="y", weight=None if data.weight is None else "w"
    )


def of_zarr(data, names):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    for name, X in data.named.items():
        zarr.save_array(f"{data.folder}/{name}.zarr", X, mode="w")
    files = {n: f"{data.folder}/{n}.zarr" for n in names}
    return scan_zarr(
        **files, y=f"{data.folder}/y.zarr", weight=None if data.weight is None else f"{data.folder}/w.zarr"
    )


def of_arrays(data, names):
    views = {n: data.views["abc".index(n)] for n in names}
    return scan_arrays(**views, y=data.y, weight=data.weight)


def of_function(data, names):
    return scan_blocks(lambda: data.blocks(names))


def of_iterator(data, names):
    return scan_blocks(data.blocks(names))


def sparse_blocks(data, names):
    def read():
        for views, y, w in data.blocks(names):
            yield tuple(map(sparse.csr_array, views)), y, w

    return scan_blocks(read)


def on_torch(data, names):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    return on_device(of_files(data, names), "cpu", block_bytes=5000)


def on_workers(data, names):
    pytest.importorskip("dask", reason="dask is not installed")
    from jointdr.io import distributed

    return distributed(of_parquet(data, names))


def dask_arrays(data, names):
    da = pytest.importorskip("dask.array", reason="dask is not installed")
    views = tuple(da.from_array(data.views["abc".index(n)], chunks=(170 + 10 * k, 3)) for k, n in enumerate(names))
    weight = None if data.weight is None else da.from_array(data.weight, chunks=250)
    return lambda model: model.fit(views, da.from_array(data.y, chunks=100), weight)


def dask_frames(data, names):
    dd = pytest.importorskip("dask.dataframe", reason="dask is not installed")
    views = {n: dd.from_pandas(pd.DataFrame(data.views["abc".index(n)]), npartitions=3) for n in names}
    beside = [None if v is None else dd.from_pandas(pd.Series(v), npartitions=3) for v in (data.y, data.weight)]
    return lambda model: model.fit(views, *beside)


def partitions(data, names):
    dask = pytest.importorskip("dask", reason="dask is not installed")
    return scan_partitions([dask.delayed(block) for block in data.blocks(names)])


def bit_by_bit(data, names):
    def fitted(model):
        for views, y, w in data.blocks(names, size=77):
            model.partial_fit(views, y, w)
        return model

    return fitted


def dyads(data, names):
    return lambda model: model.fit(Dyads(data.y.reshape(30, 20), *data.tables))


ENGINES = {
    "arrays": partial(in_memory, np.asarray),
    "arrays by columns": partial(in_memory, np.asfortranarray),
    "strided arrays": partial(in_memory, strided),
    "read-only arrays": partial(in_memory, read_only),
    "arrays of the other byte order": partial(in_memory, lambda X: X.astype(X.dtype.newbyteorder(">"))),
    "DataFrames": partial(in_memory, frame),
    "CSR": partial(in_memory, sparse.csr_array),
    "CSC": partial(in_memory, sparse.csc_array),
    "torch": partial(in_memory, torch_tensor),
    "array-api-strict": partial(in_memory, strict_array),
    "memory maps": memory_map,
    "NPY": partial(source, of_files),
    "NPY by columns": partial(source, partial(of_files, ending="-columns.npy")),
    "Parquet": partial(source, of_parquet),
    "Zarr": partial(source, of_zarr),
    "arrays as a source": partial(source, of_arrays),
    "function of blocks": partial(source, of_function),
    "iterator of blocks": partial(source, of_iterator),
    "sparse blocks": partial(source, sparse_blocks),
    "device": partial(source, on_torch),
    "dask workers": partial(source, on_workers),
    "dask arrays": dask_arrays,
    "dask DataFrames": dask_frames,
    "dask partitions": partial(source, partitions),
    "partial_fit": bit_by_bit,
    "Dyads": dyads,
}

ONE_READ = ("iterator of blocks", "partial_fit", "Dyads")
"""Engines that cannot read the data again, which sketches and tensors take."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several leaves, threads and blocks of a small data set."""
    monkeypatch.setattr(stream, "READ_BYTES", 1)
    monkeypatch.setattr(stream, "FEWEST_ROWS", 50)
    monkeypatch.setattr(npy, "LEAF_BYTES", 10_000)
    monkeypatch.setattr(lanes.Lanes, "width", lambda self: 2)


@pytest.fixture(autouse=True, scope="module")
def threads():
    try:
        import dask
    except ImportError:
        yield
        return
    with dask.config.set(scheduler="threads"):
        yield


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_finds_what_the_formulas_say(engine, method, data):
    single = data.views[0].dtype == np.float32
    if engine == "Dyads" and (data.weight is not None or method == "tensor"):
        pytest.skip("dyads have two views and no weights")
    model, formula = METHODS[method]
    names = "abc" if method == "tensor" else "ab"
    fit = ENGINES[engine](data, names)
    if engine in ONE_READ and method in ("fast", "tensor"):
        with pytest.raises(ValueError, match="read"):
            fit(clone(model)).singular_values_  # noqa: B018
        return
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = fit(clone(model))
        values = found.singular_values_
    w = np.ones(len(data.y)) if data.weight is None else data.weight
    expected = formula([X.astype(float) for X in data.views], data.y, w)
    tolerance = 1e-10 if not single else 2e-3 if engine in SPARSE else 2e-4
    values = values if isinstance(values, tuple) else (values,) * len(expected)
    for U, s, (V, t) in zip(found.embeddings_, values, expected, strict=True):
        np.testing.assert_allclose(s, t, rtol=0, atol=tolerance * t[0])
        V = V * np.sign(np.sum(np.asarray(U) * V, axis=0))
        np.testing.assert_allclose(U, V, rtol=0, atol=tolerance * np.abs(V).max())


def test_views_are_the_same_as_a_tuple(data):
    one = JDR(2).fit(Views(a=data.views[0], b=data.views[1]), data.y)
    two = JDR(2).fit(data.views[:2], data.y)
    np.testing.assert_array_equal(one.embeddings_[0], two.embeddings_[0])
