"""What bootstrap intervals cover, and what they cost as a ratio to one plain fit in the same run.

    python benchmarks/bootstrap.py [repetitions]

Share of 90 % intervals that hold the true singular value, with those of the plain percentile bootstrap beside them; the
subspace error that the bootstrap expects, over the actual one. Targets: at least 0.80 covered, errors within 25 %.
"""

from __future__ import annotations

import sys
import time
from functools import cache

import numpy as np

from jointdr import JDR
from jointdr.datasets import SyntheticModel
from jointdr.diagnostics import bootstrap
from jointdr.diagnostics.replicates import ResamplingUnits
from jointdr.engines.rows import Rows
from jointdr.metrics import subspace_error

TIED, CLOSE, APART = (1.0, 1.0, 1.0), (1.1, 1.0, 0.9), (3.0, 2.0, 1.0)

SETTINGS = [  # link, true singular values, n, m, normalize
    ("bilinear", TIED, 50, 5000, "full"),
    ("bilinear", TIED, 50, 5000, None),
    ("bilinear", (1.0,) * 5, 100, 20_000, "full"),
    ("bilinear", CLOSE, 50, 5000, "full"),
    ("bilinear", APART, 50, 5000, "full"),
    ("bilinear", APART, 50, 2000, "full"),
    ("rbf", None, 20, 20_000, "full"),
]


def sample(link, d, n, m, seed):
    """Data, and the true singular values and embeddings."""
    X, y, truth = SyntheticModel(link, n, 2 if d is None else len(d)).sample(m, seed)
    if d is None:
        return X, y, rbf_singular_values(), truth
    products = (X.arrays[0] @ truth[0]) * (X.arrays[1] @ truth[1])
    return X, y + products @ (np.array(d) - 1.0), np.array(d), truth


@cache
def rbf_singular_values(m=2_000_000):
    """Of the population, from a sample so large, in as few features, that noise does not show; both are equal."""
    model = JDR(2)
    for X, y in SyntheticModel("rbf", 2, 2).blocks(m, 100_000):
        model.partial_fit(X, y)
    return np.full(2, np.mean(model.singular_values_))


def percentile_intervals(X, y, r, normalize, seed, n=200, n_blocks=100):
    """The plain bootstrap: quantiles of the singular values of ordinary replicates."""
    keep = {"center": 0, "y_center": 0.0, "cross_covariance": False, "covariance": None} if normalize is None else {}
    keep = {"blocks": ("cross",), "covariance": "full", "cross_covariance": True} | keep
    blocks = ResamplingUnits(Rows(X.arrays, y).fold_moments(n_blocks, seed=seed, **keep))
    counts = np.random.default_rng(seed).multinomial(n_blocks, np.full(n_blocks, 1 / n_blocks), size=n)
    values = [JDR(r, normalize=normalize).fit_moments(m).singular_values_ for m in blocks.replicates(counts)]
    return np.quantile(values, [0.05, 0.95], axis=0).T


def covered(intervals, d):
    return (intervals[:, 0] <= d) & (d <= intervals[:, 1])


def coverage(repetitions):
    print("link      true values          n      m  normalize | percentile  corrected  each value             | error")
    for link, d, n, m, normalize in SETTINGS:
        plain, corrected, errors = [], [], []
        for seed in range(repetitions):
            X, y, true, truth = sample(link, d, n, m, seed)
            r = len(true)
            model = JDR(r, normalize=normalize).fit(X, y)
            sure = bootstrap(model, X, y, random_state=seed)
            corrected.append(covered(sure.intervals, true))
            plain.append(covered(percentile_intervals(X, y, r, normalize, seed), true))
            actual = [subspace_error(U, W) for U, W in zip(truth, model.embeddings_, strict=True)]
            errors.append([np.mean([a.median for a in sure.angles]), np.mean(actual)])
        expected, actual = np.mean(errors, axis=0)
        each = " ".join(f"{c:.2f}" for c in np.mean(corrected, axis=0))
        values = " ".join(f"{v:.3g}" for v in true)
        print(
            f"{link:<9} {values:<18} {n:>3} {m:>6}  {normalize!s:<9} | {np.mean(plain):>10.2f}  "
            f"{np.mean(corrected):>9.2f}  {each:<24} | {expected:.3f} / {actual:.3f} = {expected / actual:.2f}",
            flush=True,
        )


def cost(n=100, r=5, m=20_000, repetitions=3):
    X, y, _, _ = sample("bilinear", (1.0,) * r, n, m, 0)
    seconds = {"fit": [], "bootstrap": []}
    for _ in range(repetitions):
        start = time.perf_counter()
        model = JDR(r).fit(X, y)
        seconds["fit"].append(time.perf_counter() - start)
        start = time.perf_counter()
        bootstrap(model, X, y, random_state=0)
        seconds["bootstrap"].append(time.perf_counter() - start)
    ratio = min(seconds["bootstrap"]) / min(seconds["fit"])
    print(f"\nn = {n}, r = {r}, m = {m}: 200 replicates take {ratio:.0f} x the time of one plain fit")


if __name__ == "__main__":
    coverage(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
    for size in ((50, 3, 5000), (100, 5, 20_000), (100, 5, 200_000)):
        cost(*size)
