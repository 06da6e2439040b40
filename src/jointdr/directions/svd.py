"""Truncated singular value decompositions of a matrix, or of an operator that is never formed."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from jointdr.runtime import Array, dense

Solver = Literal["exact", "randomized", "countsketch"]
SOLVERS = ("auto", "exact", "randomized", "countsketch")

EXACT_UP_TO = 2000
"""``solver="auto"`` forms the proxy and decomposes it exactly while no view has more features than this."""

ITERATED_FROM = 200  # rows and columns of a matrix of which a few singular vectors are found by iteration

GRAM_DOWN_TO = 0.01
"""Singular values down to this share of the largest are as good as those of the matrix if read off MMᵀ."""


def choose_solver(solver: str, n_features: tuple[int, ...], n_components: int) -> Solver:
    """The solver that ``"auto"`` stands for.

    ``"exact"`` while every view has at most `EXACT_UP_TO` features (the proxy then takes at most 32 MB and its
    decomposition seconds), or if the sketch would be as wide as the proxy; otherwise ``"randomized"``.
    """
    if solver == "auto":
        exact = max(n_features) <= EXACT_UP_TO or 2 * n_components >= min(n_features)
        return "exact" if exact else "randomized"
    return solver  # type: ignore[return-value]


def svd(X: Array, n_components: int) -> tuple[Array, Array, Array]:
    """The r leading singular triplets of a matrix, (U, σ, V), to rounding (step 2.2 of Algorithm 1).

    A few directions that stand out of a large matrix are found by subspace iteration, O(n² r) a pass. Where that is
    slow, all are computed, O(n³).
    """
    width = 2 * n_components + 10
    if min(X.shape) >= max(ITERATED_FROM, 4 * width) and np.isfinite(X).all():
        found = _iterate(X, n_components, width)
        if found is not None:
            return found
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    return U[:, :n_components], s[:n_components], Vt[:n_components].T


def _iterate(X: Array, n_components: int, width: int) -> tuple[Array, Array, Array] | None:
    """The leading triplets, to rounding, by subspace iteration with so many columns; None where that is slow."""
    r, before = n_components, float(np.finfo(float).max)
    largest = float(np.max(np.abs(X))) or 1.0  # squares must neither overflow nor vanish
    X = X / largest
    tolerance = 10 * np.finfo(float).eps * np.sqrt(len(X))
    P = np.linalg.qr(np.random.default_rng(0).standard_normal((X.shape[1], width)))[0]
    while True:
        U, s, Wt = np.linalg.svd(X @ P, full_matrices=False)
        V, Z = P @ Wt.T, X.T @ U
        error = float(np.max(np.linalg.norm(Z[:, :r] - V[:, :r] * s[:r], axis=0)))
        if error <= tolerance * s[0]:
            return U[:, :r], largest * s[:r], V[:, :r]
        if not error <= 0.3 * before:
            return None
        P, before = np.linalg.qr(Z)[0], error


def left_vectors(M: Array, n_components: int) -> tuple[Array, Array]:
    """The r leading left singular vectors and values of a wide matrix: a factor of the HOSVD, O(n² columns).

    Those of a very wide one are read off MMᵀ, whose eigenvalues are their squares: what is below `GRAM_DOWN_TO` of the
    largest would lose digits there. The triangular factor of Mᵀ has them all, but takes a few times as long.
    """
    if M.shape[1] > 4 * M.shape[0]:
        scale = float(np.max(np.abs(M), initial=0.0)) or 1.0  # squares must not overflow
        values, E = np.linalg.eigh((M / scale) @ (M / scale).T)
        s = scale * np.sqrt(np.clip(values[::-1][:n_components], 0, None))
        if s.min(initial=np.inf) >= GRAM_DOWN_TO * s.max(initial=0.0):
            return np.ascontiguousarray(E[:, ::-1][:, :n_components]), s
        M = np.asarray(np.linalg.qr(M.T, mode="r")).T
    U, s, _ = np.linalg.svd(M, full_matrices=M.shape[1] < M.shape[0])
    return U[:, :n_components], np.pad(s, (0, max(0, n_components - len(s))))[:n_components]


def sketched_svd(
    X: LinearOperator, n_components: int, solver: Solver, n_iter: int, random_state: np.random.Generator
) -> tuple[Array, Array, Array]:
    """The r leading singular triplets from 2 + 2·n_iter products with a few columns (steps 2.1 to 2.3 of Algorithm 2).

    ``n_iter=0`` is the algorithm as printed in the paper. scikit-learn's `randomized_svd` is the same iteration,
    but draws its own start and needs an array.
    """
    Y = X.matmat(sketch(X.shape[1], min(X.shape), n_components, solver, random_state))
    for _ in range(n_iter):  # power passes
        Y = X.matmat(_well_conditioned(X.rmatmat(_well_conditioned(Y))))
    Q = np.linalg.qr(Y)[0]
    V, s, Ut = np.linalg.svd(X.rmatmat(Q), full_matrices=False)  # of the tall factor, which is the fast way round
    return Q @ Ut[:n_components].T, s[:n_components], V[:, :n_components]


def scaled_left_vectors(X: Array, n_components: int, n_iter: int = 4) -> Array:
    """U Σ of the leading singular triplets of a dense or sparse matrix, always the same for the same X.

    O(n_iter r |X| + n_iter r² (m + n)) by the randomized SVD; exact where it would not be much narrower than X. In each
    column the largest entry is positive.
    """
    if 4 * n_components >= min(X.shape):
        U, s, _ = svd(dense(X), n_components)
    else:
        U, s, _ = sketched_svd(aslinearoperator(X), n_components, "randomized", n_iter, np.random.default_rng(0))
    return sign_columns(U) * s


def sign_columns(vectors: Array) -> Array:
    """Columns with the sign that makes the largest entry positive; of several equal ones, the first."""
    size = np.abs(vectors)
    first = np.argmax(size >= (1 - 1e-6) * size.max(axis=0), axis=0)
    return vectors * np.where(vectors[first, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)


def sketch(n: int, most: int, n_components: int, solver: Solver, random_state: np.random.Generator) -> Any:
    """The n × k matrix S: Gaussian with k = 2r, or a CountSketch, one ±1 in every row, with k = 4r and at least 20."""
    if solver == "randomized":
        return random_state.standard_normal((n, min(most, 2 * n_components)))
    width = min(most, max(20, 4 * n_components))
    if width >= n:
        return sparse.eye_array(n, format="csr")
    S = linalg.clarkson_woodruff_transform(sparse.eye_array(n, format="csc"), width, random_state)
    return sparse.csr_array(S.T)


def _well_conditioned(Y: Array) -> Array:
    """Columns with the same range, orthonormal where the range is clear of rounding.

    Between power passes this is enough, and several times faster than QR. It stays with NumPy's BLAS on purpose:
    SciPy brings its own, whose threads would compete with those of the products before and after.
    """
    Y = Y / (float(np.max(np.abs(Y))) or 1.0)  # squares must neither overflow nor vanish
    values, E = np.linalg.eigh(Y.T @ Y)
    floor = np.finfo(float).eps * values[-1]
    return Y @ (E / np.sqrt(np.maximum(values, floor))) if floor > 0 else Y
