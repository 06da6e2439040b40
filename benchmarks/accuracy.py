"""Accuracy of every way to find the embeddings, link by link: one table of mean NSEE.

    python benchmarks/accuracy.py [repetitions [plot.png]]

20 repetitions by default, which takes about a quarter of an hour; the standard error of a mean is 1 to 3 % of it.
pHd is applied to each view alone, cpHd to both joined, with its 2r directions split into one subspace per view.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.base import clone

from jointdr import JDR, PHD
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

METHODS = {
    "JDR": JDR(),
    "all moments": JDR(random_state=0, moments="all"),
    "bilinear refinement": JDR(random_state=0, refine=2, link="bilinear"),
    "all + quadratic": JDR(random_state=0, moments="all", refine=3, link="bilinear"),
    "all + learned link": JDR(random_state=0, moments="all", refine=4, link="learned"),
    "all + auto": JDR(random_state=0, moments="all", refine=4),
    "pHd": PHD(),
    "cpHd": PHD(concatenate=True),
}


SMALLEST = 0.03
"""Errors below this are drawn there: without noise they vanish."""


def main(repetitions: int = 20, plot: str | None = None) -> None:
    print(f"| link | {' | '.join(METHODS)} |")
    print(f"|---|{'---|' * len(METHODS)}")
    table = {}
    for name, (model, m) in MODELS.items():
        errors = []
        for seed in range(repetitions):
            X, y, truth = model.sample(m, seed)
            r = truth[0].shape[1]
            models = [clone(method).set_params(n_components=r).fit(X, y) for method in METHODS.values()]
            errors.append([nsee(truth, fitted.embeddings_) for fitted in models])
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
        values = [max(SMALLEST, row[list(METHODS).index(method)]) for row in table.values()]
        ax.plot(values, places + (i - 2.5) * 0.08, "o^sDxv"[i], label=method, markersize=6)
    ax.set(xscale="log", xlabel=f"mean NSEE (what is below {SMALLEST} is drawn there)", yticks=places)
    ax.set_yticklabels(table)
    ax.invert_yaxis()
    ax.set_xticks([0.03, 0.05, 0.1, 0.2, 0.5, 1.0], ["0.03", "0.05", "0.1", "0.2", "0.5", "1"])
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    figure.legend(loc="outside lower center", ncols=6, frameon=False)
    figure.savefig(path, dpi=130)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, sys.argv[2] if len(sys.argv) > 2 else None)
