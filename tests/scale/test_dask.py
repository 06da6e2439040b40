"""A cluster gives what one machine gives, and goes on when a worker is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from jointdr import JDR, OLS, PCA, SIR, Dyads
from jointdr.engines.dask import Cluster
from jointdr.io import distributed, reduce_dyads, scan_partitions
from tests.scale.conftest import METHODS, assert_same

pytest.importorskip("pyarrow", reason="pyarrow is not installed, which reads Parquet")
pytest.importorskip("distributed", reason="dask[distributed] is not installed")
dask = pytest.importorskip("dask", reason="dask is not installed")

import dask.array as da  # noqa: E402
import dask.dataframe as dd  # noqa: E402
import pandas as pd  # noqa: E402
from distributed import Client, LocalCluster  # noqa: E402

PATIENCE = 300
"""Seconds after which something will not happen any more, however busy the machine is."""


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.mark.parametrize("name", METHODS)
def test_every_method_gives_what_it_gives_in_memory(name, data, expected):
    """With dask's scheduler of threads: the same graphs as on a cluster."""
    source = distributed(data.parquet(weight=True))
    with dask.config.set(scheduler="threads"):
        model = clone(METHODS[name]).fit(source)
        assert_same(model, expected(name, True))
        if hasattr(model, "score"):
            in_memory = expected(name, True).score((data.A, data.B), data.y, sample_weight=data.weight)
            assert model.score(source) == pytest.approx(in_memory, rel=1e-9, abs=1e-12)


class TestCollections:
    @pytest.fixture(autouse=True)
    def threads(self):
        with dask.config.set(scheduler="threads"):
            yield

    @pytest.mark.parametrize("name", ["JDR", "JDR randomized", "JDR auto", "PHD residual", "SIR"])
    def test_arrays(self, name, data, expected):
        """Chunks of rows and of columns, in other places in every array."""
        A, B = da.from_array(data.A, chunks=(700, 4)), da.from_array(data.B, chunks=(900, 5))
        y, w = da.from_array(data.y, chunks=1000), da.from_array(data.weight, chunks=400)
        assert_same(clone(METHODS[name]).fit((A, B), y, w), expected(name, True))
        assert_same(clone(METHODS[name]).fit({"a": A, "b": B}, data.y), expected(name))

    def test_chunks_of_unknown_length(self, data, expected):
        A, B, y = (da.from_array(X, chunks=500) for X in (data.A, data.B, data.y))
        keep = da.from_array(np.ones(len(data.y), dtype=bool), chunks=500)
        assert_same(JDR(2).fit((A[keep], B[keep]), y[keep]), expected("JDR"))

    def test_a_frame_with_views(self, data, expected):
        table = pd.DataFrame(np.hstack([data.A, data.B]), columns=[*"abcdefghijk"]).assign(y=data.y)
        frame = dd.from_pandas(table, npartitions=4)
        model = JDR(2, views={"one": [*"abcdef"], "two": [*"ghijk"]}).fit(frame, frame["y"])
        assert_same(model, expected("JDR"))
        assert model.view_names_ == ("one", "two")
        assert model.n_features_in_ == 12
        Z = np.concatenate(list(model.transform(frame)))
        np.testing.assert_allclose(Z, model.transform(table), atol=1e-10)

    def test_frames_of_labels(self, data):
        frames = [dd.from_pandas(pd.DataFrame(X), npartitions=3) for X in (data.A, data.B)]
        labels = dd.from_pandas(pd.Series(data.labels), npartitions=3)
        assert_same(OLS(2).fit(tuple(frames), labels), OLS(2).fit((data.A, data.B), data.labels))

    def test_partitions(self, data, expected):
        @dask.delayed
        def part(at):
            return (data.A[at], data.B[at]), data.y[at]

        parts = [part(slice(i, i + 1000)) for i in range(0, 3000, 1000)]
        assert_same(JDR(2).fit(parts), expected("JDR"))
        assert_same(SIR(2).fit(scan_partitions(parts)), expected("SIR"))

    @pytest.mark.parametrize("observed", [None, "stored"])
    def test_dyads(self, observed, data):
        """Blocks of rows of Y, dense or sparse, with all pairs or with some."""
        rng = np.random.default_rng(0)
        A, B = data.A[:60], data.B[:40]
        Y = np.outer(A[:, 0], B[:, 1]) + rng.standard_normal((60, 40))
        if observed is not None:
            Y = sparse.csr_array(Y * (rng.random(Y.shape) < 0.4))
        dyads = Dyads(Y, A, B, observed)
        blocks = [da.from_delayed(dask.delayed(Y[i : i + 20]), (20, 40), float) for i in range(0, 60, 20)]
        keep = {"blocks": ("cross", "within"), "covariance": "full", "cross_covariance": True}
        parts = reduce_dyads(
            da.concatenate(blocks), da.from_array(A, chunks=25), B, observed=observed, n_folds=5, **keep
        )
        for model in (JDR(2), JDR("auto"), JDR(2, moments="all")):
            assert_same(clone(model).fit_moments(parts), clone(model).fit(dyads))

    def test_errors(self, data):
        A, B, y = (da.from_array(X, chunks=500) for X in (data.A, data.B, data.y))
        with pytest.raises(ValueError, match="y has 2900 rows, but the first view has 3000"):
            JDR(2).fit((A, B), y[:2900])
        with pytest.raises(TypeError, match="needs views="):
            JDR(2).fit(A, y)
        with pytest.raises(ValueError, match="NaN"):
            JDR(2).fit((da.where(A > 5, np.nan, A), B), y)
        with pytest.raises(ValueError, match="can be read from any row on"):
            distributed(data.blocks())


