"""A dense fit against the bare products it cannot do without, and against textbook code.

    python benchmarks/fit_dense.py

m = 200 000 rows, n₁ = n₂ = 200, r = 10, float64. Prints ratios of the best of several runs in one process, and the
memory that the fit takes above its inputs. Targets: at most 1.25 × the bare products AᵀA, BᵀB, (y·A)ᵀB on whole
arrays, at most 0.6 × textbook code, at most 10 % of the inputs.
"""

from __future__ import annotations

import time

import numpy as np
from memory import peak_above
from scipy import linalg

from jointdr import JDR
from jointdr.datasets import make_bilinear
from jointdr.metrics import nsee

M, N, R, RUNS = 200_000, 200, 10, 12


def bare(A: np.ndarray, B: np.ndarray, y: np.ndarray) -> None:
    A.T @ A
    B.T @ B
    (y[:, None] * A).T @ B


def textbook(A: np.ndarray, B: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Algorithm 1 line by line, on the data."""
    m = len(y)
    A, B, y = A - A.mean(axis=0), B - B.mean(axis=0), y - y.mean()
    C_a, C_b = linalg.cholesky(A.T @ A / m, lower=True), linalg.cholesky(B.T @ B / m, lower=True)
    A = linalg.solve_triangular(C_a, A.T, lower=True).T
    B = linalg.solve_triangular(C_b, B.T, lower=True).T
    U, _, Vt = linalg.svd((y[:, None] * A).T @ B / m)
    return (
        linalg.solve_triangular(C_a, U[:, :R], lower=True, trans="T"),
        linalg.solve_triangular(C_b, Vt[:R].T, lower=True, trans="T"),
    )


def main() -> None:
    X, y, truth = make_bilinear(M, N, R)
    A, B = X.arrays
    jobs = {
        "bare products": lambda: bare(A, B, y),
        "textbook": lambda: textbook(A, B, y),
        "JDR.fit": lambda: JDR(R).fit(X, y),
    }
    seconds: dict[str, list[float]] = {name: [] for name in jobs}
    for run in range(RUNS):  # interleaved, each job once in every place, so that a noisy moment hits all of them
        order = list(jobs.items())
        for name, job in order[run % 3 :] + order[: run % 3]:
            start = time.perf_counter()
            job()
            seconds[name].append(time.perf_counter() - start)
    best = {name: min(values) for name, values in seconds.items()}
    for name, value in best.items():
        print(f"{name:15s} {value:6.3f} s")
    memory = peak_above(jobs["JDR.fit"])
    inputs = A.nbytes + B.nbytes + y.nbytes
    print(f"JDR.fit / bare products  {best['JDR.fit'] / best['bare products']:.2f}   (target <= 1.25)")
    print(f"JDR.fit / textbook       {best['JDR.fit'] / best['textbook']:.2f}   (target <= 0.60)")
    print(f"memory / inputs          {memory / inputs:.3f}  (target <= 0.100; {memory / 1e6:.0f} MB)")
    errors = nsee(truth, JDR(R).fit(X, y).embeddings_), nsee(truth, textbook(A, B, y))
    print(f"NSEE                     {errors[0]:.4f}, textbook {errors[1]:.4f}")


if __name__ == "__main__":
    main()
