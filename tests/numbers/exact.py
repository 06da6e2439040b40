"""The paper's formulas in 60 digits: what moments, whitening, the proxy and its decompositions are without rounding.

Arrays are NumPy's, of mpmath numbers, so that the formulas read as they do everywhere else. Floating point numbers are
taken as they are, to the last bit: what is compared is the arithmetic of the library, and not how data was rounded.
"""

from __future__ import annotations

from itertools import combinations

import mpmath
import numpy as np

mpmath.mp.dps = 60

EPS = 2.0**-52


def exact(X):
    """The same numbers, without any rounding from here on."""
    return np.vectorize(lambda x: mpmath.mpf(float(x)), otypes=[object])(X)


def matrix(X):
    return mpmath.matrix(X.tolist())


def array(M):
    return np.array(M.tolist(), dtype=object).reshape(M.rows, M.cols)


def moments(views, y, w=None, y_center=None):
    """Every central moment, divided by the total weight: means, C of every pair of views, C of y, T of every pair."""
    views, y = [exact(X) for X in views], exact(y)
    w = exact(np.ones(len(y)) if w is None else w)
    total = w.sum()
    means = [w @ X / total for X in views]
    y_mean = w @ y / total if y_center is None else mpmath.mpf(y_center)
    centred, e = [X - mean for X, mean in zip(views, means, strict=True)], y - y_mean
    pairs = [(k, k) for k in range(len(views))] + list(combinations(range(len(views)), 2))
    return {
        "means": means,
        "y_mean": y_mean,
        "C": {(j, k): centred[j].T @ (w[:, None] * centred[k]) / total for j, k in pairs},
        "C_y": [X.T @ (w * e) / total for X in centred],
        "C_yy": (w * e) @ e / total,
        "T": {(j, k): centred[j].T @ ((w * e)[:, None] * centred[k]) / total for j, k in pairs},
    }


def regularized(Sigma, ridge, weight=None, n_rows=None):
    """Σ + ridge · mean variance · I, or the mixture of the two that oracle approximating shrinkage chooses."""
    n = len(Sigma)
    mean_variance = np.trace(Sigma) / n
    if ridge != "auto":
        return Sigma + np.eye(n, dtype=int) * (exact(ridge).item() * mean_variance)
    w = exact(np.ones(n_rows) if weight is None else weight)
    size = w.sum() ** 2 / (w * w).sum()
    alpha = (Sigma * Sigma).sum() / n**2
    share = min(mpmath.mpf(1), (alpha + mean_variance**2) / ((size + 1) * (alpha - mean_variance**2 / n)))
    return (1 - share) * Sigma + np.eye(n, dtype=int) * (share * mean_variance)


def whitening(Sigma):
    """W = L⁻ᵀ with Σ = LLᵀ: step 1.3 of Algorithm 1."""
    return array(mpmath.inverse(mpmath.cholesky(matrix(Sigma)))).T


def condition(Sigma):
    """The condition number of the correlations, which is what units leave of that of Σ."""
    d = np.array([mpmath.sqrt(v) for v in np.diag(Sigma)], dtype=object)
    values = mpmath.eigsy(matrix(Sigma / np.outer(d, d)), eigvals_only=True)
    return float(max(values) / min(values))


def left_vectors(M, r):
    """The r leading left singular vectors and values of a wide matrix."""
    values, E = mpmath.eigsy(matrix(M @ M.T))
    order = sorted(range(len(M)), key=lambda i: -values[i])[:r]
    return array(E)[:, order], np.array([mpmath.sqrt(values[i]) for i in order], dtype=object)


def jdr(views, y, r, w=None, ridge=0.0):
    """Algorithm 1: Û, V̂ and the singular values of X₀ = W_aᵀ T_ayb W_b."""
    found = moments(views, y, w)
    W = [whitening(regularized(found["C"][k, k], ridge, w, len(y))) for k in range(2)]
    X = W[0].T @ found["T"][0, 1] @ W[1]
    U, s = left_vectors(X, r)
    V = (X.T @ U) / s
    return [W[0] @ U, W[1] @ V], s


def proxy_tensor(views, y, w=None, ridge=0.0):
    """The mean of y′ a′ ⊗ b′ ⊗ c′, and the maps W of the views."""
    found = moments(views, y, w)
    W = [whitening(regularized(found["C"][k, k], ridge, w, len(y))) for k in range(len(views))]
    A, B, C = ((exact(X) - mean) @ M for X, mean, M in zip(views, found["means"], W, strict=True))
    weight = exact(np.ones(len(y)) if w is None else w)
    e = weight * (exact(y) - found["y_mean"])
    rows = (e[:, None] * A)[:, :, None, None] * B[:, None, :, None] * C[:, None, None, :]
    return rows.sum(axis=0) / weight.sum(), W


def hosvd(X, ranks):
    """The leading left singular vectors and values of every unfolding."""
    return [left_vectors(np.moveaxis(X, k, 0).reshape(X.shape[k], -1), r) for k, r in enumerate(ranks)]


def difference(found, expected):
    """The largest difference, relative to the largest entry."""
    found, expected = exact(np.asarray(found)), np.asarray(expected, dtype=object)
    return float(np.max(np.abs(found - expected)) / np.max(np.abs(expected)))


def direction_difference(found, expected):
    """The same for directions, one column each, whose signs are free."""
    columns = range(expected.shape[1])
    return max(min(difference(found[:, i], expected[:, i]), difference(-found[:, i], expected[:, i])) for i in columns)
