"""Wide data: the randomized solver against the thin products it cannot do without.

    python benchmarks/fit_wide.py [dense | sparse]

dense: n₁ = n₂ = 20 000, m = 5000, float32, r = 10, feature-wise normalization. X₀ alone would be 1.6 GB.
sparse: 200 000 × 100 000 CSR on both sides, 50 nonzeros a row.

The floor is what any implementation of Algorithm 2 has to do on whole arrays in the input's dtype: one read for means
and variances, and 2 + 2·n_iter products with X₀, each of them one thin product with b and one with a.
Targets: dense at most 2 × the floor and 500 MB above the inputs; sparse at most 3 × its sparse products and 1 GB.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np
from memory import peak_above
from scipy import sparse

from jointdr import JDR

R, N_ITER, RUNS = 10, 2, 5


def products(A, B, y) -> None:  # type: ignore[no-untyped-def]
    S = np.random.default_rng(0).standard_normal((B.shape[1], 2 * R)).astype(A.dtype)
    y = y.astype(A.dtype)[:, None]
    for _ in range(1 + N_ITER):
        Z = A.T @ (y * (B @ S))
        S = B.T @ (y * (A @ Z))
        S /= np.linalg.norm(S)


def dense() -> tuple[np.ndarray, np.ndarray, np.ndarray, Callable[[], None]]:
    m, n = 5000, 20_000
    rng = np.random.default_rng(0)
    A, B = (rng.standard_normal((m, n), dtype=np.float32) for _ in range(2))
    y = A[:, 0] * B[:, 0] + rng.standard_normal(m)

    def floor() -> None:
        for X in (A, B):
            X.mean(axis=0)
            np.einsum("ij,ij->j", X, X)
        products(A, B, y)

    return A, B, y, floor


def sparse_twin() -> tuple[sparse.csr_array, sparse.csr_array, np.ndarray, Callable[[], None]]:
    m, n, nonzeros = 200_000, 100_000, 50
    rng = np.random.default_rng(0)

    def view() -> sparse.csr_array:
        columns = rng.integers(0, n, size=(m, nonzeros))
        columns[:, 0] = rng.integers(0, 20, size=m)  # a few frequent features, so that there is something to find
        X = sparse.csr_array(
            (rng.standard_normal(m * nonzeros), columns.ravel(), np.arange(0, m * nonzeros + 1, nonzeros)), shape=(m, n)
        )
        X.sum_duplicates()
        return X

    A, B = view(), view()
    y = np.asarray((A[:, :20] @ np.ones(20)) * (B[:, :20] @ np.ones(20))) + rng.standard_normal(m)
    return A, B, y, lambda: products(A, B, y)


def report(name: str, data, time_target: float, memory_target: float) -> None:  # type: ignore[no-untyped-def]
    A, B, y, floor = data
    model = JDR(R, normalize="feature", solver="randomized", n_iter=N_ITER, random_state=0)
    jobs = {"floor": floor, "JDR.fit": lambda: model.fit((A, B), y)}
    seconds: dict[str, list[float]] = {key: [] for key in jobs}
    for _ in range(RUNS):
        for key, job in jobs.items():
            start = time.perf_counter()
            job()
            seconds[key].append(time.perf_counter() - start)
    best = {key: min(values) for key, values in seconds.items()}
    memory = peak_above(jobs["JDR.fit"]) / 1e6
    print(f"{name}: floor {best['floor']:.2f} s, JDR.fit {best['JDR.fit']:.2f} s")
    print(f"  JDR.fit / floor      {best['JDR.fit'] / best['floor']:.2f}  (target <= {time_target:g})")
    print(f"  memory above inputs  {memory:.0f} MB  (target <= {memory_target:g} MB)")


def main() -> None:
    chosen = sys.argv[1:] or ["dense", "sparse"]
    if "dense" in chosen:
        report("dense 5000 × 20 000 float32", dense(), 2.0, 500)
    if "sparse" in chosen:
        report("sparse 200 000 × 100 000, 50 nonzeros a row", sparse_twin(), 3.0, 1000)


if __name__ == "__main__":
    main()
