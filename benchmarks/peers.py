"""JDR beside other packages on one job: bilinear, m = 20 000 rows, n₁ = n₂ = 100, r = 5, noise N(0, 1).

    pip install statsmodels tensorly
    python benchmarks/peers.py [--slow]

Times are multiples of the plain JDR fit of the same run, the fastest of three; NSEE is the mean of three data sets (0
is the truth, 1 no relation to it). Peers that are not installed are left out; ``--slow`` adds those that take minutes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSSVD, PLSRegression
from sklearn.decomposition import PCA as SklearnPCA

from jointdr import IMC, JDR, Dyads
from jointdr.datasets import make_bilinear
from jointdr.metrics import nsee

M, N, R, DATA_SETS = 20_000, 100, 5, 3
Data = tuple[Any, Any, Any]
Found = tuple[Any, Any]
"""An embedding of each view, (n, r)."""


def jdr(data: Data, **options: Any) -> Found:
    A, B, y = data
    return JDR(R, **options).fit((A, B), y).embeddings_


def imc(data: Data) -> Found:
    A, B, y = data
    return IMC(R, fit_intercept=False).fit(Dyads.from_samples((A, B), y)).embeddings_


def plssvd(data: Data) -> Found:
    """The singular vectors of the cross covariance of y·A and B: JDR without its normalization."""
    A, B, y = data
    model = PLSSVD(R, scale=False).fit(y[:, None] * A, B)
    return model.x_weights_, model.y_weights_


def pls(data: Data) -> Found:
    A, B, y = data
    return tuple(PLSRegression(R, scale=False).fit(X, y).x_rotations_ for X in (A, B))


def pca(data: Data) -> Found:
    return tuple(SklearnPCA(R).fit(X).components_.T for X in data[:2])


def _statsmodels(name: str, X: Any, y: Any, r: int) -> Any:
    from statsmodels.regression import dimred

    found = getattr(dimred, name)(y, X).fit()
    order = np.argsort(-np.abs(found.eigs))[:r]
    return found.params[:, order]


def phd_joined(data: Data) -> Found:
    """pHd of the concatenated features; its 2r directions, cut into the two views."""
    A, B, y = data
    found = _statsmodels("PrincipalHessianDirections", np.hstack([A, B]), y, 2 * R)
    return tuple(np.linalg.svd(part, full_matrices=False)[0][:, :R] for part in (found[:N], found[N:]))


def phd_by_view(data: Data) -> Found:
    A, B, y = data
    return tuple(_statsmodels("PrincipalHessianDirections", X, y, R) for X in (A, B))


def sir_by_view(data: Data) -> Found:
    A, B, y = data
    return tuple(_statsmodels("SlicedInverseReg", X, y, R) for X in (A, B))


def cp_regressor(data: Data) -> Found:
    from tensorly.regression import CPRegressor

    A, B, y = data
    model = CPRegressor(R, tol=1e-6, n_iter_max=100, reg_W=1.0, verbose=0)
    model.fit(np.einsum("mi,mj->mij", A, B), y)
    return tuple(model.cp_weight_[1][:2])


PEERS: dict[str, tuple[Callable[[Data], Found], str]] = {
    "JDR": (jdr, "A, B, y"),
    "JDR, normalize=None": (lambda data: jdr(data, normalize=None), "A, B, y"),
    "JDR, refine=2": (lambda data: jdr(data, refine=2), "A, B, y"),
    "IMC of this package": (imc, "A, B, y"),
    "scikit-learn PLSSVD on (y·A, B)": (plssvd, "two arrays"),
    "scikit-learn PLSRegression, view by view": (pls, "one X"),
    "scikit-learn PCA, view by view": (pca, "one X"),
    "statsmodels pHd on [A B]": (phd_joined, "one X"),
    "statsmodels pHd, view by view": (phd_by_view, "one X"),
    "statsmodels SIR, view by view": (sir_by_view, "one X"),
}
SLOW: dict[str, tuple[Callable[[Data], Found], str]] = {
    "tensorly CPRegressor": (cp_regressor, "all products of a feature of A and one of B"),
}


def measured(peer: Callable[[Data], Found], repeats: int) -> tuple[float, float]:
    """Seconds, and NSEE."""
    times, errors = [], []
    for seed in range(DATA_SETS if repeats > 1 else 1):
        X, y, truth = make_bilinear(M, N, R, random_state=seed)
        for _ in range(repeats):
            start = time.perf_counter()
            found = peer((*X.arrays, y))
            times.append(time.perf_counter() - start)
        errors.append(nsee(truth, found))
    return min(times), float(np.mean(errors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--slow", action="store_true", help="peers that take minutes, or gigabytes, too")
    slow = parser.parse_args().slow
    print("| | time | NSEE | how the two views go in |\n|---|---|---|---|")
    floor = None
    for name, (peer, how) in {**PEERS, **(SLOW if slow else {})}.items():
        try:
            taken, error = measured(peer, 1 if name in SLOW else 3)
        except ImportError as missing:
            print(f"| {name} | | | {missing} |")
            continue
        floor = floor or taken
        print(f"| {name} | {taken / floor:.1f} | {error:.3f} | {how} |", flush=True)


if __name__ == "__main__":
    main()
