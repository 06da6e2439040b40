"""The methods in plain NumPy, from their formulas, on all rows at once: what every engine has to find."""

from __future__ import annotations

import numpy as np


def centred(X, w):
    return X - np.average(X, axis=0, weights=w)


def mean_of(product, w):
    """The weighted mean over rows of the outer products of some arrays, the first of which is a vector."""
    return np.tensordot(w / w.sum(), product, axes=(0, 0))


def covariance(X, w):
    Z = centred(X, w)
    return mean_of(Z[:, :, None] * Z[:, None, :], w)


def whitening(X, w):
    """W with WᵀΣW = I: step 1.3 of Algorithm 1."""
    return np.linalg.inv(np.linalg.cholesky(covariance(X, w))).T


def proxy(A, B, y, w):
    """T_ayb: step 2.1 before normalization."""
    e = centred(y, w)
    return mean_of(e[:, None, None] * centred(A, w)[:, :, None] * centred(B, w)[:, None, :], w)


def leading(M, r):
    U, s, _ = np.linalg.svd(M, full_matrices=False)
    return U[:, :r], s[:r]


def paired(X, maps, r):
    U, s, Vt = np.linalg.svd(X)
    return [(maps[0] @ U[:, :r], s[:r]), (maps[1] @ Vt[:r].T, s[:r])]


def algorithm_1(views, y, w):
    """Full normalization, and the singular vectors of X₀ = W_aᵀ T W_b."""
    A, B = views[:2]
    W = whitening(A, w), whitening(B, w)
    return paired(W[0].T @ proxy(A, B, y, w) @ W[1], W, 2)


def algorithm_2(views, y, w):
    """Normalization feature by feature."""
    A, B = views[:2]
    D = [np.diag(np.diag(covariance(X, w)) ** -0.5) for X in (A, B)]
    return paired(D[0] @ proxy(A, B, y, w) @ D[1], D, 2)


def tensor(views, y, w):
    """The HOSVD of the mean of y′ a′ ⊗ b′ ⊗ c′."""
    W = [whitening(X, w) for X in views]
    a, b, c = (centred(X, w) @ M for X, M in zip(views, W, strict=True))
    X = np.einsum("i,ij,ik,il->jkl", w * centred(y, w), a, b, c, optimize=True) / w.sum()
    unfoldings = [np.moveaxis(X, k, 0).reshape(X.shape[k], -1) for k in range(3)]
    return [(M @ U, s) for M, (U, s) in zip(W, (leading(U, 2) for U in unfoldings), strict=True)]


def pca(views, y, w):
    result = []
    for X in views[:2]:
        values, E = np.linalg.eigh(covariance(X, w))
        result.append((E[:, ::-1][:, :2], np.sqrt(values[::-1][:2])))
    return result


def by_view(columns):
    """A method whose directions are the leading ones of some columns made of the normalized features of a view."""

    def method(views, y, w):
        result = []
        for X in views[:2]:
            W = whitening(X, w)
            U, s = columns(centred(X, w) @ W, y, w)
            result.append((W @ U, s))
        return result

    return method


def _coefficients(z, y, w):
    return mean_of(centred(y, w)[:, None] * z, w)[:, None]


def _hessian(z, y, w):
    return mean_of(centred(y, w)[:, None, None] * z[:, :, None] * z[:, None, :], w)


def _ols(z, y, w):
    return leading(_coefficients(z, y, w), 1)


def _phd(z, y, w):
    values, E = np.linalg.eigh(_hessian(z, y, w))
    order = np.argsort(-np.abs(values))[:2]
    return E[:, order], np.abs(values[order])


def _iht(z, y, w):
    H, beta = _hessian(z, y, w), _coefficients(z, y, w)
    Q = np.linalg.qr(np.hstack([beta, H @ beta]))[0]
    return leading(Q @ Q.T @ np.hstack([beta, H]), 2)


def sliced(y, edges):
    return [np.searchsorted(edges, y) == h for h in range(len(edges) + 1)]


def _sir(edges):
    def columns(z, y, w):
        parts = [(w[at].sum() / w.sum(), np.average(z[at], axis=0, weights=w[at])) for at in sliced(y, edges)]
        return leading(np.column_stack([np.sqrt(p) * mean for p, mean in parts]), 2)

    return columns


def _save(edges):
    def columns(z, y, w):
        identity = np.eye(z.shape[1])
        parts = [np.sqrt(w[at].sum() / w.sum()) * (identity - covariance(z[at], w[at])) for at in sliced(y, edges)]
        return leading(np.hstack(parts), 2)

    return columns


ols, phd, iht = by_view(_ols), by_view(_phd), by_view(_iht)


def sir(edges):
    return by_view(_sir(edges))


def save(edges):
    return by_view(_save(edges))
