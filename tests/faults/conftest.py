"""Data in files, and children that are killed, interrupted or starved of disk in place of the tests themselves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jointdr import JDR
from jointdr.io import scan_npy, scan_parquet

ROOT = Path(__file__).parents[2]

if os.name == "nt":  # without signals, mounts and limits as these tests need them
    collect_ignore_glob = ["test_*.py"]

SMALL_LEAVES = """
from jointdr.engines import lanes, stream
from jointdr.io import arrays
arrays.LEAF_BYTES, stream.READ_BYTES, lanes.Lanes.width = 10_000, 1, lambda self: 1
"""
"""Many leaves and blocks of a small file, one after the other."""


@pytest.fixture
def small_leaves(monkeypatch):
    """The same in this process."""
    monkeypatch.setattr("jointdr.io.arrays.LEAF_BYTES", 10_000)
    monkeypatch.setattr("jointdr.engines.stream.READ_BYTES", 1)
    monkeypatch.setattr("jointdr.engines.lanes.Lanes.width", lambda self: 1)


def started(script, *arguments, **options):
    """A child that runs a script."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, "-c", script, *map(str, arguments)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    options.setdefault("preexec_fn", hear_ctrl_c)
    return subprocess.Popen(command, env=environment, **pipes, **options)


def hear_ctrl_c():
    """What a shell has started in the background is deaf to Ctrl-C, and so are its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def finished(child, said=None, timeout=300):
    """Its exit code, and what it wrote to standard output and standard error; it is killed if it does not end."""
    try:
        out, err = child.communicate(said, timeout=timeout)
    except subprocess.TimeoutExpired:
        child.kill()
        out, err = child.communicate()
        raise AssertionError(f"The child did not end: {out}{err}") from None
    return child.returncode, out, err


def until(condition, seconds=300):
    """Wait for something that a child does."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


class Rows:
    """Three thousand rows in NPY files and in one Parquet file."""

    def __init__(self, folder):
        rng = np.random.default_rng(0)
        A, B = rng.standard_normal((3000, 6)) + 1, rng.standard_normal((3000, 5))
        y = (A[:, 0] - 1) * B[:, 1] + (A[:, 1] - 1) * B[:, 0] + 0.3 * rng.standard_normal(3000)
        self.folder, self.views, self.y = Path(folder), (A, B), y
        for name, X in {"a": A, "b": B, "y": y}.items():
            np.save(self.folder / f"{name}.npy", X)
        np.save(self.folder / "a-columns.npy", np.asfortranarray(A))
        table = pd.DataFrame(np.hstack([A, B]), columns=[*(f"a{i}" for i in range(6)), *(f"b{i}" for i in range(5))])
        table.assign(y=y).to_parquet(self.folder / "rows.parquet", row_group_size=200, compression=None)
        for path in self.folder.iterdir():
            os.utime(path, (1e9, 1e9))  # long ago: a change of today shows, however coarse the clock of the disk is

    def npy(self, first="a.npy"):
        return scan_npy(a=self.folder / first, b=self.folder / "b.npy", y=self.folder / "y.npy")

    def parquet(self):
        return scan_parquet(self.folder / "rows.parquet", views={"a": "a*", "b": "b*"}, response="y")


@pytest.fixture
def rows(tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    return Rows(folder)


@pytest.fixture(scope="session")
def fitted(tmp_path_factory):
    """The uninterrupted fit."""
    return JDR(2).fit(Rows(tmp_path_factory.mktemp("rows")).parquet())


def assert_same(one, two):
    """The same to 1e-12: states are merged in another order where a fold was taken up again."""
    np.testing.assert_allclose(one.singular_values_, two.singular_values_, rtol=1e-12)
    for U, V in zip(one.embeddings_, two.embeddings_, strict=True):
        np.testing.assert_allclose(U, V, rtol=0, atol=1e-12)
