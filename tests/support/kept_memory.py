"""A process of its own in which one job keeps to a memory budget: ``python -m tests.support.kept_memory JOB BUDGET``.

Prints by how many bytes resident memory grew beyond the data and the result.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from jointdr import JDR, AssociationModel, Dyads, KernelRegression, config_context
from jointdr.diagnostics import bootstrap
from jointdr.io import scan_npy, scan_parquet

Job = Callable[[], Any]


def rows(m: int, *n: int) -> tuple[list[Any], Any]:
    rng = np.random.default_rng(0)
    views = [rng.standard_normal((m, k)) for k in n]
    return views, views[0][:, 0] * views[1][:, 0] + rng.standard_normal(m)


def fit_arrays(folder: Path, m: int) -> Job:
    views, y = rows(m, 100, 80)
    return lambda: JDR(2).fit(views, y)


def fit_sketched(folder: Path, m: int) -> Job:
    views, y = rows(m, 150, 150)
    return lambda: JDR(2, normalize="feature", solver="randomized").fit(views, y)


def fit_wide(folder: Path, m: int) -> Job:
    views, y = rows(m // 20, 600, 600)
    return lambda: JDR(2, solver="exact").fit(views, y)


def fit_three_views(folder: Path, m: int) -> Job:
    views, y = rows(m // 10, 60, 50, 40)
    return lambda: JDR(2).fit(views, y)


def fit_npy(folder: Path, m: int) -> Job:
    views, y = rows(m, 100, 80)
    for name, X in {"a": views[0], "b": views[1], "y": y}.items():
        np.save(folder / f"{name}.npy", X)
    source = scan_npy(a=folder / "a.npy", b=folder / "b.npy", y=folder / "y.npy")
    return lambda: JDR(2).fit(source)


def fit_parquet(folder: Path, m: int) -> Job:
    import pandas as pd

    views, y = rows(m, 60, 40)
    table = pd.DataFrame(np.hstack(views).astype(np.float32), columns=[f"c{i}" for i in range(100)])
    table.assign(y=y).to_parquet(folder / "rows.parquet", row_group_size=20_000)
    names = list(table.columns)
    source = scan_parquet(folder / "rows.parquet", views={"a": names[:60], "b": names[60:]}, response="y")
    return lambda: JDR(2).fit(source)


def fit_parquet_pages(folder: Path, m: int) -> Job:
    """A row group that takes more than half of the budget is decoded page by page."""
    import pandas as pd

    views, y = rows(4 * m, 6, 4)
    table = pd.DataFrame(np.hstack(views), columns=[f"c{i}" for i in range(10)])
    table.assign(y=y).to_parquet(folder / "large.parquet", row_group_size=4 * m)
    names = list(table.columns)
    source = scan_parquet(folder / "large.parquet", views={"a": names[:6], "b": names[6:]}, response="y")
    return lambda: JDR(2).fit(source)


def bootstrapped(folder: Path, m: int) -> Job:
    views, y = rows(m, 40, 40)
    model = JDR(2).fit(views, y)
    return lambda: bootstrap(model, views, y, n=50, random_state=0)


def associations(m: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    size = m // 50
    Y = sparse.random_array((size, size), density=0.01, rng=rng, format="csr")
    A, B = rng.standard_normal((2, size, 10))
    return AssociationModel(None, head="kernel", bandwidth=(0.5, 0.5)).fit(Dyads(Y, A, B)), A


def predicted(folder: Path, m: int) -> Job:
    model, A = associations(m)
    return lambda: model.predict(A[:200] + 0.1)


def recommended(folder: Path, m: int) -> Job:
    model, A = associations(m)
    return lambda: model.recommend(A + 0.1, k=5)


def smoothed(folder: Path, m: int) -> Job:
    (Z, W), y = rows(m // 10, 3, 3)
    model = KernelRegression(0.5).fit((Z, W), y)
    return lambda: model.predict((Z + 0.1, W))


JOBS: dict[str, Callable[[Path, int], Job]] = {
    job.__name__: job
    for job in (
        fit_arrays,
        fit_sketched,
        fit_wide,
        fit_three_views,
        fit_npy,
        fit_parquet,
        fit_parquet_pages,
        bootstrapped,
        predicted,
        recommended,
        smoothed,
    )
}


def resident() -> int:
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])


def growth(job: Job) -> int:
    """The largest resident memory while a job runs, beyond what there was before, looked at all the time."""
    before = resident()
    peak, stop = [before], threading.Event()

    def look() -> None:
        while not stop.wait(0.002):
            peak[0] = max(peak[0], resident())

    watcher = threading.Thread(target=look)
    watcher.start()
    job()
    stop.set()
    watcher.join()
    return peak[0] - before


if __name__ == "__main__":
    name, budget = sys.argv[1], float(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder, config_context(memory_budget=budget):
        JOBS[name](Path(folder), 2_000)()  # imports, and buffers of libraries
        job = JOBS[name](Path(folder), 100_000)
        print(growth(job))
