"""Nadaraya-Watson regression on a grid of pairs (section 5 of the paper), in blocks.

    ŷ_ij = Σ_pq K_D(i, p) K_G(j, q) y_pq / Σ_pq K_D(i, p) K_G(j, q)

over the observed pairs (p, q). If all are, numerator and denominator factorize: with the rows of both kernel matrices
scaled to sum 1 it is K_D Y K_Gᵀ, and a new pair costs m_D + m_G evaluations of kernels. Otherwise the numerator is
K_D Y K_Gᵀ and the denominator K_D W K_Gᵀ, with the sparse scores Y and the sparse pattern W.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from jointdr.arrays import Array, is_sparse
from jointdr.engines.local import slices
from jointdr.ranking import Block
from jointdr.weights import VANISHING, AnyKernel


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
    kernels: tuple[AnyKernel, AnyKernel]

    @cached_property
    def pattern(self) -> Array:
        """1 for every known pair of an incomplete grid, as a CSR array."""
        return sparse.csr_array((np.ones(self.Y.nnz), self.Y.indices, self.Y.indptr), shape=self.Y.shape)

    @cached_property
    def mean(self) -> float:
        """Of all known scores."""
        return float(self.Y.sum()) / max(self.Y.nnz if not self.complete else self.Y.shape[0] * self.Y.shape[1], 1)

    def scorer(self, Z_a: Any, Z_b: Any, max_bytes: float, count: bool = False) -> Callable[[slice], Block]:
        """A function that predicts the scores of some rows with all columns.

        Parameters
        ----------
        Z_a, Z_b : (rows, r_1) and (columns, r_2) arrays, or None for the known entities
            For a `Mixture`, one such array for each of its kernels.
        max_bytes : float
            Memory for the kernel weights of the columns. The predictions do not depend on it.
        count : bool
            Whether to note the ``neighbors`` of each score: the effective number of known pairs behind it,
            (Σ w)²/Σ w², and 0 where there is none and the score is the mean of the known scores of the column.

        Notes
        -----
        O(rows · |Y| + rows · m_B · columns) for |Y| stored scores; only the first where the second bandwidth is 0.
        """
        columns = Columns(self.kernels[1], Z_b, max_bytes)

        def block(at: slice) -> Block:
            scores, neighbors = self.smoothed(self.kernels[0].weights_at(Z_a, at), columns, count)
            return Block(scores, {} if neighbors is None else {"neighbors": neighbors})

        return block

    def smoothed(
        self, K: Array, columns: Columns, count: bool = False, without: Array | None = None
    ) -> tuple[Array, Array | None]:
        """Scores and effective neighbours of rows whose kernel weights are given, (rows, m_A), and overwritten.

        `without` are the numbers of these rows, if they are known ones that must not count in their own scores.
        """
        neighbors = None
        if count and self.complete:
            neighbors = np.outer(effective(K), columns.effective)
        elif count:
            squares = columns.sums(np.asarray(scaled(K) ** 2 @ self.pattern), squared=True)
        sums = self.row_sums(K if self.complete else scaled(K))
        scores, total = self.averaged(sums, columns, without)
        if count and not self.complete:
            neighbors = np.divide(total**2, squares, out=np.zeros_like(total), where=squares > VANISHING)
        return scores, neighbors

    def row_sums(self, K: Array) -> tuple[Array, ...]:
        """Scores added up over rows with the weights K, (rows, m_B), and the weights themselves unless all pairs count.

        On a complete grid they are averages, and K is overwritten. O(rows · |Y|).
        """
        if self.complete:
            return (np.asarray(normalized(K) @ self.Y),)
        return np.asarray(K @ self.Y), np.asarray(K @ self.pattern)

    def averaged(self, sums: tuple[Array, ...], columns: Columns, without: Array | None = None) -> tuple[Array, Array]:
        """The scores that follow from the sums over rows, (rows, columns), and the total weights (on a grid, empty)."""
        if self.complete:
            return columns.averages(sums[0]), np.empty(0)
        scores, total = (columns.sums(part) for part in sums)
        found = total > VANISHING
        np.divide(scores, total, out=scores, where=found)
        if not found.all():
            scores[~found] = np.broadcast_to(self._column_means(columns, without), scores.shape)[~found]
        return scores, total

    def pair_weights(self, K: Array, L: Array) -> Any:
        """What each known score counts in the prediction of one pair: `Products`, or CSR with the pattern of Y.

        Parameters
        ----------
        K, L : (m_A,) and (m_B,) arrays
            The kernel weights of the known rows for its row, and of the known columns for its column.
        """
        if self.complete and not is_sparse(self.Y):
            return Products(normalized(K[None].copy())[0], normalized(L[None].copy())[0])
        i, j = np.repeat(np.arange(self.Y.shape[0]), np.diff(self.Y.indptr)), self.Y.indices
        if self.complete:
            w = normalized(K[None].copy())[0][i] * normalized(L[None].copy())[0][j]
            return sparse.csr_array((w, self.Y.indices, self.Y.indptr), shape=self.Y.shape)
        K, L = scaled(K[None])[0], scaled(L[None])[0]
        for w in (K[i] * L[j], L[j], np.ones(len(i))):  # the pair, its column, all pairs: whatever has neighbours
            if (total := w.sum()) > VANISHING:
                return sparse.csr_array((w / total, self.Y.indices, self.Y.indptr), shape=self.Y.shape)
        raise ValueError("There is no known pair.")

    def _column_means(self, columns: Columns, without: Array | None) -> Array:
        """The mean known score of each column, smoothed as the columns are; that of all pairs where it has none.

        One row for all, or one for each of the rows `without` which it is.
        """
        parts = [np.asarray(M.sum(axis=0), dtype=float).reshape(1, -1) for M in (self.Y, self.pattern)]
        if without is not None:
            parts = [part - dense(M[without]) for part, M in zip(parts, (self.Y, self.pattern), strict=True)]
        means = parts[0].sum(axis=1, keepdims=True) / np.maximum(parts[1].sum(axis=1, keepdims=True), 1)
        sums, total = (columns.sums(part) for part in parts)
        return np.where(total > VANISHING, sums / np.where(total > VANISHING, total, 1.0), means)


@dataclass(frozen=True)
class Products:
    """The matrix of K_p L_q, of which only parts are ever formed: some rows, or the entries at (rows, columns)."""

    K: Array
    L: Array

    def __getitem__(self, at: Any) -> Array:
        return self.K[at[0]] * self.L[at[1]] if isinstance(at, tuple) else np.outer(self.K[at], self.L)


def rows_at_once(Y: Array, complete: bool, n_columns: int, max_bytes: float) -> int:
    """For how many rows scores with so many columns are computed at a time."""
    per_row = 8 * (3 * Y.shape[0] + (2 if complete else 5) * (Y.shape[1] + n_columns))
    return max(1, int(max_bytes / per_row))


class Columns:
    """The kernel weights of the columns: held if they fit, otherwise computed again, some columns at a time.

    Parameters
    ----------
    kernel : Kernel or Mixture
    Z : (columns, r) array (for a mixture, several), or None for the known columns
    max_bytes : float
    """

    def __init__(self, kernel: AnyKernel, Z: Any, max_bytes: float) -> None:
        self.kernel, self.Z = kernel, Z
        self.alone = Z is None and kernel.alone
        self.count = kernel.count if Z is None else len_of(Z)
        self.step = max(1, int(max_bytes / (24 * kernel.count)))
        self.held: Array | None = None
        if not self.alone and self.count <= self.step:
            self.held = self._weights(slice(0, self.count))

    def _weights(self, at: slice) -> Array:
        L = self.kernel.weights_at(self.Z, at)
        return L if self.Z is None else scaled(L)  # a known column is its own neighbour, so that nothing vanishes

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


def len_of(Z: Any) -> int:
    """The number of entities, given as one table or as several of them."""
    return int((Z[0] if isinstance(Z, (tuple, list)) else Z).shape[0])


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
