"""The three solvers: how their time grows with m, n and r, and how accurate they are.

    python benchmarks/solvers.py

First the exponents of time in m, n and r, from a log-log fit, beside the paper's O(·). Then NSEE relative to the exact
solver on the settings of Figure 1, row 1, panel 1 (bilinear, n = 100, r = 5), for the paper's Algorithm 2 (n_iter = 0)
and for more power passes.
"""

from __future__ import annotations

import time

import numpy as np

from jointdr import JDR
from jointdr.datasets import make_bilinear
from jointdr.metrics import nsee

# What varies: its values, with the other two held at values where the term in question dominates.
VARIED = {
    "m": ([32_000, 64_000, 128_000, 256_000], {"n": 250, "r": 10}),
    "n": ([250, 500, 1000, 2000], {"m": 16_000, "r": 10}),
    "r": ([20, 40, 80, 160], {"m": 16_000, "n": 1000}),
}
PAPER = {"exact": "O(m n²)", "randomized": "O(m n r)", "countsketch": "O(m n)"}


def seconds(solver: str, m: int, n: int, r: int, runs: int = 3) -> float:
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal((m, n), dtype=np.float32) for _ in range(2))
    y = (A[:, 0] * B[:, 0]).astype(float)
    model = JDR(r, normalize="feature", solver=solver, n_iter=0, random_state=0)
    found = []
    for _ in range(runs):
        start = time.perf_counter()
        model.fit((A, B), y)
        found.append(time.perf_counter() - start)
    return min(found)


def growth() -> None:
    print("Exponent of the time of one fit, feature-wise normalization, n_iter = 0, float32")
    print(f"{'solver':12s} {'in m':>6s} {'in n':>6s} {'in r':>6s}   paper")
    for solver, paper in PAPER.items():
        exponents = []
        for name, (values, fixed) in VARIED.items():
            times = [seconds(solver, **fixed, **{name: value}) for value in values]
            exponents.append(np.polyfit(np.log(values), np.log(times), 1)[0])
        print(f"{solver:12s} {exponents[0]:6.2f} {exponents[1]:6.2f} {exponents[2]:6.2f}   {paper}", flush=True)


def accuracy(repetitions: int = 20) -> None:
    print("\nMean NSEE relative to the exact solver, bilinear, n = 100, r = 5, 20 repetitions")
    print(f"{'solver':12s} {'n_iter':>6s} " + " ".join(f"{f'm = {m}':>10s}" for m in (1000, 10_000, 100_000)))
    table: dict[tuple[str, int], list[float]] = {}
    for m in (1000, 10_000, 100_000):
        errors: dict[tuple[str, int], list[float]] = {}
        for seed in range(repetitions):
            X, y, truth = make_bilinear(m, 100, 5, random_state=seed)
            for solver, n_iter in [("exact", 0), *((s, i) for s in ("randomized", "countsketch") for i in range(4))]:
                model = JDR(5, normalize="feature", solver=solver, n_iter=n_iter, random_state=seed).fit(X, y)
                errors.setdefault((solver, n_iter), []).append(nsee(truth, model.embeddings_))
        exact = np.mean(errors["exact", 0])
        for key, values in errors.items():
            table.setdefault(key, []).append(float(np.mean(values) / exact))
    for (solver, n_iter), ratios in table.items():
        if solver != "exact":
            print(f"{solver:12s} {n_iter:6d} " + " ".join(f"{ratio:10.2f}" for ratio in ratios))


if __name__ == "__main__":
    growth()
    accuracy()
