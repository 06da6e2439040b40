"""One worker and two workers of a dask cluster on this machine, against one process that streams with the same cores.

    python benchmarks/dask_scale.py [rows]

2 million rows, n₁ = n₂ = 100, float32 Parquet. Targets: two single-threaded workers are at least 1.6 × as fast as one,
and take at most 1.25 × the time of one process with two cores; the same result to 1e-10.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("LOKY_MAX_CPU_COUNT", "2")  # the one process has as many cores as there are workers

import numpy as np
from distributed import Client, LocalCluster
from scale_data import seconds, written

from jointdr import JDR
from jointdr.io import distributed, scan_parquet

N, R, RUNS = 100, 3, 5


def main() -> None:
    rows = int(float(sys.argv[1])) if len(sys.argv) > 1 else 2_000_000
    with tempfile.TemporaryDirectory() as folder:
        path = written(Path(folder), rows, N)
        source = scan_parquet(path, views={"a": "a*", "b": "b*"}, response="y")
        print(f"{rows} rows, {N} + {N} float32 columns, {path.stat().st_size / 1e9:.2f} GB")
        models: dict[str, JDR] = {}
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as pair,
            Client(pair) as two,
            LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as single,
            Client(single) as one,
        ):
            sources = {
                "one process": source,
                "1 worker": distributed(source, one),
                "2 workers": distributed(source, two),
            }
            times: dict[str, list[float]] = {name: [] for name in sources}
            for _ in range(RUNS):  # interleaved, so that a noisy moment hits all of them
                for name, where in sources.items():
                    models[name] = JDR(R)
                    times[name].append(seconds(lambda m=models[name], s=where: m.fit(s)))
        best = {name: min(taken) for name, taken in times.items()}
        print(", ".join(f"{name} {taken:.2f} s" for name, taken in best.items()))
        print(f"2 workers are {best['1 worker'] / best['2 workers']:.2f} × as fast as one (target at least 1.6)")
        print(f"2 workers / one process: {best['2 workers'] / best['one process']:.2f} (target at most 1.25)")
        U = models["one process"].embeddings_
        error = max(
            np.abs(V - W).max() / np.abs(W).max() for V, W in zip(models["2 workers"].embeddings_, U, strict=True)
        )
        print(f"largest difference: {error:.1e} (target 1e-10)")


if __name__ == "__main__":
    main()
