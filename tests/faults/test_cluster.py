"""A scheduler that is killed while its workers fold; tests/scale/test_dask.py kills a worker."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import CancelledError
from types import SimpleNamespace

import pytest

from jointdr import JDR
from jointdr.io import distributed
from tests.faults.conftest import SMALL_LEAVES, assert_same, finished, started, until

pytest.importorskip("distributed", reason="dask[distributed] is not installed")

FIT = (
    SMALL_LEAVES
    + """
import sys, time
from pathlib import Path
from distributed import Client
from jointdr import JDR
from jointdr.io import distributed
from jointdr.io import scan_npy

folder, scheduler, held = map(Path, sys.argv[1:])

def slow(y):
    deadline = time.monotonic() + 300
    while held.exists() and time.monotonic() < deadline:  # from the first checkpoint on, until the worker is killed
        time.sleep(0.01)
    return y

client = Client(scheduler_file=str(scheduler), timeout=300)
client.wait_for_workers(1, timeout=300)
source = scan_npy(a=folder / "a.npy", b=folder / "b.npy", y=folder / "y.npy")
try:
    JDR(2, response=slow).fit(distributed(source, client).checkpointed(held, every=0.0))
except ConnectionError as error:
    print(error, flush=True)
"""
)


def test_a_lost_cluster(rows, fitted, tmp_path, small_leaves):
    """The same without processes: a client whose cluster goes away after the first checkpoint."""
    held = tmp_path / "fold.npz"

    class Lost:
        def nthreads(self):
            return {"worker": 1}

        def compute(self, state):
            if held.exists():
                raise CancelledError("scheduler")
            return SimpleNamespace(result=lambda: state.compute(scheduler="synchronous"))

    with pytest.raises(ConnectionError, match=r"was lost while it reduced .* with a checkpoint the fit goes on from"):
        JDR(2).fit(distributed(rows.npy(), Lost()).checkpointed(held, every=0.0))
    seen = []
    source = rows.npy().watched(lambda count, nbytes: seen.append(count)).checkpointed(held)
    assert_same(JDR(2).fit(source), fitted)
    assert sum(seen) < 3000


@pytest.mark.slow
def test_a_killed_scheduler(rows, fitted, tmp_path, small_leaves):
    """An error in bounded time that says what to do; the checkpoint is taken up without a cluster."""
    where, held = tmp_path / "scheduler.json", tmp_path / "fold.npz"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": tmp_path}
    dask, alone = [sys.executable, "-m", "dask"], ["--no-dashboard", "--scheduler-file", str(where)]
    scheduler = subprocess.Popen([*dask, "scheduler", "--port", "0", *alone], **quiet)
    worker = subprocess.Popen(
        [*dask, "worker", "--nthreads", "1", "--no-nanny", "--death-timeout", "300", *alone], **quiet
    )
    try:
        until(where.exists)
        child = started(FIT, rows.folder, where, held)
        until(lambda: child.poll() is not None or held.exists())  # it is written whole, or not at all
        scheduler.kill()
        _, said, err = finished(child)
        assert "The dask cluster was lost while it reduced" in said, err
        assert "with a checkpoint the fit goes on from there" in said
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait(30)
    seen = []
    source = rows.npy().watched(lambda count, nbytes: seen.append(count)).checkpointed(held)
    assert_same(JDR(2, response=slow).fit(source), fitted)
    assert sum(seen) < 3000


def slow(y):
    """In the place of that of the child, by whose name the checkpoint knows it: what it does is the same."""
    return y
