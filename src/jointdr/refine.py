"""Least-squares refinement: a bilinear fit of y, started at JDR.

JDR's proxy is an unbiased but noisy estimate of U Q Vᵀ: every entry carries the noise of all others. Fitting
y ≈ c + a′ᵀ U S Vᵀ b′ by least squares, alternating over the two views, removes most of that noise. For independent
Gaussian features it stays consistent for any link, because the best bilinear approximation has the same directions.
Every half-step is a least-squares problem in n·r unknowns, solved by a few LSQR iterations with two thin products each,
O(m n r); no m × (n r) matrix is ever formed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsqr

from jointdr.arrays import Array, as_float, float_dtype, inner, like, to_numpy
from jointdr.embedding import Embedding, projected, signs_of
from jointdr.engines.local import Rows
from jointdr.normalize import Whitener

ITERATIONS = 8
"""LSQR iterations per half-step. Normalized features are nearly orthonormal, so that a few are enough."""


@dataclass(frozen=True)
class NormalizedView:
    """A view as an operator in normalized coordinates, H ↦ A′H and R ↦ A′ᵀR, without a normalized copy."""

    X: Array
    map: Whitener

    def times(self, H: Array) -> Array:
        """A′H, (m, r)."""
        return np.asarray(to_numpy(projected(self.X, self.map.mean, self.map.push(H))), dtype=float)

    def transposed_times(self, R: Array) -> Array:
        """A′ᵀR, (k, r)."""
        X = as_float(self.X, float_dtype(self.X))
        product = np.asarray(to_numpy(inner(X, like(R, X))), dtype=float)
        return self.map.pull(product - np.outer(self.map.mean, R.sum(axis=0)))


@dataclass(frozen=True)
class Bilinear:
    """The model y ≈ c + a′ᵀ U S Vᵀ b′, with orthonormal columns in normalized coordinates."""

    U: Array
    S: Array
    V: Array


def refined(
    rows: Rows, maps: Sequence[Whitener], whole: Embedding, part: Embedding, held_out: Array, sweeps: int
) -> tuple[Embedding, int]:
    """Refine an embedding by alternating least squares, as long as it helps on rows that were not fitted.

    Parameters
    ----------
    rows : Rows
        All data, which is read 2·(2·`ITERATIONS` + 2) times a sweep.
    maps : sequence of two Whitener
    whole : Embedding
        Fitted to all rows: what is returned if nothing better is found.
    part : Embedding
        Fitted to the rows that are not held out: where the trial starts.
    held_out : (m,) boolean array
    sweeps : int
        How many sweeps to make at most.

    Returns
    -------
    embedding : Embedding
    accepted : int
        Sweeps that were made.

    Notes
    -----
    The first sweep is tried on the rows that are not held out. If it lowers the residual of those that are, all sweeps
    are made on all rows, starting from there; otherwise the embedding is returned as it was.
    """
    views = tuple(NormalizedView(X, m) for X, m in zip(rows.views, maps, strict=True))
    y = rows.centred().y[:, 0]
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    train = np.where(held_out, 0.0, weight)
    start = _fitted(views, y, train, *_normalized_bases(part, maps))
    tried = _sweep(views, y, train, start)
    test = np.where(held_out, weight, 0.0)
    before, after = (_residual(views, y, train, test, model) for model in (start, tried))
    if not after < before:
        return whole, 0
    model = tried
    for _ in range(sweeps):
        model = _sweep(views, y, weight, model)
    model = _fitted(views, y, weight, model.U, model.V)
    return _embedding(model, maps, whole), sweeps


def _normalized_bases(embedding: Embedding, maps: Sequence[Whitener]) -> tuple[Array, Array]:
    """Orthonormal bases, in normalized coordinates, of the embeddings: the inverse of U = W U′."""
    bases = []
    for U, m in zip(embedding.bases, maps, strict=True):
        if m.is_full:
            H = np.linalg.lstsq(m.matrix, U, rcond=None)[0]
        else:
            H = U if m.matrix is None else U / np.where(m.matrix > 0, m.matrix, 1.0)[:, None]
        bases.append(np.linalg.qr(H)[0])
    return bases[0], bases[1]


def _sweep(views: Sequence[NormalizedView], y: Array, weight: Array, model: Bilinear) -> Bilinear:
    """One pass of alternating least squares: first over U, then over V."""
    H = _half_step(views[0], views[1].times(model.V), y, weight, model.U @ model.S)
    U, R = np.linalg.qr(H)
    K = _half_step(views[1], views[0].times(U), y, weight, model.V @ R.T)
    V, R = np.linalg.qr(K)
    return Bilinear(U, R.T, V)


def _half_step(view: NormalizedView, Z: Array, y: Array, weight: Array, start: Array) -> Array:
    """min over H of Σ w (y − c − Σ_k (A′H)_k Z_k)², by LSQR from a start."""
    root = np.sqrt(weight)
    Zw = Z * root[:, None]
    k, r = start.shape

    def forward(x: Array) -> Array:
        return np.einsum("mr,mr->m", view.times(x[:-1].reshape(k, r)), Zw) + root * x[-1]

    def backward(e: Array) -> Array:
        return np.append(view.transposed_times(e[:, None] * Zw).ravel(), root @ e)

    operator = LinearOperator((len(y), k * r + 1), matvec=forward, rmatvec=backward, dtype=float)
    x = lsqr(operator, root * y, x0=np.append(start.ravel(), 0.0), iter_lim=ITERATIONS, atol=1e-4, btol=1e-4)[0]
    return x[:-1].reshape(k, r)


def _fitted(views: Sequence[NormalizedView], y: Array, weight: Array, U: Array, V: Array) -> Bilinear:
    """The best S for given U and V."""
    F = _products(views, U, V)
    Fw = F * weight[:, None]
    theta = np.linalg.lstsq(Fw.T @ F, Fw.T @ y, rcond=None)[0]
    return Bilinear(U, theta[:-1].reshape(U.shape[1], V.shape[1]), V)


def _residual(views: Sequence[NormalizedView], y: Array, train: Array, test: Array, model: Bilinear) -> float:
    """The squared residual of the test rows, with S and c fitted to the training rows."""
    F = _products(views, model.U, model.V)
    Fw = F * train[:, None]
    theta = np.linalg.lstsq(Fw.T @ F, Fw.T @ y, rcond=None)[0]
    return float(test @ (y - F @ theta) ** 2)


def _products(views: Sequence[NormalizedView], U: Array, V: Array) -> Array:
    """All products of embedded coordinates, and a constant: (m, r² + 1)."""
    A, B = views[0].times(U), views[1].times(V)
    return np.hstack([(A[:, :, None] * B[:, None, :]).reshape(len(A), -1), np.ones((len(A), 1))])


def _embedding(model: Bilinear, maps: Sequence[Whitener], whole: Embedding) -> Embedding:
    P, s, Qt = np.linalg.svd(model.S)
    U, V = model.U @ P, model.V @ Qt.T
    signs = signs_of(maps[0].push(U))
    return replace(
        whole,
        bases=(maps[0].push(U * signs), maps[1].push(V * signs)),
        spectra=(s, s),
        core=np.diag(s)[None],
        probes=None,
    )