@pytest.mark.parametrize("name", ["JDR", "JDR randomized", "SAVE"])
def test_processes(name, client, data, expected):
    assert_same(clone(METHODS[name]).fit(distributed(data.parquet(), client)), expected(name))
    assert_same(clone(METHODS[name]).fit(distributed(data.npy(), client)), expected(name))
    assert Cluster(client).width() == 2


def test_the_address_of_a_scheduler(client, data, expected):
    by_address = distributed(data.npy(), client.scheduler.address)
    assert_same(PCA(2).fit(by_address), expected("PCA"))
    by_address.engine.client.close()


def test_checkpoint_on_a_cluster(client, data, expected, tmp_path):
    source = distributed(data.parquet(), client).checkpointed(tmp_path / "fold.npz", every=0.0)
    assert_same(JDR(2).fit(source), expected("JDR"))


class Slow:
    """A response that says where it is made, and that workers make only after one of them was killed."""

    def __init__(self, folder):
        self.folder, self.home = folder, os.getpid()

    def __call__(self, y):
        deadline = time.monotonic() + PATIENCE
        while os.getpid() != self.home and not Path(self.folder, "killed").exists() and time.monotonic() < deadline:
            Path(self.folder, f"{os.getpid()}.pid").touch()
            time.sleep(0.01)
        return y


def test_a_killed_worker(client, data, expected, tmp_path):
    """A worker is killed while it folds; what it had is folded again elsewhere, and the result is the same."""
    killed = []

    def kill():
        deadline = time.monotonic() + PATIENCE
        while not killed and time.monotonic() < deadline:
            for path in list(tmp_path.glob("*.pid"))[:1]:
                os.kill(int(path.stem), signal.SIGKILL)
                killed.append(path.stem)
                (tmp_path / "killed").touch()
            time.sleep(0.01)

    killer = threading.Thread(target=kill)
    killer.start()
    model = JDR(2, response=Slow(str(tmp_path))).fit(distributed(data.parquet(), client))
    killer.join()
    assert killed
    assert_same(model, expected("JDR"))
    client.wait_for_workers(2, timeout=PATIENCE)  # a new one in its place, for other tests


@pytest.mark.slow
def test_scheduler_and_workers_from_the_command_line(data, expected, tmp_path):
    where = str(tmp_path / "scheduler.json")
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    start = [sys.executable, "-m", "dask"]
    alone = ["--no-dashboard", "--scheduler-file", where]
    commands = [[*start, "scheduler", "--port", "0", *alone]]
    commands += [[*start, "worker", "--nthreads", "1", "--no-nanny", *alone] for _ in range(2)]
    processes = [subprocess.Popen(command, **options) for command in commands]
    try:
        deadline = time.monotonic() + PATIENCE
        while not Path(where).exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        with Client(scheduler_file=where, timeout=PATIENCE, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=PATIENCE)
            address = client.scheduler.address
            assert_same(JDR(2).fit(distributed(data.parquet(), client)), expected("JDR"))
            by_address = distributed(data.npy(), address)
            assert_same(PCA(2).fit(by_address), expected("PCA"))
            by_address.engine.client.close()
    finally:
        for process in reversed(processes):  # workers first: without a scheduler they would wait for it
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(30)
