"""Accuracy of every way to find the embeddings, link by link: one table of mean NSEE.

    python benchmarks/accuracy.py [repetitions [plot.png]]

20 repetitions by default, which takes about half an hour; the standard error of a mean is about 1 to 3 % of it. pHd is
applied to each view alone, cpHd to both joined, with its 2r directions split into one subspace per view.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from jointdr import JDR, Moments
from jointdr.datasets import SyntheticModel
from jointdr.metrics import nsee

MODELS = {
    "bilinear, n = 100, r = 5": (SyntheticModel("bilinear", 100, 5), 20_000),
    "bilinear, n = 30, r = 2, m = 2000": (SyntheticModel("bilinear", 30, 2), 2000),
    "odd (bilinear, no noise), n = 50, r = 3": (SyntheticModel("bilinear", 50, 3, noise=0), 20_000),
    "even, n = 50, r = 3": (SyntheticModel("even", 50, 3, noise=0), 20_000),
    "logistic, n = 50, r = 3": (SyntheticModel("logistic", 50, 3), 20_000),
    "RBF, n = 20, r = 2": (SyntheticModel("rbf", 20, 2), 20_000),
    "RBF, n = 50, r = 3": (SyntheticModel("rbf", 50, 3), 20_000),
    "RBF, n = 20, r = 5": (SyntheticModel("rbf", 20, 5), 20_000),
}

Bases = tuple[Any, ...]


def whitened(Sigma: Any) -> Any:
    """W with WᵀΣW = I."""
    return np.linalg.inv(np.linalg.cholesky(Sigma)).T


def leading(H: Any, r: int) -> Any:
    """Eigenvectors by absolute eigenvalue."""
    values, E = np.linalg.eigh(H)
    return E[:, np.argsort(-np.abs(values))[:r]]


def phd(moments: Moments, r: int) -> Bases:
    bases = []
    for k in range(2):
        W = whitened(moments.covariance(k))
        bases.append(W @ leading(W.T @ moments.third(k, k)[0] @ W, r))
    return tuple(bases)


def cphd(moments: Moments, r: int) -> Bases:
    n = moments.n_features[0]
    C, T = moments.cross_covariance(0, 1), moments.third(0, 1)[0]
    W = whitened(np.block([[moments.covariance(0), C], [C.T, moments.covariance(1)]]))
    H = np.block([[moments.third(0, 0)[0], T], [T.T, moments.third(1, 1)[0]]])
    D = W @ leading(W.T @ H @ W, 2 * r)
    return tuple(np.linalg.svd(part)[0][:, :r] for part in (D[:n], D[n:]))


def by_moments(method: Callable[[Moments, int], Bases]) -> Callable[[Any, Any, int], Bases]:
    def fitted(X: Any, y: Any, r: int) -> Bases:
        return method(Moments.of_block(X.arrays, y, blocks=("cross", "within")).central(), r)

    return fitted


def jdr(**options: Any) -> Callable[[Any, Any, int], Bases]:
    return lambda X, y, r: JDR(r, random_state=0, **options).fit(X, y).embeddings_


METHODS = {
    "JDR": jdr(),
    "all moments": jdr(moments="all"),
    "bilinear refinement": jdr(refine=2, link="bilinear"),
    "all + quadratic": jdr(moments="all", refine=3, link="bilinear"),
    "all + learned link": jdr(moments="all", refine=4, link="learned"),
    "all + auto": jdr(moments="all", refine=4),
    "pHd": by_moments(phd),
    "cpHd": by_moments(cphd),
}


def main(repetitions: int = 20, plot: str | None = None) -> None:
    print(f"| link | {' | '.join(METHODS)} |")
    print(f"|---|{'---|' * len(METHODS)}")
    table = {}
    for name, (model, m) in MODELS.items():
        errors = []
        for seed in range(repetitions):
            X, y, truth = model.sample(m, seed)
            errors.append([nsee(truth, method(X, y, truth[0].shape[1])) for method in METHODS.values()])
        table[name] = np.mean(errors, axis=0)
        print(f"| {name} | {' | '.join(f'{e:.3f}' for e in table[name])} |", flush=True)
    if plot is not None:
        draw(table, plot)


def draw(table: dict[str, Any], path: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
    shown = ["JDR", "all moments", "all + learned link", "all + auto", "pHd", "cpHd"]
    places = np.arange(len(table))
    for i, method in enumerate(shown):
        values = [row[list(METHODS).index(method)] for row in table.values()]
        ax.plot(values, places + (i - 2.5) * 0.08, "o^sDxv"[i], label=method, markersize=6)
    ax.set(xscale="log", xlabel="NSEE (mean; 0 is the true subspace, 1 orthogonal to it)", yticks=places)
    ax.set_yticklabels(table)
    ax.invert_yaxis()
    ax.set_xticks([0.05, 0.1, 0.2, 0.5, 1.0], ["0.05", "0.1", "0.2", "0.5", "1"])
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=6, frameon=False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, sys.argv[2] if len(sys.argv) > 2 else None)
