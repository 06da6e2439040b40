"""Nadaraya-Watson regression on a grid of pairs (section 5 of the paper), in blocks.

    ŷ_ij = Σ_pq K_D(i, p) K_G(j, q) y_pq / Σ_pq K_D(i, p) K_G(j, q)

over the observed pairs (p, q). If all are, numerator and denominator factorize: with the rows of both kernel matrices
scaled to sum 1 it is K_D Y K_Gᵀ, and a new pair costs m_D + m_G evaluations of kernels. Otherwise the numerator is
K_D Y K_Gᵀ and the denominator K_D W K_Gᵀ, with the sparse scores Y and the sparse pattern W.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from jointdr.arrays import Array, is_sparse
from jointdr.engines.local import slices
from jointdr.weights import VANISHING, Kernel


@dataclass(frozen=True)
class Smoothed:
    """Predictions of some rows.

    Attributes
    ----------
    at : slice
        Which of the new rows.
    scores : (rows, columns) array
    neighbors : (rows, columns) array, or None if not asked for
        The effective number of known pairs behind each score, (Σ w)²/Σ w²; 0 where there is none and the score is the
        mean of the known scores of the column.
    """

    at: slice
    scores: Array
    neighbors: Array | None


@dataclass(frozen=True)
class GridRegression:
    """Kernel regression on a grid of known scores.

    Attributes
    ----------
    Y : (m_A, m_B) array, or CSR array
    complete : bool
        Whether every pair is known, those that a sparse Y does not store as 0, or those that it stores.
    kernels : two Kernels
        Of the row and of the column entities.
    """

    Y: Array
    complete: bool
    kernels: tuple[Kernel, Kernel]

    @cached_property
    def pattern(self) -> Array:
        """1 for every known pair of an incomplete grid, as a CSR array."""
        return sparse.csr_array((np.ones(self.Y.nnz), self.Y.indices, self.Y.indptr), shape=self.Y.shape)

    @cached_property
    def mean(self) -> float:
        """Of all known scores."""
        return float(self.Y.sum()) / max(self.Y.nnz if not self.complete else self.Y.shape[0] * self.Y.shape[1], 1)

    def predict(
        self, Z_a: Array | None, Z_b: Array | None, max_bytes: float, count: bool = False
    ) -> Iterator[Smoothed]:
        """Predict the scores of all pairs of these entities, a block of rows at a time.

        Parameters
        ----------
        Z_a, Z_b : (rows, r_1) and (columns, r_2) arrays, or None for the known entities
        max_bytes : float
            Memory for blocks of kernels and scores. The predictions do not depend on it.
        count : bool
            Whether to count the effective neighbours.

        Notes
        -----
        O(rows · |Y| + rows · m_B · columns) for |Y| stored scores, or less where the second bandwidth is 0.
        """
        n_rows = self.Y.shape[0] if Z_a is None else len(Z_a)
        columns = Columns(self.kernels[1], Z_b, max_bytes / 2)
        per_row = 8 * (2 * self.Y.shape[0] + (1 if self.complete else 4) * (self.Y.shape[1] + 2 * columns.count))
        for at in slices(n_rows, max(1, int(max_bytes / 2 / per_row))):
            K = row_weights(self.kernels[0], Z_a, at)
            yield Smoothed(at, *self.smoothed(K, columns, count))

    def smoothed(self, K: Array, columns: Columns, count: bool = False) -> tuple[Array, Array | None]:
        """Scores and effective neighbours of rows whose kernel weights are given, (rows, m_A)."""
        return self._complete(K, columns, count) if self.complete else self._observed(K, columns, count)

    def _complete(self, K: Array, columns: Columns, count: bool) -> tuple[Array, Array | None]:
        neighbors = np.outer(effective(K), columns.effective) if count else None
        return columns.averages(np.asarray(normalized(K) @ self.Y)), neighbors

    def _observed(self, K: Array, columns: Columns, count: bool) -> tuple[Array, Array | None]:
        K = scaled(K)
        scores = columns.sums(np.asarray(K @ self.Y))
        total = columns.sums(np.asarray(K @ self.pattern))
        found = total > VANISHING
        np.divide(scores, total, out=scores, where=found)
        lonely = ~found
        if lonely.any():
            scores[lonely] = np.broadcast_to(self._column_means(columns), scores.shape)[lonely]
        if not count:
            return scores, None
        squares = columns.sums(np.asarray(K**2 @ self.pattern), squared=True)
        return scores, np.divide(total**2, squares, out=np.zeros_like(total), where=squares > VANISHING)

    def _column_means(self, columns: Columns) -> Array:
        """The mean known score of each column, smoothed as the columns are; that of all pairs where it has none."""
        total = columns.sums(np.asarray(self.pattern.sum(axis=0), dtype=float)[None])[0]
        sums = columns.sums(np.asarray(self.Y.sum(axis=0), dtype=float)[None])[0]
        return np.divide(sums, total, out=np.full_like(sums, self.mean), where=total > VANISHING)


class Columns:
    """The kernel weights of the columns: held if they fit, otherwise computed again, some columns at a time.

    Parameters
    ----------
    kernel : Kernel
    Z : (columns, r) array, or None for the known columns
    max_bytes : float
    """

    def __init__(self, kernel: Kernel, Z: Array | None, max_bytes: float) -> None:
        self.kernel, self.Z = kernel, Z
        self.alone = Z is None and kernel.bandwidth == 0
        known = len(kernel.points)
        self.count = known if Z is None else len(Z)
        self.step = max(1, int(max_bytes / (16 * known)))
        self.held: Array | None = None
        if not self.alone and self.count <= self.step:
            self.held = self._weights(slice(0, self.count))

    def _weights(self, at: slice) -> Array:
        L = row_weights(self.kernel, self.Z, at)
        return L if self.Z is None else scaled(L)  # the largest weight of a known column is 1, its own

    def _parts(self) -> Iterator[tuple[slice, Array]]:
        if self.held is not None:
            yield slice(0, self.count), self.held
            return
        for at in slices(self.count, self.step):
            yield at, self._weights(at)

    def averages(self, N: Array) -> Array:
        """N (rows, m_B) averaged over the neighbours of each column, (rows, columns)."""
        if self.alone:
            return N
        out = np.empty((len(N), self.count))
        for at, L in self._parts():
            total = L.sum(axis=1)
            lonely = total <= VANISHING
            np.matmul(N, L.T, out=out[:, at])
            out[:, at] /= np.where(lonely, 1.0, total)
            if lonely.any():  # as if all columns were equally near
                out[:, np.arange(at.start, at.stop)[lonely]] = N.mean(axis=1, keepdims=True)
        return out

    def sums(self, N: Array, squared: bool = False) -> Array:
        """N (rows, m_B) added up with the weights of each column, or their squares, (rows, columns)."""
        if self.alone:
            return np.array(N)
        out = np.empty((len(N), self.count))
        for at, L in self._parts():
            np.matmul(N, (L**2 if squared else L).T, out=out[:, at])
        return out

    @cached_property
    def effective(self) -> Array:
        """The effective number of neighbours of each column, (columns,)."""
        if self.alone:
            return np.ones(self.count)
        return np.concatenate([effective(L) for _, L in self._parts()])


def row_weights(kernel: Kernel, Z: Array | None, at: slice) -> Array:
    """The weights of the known entities for some new or, if Z is None, some of the known ones, (rows, m)."""
    if Z is not None:
        return kernel.weights(Z[at])
    if kernel.bandwidth == 0:  # an entity is its own neighbour, even if others have the same features
        return np.eye(at.stop - at.start, len(kernel.points), at.start)
    return kernel.weights(kernel.points[at])


def normalized(K: Array) -> Array:
    """Rows of weights that add up to 1; equal weights where there are none. K is overwritten."""
    total = K.sum(axis=1, keepdims=True)
    K /= np.where(total > VANISHING, total, 1.0)
    K[total[:, 0] <= VANISHING] = 1.0 / K.shape[1]
    return K


def scaled(K: Array) -> Array:
    """Rows of weights in units of their largest, so that products do not vanish; 0 where there are none."""
    most = K.max(axis=1, keepdims=True, initial=0.0)
    return np.where(most > VANISHING, K, 0.0) / np.where(most > VANISHING, most, 1.0)


def effective(K: Array) -> Array:
    """(Σ w)²/Σ w² of each row of weights, (rows,); 0 where all vanish."""
    K = scaled(K)
    return K.sum(axis=1) ** 2 / np.maximum(np.einsum("ij,ij->i", K, K), VANISHING)


def dense(Y: Array) -> Array:
    """Scores as a dense array."""
    return Y.toarray() if is_sparse(Y) else np.asarray(Y)
