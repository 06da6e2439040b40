"""A fit to a Parquet file that need not fit into memory, against reading it once and the products it cannot do without.

    python benchmarks/out_of_core.py [rows]

5 million rows, n₁ = n₂ = 100, float32, 4 GB, written to a temporary folder first. Targets: at most 600 MB resident at
all times, at most 1.3 × (the time to read the file once + the time of the bare products), and over three decades of
rows time that grows as their number (exponent 1.0 ± 0.05) in memory that does not grow. Growth is timed on one core,
in a warm process, so that it is the work per row that counts, and beyond what a fit to 400 rows takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from scale_data import GROUP_ROWS, seconds, watched_memory, written

from jointdr import JDR
from jointdr.io import scan_parquet

N, R, RUNS = 100, 3, 3
VIEWS = {"a": "a*", "b": "b*"}


def read(path: Path) -> None:
    """Every row group once, by all threads that pyarrow has."""
    file = pq.ParquetFile(path)
    for i in range(file.metadata.num_row_groups):
        file.read_row_group(i)


def products(rows: int) -> None:
    """AᵀA, BᵀB and (y·A)ᵀB of so many rows, on blocks that stay where they are."""
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal((GROUP_ROWS, N), dtype=np.float32) for _ in range(2))
    y = rng.standard_normal((GROUP_ROWS, 1), dtype=np.float32)
    for _ in range(rows // GROUP_ROWS):
        A.T @ A
        B.T @ B
        (y * A).T @ B


def fit(path: str) -> None:
    """One fit in a process of its own, where only it counts: prints seconds and the largest resident memory in MB."""
    source = scan_parquet(path, views=VIEWS, response="y")
    with watched_memory() as peak:
        taken = seconds(lambda: JDR(R).fit(source))
    print(taken, peak[0])


def grow(paths: list[str]) -> None:
    """Fits to files of more and more rows, by one warm process: prints the seconds of each."""
    sources = [scan_parquet(path, views=VIEWS, response="y") for path in paths]
    JDR(R).fit(sources[1])
    for source in sources:
        print(fastest(lambda source=source: JDR(R).fit(source), source.n_rows))


def grow_in_memory(sizes: list[int]) -> None:
    """The same for arrays."""
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal((max(sizes), N), dtype=np.float32) for _ in range(2))
    y = A[:, 0] * B[:, 0] + rng.standard_normal(max(sizes))
    JDR(R).fit((A[: sizes[1]], B[: sizes[1]]), y[: sizes[1]])
    for m in sizes:
        print(fastest(lambda m=m: JDR(R).fit((A[:m], B[:m]), y[:m]), m))


def fastest(job: Callable[[], object], rows: int) -> float:
    return min(seconds(job) for _ in range(30 if rows < 100_000 else RUNS))


def exponent(sizes: list[int], times: list[float]) -> float:
    """Of the growth of time beyond that of the first size."""
    growing = np.maximum(np.subtract(times[1:], times[0]), 1e-6)
    return float(np.polyfit(np.log(sizes[1:]), np.log(growing), 1)[0])


def child(*command: str, **settings: str) -> list[float]:
    """What this file prints, as numbers, when it is run with some arguments in a process of its own."""
    found = subprocess.run(
        [sys.executable, __file__, *command],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **settings},
    )
    return [float(word) for word in found.stdout.split()]


def main() -> None:
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 5_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = written(folder, rows, N)
        print(f"{rows} rows, {N} + {N} float32 columns, {path.stat().st_size / 1e9:.2f} GB")
        found = []
        for _ in range(RUNS):
            reading, multiplying = seconds(lambda: read(path)), seconds(lambda: products(rows))
            taken, peak = child("--fit", os.fspath(path))
            found.append((reading, multiplying, taken))
            print(f"read {reading:.2f} s, products {multiplying:.2f} s, fit {taken:.2f} s, {peak:.0f} MB resident")
        reading, multiplying, taken = np.min(found, axis=0)  # the best of each: a noisy moment hits only one of them
        print(f"fit / (read + products): {taken / (reading + multiplying):.2f} (target at most 1.3)")
        print(f"resident memory: {peak:.0f} MB (target at most 600)")
        sizes = [400, rows // 1000, rows // 100, rows // 10, rows]
        paths = [os.fspath(written(folder, m, N)) for m in sizes[:-1]] + [os.fspath(path)]
        alone = {"LOKY_MAX_CPU_COUNT": "1", "OPENBLAS_NUM_THREADS": "1"}
        times = child("--grow", *paths, **alone)
        held = child("--grow-in-memory", *map(str, sizes), **alone)
        memory = [child("--fit", path)[1] for path in paths]
    print("on one core:")
    for m, taken, array, peak in zip(sizes, times, held, memory, strict=True):
        print(f"{m:>10} rows: {array:8.4f} s from memory, {taken:8.4f} s from a file, {peak:.0f} MB resident")
    print(f"from memory, time grows as rows^{exponent(sizes, held):.2f} (target 1.00 ± 0.05), beyond {held[0]:.3f} s")
    last = np.log10((times[-1] - times[0]) / (times[-2] - times[0]))
    print(f"from files, as rows^{exponent(sizes, times):.2f}, beyond {times[0]:.3f} s; ^{last:.2f} in the last decade")
    print(f"memory of the last decade: × {memory[-1] / memory[-2]:.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--fit"]:
        fit(sys.argv[2])
    elif sys.argv[1:2] == ["--grow"]:
        grow(sys.argv[2:])
    elif sys.argv[1:2] == ["--grow-in-memory"]:
        grow_in_memory(list(map(int, sys.argv[2:])))
    else:
        main()
