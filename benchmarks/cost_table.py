"""The cost table of the paper's supplement, measured: how the time of each stage grows with m and with n.

    python benchmarks/cost_table.py

The three stages of the table: estimating the embeddings (`fit`), computing the features (`transform`), and predicting
one score by kernel regression. The exponents come from a log-log fit of the shortest of several runs (processor
time, so that other work on the machine does not count), with the other number fixed where the leading term dominates.

The paper's O(·) is for a grid of m_D diseases and m_G genes with n_D and n_G features. Here the data is m samples
(a, b, y), each with features of its own. So m_D m_G, m_D and m_G all stand for m, and the table says:
O(m n²) to estimate, O(m n r) for the features, and kernel evaluations with all m samples for a score, whatever n was.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from jointdr import JDR, PCA, PHD, SOLS, KernelRegression
from jointdr.base import ViewsTransformer

R = 10
ROWS = [20_000, 40_000, 80_000, 160_000]
FEATURES = [150, 300, 600]
FIXED_M, FIXED_N = 20_000, 60

# method: (estimator, paper's cost of estimating, of features, of one score)
SEPARATE = "O(m_D n_D r + m_G n_G r)"
METHODS = {
    "JDR": (JDR(R), "O(m_D m_G min(n_D, n_G) + m_D n_D² + m_G n_G²)", SEPARATE, "m_D + m_G"),
    "PCA": (PCA(R), "O(m_D n_D² + m_G n_G²)", SEPARATE, "m_D + m_G"),
    "pHd": (PHD(R), "O(m_D m_G + m_D n_D² + m_G n_G²)", SEPARATE, "m_D + m_G"),
    "sOLS": (SOLS(R, n_slices=R), "O(m_D m_G + m_D n_D² + m_G n_G²)", SEPARATE, "m_D + m_G"),
    "cpHd": (
        PHD(R, concatenate=True),
        "O(m_D m_G min(n_D, n_G) + m_D n_D² + m_G n_G²)",
        "O(m_D m_G n_D r + m_D m_G n_G r)",
        "m_D m_G",
    ),
}


def shortest(call: Callable[[], object], runs: int = 3) -> float:
    found = []
    for _ in range(runs):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


def seconds(model: ViewsTransformer, m: int, n: int) -> tuple[float, float, float]:
    """The time of each stage."""
    rng = np.random.default_rng(0)
    X = tuple(rng.standard_normal((m, n)) for _ in range(2))
    y = X[0][:, 0] * X[1][:, 0] + X[0][:, 1] + X[1][:, 1]
    estimating = shortest(lambda: model.fit(X, y))
    joint = isinstance(model, PHD) and model.concatenate
    embed = (lambda X: (model.transform_joint(X),)) if joint else model.transform
    features = shortest(lambda: embed(X))
    Z = embed(X)
    regression = KernelRegression(bandwidth=1.0).fit(Z, y)
    one = tuple(z[:1] for z in Z)
    return estimating, features, shortest(lambda: regression.predict(one), 10)


def exponents(model: ViewsTransformer, m: list[int], n: list[int]) -> list[float]:
    times = np.array([seconds(model, mm, nn) for mm, nn in zip(m, n, strict=True)])
    sizes = np.log(m if m[0] != m[-1] else n)
    return [float(np.polyfit(sizes, np.log(column), 1)[0]) for column in times.T]


def main() -> None:
    print(f"Exponents of time, r = {R}; in m: n = {FIXED_N}, m = {ROWS}; in n: m = {FIXED_M}, n = {FEATURES}\n")
    print(f"{'method':6s} {'stage':10s} {'in m':>6s} {'in n':>6s}   paper, for a grid of pairs")
    for name, (model, *paper) in METHODS.items():
        in_m = exponents(model, ROWS, [FIXED_N] * len(ROWS))
        in_n = exponents(model, [FIXED_M] * len(FEATURES), FEATURES)
        stages = ("embeddings", "features", "one score")
        for stage, by_m, by_n, bound in zip(stages, in_m, in_n, paper, strict=True):
            unit = " kernel evaluations" if stage == "one score" else ""
            print(f"{name:6s} {stage:10s} {by_m:6.2f} {by_n:6.2f}   {bound}{unit}", flush=True)
    print("\nFor m samples all of them are O(m n²), O(m n r) and m kernel evaluations: 1 and 2, 1 and 1, 1 and 0.")


if __name__ == "__main__":
    main()
