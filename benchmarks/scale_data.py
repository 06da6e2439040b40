"""A Parquet file of any length for the benchmarks of scale, written in blocks, and what is measured around a job."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

GROUP_ROWS = 50_000


def written(folder: Path, rows: int, n: int, seed: int = 0) -> Path:
    """n + n float32 columns and a response, in row groups of 50 000 rows, or half a smaller file: two cores read."""
    size = max(1, min(GROUP_ROWS, rows // 2))
    path = folder / f"{rows}.parquet"
    needed = rows * (2 * n * 4 + 8)
    if shutil.disk_usage(folder).free < 1.2 * needed:
        raise SystemExit(f"{folder} has no room for {needed / 1e9:.1f} GB.")
    names = [f"{view}{i}" for view in "ab" for i in range(n)]
    schema = pa.schema([*((name, pa.float32()) for name in names), ("y", pa.float64())])
    rng = np.random.default_rng(seed)
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, rows, size):
            m = min(size, rows - start)
            X = rng.standard_normal((2 * n, m), dtype=np.float32)
            y = X[0] * X[n] + X[1] * X[n + 1] + rng.standard_normal(m)
            columns = [*(pa.array(x) for x in X), pa.array(y.astype(float))]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=size)
    return path


def seconds(job: Callable[[], Any]) -> float:
    start = time.perf_counter()
    job()
    return time.perf_counter() - start


def resident() -> float:
    """The resident memory of this process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6


@contextmanager
def watched_memory() -> Iterator[list[float]]:
    """The largest resident memory while something runs, looked at a hundred times a second: a list of one number."""
    peak, stop = [resident()], threading.Event()

    def look() -> None:
        while not stop.wait(0.01):
            peak[0] = max(peak[0], resident())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield peak
    finally:
        stop.set()
        thread.join()
